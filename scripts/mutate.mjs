// Checks the checks (T30): breaks a copy of the sources in one way after the other (`mutations.mjs`), and asks the
// tests and the simulator whether they notice. `npm run mutate [-- --only fence,doubt]` keeps what it finds in
// docs/mutations.json and puts the table into docs/proof.md; it exits 1 where a mutation survives. `--check` breaks
// nothing: every snippet must be there exactly once, and the document must show what was found.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { MUTATIONS } from './mutations.mjs';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    only: { type: 'string' },
    /** Asks the tests beside a file only, not all of them. */
    quick: { type: 'boolean', default: false },
    /** Stories of the simulator that a mutation must survive to count as unseen by it. */
    seeds: { type: 'string', default: '400' },
  },
});
const root = fileURLToPath(new URL('..', import.meta.url));
const FOUND = join(root, 'docs/mutations.json');
const DOCUMENT = join(root, 'docs/proof.md');
const BEGIN = '<!-- mutations: npm run mutate -->';
const END = '<!-- /mutations -->';
/** These run for long and say less than the simulator itself. */
const LONG = [
  '**/simulation.test.ts',
  '**/small-world.test.ts',
  'tests/examples/**',
  'tests/bin/**',
  'examples/**',
];
/** Files share one realm: starting a fresh one for each takes longer than the tests do. */
const QUICK = ['--no-isolate', '--pool', 'threads', '--maxWorkers', '1', '--no-file-parallelism'];
/** Whoever breaks a loop's end must not keep this script. */
const PATIENCE_MS = 400_000;

/** The text with the mutation in it. @throws where the snippet is not there exactly once. */
function mutated({ id, file, from, to }) {
  const text = readFileSync(join(root, file), 'utf8');
  const count = text.split(from).length - 1;
  if (count !== 1) throw new Error(`${id}: the snippet stands ${count} times in ${file}`);
  return text.replace(from, () => to);
}

function run(command, given, options) {
  return new Promise((resolve) => {
    const child = spawn(command, given, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let out = '';
    child.stdout.on('data', (data) => {
      out += data;
    });
    child.stderr.on('data', () => undefined);
    const late = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), PATIENCE_MS);
    child.on('close', (code) => {
      clearTimeout(late);
      resolve({ code, out });
    });
  });
}

/** Tests that fail in `copy`, of those that `where` names. */
async function askTests(copy, where, isShort) {
  const results = join(copy, '.tmp/results.json');
  rmSync(results, { force: true });
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs');
  const given = ['run', '--project', 'unit', ...QUICK, ...(isShort ? ['--bail', '1'] : []), ...where];
  for (const pattern of LONG) given.push('--exclude', pattern);
  const env = { ...process.env, HOLDFAST_RESULTS: results };
  await run(process.execPath, [vitest, ...given], { cwd: copy, env });
  // Given up: that says nothing, since a busy machine looks the same.
  if (!existsSync(results)) return { count: 0 };
  const { testResults } = JSON.parse(readFileSync(results, 'utf8'));
  const failed = testResults.flatMap(({ name, status, assertionResults }) => {
    const file = name.slice(name.indexOf('/tests/') + 1);
    const tests = assertionResults.filter((test) => test.status === 'failed');
    // A file that does not even load.
    if (tests.length === 0 && status === 'failed') return [{ file, title: 'does not load', isLate: false }];
    return tests.map(({ title, failureMessages }) => ({
      file,
      title,
      isLate: failureMessages.every((message) => message.includes('timed out')),
    }));
  });
  const first = failed.find(({ isLate }) => !isLate) ?? failed[0];
  return { count: failed.length, title: first?.title, file: first?.file };
}

async function askSimulator(copy) {
  const outfile = join(copy, '.tmp/simulate.mjs');
  await build({
    absWorkingDir: copy,
    entryPoints: ['sw/testing/simulate.ts'],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    logLevel: 'error',
  });
  const script = join(copy, 'scripts/simulate.mjs');
  const { code, out } = await run(
    process.execPath,
    [script, '--bundle', outfile, '--seeds', values.seeds, '--stop'],
    { cwd: copy },
  );
  const [, seed, broken] = /^seed (\d+): (.*)$/m.exec(out) ?? [];
  if (seed !== undefined) return { seed: Number(seed), broken };
  if (code !== 0) console.log(`    the simulator did not end: ${code}`);
  return undefined;
}

/** Where to look, the likeliest first: the file's own tests, those of its directory, all. */
function places({ file, tests = [] }) {
  const own = `tests/${file.replace(/\.ts$/, '.test.ts')}`;
  const near = `tests/${dirname(file)}/`;
  const first = [...(existsSync(join(root, own)) ? [own] : []), ...tests];
  const second = near !== 'tests/sw/' && existsSync(join(root, near)) ? [near] : [];
  const all = values.quick ? [] : ['tests/'];
  return [first, second, all].filter((where) => where.length > 0);
}

