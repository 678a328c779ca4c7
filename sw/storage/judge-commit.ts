/** Judges a commit whose transaction ended unseen, by what stands there now (S11). Pure. */
import type { IdEntry } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { encodeRow, mergeRow } from '../../shared/row-codec.ts';
import type { Commit, RowDraft, ToldOutcome } from '../outbox/row-store.ts';
import { sameRow, sameRows } from '../outbox/same-row.ts';

export interface Aftermath {
  /** The rows of the commit's keys now. */
  readonly rows: readonly Row[];
  /** Ends known of the ids it was to write or to end, the newest of each last. */
  readonly ends: readonly IdEntry[];
  /** The newest outcome journalled of each id it was to tell of. */
  readonly told?: readonly ToldOutcome[] | undefined;
}

/** `applied`: it landed. `not_applied`: it did not, and may be tried again. `stale`: something else did. */
export type Verdict = 'applied' | 'not_applied' | 'stale';

export function judgeCommit(commit: Commit, { rows, ends, told = [] }: Aftermath): Verdict {
  const isUntouched = sameRows(rows, commit.expected);
  const doesNothing = commit.write.length === 0 && commit.remove.length === 0;
  if (doesNothing) return isUntouched ? 'not_applied' : 'stale';
  const byId = new Map(rows.map((row) => [row.id, row]));
  const before = new Map(commit.expected.map((row) => [row.id, row]));
  const written = new Set(commit.write.map(({ id }) => id));
  const ended = new Set(ends.map(({ id }) => id));
  const isWritten = (draft: RowDraft): boolean => {
    const row = byId.get(draft.id);
    return row === undefined ? ended.has(draft.id) : isAsWritten(row, draft, before.get(draft.id));
  };
  const isRemoved = (id: string): boolean => written.has(id) || !byId.has(id);
  // A row that is gone may have ended otherwise meanwhile: sent and accepted, say, and not cancelled.
  const endedOtherwise = commit.outcomes.some(({ outcome: { type, row }, host }) => {
    const last = commit.remove.includes(row.id) ? ends.findLast(({ id }) => id === row.id) : undefined;
    if (last !== undefined && last.end !== type) return true;
    // Another host has heard the same of it, and was the first to say so (C11).
    return told.some(({ outcome, host: by }) => outcome.row.id === row.id && by !== host);
  });
  if (!endedOtherwise && commit.write.every(isWritten) && commit.remove.every(isRemoved)) return 'applied';
  return isUntouched ? 'not_applied' : 'stale';
}

/** The row as this commit would have stored it; a new row's number was the store's to give. */
function isAsWritten(row: Row, draft: RowDraft, before: Row | undefined): boolean {
  const version = Math.max(before?.version ?? 0, draft.version ?? 0) + 1;
  const full: Row = { ...draft, seq: row.seq, version };
  return sameRow(row, before ? mergeRow(before, full) : encodeRow(full));
}
