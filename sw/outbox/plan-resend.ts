/**
 * A conflict's resend (D31): a new request with a new id and hash, stored in the original's place before it is
 * sent. Pure; the resolver has answered and the new identity has been derived.
 */
import type { Outcome } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import { type Attempt, isHeldBy, noteAttempt, outcomeOf, replacesOf } from './attempt.ts';
import type { NewIdentity } from './material.ts';
import type { BodyWrite, Commit, FactWrite } from './row-store.ts';
import { isNoted } from './standing.ts';

/** A line that conflicts more often than this in one flush waits for another flush (D32). */
export const MAX_CONFLICT_ROUNDS = 3;

export interface Resend {
  readonly identity: NewIdentity;
  /** The revision the server has; the resend expects it. */
  readonly actual: number;
  /** Where the resolver answered with a new body. */
  readonly body?: (BodyWrite & { readonly bodyDigest: string; readonly bodySize: number }) | undefined;
  /** How often this line has been resent in this flush already. */
  readonly rounds: number;
  /** D33: the summary that is kept. */
  readonly facts?: readonly FactWrite[] | undefined;
}

export type ResendPlan =
  | { readonly type: 'commit'; readonly commit: Commit; readonly outcomes: readonly Outcome[] }
  | { readonly type: 'nothing'; readonly reason: 'claim_lost' | 'gone' }
  /** The row's receipt is noted: acknowledge the answer instead, which accepts it (D47). */
  | { readonly type: 'noted' }
  /** C33: a later row of the key left while this one was blocked, so it never rebases by itself. */
  | { readonly type: 'overtaken' }
  /** D32: too many rounds; the row waits. */
  | { readonly type: 'storm' };

/** `rows`: all rows of the key, or just the claimed one to begin with. */
export function planResend(attempt: Attempt, resend: Resend, rows: readonly Row[], now: number): ResendPlan {
  const row = rows.find((other) => other.id === attempt.claimed.id);
  if (!row) return { type: 'nothing', reason: 'gone' };
  if (!isHeldBy(row, attempt)) return { type: 'nothing', reason: 'claim_lost' };
  if (isNoted(row)) return { type: 'noted' };
  if (row.overtakenBy !== undefined) return { type: 'overtaken' };
  if (resend.rounds >= MAX_CONFLICT_ROUNDS) return { type: 'storm' };
  const { identity, actual, body } = resend;
  const outcome = outcomeOf(row, { type: 'superseded', by: identity.id });
  const note = { at: now, host: row.claim?.host ?? '', fence: row.claim?.fence ?? 0, end: 'superseded' };
  return {
    type: 'commit',
    commit: {
      owner: row.owner,
      reason: 'resend',
      keys: [keyOf(row)],
      expected: rows,
      write: [
        {
          ...row,
          ...identity,
          ...(body && { bodyId: body.bodyId, bodyDigest: body.bodyDigest, bodySize: body.bodySize }),
          expectedRevision: actual,
          replaces: replacesOf(row),
          // A request nobody has seen: what is known of the original's attempts says nothing about it.
          state: 'queued',
          doubt: false,
          sentAt: undefined,
          deferredAt: undefined,
          notBefore: undefined,
          claim: undefined,
          writer: undefined,
          evidence: {
            ...noteAttempt(row.evidence, { ...note, code: 'conflict' }),
            attemptCount: 0,
            lastAttemptAt: undefined,
            doubtSince: undefined,
          },
          conflict: {
            originalId: row.id,
            expected: row.expectedRevision,
            actual,
            at: now,
            rounds: (row.conflict?.rounds ?? 0) + 1,
          },
        },
      ],
      remove: [row.id],
      outcomes: [outcome],
      ...(body && { bodies: [{ bodyId: body.bodyId, body: body.body }] }),
      ...(resend.facts && { facts: resend.facts }),
      durability: 'strict',
    },
    outcomes: [outcome.outcome],
  };
}
