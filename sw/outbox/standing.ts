/**
 * Where a row stands: in flight, in doubt, clean, and in which lane of the index. Pure; every planner and both
 * stores ask here, so that the words of docs/rows.md mean one thing.
 */
import { isInDoubt, isIntent, type Row } from '../../shared/row.ts';
import type { LeaseOf } from './lease.ts';
import type { Lane } from './row-store.ts';

export { isInDoubt };

export interface StandingContext {
  /** Epoch ms. */
  readonly now: number;
  readonly leaseMs: LeaseOf;
  /** Hosts whose lock is free: their claims may be taken over at once (C6). Only for sending, never for the replace table. */
  readonly goneHosts?: ReadonlySet<string> | undefined;
}

/** Whether someone may be sending this row right now (C3, C4, C6). */
export function isInFlight(row: Row, context: StandingContext): boolean {
  const { now } = context;
  const leaseMs = context.leaseMs(row);
  const { claim, sentAt } = row;
  const holderGone = claim !== undefined && (context.goneHosts?.has(claim.host) ?? false);
  // C4: further ahead than one lease comes from a clock that jumped; nobody may wait for it.
  if (row.writer && claim && !holderGone && claim.expiresAt > now && claim.expiresAt <= now + leaseMs)
    return true;
  if (row.state !== 'sending' || sentAt === undefined || sentAt > now || now - sentAt >= leaseMs)
    return false;
  if (row.writer === undefined || claim === undefined) return true;
  // A writer without claims may have sent it again after the claim was made (C3b): then sentAt is the younger.
  return sentAt > claim.expiresAt - leaseMs;
}

export type Standing = 'in_flight' | 'unsent' | 'refused' | 'doubtful' | 'in_doubt';

/** The words of R7, one per row: `in_doubt` is a row that waits for another attempt under its id. */
export function standingOf(row: Row, context: StandingContext): Standing {
  if (isInFlight(row, context)) return 'in_flight';
  const doubt = isInDoubt(row);
  if (row.state === 'blocked') return doubt ? 'doubtful' : 'refused';
  return doubt ? 'in_doubt' : 'unsent';
}

export function isResultUnknown(standing: Standing): boolean {
  return standing === 'in_flight' || standing === 'doubtful' || standing === 'in_doubt';
}

export function isClean(standing: Standing): boolean {
  return standing === 'unsent' || standing === 'refused';
}

/** The server's word on this row came when its sender no longer held it; it only waits for removal (C11). */
export function isNoted(row: Row): boolean {
  return row.receipt !== undefined || row.gone === true;
}

/** Blocked rows that a flush may free without a person: by the server's word, or by a clock set right (W62). */
const ASKING_CODES: ReadonlySet<string> = new Set([
  'recovery_receipt_unknown',
  'predecessor_receipt_unknown',
  'expired',
]);

/** Restored after a loss and not yet confirmed by its owner's snapshot or the server: shown, never sent (S31, C30). */
export function isUnproven(row: Row): boolean {
  return row.recovery?.proof === 'unverified';
}

/** The part of the index a row stands in; a function of the row alone, so that every release agrees (S2). */
export function laneOf(row: Row): Lane {
  if (isNoted(row) || isUnproven(row)) return 'asking';
  if (row.state === 'blocked')
    return isInDoubt(row) || ASKING_CODES.has(row.blockedCode ?? '') ? 'asking' : 'blocked';
  if (row.state === 'held') return 'held';
  if (isIntent(row)) return row.orphanedAt === undefined ? 'waiting' : 'asking';
  return 'ready';
}
