/** What a drain reads, writes and tells, by counters: the same on every machine. */
import type { BenchWorld } from './bench-world.ts';
import { ROW_BYTES } from './common/definition.ts';
import { fill } from './measure-drains.ts';
import { median } from './metrics.ts';
import type { Samples } from './samples.ts';

const ROWS = 1_000;
const VIEW_ROWS = 10_000;
/** Past the quiet time after which mirror and snapshot have written all they will. */
const QUIET_MS = 3_000;

export async function measureCounts(
  world: BenchWorld,
  samples: Samples,
  print: (text: string) => void,
): Promise<void> {
  const outbox = await world.openOutbox('counted');
  await outbox.call('ask', { op: 'count', full: ROWS });
  await outbox.call('measureBroadcasts');
  await fill(outbox, ROWS);
  const before = await outbox.call('ask', { op: 'counts' });
  const filled = await outbox.call('measured');
  await outbox.call('drain');
  const drained = await outbox.call('ask', { op: 'counts' });
  const told = await outbox.call('measured');
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  const after = await outbox.call('ask', { op: 'counts' });
  const quiet = await outbox.call('measured');
  if (!before || !drained || !after) throw new Error('The worker was stopped while it counted');

  samples.add('rows_read_per_row', (after.rowsRead - before.rowsRead) / ROWS);
  samples.add('payload_reads_per_row', (after.bodiesRead - before.bodiesRead) / ROWS);
  samples.add('transactions_per_row', (after.readwrite - before.readwrite) / ROWS);
  samples.add('full_reads_per_drain', after.fullReads - before.fullReads);
  samples.add('mirror_bytes_vs_payload', (after.ledgerBytes + quiet.bytes) / (ROWS * ROW_BYTES));
  samples.add('snapshot_rewrites_per_drain', quiet.writes - filled.writes);
  samples.add('view_messages_bytes_per_row', (quiet.broadcastBytes - filled.broadcastBytes) / ROWS);
  samples.report('bytes_snapshot', 'bytes', quiet.bytes);
  samples.report('bytes_ledger', 'bytes', after.ledgerBytes);
  samples.report(
    'bytes_broadcast_per_row_at_end',
    'bytes',
    (told.broadcastBytes - filled.broadcastBytes) / ROWS,
  );
  print('Operations of a drain of 1,000 rows, with what the mirror does beside it:');
  for (const [name, count] of Object.entries(after.operations)) {
    const during = count - (before.operations[name] ?? 0);
    if (during > 0) print(`  ${String(during).padStart(7)}  ${name}`);
  }
  const changes = await outbox.call('viewChanges', VIEW_ROWS, 200);
  samples.add('view_update_ms_10000', median(changes));
  await outbox.page.close();
}
