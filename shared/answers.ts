/** What an engine answers to a page: the words that cross the line (shared/protocol.ts) and that `Engine` speaks. */
import type { EnqueueAction } from './command.ts';
import type { FlushResult, JournalEntry, Settled, StateCounts, StoppedBy } from './outcome.ts';
import type { Row } from './row.ts';

export interface Enqueued {
  readonly action: EnqueueAction;
  /** The row that now stands for the command; absent where nothing waits (dropped, or already ended). */
  readonly row: Row | undefined;
  /** Ids that this command took over or removed. */
  readonly removed: readonly string[];
  /** What became of the id, where it had ended before (R9). */
  readonly settled?: Settled | undefined;
}

/** What `cancel` says (R35). */
export type Cancelled =
  /** `removed`: the row, and what could not be sent without it. */
  | { readonly type: 'cancelled'; readonly removed: readonly string[] }
  /** Nobody knew it; it is refused if it comes (R9). */
  | { readonly type: 'unknown_id' }
  /** It had ended already, or another row (`by`) had taken it over and waits. */
  | { readonly type: 'ended'; readonly settled?: Settled | undefined; readonly by?: string | undefined };

/** What a person makes of a refused row (R34). */
export interface EditedCopy {
  readonly body: unknown;
  /** The revision that the copy was made on, where that is another than the row's. */
  readonly expectedRevision?: number | undefined;
}

/** An id that has not ended: the row that now stands for it, and the ids it went through to get there. */
export interface Waiting {
  readonly type: 'waiting';
  readonly id: string;
  readonly via?: readonly string[] | undefined;
}

export interface SignedOut {
  /** What waited at that moment (W32). */
  readonly waiting: StateCounts;
  /** With the policy `flush`: what left and what did not. */
  readonly flushed?: FlushResult | undefined;
}

export interface DrainProgress {
  readonly owner: string;
  readonly running: boolean;
  readonly done: number;
  readonly total: number;
  readonly stoppedBy?: StoppedBy | undefined;
  /** Earliest instant at which waiting rows may leave, where known (epoch ms). */
  readonly wakeAt?: number | undefined;
  /**
   * The health verdict (W19): since this instant (epoch ms) rows were tried in several flushes and not one ended.
   * Absent while things move, or stand still for a reason of their own (offline, signed out, paused, a rest).
   */
  readonly stuckSince?: number | undefined;
  /** Ids the server has accepted while the device's store does not answer: not failed, not yet removed here (D46). */
  readonly accepted?: readonly string[] | undefined;
}

/** Everything of an owner that is worth keeping outside the device; no credentials. */
export interface ExportedOutbox {
  readonly format: 1;
  readonly owner: string;
  readonly exportedAt: number;
  readonly rows: readonly {
    readonly row: Row;
    /** Absent where the command has none or it can no longer be read. */
    readonly body?: unknown;
  }[];
  /** Stored values that this release cannot read (R3), as they are. */
  readonly unreadable: readonly unknown[];
}

export type FlushCause =
  | 'enqueue'
  | 'start'
  | 'sync'
  | 'online'
  | 'visible'
  | 'connect'
  | 'timer'
  | 'flush'
  | 'sign_in'
  | 'person'
  | 'periodic'
  | 'nudge';

/** What a host says of a row; a page adds the words a person reads (`explain` of the outbox). */
export interface ExplainedRow {
  readonly row: Row;
  /** One of a closed list of reasons, most direct first. */
  readonly reason:
    | { readonly type: 'ready' }
    | { readonly type: 'sending'; readonly host: string; readonly leaseEndsAt: number }
    | { readonly type: 'waits_for'; readonly origin: string; readonly id: string | undefined }
    | { readonly type: 'waits_until'; readonly at: number; readonly by: 'server' | 'engine' }
    | { readonly type: 'signed_out' }
    | { readonly type: 'paused' }
    | { readonly type: 'blocked'; readonly code: string }
    | { readonly type: 'needs_receipt' }
    | { readonly type: 'other_owner' };
  readonly wakes: readonly string[];
}

/** Where in the journal of an owner a page has come. */
export interface JournalPlace {
  readonly epoch: string;
  readonly n: number;
  /** When that outcome was made: after a power cut its number may stand for another one (S14). */
  readonly at?: number | undefined;
}

export interface JournalPage {
  readonly epoch: string;
  readonly entries: readonly JournalEntry[];
  /** Outcomes between the asked number and the first entry are gone, or the epoch is another: read all again (D41). */
  readonly truncated: boolean;
  readonly last: number;
  /** When the last one was made. */
  readonly lastAt?: number | undefined;
}

/** What becomes of an owner's rows when it signs out (W32). */
export type SignOutPolicy = 'keep' | 'flush' | 'discard';

/** What a full comparison of the host's witness with the rows found and mended (S30). */
export interface ComparisonResult {
  /** Rows whose content or attempt data the ledger lacked or had otherwise. */
  readonly mirrored: number;
  /** Entries without a row, which now have a `repair` tombstone. */
  readonly buried: number;
  /** Tombstones of rows that live, removed. */
  readonly unburied: number;
  readonly unreadable: number;
}

/** How well what waits is kept (S15, S17, S22). */
export interface StorageStatus {
  /** The host's witness; set aside while it fails or does not answer. */
  readonly mirror: {
    readonly setAside: boolean;
    readonly lastError?: string | undefined;
    readonly lastStepAt?: number | undefined;
  };
  /** The device is full: the room kept to drain with was given up, and new rows are refused while others wait. */
  readonly reserveGone: boolean;
}
