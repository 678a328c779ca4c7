/**
 * `npm run bench`: real Chromium, everything side by side in one run. `-- --short` takes under three minutes and
 * writes nothing that is kept; `-- --only=drains,counts` takes parts, which `--keep` puts among the results that are
 * kept; `-- --profile` shows where a drain's time goes, `-- --profile=enqueue` a save's.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { type BenchWorld, openBenchWorld } from './bench-world.ts';
import { BUDGETS, formatLine, type Metric } from './common/metrics.ts';
import { createSamples, type Samples } from './common/samples.ts';
import { measureCounts } from './measure-counts.ts';
import { measureDrains } from './measure-drains.ts';
import { measureEncryption } from './measure-encryption.ts';
import { measureEnqueues } from './measure-enqueues.ts';
import { measureMemory } from './measure-memory.ts';
import { measurePeers } from './measure-peers.ts';
import { profileDrain } from './profile-drain.ts';
import { profileEnqueue } from './profile-enqueue.ts';

/** Bundle sizes in KB by their ids, measured by the caller. */
export type Sizes = Readonly<Record<string, number>>;

interface Part {
  readonly name: string;
  run(world: BenchWorld, samples: Samples): Promise<void>;
}

const print = (text: string): void => console.log(text);

function partsOf(isShort: boolean): readonly Part[] {
  const drains = isShort
    ? { rounds: 1, delayedRounds: 1, delayedSerialRows: 50, secure: false, growthRows: 1_000 }
    : { rounds: 5, delayedRounds: 3, delayedSerialRows: 100, secure: true, growthRows: 10_000 };
  const enqueues = isShort
    ? { rounds: 3, perRound: 100, coldRounds: 2, many: 0 }
    : { rounds: 5, perRound: 100, coldRounds: 5, many: 100_000 };
  const counts = isShort ? [100] : [1, 100, 1_000, 10_000];
  const encryption = isShort ? { rounds: 2, rows: 200 } : { rounds: 5, rows: 1_000 };
  const both: readonly Part[] = [
    { name: 'counts', run: (world, samples) => measureCounts(world, samples, print) },
    { name: 'enqueues', run: (world, samples) => measureEnqueues(world, enqueues, samples) },
    { name: 'encryption', run: (world, samples) => measureEncryption(world, encryption, samples) },
    { name: 'drains', run: (world, samples) => measureDrains(world, drains, samples) },
    {
      name: 'peers',
      run: (world, samples) => measurePeers(world, counts, isShort ? [0] : [0, 50], samples),
    },
  ];
  if (isShort) return both;
  return [
    ...both,
    { name: 'memory', run: (world, samples) => measureMemory(world, 10_000, 20_000, samples) },
  ];
}

export interface BenchOptions {
  readonly arguments: readonly string[];
  readonly sizes: Sizes;
  /** Where results go: those of a full run, which are kept, and those of any other. */
  readonly keptFile: string;
  readonly otherFile: string;
}

export async function runBench({ arguments: args, sizes, keptFile, otherFile }: BenchOptions): Promise<void> {
  const isShort = args.includes('--short');
  const only = args
    .find((arg) => arg.startsWith('--only='))
    ?.slice('--only='.length)
    .split(',');
  const isProfile = args.some((arg) => arg.startsWith('--profile'));
  const world = await openBenchWorld({ minify: !isProfile });
  const samples = createSamples();
  let hasFailed = false;
  try {
    if (args.includes('--profile=enqueue')) {
      await profileEnqueue(world);
      return;
    }
    if (args.includes('--profile')) {
      await profileDrain(world, 2_000, otherFile.replace('.json', '.cpuprofile'));
      return;
    }
    for (const part of partsOf(isShort)) {
      if (only && !only.includes(part.name)) continue;
      const start = performance.now();
      // What was measured before stays, whatever happens to one part.
      await part.run(world, samples).catch((error: unknown) => {
        hasFailed = true;
        process.exitCode = 1;
        console.error(`${part.name} failed:`, error);
      });
      await save(otherFile, samples);
      print(`${part.name}: ${((performance.now() - start) / 1_000).toFixed(0)} s\n`);
    }
  } finally {
    await world.close();
  }
  for (const [id, kb] of Object.entries(sizes)) samples.add(id, kb);
  printTable(samples.metrics());
  const isKept = !hasFailed && !isShort && (!only || args.includes('--keep'));
  const file = isKept ? keptFile : otherFile;
  await save(file, samples, isKept && only ? await readMetrics(keptFile) : {});
  print(`\nResults: ${file}`);
}

type Metrics = Readonly<Record<string, Metric>>;

async function readMetrics(file: string): Promise<Metrics> {
  return (JSON.parse(await readFile(file, 'utf8')) as { readonly metrics: Metrics }).metrics;
}

/** `before`: what stays of an earlier run where this one measured nothing. */
async function save(file: string, samples: Samples, before: Metrics = {}): Promise<void> {
  const machine = `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}, Node ${process.version}`;
  const results = { machine, at: new Date().toISOString(), metrics: { ...before, ...samples.metrics() } };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(results, undefined, 2)}\n`);
}

function printTable(metrics: Readonly<Record<string, Metric>>): void {
  for (const budget of BUDGETS) {
    const metric = metrics[budget.id];
    if (metric) print(formatLine(budget, metric));
  }
  print('\nReported beside them:');
  const known = new Set(BUDGETS.map(({ id }) => id));
  for (const [id, { value, unit, min, max, n }] of Object.entries(metrics)) {
    if (!known.has(id))
      print(`     ${id.padEnd(42)} ${String(value).padStart(9)} ${unit.padEnd(5)} (${min}..${max}, n ${n})`);
  }
}
