/** All systems side by side: saving at once, and sending 1 to 10,000 rows with and without server delay. */
import type { BenchWorld, OutboxAt, Remote } from './bench-world.ts';
import type { Samples } from './common/samples.ts';
import { fill } from './measure-drains.ts';
import type { PeersPage } from './page/peers.ts';

/** What would take longer is left out. */
const LONGEST_MS = 90_000;
/** Saved at once by one page; more would wait past a call's deadline, and go in portions. */
const MOST_AT_ONCE = 1_000;
/** These store or look through their whole list at every change. */
const QUADRATIC_ROWS = 1_000;

interface Measured {
  readonly enqueueMs?: number | undefined;
  readonly drainMs: number;
}

interface System {
  readonly name: string;
  readonly isSerial: boolean;
  readonly mostRows: number;
  run(rows: number): Promise<Measured>;
}

export async function measurePeers(
  world: BenchWorld,
  counts: readonly number[],
  delays: readonly number[],
  samples: Samples,
): Promise<void> {
  const outbox = await world.openOutbox('beside');
  const peers = await world.openPeers('beside-peers');
  for (const delayMs of delays) {
    world.server.delayMs = delayMs;
    for (const rows of counts) {
      for (const system of systems(outbox, peers)) {
        if ((rows * (delayMs + 1)) / (system.isSerial ? 1 : 6) > LONGEST_MS) continue;
        if (rows > system.mostRows) continue;
        console.log(`  ${system.name}: ${rows} rows, ${delayMs} ms`);
        const { enqueueMs, drainMs } = await system.run(rows);
        samples.report(`ms_${system.name}_drain_${rows}_${delayMs}ms`, 'ms', drainMs);
        if (enqueueMs !== undefined && delayMs === 0)
          samples.report(`ms_${system.name}_save_${rows}`, 'ms', enqueueMs);
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
  const anyRows = Number.POSITIVE_INFINITY;
  return [
    { name: 'bare_c6', isSerial: false, mostRows: anyRows, run: bare(6) },
    {
      name: 'holdfast',
      isSerial: false,
      mostRows: anyRows,
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
      mostRows: anyRows,
      async run(count) {
        const { ms, pushMs } = await peers.call('ask', { op: 'workbox', count, concurrency: 1 });
        return { enqueueMs: pushMs, drainMs: ms };
      },
    },
    {
      name: 'offline_transactions',
      isSerial: true,
      mostRows: QUADRATIC_ROWS,
      run: (rows) => peers.call('offlineTransactions', rows),
    },
    {
      name: 'redux_offline',
      isSerial: true,
      mostRows: QUADRATIC_ROWS,
      run: (rows) => peers.call('reduxOffline', rows),
    },
  ];
}
