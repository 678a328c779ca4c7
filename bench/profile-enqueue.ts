/** Where the time of one save goes: its steps in the page and the worker, beside what the platform takes for its parts. */
import { type BenchWorld, type OutboxAt, quiet } from './bench-world.ts';
import { median } from './common/metrics.ts';
import type { Mark } from './common/worker-calls.ts';
import { type Profile, printHottest } from './profile-drain.ts';

const ROUNDS = 3;
const PER_ROUND = 50;

export async function profileEnqueue(world: BenchWorld): Promise<void> {
  const outbox = await world.openOutbox('profile');
  const peers = await world.openPeers('profile-peers');
  await outbox.call('enqueueEach', 100);
  await peers.call('rawPuts', PER_ROUND);
  const parts = {
    'message to the worker and its answer': [] as number[],
    'strict put of one row': [] as number[],
    'commit by the store, in a page': [] as number[],
    'save, one after another': [] as number[],
  };
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < PER_ROUND; i++)
      parts['message to the worker and its answer'].push(await peers.call('ping'));
    parts['strict put of one row'].push(...(await peers.call('rawPuts', PER_ROUND)));
    parts['save, one after another'].push(...(await outbox.call('enqueueEach', PER_ROUND)));
    await quiet();
    parts['commit by the store, in a page'].push(...(await outbox.call('commitEach', PER_ROUND)));
  }
  for (const [part, times] of Object.entries(parts))
    console.log(`${median(times).toFixed(2).padStart(8)} ms  ${part}`);
  for (const pauseMs of [0, 100]) {
    const calls = await outbox.call('traceEnqueues', PER_ROUND, pauseMs);
    console.log(
      `\nSteps of a save, ${pauseMs} ms after the one before (median ms from its start, how often):`,
    );
    printSteps(calls.slice(1));
  }
  await sample(outbox, 'One after another', () => outbox.call('enqueueEach', 300));
  await sample(outbox, 'All at once', () => outbox.call('enqueueBurst', 1_000));
}

/** Steps by their name and the how-manieth of that name in one save, in the order of their medians. */
function printSteps(calls: readonly (readonly Mark[])[]): void {
  const steps = new Map<string, number[]>();
  for (const marks of calls) {
    const sorted = marks.toSorted((a, b) => a.at - b.at);
    const start = sorted.find(({ what }) => what === 'call')?.at ?? 0;
    const seen = new Map<string, number>();
    for (const { at, what } of sorted) {
      if (at < start) continue;
      const count = (seen.get(what) ?? 0) + 1;
      seen.set(what, count);
      const step = `${what} (${count})`;
      steps.set(step, [...(steps.get(step) ?? []), at - start]);
    }
  }
  for (const [step, times] of [...steps].sort(([, a], [, b]) => median(a) - median(b)))
    console.log(`${median(times).toFixed(2).padStart(8)}  ${String(times.length).padStart(4)}  ${step}`);
}

async function sample(outbox: OutboxAt, what: string, work: () => Promise<unknown>): Promise<void> {
  const session = await outbox.attach();
  await session.send('Profiler.enable');
  await session.send('Profiler.setSamplingInterval', { interval: 100 });
  await session.send('Profiler.start');
  const start = performance.now();
  await work();
  const ms = performance.now() - start;
  const { profile } = (await session.send('Profiler.stop')) as { readonly profile: Profile };
  await session.detach();
  console.log(`\n${what}, ${ms.toFixed(0)} ms, the worker's functions:`);
  printHottest(profile);
}
