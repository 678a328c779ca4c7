// Measures what a page and a worker download (minified, gzip -9, dependencies included) and fails above the
// budgets. What is loaded on demand (the page host, encryption) is listed but belongs to no budget.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { COMMON } from '../build.mjs';

/** `ceilingKb` fails the check; where it is above the goal, docs/decisions says why. */
const BUDGETS = [
  { id: 'size_client_gz', what: 'page part with Comlink', entry: 'client/index.ts', goalKb: 5, ceilingKb: 5 },
  { id: 'size_sw_gz', what: 'worker part', entry: 'sw/index.ts', goalKb: 20, ceilingKb: 73 },
  {
    id: 'size_inspector_gz',
    what: 'inspector element',
    entry: 'client/inspector/index.ts',
    goalKb: 12,
    ceilingKb: 12,
  },
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

/** Every bundle that exists, in the order of the budgets. */
export async function measureSizes() {
  const present = BUDGETS.filter(({ entry }) => existsSync(new URL(`../${entry}`, import.meta.url)));
  return await Promise.all(
    present.map(async (budget) => {
      const measured = await measure(budget.entry);
      return { ...budget, ...measured, kb: measured.atOnce / 1000 };
    }),
  );
}

function print({ id, what, kb, goalKb, ceilingKb, onDemand, inputs }) {
  const isOver = kb > ceilingKb;
  const later = onDemand > 0 ? `, ${(onDemand / 1000).toFixed(1)} KB more on demand` : '';
  const goal = goalKb === ceilingKb ? '' : `, goal ${goalKb} KB`;
  console.log(
    `${isOver ? 'OVER' : 'ok  '} ${id}: ${kb.toFixed(2)} KB of ${ceilingKb} KB${goal} (${what})${later}`,
  );
  if (isOver || process.argv.includes('--detail')) {
    for (const { input, bytesInOutput } of inputs.sort((a, b) => b.bytesInOutput - a.bytesInOutput)) {
      console.log(`       ${String(bytesInOutput).padStart(6)} B minified  ${input}`);
    }
  }
  if (isOver) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) for (const size of await measureSizes()) print(size);
