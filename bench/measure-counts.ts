/** What a drain reads, writes and tells, by counters: the same on every machine. */
import { type BenchWorld, quiet } from './bench-world.ts';
import { ROW_BYTES } from './common/definition.ts';
import { median } from './common/metrics.ts';
import type { Samples } from './common/samples.ts';
import type { Counts } from './common/worker-calls.ts';
import { fill } from './measure-drains.ts';

const ROWS = 1_000;
const VIEW_ROWS = 10_000;

export async function measureCounts(
  world: BenchWorld,
  samples: Samples,
  print: (text: string) => void,
): Promise<void> {
  const outbox = await world.openOutbox('counted');
  await outbox.call('ask', { op: 'count', full: ROWS });
  const counts = async (): Promise<Counts> => {
    const counted = await outbox.call('ask', { op: 'counts' });
    if (!counted) throw new Error('The worker was stopped while it counted');
    return counted;
  };
  /** Bytes to both witnesses, from storing rows to their end, over the payload's. */
  const mirrored = async (isKeptWaiting: boolean): Promise<number> => {
    const { ledgerBytes } = await counts();
    await outbox.call('measureBroadcasts');
    await fill(outbox, ROWS);
    if (isKeptWaiting) await quiet();
    await outbox.call('drain');
    await quiet();
    const { bytes } = await outbox.call('measured');
    return ((await counts()).ledgerBytes - ledgerBytes + bytes) / (ROWS * ROW_BYTES);
  };
  samples.add('mirror_bytes_vs_payload', await mirrored(false));
  samples.report('mirror_bytes_of_rows_kept_waiting', 'ratio', await mirrored(true));

  await fill(outbox, ROWS);
  await quiet();
  const before = await counts();
  await outbox.call('measureBroadcasts');
  await outbox.call('drain');
  await quiet();
  const after = await counts();
  const told = await outbox.call('measured');
  samples.add('rows_read_per_row', (after.rowsRead - before.rowsRead) / ROWS);
  samples.add('payload_reads_per_row', (after.bodiesRead - before.bodiesRead) / ROWS);
  samples.add('transactions_per_row', (after.readwrite - before.readwrite) / ROWS);
  samples.add('full_reads_per_drain', after.fullReads - before.fullReads);
  samples.add('snapshot_rewrites_per_drain', told.writes);
  samples.add('view_messages_bytes_per_row', told.broadcastBytes / ROWS);
  print('Operations of a drain of 1,000 rows, with what the mirror does beside it:');
  for (const [name, count] of Object.entries(after.operations)) {
    const during = count - (before.operations[name] ?? 0);
    if (during > 0) print(`  ${String(during).padStart(7)}  ${name}`);
  }
  const changes = await outbox.call('viewChanges', VIEW_ROWS, 200);
  samples.add('view_update_ms_10000', median(changes));
  await outbox.page.close();
}
