/** What the planners of claims and answers share: an attempt, and the small rewrites of a row that they agree on. */
import type { BlockedCode } from '../../shared/blocked-code.ts';
import type { Outcome, OutcomeEnd } from '../../shared/outcome.ts';
import {
  type AttemptNote,
  type Evidence,
  MAX_ATTEMPT_NOTES,
  MAX_REPLACES,
  type Row,
} from '../../shared/row.ts';
import type { OutcomeDraft, RowDraft } from './row-store.ts';
import { isInDoubt } from './standing.ts';

/** One attempt of one host: the row as its claim stored it, and as it was before. Lives in memory only. */
export interface Attempt {
  readonly before: Row;
  readonly claimed: Row;
}

/** Whether `row` is still held by this attempt (C10): a claim that was ended keeps its fence, but holds nothing. */
export function isHeldBy(row: Row, attempt: Attempt): boolean {
  const held = attempt.claimed.claim;
  return (
    held !== undefined &&
    row.state === 'sending' &&
    row.claim?.host === held.host &&
    row.claim.fence === held.fence
  );
}

/** C12-C15: the claim ends now; its fence is kept for as long as the row lives. */
export function endClaim(row: Row, now: number): Row['claim'] {
  return row.claim && { ...row.claim, expiresAt: Math.min(row.claim.expiresAt, now) };
}

/** The row as it waits for a person. Its content and its place stay (C14). */
export function blockedDraft(row: Row, code: BlockedCode, doubt: boolean, now: number): RowDraft {
  return {
    ...row,
    state: 'blocked',
    doubt,
    sentAt: undefined,
    deferredAt: doubt ? row.deferredAt : undefined,
    heldAt: undefined,
    notBefore: undefined,
    blockedAt: now,
    blockedCode: code,
    claim: endClaim(row, now),
    // D42: the person sees that it was not done, so a later success is worth telling.
    noticed: true,
    evidence: doubt ? row.evidence : { ...row.evidence, doubtSince: undefined },
  };
}

/** Adds one note for people (W19); the log is bounded. */
export function noteAttempt(evidence: Evidence, note: AttemptNote): Evidence {
  return {
    ...evidence,
    lastErrorCode: note.code ?? evidence.lastErrorCode,
    attempts: [...(evidence.attempts ?? []), note].slice(-MAX_ATTEMPT_NOTES),
  };
}

/** Evidence whose doubt is what it was before the claim (R7). */
export function restoreDoubt(
  row: Row,
  before: Row,
): { readonly doubt: boolean; readonly evidence: Evidence } {
  return {
    doubt: isInDoubt(before),
    evidence: { ...row.evidence, doubtSince: before.evidence.doubtSince },
  };
}

/** Ids that a row taking the place of `row` took over, newest last, bounded (R1). */
export function replacesOf(row: Row, ...also: readonly Row[]): readonly string[] {
  const ids = [...also, row].flatMap((taken) => [...(taken.replaces ?? []), taken.id]);
  return [...new Set(ids)].slice(-MAX_REPLACES);
}

export function outcomeOf(row: Row, end: OutcomeEnd): OutcomeDraft {
  return { outcome: tell(row, end), requestHash: row.requestHash };
}

/** An outcome with the part of the row that a page needs, never its payload. */
export function tell(row: Row, end: OutcomeEnd): Outcome {
  const { id, origin, seq, owner, family, kind, target, tags } = row;
  return { ...end, row: { id, origin, seq, owner, family, kind, target, ...(tags && { tags }) } };
}
