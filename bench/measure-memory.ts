/** The worker's heap while it drains large bodies, sampled from outside. */
import { type BenchWorld, quiet } from './bench-world.ts';
import type { Samples } from './common/samples.ts';
import { fill } from './measure-drains.ts';

const MEGABYTE = 1_000_000;
const SAMPLE_MS = 50;
/** For what is held, as against what the browser has not collected yet. */
const LIVE_ROWS = 1_000;
const LIVE_SAMPLE_MS = 500;

export async function measureMemory(
  world: BenchWorld,
  rows: number,
  bytes: number,
  samples: Samples,
): Promise<void> {
  const outbox = await world.openOutbox('memory');
  await fill(outbox, 10);
  await outbox.call('drain');
  await quiet();
  const session = await outbox.attach();
  const used = async (): Promise<number> =>
    ((await session.send('Runtime.getHeapUsage')) as { readonly usedSize: number }).usedSize;
  await session.send('HeapProfiler.enable');
  const held = async (): Promise<number> => {
    await session.send('HeapProfiler.collectGarbage');
    return await used();
  };
  const peakWhileDraining = async (measure: () => Promise<number>, everyMs: number): Promise<number> => {
    let peak = 0;
    let isDraining = true;
    const drained = outbox.call('drain').finally(() => {
      isDraining = false;
    });
    while (isDraining) {
      peak = Math.max(peak, await measure());
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    await drained;
    return peak;
  };
  const idle = await held();
  await fill(outbox, rows, bytes);
  await quiet();
  samples.report('heap_mb_waiting', 'MB', (await held()) / MEGABYTE);
  const peak = await peakWhileDraining(used, SAMPLE_MS);
  samples.add('drain_heap_mb_10000x20k', (peak - idle) / MEGABYTE);
  samples.report('heap_mb_idle', 'MB', idle / MEGABYTE);
  samples.report('heap_mb_after', 'MB', (await held()) / MEGABYTE);
  await outbox.call('pause');
  await fill(outbox, LIVE_ROWS, bytes);
  samples.report(
    'heap_mb_held_above_idle',
    'MB',
    ((await peakWhileDraining(held, LIVE_SAMPLE_MS)) - idle) / MEGABYTE,
  );
  await session.detach();
  await outbox.page.close();
}
