// `npm run bench`: bundles the benchmark's driver for Node and runs it with the sizes of the bundles. What is kept goes
// into the documents at once.
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { measureSizes } from './sizes.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const outfile = join(root, '.tmp/bench/run.mjs');

await build({
  absWorkingDir: root,
  entryPoints: ['bench/run.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
});
const sizes = Object.fromEntries((await measureSizes()).map(({ id, kb }) => [id, kb]));
const { runBench } = await import(pathToFileURL(outfile).href);
await runBench({
  arguments: process.argv.slice(2),
  sizes,
  keptFile: join(root, 'bench/results.json'),
  otherFile: join(root, '.tmp/bench/results.json'),
});

const isKept = process.argv.length === 2 || process.argv.includes('--keep');
if (isKept) await import('./bench-table.mjs');
