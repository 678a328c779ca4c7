/**
 * The rows of this page's own snapshot, where neither the outbox nor the ledger can be read (S15). Loaded when that
 * happens.
 */
import type { ViewPage } from '../shared/protocol.ts';
import { decodeRow } from '../shared/row-codec.ts';
import { toViewRow } from '../shared/view-row.ts';
import { readSnapshot } from './read-snapshot.ts';

/** All of them in one page; `undefined` where there is no snapshot that reads. */
export function readSnapshotRows(storage: Pick<Storage, 'getItem'>, name: string): ViewPage | undefined {
  const snapshot = readSnapshot(storage, name);
  if (snapshot.type !== 'snapshot') return undefined;
  const counts = { queued: 0, sending: 0, held: 0, blocked: 0 };
  const rows = snapshot.rows.flatMap(({ row }) => {
    const decoded = decodeRow(row);
    if (decoded.type !== 'row') return [];
    counts[decoded.row.state]++;
    return toViewRow(decoded.row);
  });
  return { rows, counts, epoch: 'read_only', generation: 0, isReadOnly: true };
}
