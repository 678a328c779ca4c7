// Measures what a page and a worker download (minified, gzip -9, dependencies included) and fails above the
// budgets. What is loaded on demand (the page host, encryption) is listed but belongs to no budget.
import { existsSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { COMMON } from '../build.mjs';

const BUDGETS = [
  { id: 'size_client_gz', what: 'page part with Comlink', entry: 'client/index.ts', maxKb: 5 },
  { id: 'size_sw_gz', what: 'worker part', entry: 'sw/index.ts', maxKb: 20 },
  { id: 'size_inspector_gz', what: 'inspector element', entry: 'client/inspector/index.ts', maxKb: 12 },
];

/** Bytes of what is loaded at once and of what may be loaded later, each file compressed on its own. */
export async function measure(entry) {
  const result = await build({
    ...COMMON,
    entryPoints: [entry],
    outdir: 'out',
    write: false,
    minify: true,
    format: 'esm',
    splitting: true,
    metafile: true,
  });
  const bytes = new Map(
    result.outputFiles.map((file) => [file.path, gzipSync(file.contents, { level: 9 }).length]),
  );
  const sizeOf = (output) => [...bytes].find(([path]) => path.endsWith(`/${output}`))?.[1] ?? 0;
  const { outputs } = result.metafile;
  const atOnce = new Set();
  const visit = (file) => {
    if (atOnce.has(file)) return;
    atOnce.add(file);
    for (const { path, kind } of outputs[file].imports) if (kind === 'import-statement') visit(path);
  };
  visit(Object.keys(outputs).find((file) => outputs[file].entryPoint === entry));
  const sum = (files) => files.reduce((total, file) => total + sizeOf(file), 0);
  return {
    atOnce: sum([...atOnce]),
    onDemand: sum(Object.keys(outputs).filter((file) => !atOnce.has(file))),
    inputs: [...atOnce].flatMap((file) =>
      Object.entries(outputs[file].inputs).map(([input, { bytesInOutput }]) => ({ input, bytesInOutput })),
    ),
  };
}

let tooLarge = false;
for (const { id, what, entry, maxKb } of BUDGETS) {
  if (!existsSync(new URL(`../${entry}`, import.meta.url))) continue;
  const { atOnce, onDemand, inputs } = await measure(entry);
  const kb = atOnce / 1000;
  const isOver = kb > maxKb;
  tooLarge ||= isOver;
  const later = onDemand > 0 ? `, ${(onDemand / 1000).toFixed(1)} KB more on demand` : '';
  console.log(`${isOver ? 'OVER' : 'ok  '} ${id}: ${kb.toFixed(2)} KB of ${maxKb} KB (${what})${later}`);
  if (isOver || process.argv.includes('--detail')) {
    for (const { input, bytesInOutput } of inputs.sort((a, b) => b.bytesInOutput - a.bytesInOutput)) {
      console.log(`       ${String(bytesInOutput).padStart(6)} B minified  ${input}`);
    }
  }
}
if (tooLarge) process.exitCode = 1;
