/** Why a row has not been sent, and what will wake it (W19). Pure. */
import type { ExplainedRow } from '../../shared/answers.ts';
import { isIntent, type Row } from '../../shared/row.ts';
import { type ClaimContext, isAhead, planClaim } from './plan-claim.ts';
import { neededOrigins } from './plan-intent.ts';
import { isInFlight, isNoted, isUnproven } from './standing.ts';

export interface ExplainContext extends ClaimContext {
  readonly isActive: boolean;
  readonly isPaused: boolean;
  readonly isSignedOut: boolean;
  /** Rows of other keys that it names in `after`, as far as they are stored. */
  readonly named: readonly Row[];
}

type Reason = ExplainedRow['reason'];

/** Triggers that start a flush and override nothing (W20). */
const ANY = ['enqueue', 'connect', 'visible', 'online', 'sync', 'flush'];

const WAKES: Readonly<Record<Reason['type'], readonly string[]>> = {
  ready: ANY,
  sending: ['answer', 'timer'],
  waits_for: ['predecessor'],
  waits_until: ['timer'],
  signed_out: ['sign_in'],
  paused: ['resume'],
  blocked: ['person'],
  needs_receipt: ANY,
  other_owner: ['sign_in'],
};

/** `rows`: all rows of the row's key. */
export function explainRow(row: Row, rows: readonly Row[], context: ExplainContext): ExplainedRow {
  const reason = reasonOf(row, rows, context);
  const isEngineWait = reason.type === 'waits_until' && reason.by === 'engine';
  const wakes = isEngineWait ? ['timer', 'online', 'sync', 'flush'] : WAKES[reason.type];
  return { row, reason, wakes };
}

function reasonOf(row: Row, rows: readonly Row[], context: ExplainContext): Reason {
  if (!context.isActive) return { type: 'other_owner' };
  if (isInFlight(row, context))
    return {
      type: 'sending',
      host: row.claim?.host ?? '',
      leaseEndsAt: row.claim?.expiresAt ?? (row.sentAt ?? 0) + context.leaseMs(row),
    };
  if (isNoted(row) || isUnproven(row)) return { type: 'needs_receipt' };
  if (row.state === 'blocked') return { type: 'blocked', code: row.blockedCode ?? 'unclassified' };
  if (context.isPaused) return { type: 'paused' };
  if (row.state === 'held' || context.isSignedOut) return { type: 'signed_out' };
  if (isIntent(row)) {
    // The first that is still here: of several parents some may have been accepted already.
    const needed = neededOrigins(row);
    const found = [...rows, ...context.named].find((other) => needed.includes(other.origin));
    return { type: 'waits_for', origin: found?.origin ?? needed[0] ?? row.origin, id: found?.id };
  }
  const earlier = rows.filter((other) => other.seq < row.seq && other.state !== 'blocked');
  const before = rows.find((other) => other.origin === row.successorOf && other.state !== 'blocked');
  const predecessor = before ?? earlier.at(-1);
  if (predecessor) return { type: 'waits_for', origin: predecessor.origin, id: predecessor.id };
  if (context.restUntil !== undefined && isAhead(context.restUntil, context))
    return { type: 'waits_until', at: context.restUntil, by: 'server' };
  const plan = planClaim(rows, context);
  if (plan.type === 'ask') return { type: 'needs_receipt' };
  if (plan.type === 'skip' && plan.reason === 'not_before')
    return { type: 'waits_until', at: plan.at, by: plan.by };
  return { type: 'ready' };
}
