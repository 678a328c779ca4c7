/**
 * A row: a stored command (R1). Identity and request never change once written; attempt data is what hosts
 * learn while they try to send it. Fields may be added, never renamed or retyped (R2): a release that is
 * rolled back must read, send and remove rows that a newer one wrote.
 */
import type { BlockedCode } from './blocked-code.ts';
import type { Key, Target } from './key.ts';
import type { Receipt } from './receipt.ts';

export const ROW_FORMAT = 1;

export type RecordKind = 'create' | 'update' | 'delete';
export type DocumentKind = 'put' | 'remove';
export type CommandKind = RecordKind | DocumentKind;

export type RowState = 'queued' | 'sending' | 'held' | 'blocked';

/** Who is sending a row, until when, and the how-manieth handover this is (C1). */
export interface Claim {
  readonly host: string;
  /** Epoch ms. */
  readonly expiresAt: number;
  /** Rises with every claim and is kept while the row lives (C15). */
  readonly fence: number;
}

/** One past attempt, for people (W19). */
export interface AttemptNote {
  readonly at: number;
  readonly host: string;
  readonly fence: number;
  /** `deferred`, `held`, `blocked`, … */
  readonly end: string;
  readonly code?: string | undefined;
}

export interface Evidence {
  readonly attemptCount: number;
  readonly lastAttemptAt?: number | undefined;
  readonly lastErrorCode?: string | undefined;
  /** When the attempt began that first put the row in doubt; gone with the doubt (V1 counts from here). */
  readonly doubtSince?: number | undefined;
  /** The last few attempts, oldest first; bounded by MAX_ATTEMPT_NOTES. */
  readonly attempts?: readonly AttemptNote[] | undefined;
}

export const MAX_ATTEMPT_NOTES = 8;

export interface Writer {
  readonly release: string;
  readonly at: number;
}

export interface Wait {
  readonly at: number;
  /** The server's own wait is never overridden; the engine's is by reconnecting, `flush()` or a sync event (D3). */
  readonly by: 'server' | 'engine';
}

export interface ConflictNote {
  readonly originalId: string;
  readonly expected?: number | undefined;
  readonly actual?: number | undefined;
  readonly at: number;
  /** How often this line has conflicted in a row; bounded per flush (D32). */
  readonly rounds?: number | undefined;
}

export interface Recovery {
  readonly source: 'ledger' | 'snapshot';
  readonly at: number;
  readonly generation: number;
  /** `asked`: it was unverified, and the server has since said that it does not have it (S37). */
  readonly proof: 'agreed' | 'mirrored' | 'unverified' | 'asked';
}

export interface RowIdentity {
  readonly format: typeof ROW_FORMAT;
  /** The idempotency key: a UUID. */
  readonly id: string;
  /** The id of the first row of this line (R6). Pending targets, `successorOf` and `after` name origins. */
  readonly origin: string;
  /** Place in the order, given by the writing transaction (R6). */
  readonly seq: number;
  readonly owner: string;
  readonly family: string;
  readonly kind: CommandKind;
  readonly target: Target;
  /** Epoch ms, for people only: clocks jump. */
  readonly savedAt: number;
  readonly requestHash: string;
  /** Where the payload is stored; absent for a command without one. */
  readonly bodyId?: string | undefined;
  /** SHA-256 of the payload's canonical encoding, so that a new hash needs no reading of the body (R4). */
  readonly bodyDigest?: string | undefined;
  /** Approximate size of the payload in bytes. */
  readonly bodySize?: number | undefined;
  /** What the server is told about where a creation came from. */
  readonly sourceRef?: string | undefined;
  readonly expectedRevision?: number | undefined;
  /** The page's own words (dates, lists) for invalidation. */
  readonly tags?: readonly string[] | undefined;
  /** Ids this row took over, theirs included, newest last; bounded by MAX_REPLACES. */
  readonly replaces?: readonly string[] | undefined;
  /** Origins of rows whose receipts this one needs (W60). */
  readonly after?: readonly string[] | undefined;
  readonly urgent?: boolean | undefined;
  readonly expiresAt?: number | undefined;
}

export const MAX_REPLACES = 64;

export interface AttemptData {
  readonly state: RowState;
  /** The server may have applied this id (R7). Absent on rows of older writers; see `isInDoubt`. */
  readonly doubt?: boolean | undefined;
  readonly sentAt?: number | undefined;
  readonly deferredAt?: number | undefined;
  readonly heldAt?: number | undefined;
  readonly blockedAt?: number | undefined;
  readonly blockedCode?: BlockedCode | undefined;
  readonly claim?: Claim | undefined;
  /** The origin of the row this one waits for. */
  readonly successorOf?: string | undefined;
  readonly evidence: Evidence;
  readonly notBefore?: Wait | undefined;
  /** A receipt that came when the claim was no longer the sender's (C11). */
  readonly receipt?: Receipt | undefined;
  /** An `already_gone` that came when the claim was no longer the sender's: as a noted receipt (C11). */
  readonly gone?: boolean | undefined;
  /** Refused by a definite "none" alone: a retry keeps its id, since the first request may still arrive (R34). */
  readonly lookupNone?: boolean | undefined;
  /** A row of another key names this line in `after`, so that its acceptance looks for them (W60). */
  readonly awaited?: boolean | undefined;
  /** The origin of a row of this key that left while this one was blocked (C33). */
  readonly overtakenBy?: string | undefined;
  readonly conflict?: ConflictNote | undefined;
  readonly recovery?: Recovery | undefined;
  /** The person has seen that this was not done: its end is worth an announcement (D42). */
  readonly noticed?: boolean | undefined;
  /** This intent's creation is not stored here, so flushes ask the journal and the server for it (C23). */
  readonly orphanedAt?: number | undefined;
  readonly writer?: Writer | undefined;
  /** Raised by every write. */
  readonly version: number;
}

export interface Row extends RowIdentity, AttemptData {}

/** The server may have applied this id (R7). */
export function isInDoubt(row: Row): boolean {
  // A writer that does not know the field leaves it as it was (R2), so what is being sent is in doubt all the same.
  if (row.doubt || row.state === 'sending') return true;
  if (row.doubt === undefined) return row.sentAt !== undefined || row.deferredAt !== undefined;
  return wasDeferredByOlder(row);
}

/** Whoever knows of doubt notes each attempt that was put off (W19): one without a note was an older writer's. */
function wasDeferredByOlder({ deferredAt, evidence }: Row): boolean {
  return deferredAt !== undefined && !evidence.attempts?.some(({ at }) => at === deferredAt);
}

export function keyOf(row: Row): Key {
  return { owner: row.owner, family: row.family, target: row.target };
}

/**
 * An intent aims at a creation without a server id, or waits for other rows' receipts, and is never sent as
 * it is (C20, W60).
 */
export function isIntent(row: Pick<Row, 'kind' | 'target' | 'after'>): boolean {
  return (
    (row.kind !== 'create' && row.target.type === 'pending') ||
    (row.after !== undefined && row.after.length > 0)
  );
}
