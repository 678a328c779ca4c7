// Chaos in a real browser for as long as one likes: `npm run chaos -- --minutes 60 [--seed 7]`.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string', default: '1' } },
});
const root = fileURLToPath(new URL('..', import.meta.url));
const given = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'browser', 'e2e/chaos.e2e.ts'];
const env = { ...process.env, CHAOS_MINUTES: values.minutes, CHAOS_SEED: values.seed };
spawn(process.execPath, given, { cwd: root, env, stdio: 'inherit' }).on('exit', (code) => {
  process.exitCode = code ?? 1;
});
