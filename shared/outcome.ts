/**
 * What became of a row (D40). Outcomes that end a row, change its id or need a person are journalled in the
 * commit that makes them and reach every page, also one that was closed (D41).
 */
import type { BlockedCode } from './blocked-code.ts';
import type { Target } from './key.ts';
import type { Receipt } from './receipt.ts';
import type { CommandKind, RowState } from './row.ts';

/** The part of a row that a page needs to react; never its payload. */
export interface OutcomeRow {
  readonly id: string;
  readonly origin: string;
  readonly seq: number;
  readonly owner: string;
  readonly family: string;
  readonly kind: CommandKind;
  readonly target: Target;
  readonly tags?: readonly string[] | undefined;
}

/** Plain words of a failure: never a body, never a credential (D48). */
export interface FailureNote {
  readonly class: 'transient' | 'auth' | 'conflict' | 'permanent';
  readonly code: string;
  readonly status?: number | undefined;
  readonly detail?: string | undefined;
}

export interface ReceiptRejection {
  readonly code: 'receipt_missing' | 'receipt_mismatch';
  /** The first field that is off (D21-D27). */
  readonly field?:
    | 'owner'
    | 'receipt'
    | 'kind'
    | 'id'
    | 'requestHash'
    | 'target'
    | 'revision'
    | 'generation'
    | undefined;
}

export interface ConflictSummary {
  readonly originalId: string;
  readonly expected?: number | undefined;
  readonly actual?: number | undefined;
  readonly answer: 'resend' | 'body' | 'block' | 'drop';
  readonly at: number;
}

export type OutcomeEnd =
  | {
      readonly type: 'committed';
      readonly receipt: Receipt;
      readonly resolvedConflict?: boolean | undefined;
      readonly duplicate?: boolean | undefined;
      readonly noticed?: boolean | undefined;
      readonly recovered?: boolean | undefined;
    }
  | { readonly type: 'already_gone' }
  | { readonly type: 'deferred'; readonly failure: FailureNote }
  | { readonly type: 'held'; readonly failure: FailureNote }
  | { readonly type: 'blocked'; readonly code: BlockedCode; readonly failure?: FailureNote | undefined }
  | { readonly type: 'unknown'; readonly rejection: ReceiptRejection }
  /** A conflict's resend took the place of this row (D31). */
  | { readonly type: 'superseded'; readonly by: string }
  /** A resolver, or a delete of an unsent creation, ended it without the server. */
  | { readonly type: 'dropped'; readonly reason: 'resolver' | 'table' }
  | { readonly type: 'replaced'; readonly by: string }
  | { readonly type: 'merged'; readonly by: string }
  /** An intent became a row on the server's id (C21). */
  | { readonly type: 'converted'; readonly by: string }
  | { readonly type: 'rebased'; readonly by: string }
  | { readonly type: 'cancelled' }
  | { readonly type: 'discarded' };

export type OutcomeType = OutcomeEnd['type'];

export type Outcome = OutcomeEnd & { readonly row: OutcomeRow };

export interface JournalEntry {
  /** Rises within an epoch; per owner. */
  readonly n: number;
  readonly at: number;
  readonly outcome: Outcome;
}

/** What is remembered of an id that has ended, for an hour or the last 50,000 ids (R9). */
export interface IdEntry {
  readonly id: string;
  readonly key: readonly [string, string, string, string];
  readonly requestHash: string;
  readonly origin: string;
  readonly end: OutcomeType;
  /** The id that took over, to be followed. */
  readonly by?: string | undefined;
}

/** What D42 calls "the waiting caller" hears. */
export type Settled =
  | {
      readonly type: 'uploaded';
      readonly id: string;
      readonly receipt: Receipt;
      readonly via?: readonly string[] | undefined;
    }
  | { readonly type: 'already_gone'; readonly id: string; readonly via?: readonly string[] | undefined }
  | {
      readonly type: 'unknown';
      readonly id: string;
      readonly rejection: ReceiptRejection;
      readonly via?: readonly string[] | undefined;
    }
  | {
      readonly type: 'blocked';
      readonly id: string;
      readonly code: BlockedCode;
      readonly via?: readonly string[] | undefined;
    }
  | { readonly type: 'held'; readonly id: string; readonly via?: readonly string[] | undefined }
  | { readonly type: 'deferred'; readonly id: string; readonly via?: readonly string[] | undefined }
  | {
      readonly type: 'dropped' | 'cancelled' | 'discarded';
      readonly id: string;
      readonly via?: readonly string[] | undefined;
    }
  | { readonly type: 'not_found'; readonly id: string; readonly via?: readonly string[] | undefined };

export type StateCounts = Readonly<Record<RowState, number>>;

export type StoppedBy =
  | 'network'
  | 'auth'
  | 'failures'
  | 'rest'
  | 'time'
  | 'paused'
  | 'credentials'
  | 'store'
  | 'owner';

export interface FlushResult {
  readonly owner: string;
  readonly outcomes: readonly Outcome[];
  readonly remaining: StateCounts;
  /** The rows could not be counted: `remaining` is what was last heard of them, if anything was. */
  readonly isUncounted?: true | undefined;
  readonly stoppedBy?: StoppedBy | undefined;
}
