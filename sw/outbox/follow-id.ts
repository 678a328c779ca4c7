/**
 * What became of an id (R9, D42): the row that stands for it now, or how its line ended, following every row that
 * took over. Only reads.
 */
import type { Waiting } from '../../shared/answers.ts';
import type { IdEntry, Settled } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import type { RowStore } from './row-store.ts';
import { isInDoubt, isNoted } from './standing.ts';

export type FollowedId =
  /** `via`: the ids it went through before the row's own. */
  | { readonly type: 'row'; readonly row: Row; readonly via: readonly string[] }
  | { readonly type: 'ended'; readonly entry: IdEntry; readonly via: readonly string[] }
  /** Unknown, or no longer known, or another owner's. */
  | { readonly type: 'unknown'; readonly id: string; readonly via: readonly string[] };

type Reads = Pick<RowStore, 'findRows' | 'findEnds' | 'findOutcome'>;

export async function followId(store: Reads, owner: string, id: string): Promise<FollowedId> {
  const via: string[] = [];
  for (let next = id; ; ) {
    const [[row], [entry]] = await Promise.all([store.findRows([next]), store.findEnds([next])]);
    if (row?.owner === owner) return { type: 'row', row, via };
    if (row !== undefined || entry === undefined || entry.key[0] !== owner)
      return { type: 'unknown', id: next, via };
    const { by } = entry;
    // An id is made from the one it replaces, so a line cannot come back to itself; a damaged store might.
    if (by === undefined || by === next || via.includes(by)) return { type: 'ended', entry, via };
    via.push(next);
    next = by;
  }
}

/** What a caller that waits for `id` hears (D42); `waiting` while its row is on its way. */
export async function settledOf(store: Reads, owner: string, id: string): Promise<Settled | Waiting> {
  return settledBy(store, await followId(store, owner, id));
}

export async function settledBy(store: Reads, followed: FollowedId): Promise<Settled | Waiting> {
  const through = followed.via.length > 0 ? { via: followed.via } : {};
  switch (followed.type) {
    case 'row':
      return { ...settledRow(followed.row), ...through };
    case 'unknown':
      return { type: 'not_found', id: followed.id };
    case 'ended': {
      const { id, end } = followed.entry;
      if (end === 'already_gone' || end === 'dropped' || end === 'cancelled' || end === 'discarded')
        return { type: end, id, ...through };
      const outcome = end === 'committed' ? (await store.findOutcome(id))?.outcome : undefined;
      return outcome?.type === 'committed'
        ? { type: 'uploaded', id, receipt: outcome.receipt, ...through }
        : { type: 'not_found', id };
    }
  }
}

function settledRow(row: Row): Settled | Waiting {
  const { id, receipt, blockedCode: code = 'unclassified' } = row;
  if (receipt) return { type: 'uploaded', id, receipt };
  if (isNoted(row)) return { type: 'already_gone', id };
  // Nothing may come for long: a page that was loaded anew hears what the one before it has heard.
  if (row.state === 'held') return { type: 'held', id };
  if (row.state !== 'blocked') return { type: 'waiting', id };
  for (const rejected of ['receipt_missing', 'receipt_mismatch'] as const)
    if (code === rejected && isInDoubt(row)) return { type: 'unknown', id, rejection: { code: rejected } };
  return { type: 'blocked', id, code };
}
