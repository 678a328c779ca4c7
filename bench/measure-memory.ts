/** The worker's heap while it drains large bodies, sampled from outside. */
import { type BenchWorld, quiet } from './bench-world.ts';
import type { Samples } from './common/samples.ts';
import { fill } from './measure-drains.ts';

const MEGABYTE = 1_000_000;
const SAMPLE_MS = 50;

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
  await session.send('HeapProfiler.collectGarbage');
  const idle = await used();
  await fill(outbox, rows, bytes);
  await quiet();
  await session.send('HeapProfiler.collectGarbage');
  samples.report('heap_mb_waiting', 'MB', (await used()) / MEGABYTE);
  let peak = idle;
  let isDraining = true;
  const drained = outbox.call('drain').finally(() => {
    isDraining = false;
  });
  while (isDraining) {
    peak = Math.max(peak, await used());
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  }
  await drained;
  await session.send('HeapProfiler.collectGarbage');
  samples.add('drain_heap_mb_10000x20k', (peak - idle) / MEGABYTE);
  samples.report('heap_mb_idle', 'MB', idle / MEGABYTE);
  samples.report('heap_mb_after', 'MB', (await used()) / MEGABYTE);
  await session.detach();
  await outbox.page.close();
}
