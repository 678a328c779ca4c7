/** What one commit will carry, gathered step by step, and the keys that bound it (R40). */
import { type Key, keyToken } from '../../shared/key.ts';
import type { IdEntry, OutcomeEnd } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import { outcomeOf } from './attempt.ts';
import type { CommitQueue, SettledCommit } from './commit-queue.ts';
import type { BodyWrite, Commit, OutcomeDraft, RowDraft, RowStore } from './row-store.ts';

export interface Change {
  readonly keys: Key[];
  /** All rows of `keys`, as last seen. */
  readonly expected: Row[];
  /** The row that stands for the command, if one is written, comes first. */
  readonly write: RowDraft[];
  readonly remove: string[];
  readonly outcomes: OutcomeDraft[];
  readonly bodies: BodyWrite[];
  readonly ids: IdEntry[];
}

/** @param rows all rows of `key`. */
export function createChange(key: Key, rows: readonly Row[]): Change {
  return { keys: [key], expected: [...rows], write: [], remove: [], outcomes: [], bodies: [], ids: [] };
}

/** Removes a row and tells how it ended. */
export function endRow(change: Change, row: Row, end: OutcomeEnd): void {
  change.remove.push(row.id);
  change.outcomes.push(outcomeOf(row, end));
}

/**
 * Takes in the keys of rows that were seen elsewhere, with all that is stored under them. Answers the rows as they
 * are now, or `undefined` where one has gone meanwhile.
 */
export async function takeIn(
  store: Pick<RowStore, 'readKeys'>,
  change: Change,
  seen: readonly Row[],
): Promise<readonly Row[] | undefined> {
  const had = new Set(change.keys.map(keyToken));
  const keys = [...new Map(seen.map((row) => [keyToken(keyOf(row)), keyOf(row)]))].flatMap(([token, key]) =>
    had.has(token) ? [] : key,
  );
  if (keys.length > 0) change.expected.push(...(await store.readKeys(keys)).flat());
  change.keys.push(...keys);
  const now = seen.flatMap(({ id }) => change.expected.find((row) => row.id === id) ?? []);
  return now.length === seen.length ? now : undefined;
}

/** Strict, since what a person is told must survive a power cut (S14). */
export function commitChange(
  queue: CommitQueue,
  change: Change,
  rest: Pick<Commit, 'owner' | 'reason' | 'identity' | 'activeOwner'>,
): Promise<SettledCommit> {
  return queue.commit({ ...change, ...rest, durability: 'strict' });
}
