/**
 * All systems side by side: saving at once, and sending 1 to 10,000 rows with and without server delay. What would take
 * minutes is not run, and the results say how long it would take at least.
 */
import type { BenchWorld, OutboxAt, Remote } from './bench-world.ts';
import type { Samples } from './common/samples.ts';
import { fill } from './measure-drains.ts';
import type { PeersPage } from './page/peers.ts';

/** What would take longer is left out. */
const LONGEST_MS = 120_000;
/** Saved at once by one page; more would wait past a call's deadline, and go in portions. */
const MOST_AT_ONCE = 1_000;
/** Small counts are noise by themselves. */
const ROUNDS: Readonly<Record<number, number>> = { 1: 5, 100: 3 };

interface Measured {
  readonly enqueueMs?: number | undefined;
  readonly drainMs: number;
}

interface System {
  readonly name: string;
  readonly isSerial: boolean;
  /** Its list is gone through whole for every row. */
  readonly isQuadratic?: boolean;
  run(rows: number): Promise<Measured>;
}

interface Run {
  readonly rows: number;
  readonly ms: number;
}

/** The server's delay, and the rest as it grew from the run before. */
function expect(system: System, rows: number, delayMs: number, before: Run | undefined): number {
  const delayOf = (count: number): number => (count * delayMs) / (system.isSerial ? 1 : 6);
  if (!before) return delayOf(rows);
  const growth = (rows / before.rows) ** (system.isQuadratic ? 2 : 1);
  return delayOf(rows) + Math.max(0, before.ms - delayOf(before.rows)) * (before.rows < 100 ? 0 : growth);
}

export async function measurePeers(
  world: BenchWorld,
  counts: readonly number[],
  delays: readonly number[],
  samples: Samples,
): Promise<void> {
  const outbox = await world.openOutbox('beside');
  const peers = await world.openPeers('beside-peers');
  const compared = systems(outbox, peers);
  for (const delayMs of delays) {
    world.server.delayMs = delayMs;
    const before = new Map<string, Run>();
    for (const rows of counts) {
      for (const system of compared) {
        const id = `ms_${system.name}_drain_${rows}_${delayMs}ms`;
        const expectedMs = expect(system, rows, delayMs, before.get(system.name));
        if (expectedMs > LONGEST_MS) {
          samples.report(`expected_${id}`, 'ms', expectedMs);
          continue;
        }
        const rounds = delayMs > 0 ? 1 : (ROUNDS[rows] ?? 1);
        for (let round = 0; round < rounds; round++) {
          const { enqueueMs, drainMs } = await system.run(rows);
          before.set(system.name, { rows, ms: drainMs });
          samples.report(id, 'ms', drainMs);
          if (enqueueMs !== undefined && delayMs === 0)
            samples.report(`ms_${system.name}_save_${rows}`, 'ms', enqueueMs);
        }
      }
    }
  }
  world.server.delayMs = 0;
  await outbox.page.close();
  await peers.page.close();
}

async function fillMs(outbox: OutboxAt, rows: number): Promise<number> {
  const start = performance.now();
  await fill(outbox, rows);
  return performance.now() - start;
}

function systems(outbox: OutboxAt, peers: Remote<PeersPage>): readonly System[] {
  const bare = (concurrency: number) => async (count: number) => ({
    drainMs: (await peers.call('ask', { op: 'bare', count, concurrency })).ms,
  });
  return [
    { name: 'bare_c6', isSerial: false, run: bare(6) },
    {
      name: 'holdfast',
      isSerial: false,
      async run(rows) {
        await fill(outbox, 0);
        const enqueueMs =
          rows <= MOST_AT_ONCE ? await outbox.call('enqueueBurst', rows) : await fillMs(outbox, rows);
        return { enqueueMs, drainMs: await outbox.call('drain') };
      },
    },
    {
      name: 'workbox',
      isSerial: true,
      async run(count) {
        const { ms, pushMs } = await peers.call('ask', { op: 'workbox', count, concurrency: 1 });
        return { enqueueMs: pushMs, drainMs: ms };
      },
    },
    {
      name: 'offline_transactions',
      isSerial: true,
      isQuadratic: true,
      run: (rows) => peers.call('offlineTransactions', rows),
    },
    {
      name: 'redux_offline',
      isSerial: true,
      isQuadratic: true,
      run: (rows) => peers.call('reduxOffline', rows),
    },
  ];
}