const seconds = (since) => Math.round((performance.now() - since) / 100) / 10;

async function judge(mutation, copy) {
  const path = join(copy, mutation.file);
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(mutation));
  try {
    const began = performance.now();
    let tests = { count: 0 };
    for (const where of places(mutation))
      if (tests.count === 0) tests = await askTests(copy, where, where.includes('tests/'));
    const testSeconds = seconds(began);
    const then = performance.now();
    const simulated = await askSimulator(copy);
    return {
      breaks: mutation.breaks,
      file: mutation.file,
      tests: tests.count === 0 ? undefined : { ...tests, seconds: testSeconds },
      simulator: simulated && { ...simulated, seconds: seconds(then) },
    };
  } finally {
    writeFileSync(path, original);
  }
}

async function copySources() {
  const copy = await mkdtemp(join(tmpdir(), 'holdfast-mutate-'));
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const file of listed.split('\n')) {
    if (file === '' || file === 'node_modules' || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(copy, '.tmp'));
  return copy;
}

function cell(text) {
  return text.replaceAll('|', '\\|');
}

function render(found) {
  const rows = MUTATIONS.map(({ id }) => {
    const { breaks, tests, simulator } = found[id] ?? {};
    const by = tests ? `${tests.title}${tests.count > 1 ? ` and ${tests.count - 1} more` : ''}` : '–';
    const seed = simulator ? `${simulator.seed}: ${simulator.broken.split(':')[0]}` : '–';
    return [breaks ?? '', by, seed, `${tests?.seconds ?? '–'} / ${simulator?.seconds ?? '–'}`].map(cell);
  });
  const cells = [['what is broken', 'tests that notice', 'seed that notices', 's'], ...rows];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const lines = cells.map(
    (row) => `| ${row.map((text, column) => text.padEnd(widths[column])).join(' | ')} |`,
  );
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  return lines.join('\n');
}

function withTable(found) {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [before, rest = ''] = text.split(BEGIN);
  const [, after = ''] = rest.split(END);
  return `${before}${BEGIN}\n\n${render(found)}\n\n${END}${after}`;
}

function readFound() {
  return existsSync(FOUND) ? JSON.parse(readFileSync(FOUND, 'utf8')) : {};
}

function check() {
  const wrong = [];
  for (const mutation of MUTATIONS) {
    try {
      if (mutated(mutation) === readFileSync(join(root, mutation.file), 'utf8'))
        throw new Error(`${mutation.id}: changes nothing`);
    } catch (error) {
      wrong.push(error.message);
    }
  }
  const found = readFound();
  for (const { id, breaks } of MUTATIONS) {
    if (found[id]?.breaks !== breaks) wrong.push(`${id}: not judged: npm run mutate -- --only ${id}`);
    else if (!found[id].tests && !found[id].simulator) wrong.push(`${id}: survived`);
  }
  if (readFileSync(DOCUMENT, 'utf8') !== withTable(found))
    wrong.push('docs/proof.md does not show docs/mutations.json');
  for (const line of wrong) console.error(line);
  return wrong.length === 0;
}

async function mutate() {
  const only = values.only?.split(',');
  const chosen = MUTATIONS.filter(({ id }) => only === undefined || only.includes(id));
  for (const mutation of MUTATIONS) mutated(mutation);
  const known = readFound();
  const found = Object.fromEntries(MUTATIONS.flatMap(({ id }) => (known[id] ? [[id, known[id]]] : [])));
  const copy = await copySources();
  let survived = 0;
  try {
    // Unbroken, nobody complains: else every answer below would be worthless.
    const before = values.quick ? { count: 0 } : await askTests(copy, ['tests/'], true);
    const seed = values.quick ? undefined : await askSimulator(copy);
    if (before.count > 0 || seed)
      throw new Error(`Fails as it is: ${before.title ?? ''} ${seed?.broken ?? ''}`);
    for (const mutation of chosen) {
      const judged = await judge(mutation, copy);
      found[mutation.id] = judged;
      const { tests, simulator } = judged;
      const isSeen = Boolean(tests || simulator);
      if (!isSeen) survived++;
      console.log(`${isSeen ? 'caught  ' : 'SURVIVED'} ${mutation.id}: ${mutation.breaks}`);
      if (tests) console.log(`    ${tests.count} tests in ${tests.seconds} s, ${tests.file}: ${tests.title}`);
      if (simulator) console.log(`    seed ${simulator.seed} in ${simulator.seconds} s: ${simulator.broken}`);
      const sorted = Object.fromEntries(MUTATIONS.flatMap(({ id }) => (found[id] ? [[id, found[id]]] : [])));
      writeFileSync(FOUND, `${JSON.stringify(sorted, undefined, 2)}\n`);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  writeFileSync(DOCUMENT, withTable(readFound()));
  console.log(`${chosen.length} mutations, ${survived} survived`);
  return survived === 0;
}

process.exitCode = (values.check ? check() : await mutate()) ? 0 : 1;
