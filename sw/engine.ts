/** What a host (a Service Worker, or a page where there is none) may ask of the engine. */
import type {
  Cancelled,
  ComparisonResult,
  DrainProgress,
  EditedCopy,
  Enqueued,
  ExplainedRow,
  ExportedOutbox,
  FlushCause,
  JournalPage,
  JournalPlace,
  SignedOut,
  SignOutPolicy,
  StorageStatus,
  Waiting,
} from '../shared/answers.ts';
import type { CommandInput } from '../shared/command.ts';
import type {
  ConflictSummary,
  FlushResult,
  JournalEntry,
  Outcome,
  Settled,
  StateCounts,
} from '../shared/outcome.ts';
import type { Row } from '../shared/row.ts';
import type { SnapshotOffer, SnapshotPage } from '../shared/snapshot.ts';
import type { CommitReason } from './outbox/row-store.ts';

export type { DrainProgress, Enqueued, ExplainedRow, ExportedOutbox, FlushCause, SignOutPolicy };

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

export interface Engine {
  /** This host's id, new for every start (C1). It is final once `locked` has resolved. */
  readonly host: string;
  /** Whether this host holds the lock of its id (C6); until that is known it claims nothing. */
  readonly locked: Promise<boolean>;
  enqueue(
    command: CommandInput,
    /** `isOwn`: nobody else holds the body, so that it need not be copied. */
    options?: { readonly deadlineAt?: number; readonly isOwn?: boolean },
  ): Promise<Enqueued>;
  /** Withdraws a clean row by id; one whose result is unknown refuses (R35). An unknown id is remembered. */
  cancel(owner: string, id: string): Promise<Cancelled>;
  /** Gives up a blocked row and says what went with it. */
  discard(owner: string, id: string): Promise<{ readonly removed: readonly string[] }>;
  /** Sends a blocked row again (R34). `overwrite`: the person's word for an overtaken document (C33). */
  retry(owner: string, id: string, options?: { readonly overwrite?: boolean }): Promise<Enqueued>;
  /** Sends an edited copy of a refused row under a new id, in its place (R34). */
  recover(owner: string, id: string, edited?: EditedCopy): Promise<Enqueued>;
  /** One flush per owner; a trigger during a flush causes exactly one more (D2). */
  flush(owner: string, cause: FlushCause, options?: { readonly until?: number }): Promise<FlushResult>;
  /** Drains the active owner, if there is one. */
  flushActive(cause: FlushCause, options?: { readonly until?: number }): Promise<FlushResult | undefined>;
  signIn(owner: string): Promise<void>;
  signOut(owner: string, policy: SignOutPolicy): Promise<SignedOut>;
  activeOwner(): Promise<string | undefined>;
  /** Owners whose rows were discarded and who have not signed in since: nothing of theirs is to be kept (W32). */
  discarded(): Promise<readonly string[]>;
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
  /** The same from the ledger, while the outbox cannot be read (S15); `undefined` where the ledger cannot be read either. */
  witnessRows(
    owner: string,
    page: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<{ readonly rows: readonly Row[]; readonly counts: StateCounts } | undefined>;
  /** Made with the database; another one means that it was lost in between (D41). */
  epoch(): Promise<string>;
  bodies(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly { readonly id: string; readonly body: unknown }[]>;
  journal(owner: string, after: JournalPlace | undefined, limit: number): Promise<JournalPage>;
  /**
   * What became of an id, following to the row that took over. A row that only waits (queued, held or deferred)
   * is `waiting` and says which id to listen for; a blocked one has settled.
   */
  settled(owner: string, id: string): Promise<Settled | Waiting>;
  explain(owner: string, id: string): Promise<ExplainedRow | undefined>;
  /** Rows an automatic trigger could still send: what a sync event's promise rejects for (W21). */
  waiting(owner: string): Promise<StateCounts>;
  /** Whether this owner's page should hand over its snapshot before its first command (S31). */
  awaitsSnapshot(owner: string): Promise<boolean>;
  offerSnapshot(owner: string, offer: SnapshotOffer): Promise<{ readonly restored: number }>;
  /** What a page writes into its snapshot: rows of `ids` that still stand, or all of the owner's (S20). */
  readSnapshot(owner: string, ids: readonly string[] | undefined): Promise<SnapshotPage>;
  /** Brings the ledger in line with the rows by reading both through (S30). Costs what the queue is long. */
  compareWitness(): Promise<ComparisonResult>;
  storage(): StorageStatus;
  /** Rows with their bodies, for a person who wants a copy. Read page by page; large queues take time. */
  exportOwner(owner: string): Promise<ExportedOutbox>;
  /** The last conflicts that were resolved, oldest first (D33). */
  conflicts(owner: string): Promise<readonly ConflictSummary[]>;
  progress(owner: string): DrainProgress;
  onChange(listener: (change: OwnerChange) => void): () => void;
  /** What `storage` answers has changed otherwise than in the middle of a drain. */
  onStorage(listener: () => void): () => void;
  onProgress(listener: (progress: DrainProgress) => void): () => void;
  /** Stops starting new sends, gives back what was claimed ahead, and resolves when nothing is in flight. */
  stop(): Promise<void>;
}
