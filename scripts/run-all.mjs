// Runs every step of the full check, whatever the earlier ones say, and ends with one line that sums the tests of
// all runs: "N passed, N failed". A step that is not a test run counts as one.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const STEPS = [
  { name: 'test', script: 'test' },
  { name: 'check', script: 'check' },
];

const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
mkdirSync(`${root}/.tmp/results`, { recursive: true });
let passed = 0;
let failed = 0;
let skipped = 0;

for (const { name, script } of STEPS) {
  if (!(script in scripts)) continue;
  console.log(`\n== npm run ${script}`);
  const results = `${root}/.tmp/results/${name}.json`;
  rmSync(results, { force: true });
  const run = spawnSync('npm', ['run', script], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, HOLDFAST_RESULTS: results },
  });
  const counts = readCounts(results);
  passed += counts.passed;
  failed += counts.failed;
  skipped += counts.skipped;
  if (run.status === 0 && counts.failed === 0) passed += counts.passed === 0 ? 1 : 0;
  else if (counts.failed === 0) failed += 1;
}

if (skipped > 0) console.log(`\n${skipped} skipped: this machine cannot run them; each suite says why`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Of a step that is no test run, or died before it wrote its results: nothing. */
function readCounts(file) {
  try {
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(file, 'utf8'));
    return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests };
  } catch {
    return { passed: 0, failed: 0, skipped: 0 };
  }
}
