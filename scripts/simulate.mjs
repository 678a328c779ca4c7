// Plays stories of the simulator (T31): `npm run simulate -- --seeds 100000 [--from 1] [--length 40] [--jobs 2]
// [--groups hosts,store] [--large] [--explain 4711]`. Prints what fails, shrunk, and the totals: commands that were put
// under another one (W60) and that could expire (W62) among them. Exits 1 if anything failed.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '10000' },
    from: { type: 'string', default: '1' },
    length: { type: 'string' },
    groups: { type: 'string' },
    /** Every fifth body is as large as one that leaves alone (C31). */
    large: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '1' },
    explain: { type: 'string' },
    /** How many failing seeds are shrunk and told. */
    tell: { type: 'string', default: '1' },
    bundle: { type: 'string' },
    /** Ends with the first seed that fails, untold. */
    stop: { type: 'boolean', default: false },
  },
});
const options = {
  ...(values.length && { length: Number(values.length) }),
  ...(values.groups && { groups: values.groups.split(',') }),
};
const root = join(dirname(fileURLToPath(import.meta.url)), '..');

async function bundle(into) {
  const outfile = join(into, 'simulate.mjs');
  await build({
    absWorkingDir: root,
    entryPoints: ['sw/testing/simulate.ts'],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  return outfile;
}

async function run(outfile) {
  const { simulate, explainSeed, DEFAULT_SUBJECT } = await import(pathToFileURL(outfile).href);
  if (values.large) {
    const body = (family, kind, n) => ({
      ...DEFAULT_SUBJECT.body(family, kind, n),
      ...(n % 5 === 0 && { picture: new Uint8Array(262_144).fill(n) }),
    });
    options.subject = { ...DEFAULT_SUBJECT, body };
  }
  if (values.explain !== undefined) {
    console.log((await explainSeed(Number(values.explain), options)) || 'every promise was kept');
    return true;
  }
  const totals = { stories: 0, steps: 0, requests: 0, applied: 0, commands: 0, under: 0, expiring: 0 };
  const failed = new Map();
  const from = Number(values.from);
  const began = performance.now();
  // G4: nothing is left to reject with nobody listening.
  const strays = [];
  process.on('unhandledRejection', (error) => strays.push(error));
  for (let seed = from; seed < from + Number(values.seeds); seed++) {
    const played = await simulate(seed, options);
    totals.stories++;
    for (const name of ['steps', 'requests', 'applied']) totals[name] += played[name];
    for (const action of played.script.actions) {
      if (action.type !== 'enqueue') continue;
      totals.commands++;
      if (action.after) totals.under++;
      if (action.expires) totals.expiring++;
    }
    const [stray] = strays.splice(0);
    if (stray) console.log(`seed ${seed}: unhandled`, stray);
    const what = stray ? `W11: nobody listened to ${stray}` : played.broken[0];
    if (what === undefined) continue;
    const clause = what.split(':')[0];
    const seeds = failed.get(clause) ?? [];
    failed.set(clause, [...seeds, seed]);
    if (seeds.length < 3) console.log(`seed ${seed}: ${what}`);
    if (values.stop) break;
  }
  const seconds = (performance.now() - began) / 1000;
  for (const [clause, seeds] of failed) {
    console.log(`${clause}: ${seeds.length} seeds, ${seeds.slice(0, 12).join(' ')}`);
    for (const seed of seeds.slice(0, values.stop ? 0 : Number(values.tell)))
      console.log(await explainSeed(seed, options));
  }
  console.log(JSON.stringify({ from, ...totals, failed: [...failed.values()].flat().length, seconds }));
  return failed.size === 0;
}

/** As many processes as jobs, each with its share of the seeds. */
async function runJobs(outfile, jobs) {
  const seeds = Number(values.seeds);
  const share = Math.ceil(seeds / jobs);
  const ends = Array.from({ length: jobs }, (_, job) => {
    const from = Number(values.from) + job * share;
    const own = process.argv.slice(2).filter((argument, place, all) => {
      const before = all[place - 1];
      return !['--jobs', '--from', '--seeds'].some((name) => argument === name || before === name);
    });
    const count = Math.min(share, Number(values.from) + seeds - from);
    const given = ['--jobs', '1', '--from', `${from}`, '--seeds', `${count}`, '--bundle', outfile];
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...own, ...given], {
      stdio: 'inherit',
    });
    return new Promise((resolve) => child.on('exit', (code) => resolve(code === 0)));
  });
  return (await Promise.all(ends)).every(Boolean);
}

const into = values.bundle ? undefined : await mkdtemp(join(tmpdir(), 'holdfast-simulate-'));
try {
  const outfile = values.bundle ?? (await bundle(into));
  const jobs = values.explain === undefined ? Number(values.jobs) : 1;
  const isFine = jobs > 1 ? await runJobs(outfile, jobs) : await run(outfile);
  process.exitCode = isFine ? 0 : 1;
} finally {
  if (into) await rm(into, { recursive: true, force: true });
}
