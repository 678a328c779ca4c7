/** What a host (a Service Worker, or a page where there is none) may ask of the engine. */
import type { CommandInput, EnqueueAction } from '../shared/command.ts';
import type { FlushResult, JournalEntry, Outcome, Settled, StateCounts } from '../shared/outcome.ts';
import type { Row } from '../shared/row.ts';
import type { CommitReason, JournalPage } from './outbox/row-store.ts';

export interface Enqueued {
  readonly action: EnqueueAction;
  /** The row that now stands for the command; absent where nothing waits (dropped, or already ended). */
  readonly row: Row | undefined;
  /** Ids that this command took over or removed. */
  readonly removed: readonly string[];
  /** What became of the id, where it had ended before (R9). */
  readonly settled?: Settled | undefined;
}

/** One committed change of an owner, as it is broadcast to pages (W18). */
export interface OwnerChange {
  readonly owner: string;
  readonly epoch: string;
  /** Rises by one per change of this owner; a gap means that something was missed. */
  readonly generation: number;
  /** What the commit was made for. */
  readonly reason: CommitReason;
  readonly written: readonly Row[];
  readonly removed: readonly string[];
  readonly entries: readonly JournalEntry[];
  /** Outcomes that are not journalled (deferred, held). */
  readonly passing: readonly Outcome[];
  readonly counts: StateCounts;
}

export interface DrainProgress {
  readonly owner: string;
  readonly running: boolean;
  readonly done: number;
  readonly total: number;
  readonly stoppedBy?: FlushResult['stoppedBy'];
  /** Earliest instant at which waiting rows may leave, where known (epoch ms). */
  readonly wakeAt?: number | undefined;
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
    | {
        readonly type: 'blocked';
        readonly code: string;
        readonly sentence: string;
        readonly waysOut: readonly string[];
      }
    | { readonly type: 'needs_receipt' }
    | { readonly type: 'other_owner' };
  readonly wakes: readonly string[];
}

export type SignOutPolicy = 'keep' | 'flush' | 'discard';

export interface Engine {
  /** This host's id, new for every start (C1). */
  readonly host: string;
  enqueue(command: CommandInput, options?: { readonly deadlineAt?: number }): Promise<Enqueued>;
  /** Withdraws a clean row by id; one whose result is unknown refuses (R35). An unknown id is remembered. */
  cancel(owner: string, id: string): Promise<{ readonly type: 'cancelled' | 'unknown_id' }>;
  /** Gives up a blocked row and says what went with it. */
  discard(owner: string, id: string): Promise<{ readonly removed: readonly string[] }>;
  /** Sends a blocked row again (R34). `overwrite`: the person's word for an overtaken document (C33). */
  retry(owner: string, id: string, options?: { readonly overwrite?: boolean }): Promise<Enqueued>;
  /** Sends an edited copy of a refused row under a new id, in its place (R34). */
  recover(owner: string, id: string, edited?: { readonly body: unknown }): Promise<Enqueued>;
  /** One flush per owner; a trigger during a flush causes exactly one more (D2). */
  flush(owner: string, cause: FlushCause, options?: { readonly until?: number }): Promise<FlushResult>;
  /** Drains the active owner, if there is one. */
  flushActive(cause: FlushCause, options?: { readonly until?: number }): Promise<FlushResult | undefined>;
  signIn(owner: string): Promise<void>;
  signOut(
    owner: string,
    policy: SignOutPolicy,
  ): Promise<{ readonly waiting: StateCounts; readonly flushed?: FlushResult | undefined }>;
  activeOwner(): Promise<string | undefined>;
  pause(owner: string): Promise<void>;
  resume(owner: string): Promise<void>;
  /** One page of an owner's rows by seq. */
  rows(
    owner: string,
    page: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<{
    readonly rows: readonly Row[];
    readonly generation: number;
    readonly epoch: string;
    readonly counts: StateCounts;
  }>;
  bodies(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly { readonly id: string; readonly body: unknown }[]>;
  journal(
    owner: string,
    after: { readonly epoch: string; readonly n: number } | undefined,
    limit: number,
  ): Promise<JournalPage>;
  /** What became of an id so far; `undefined` while it waits. Follows to the row that took over. */
  settled(owner: string, id: string): Promise<Settled | undefined>;
  explain(owner: string, id: string): Promise<ExplainedRow | undefined>;
  /** Rows an automatic trigger could still send: what a sync event's promise rejects for (W21). */
  waiting(owner: string): Promise<StateCounts>;
  /** Rows with their bodies, for a person who wants a copy. Read page by page; large queues take time. */
  exportOwner(owner: string): Promise<ExportedOutbox>;
  progress(owner: string): DrainProgress;
  onChange(listener: (change: OwnerChange) => void): () => void;
  onProgress(listener: (progress: DrainProgress) => void): () => void;
  /** Stops starting new sends, gives back what was claimed ahead, and resolves when nothing is in flight. */
  stop(): Promise<void>;
}
