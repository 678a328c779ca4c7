/**
 * What crosses the line between a page and a host (W10, W14): the calls a host answers, the envelope they travel
 * in, and what a host broadcasts. Values are structured clones; nothing here is stored.
 *
 * For good, whatever the protocol's number: `holdfast`, `protocol` and `message` of an envelope, the shape of an
 * acknowledgement, and that a refusal is an error as in error-transfer.ts. A release may add calls, optional
 * arguments and fields; anything else raises the number, and the host then answers one number back as before.
 */
import type {
  Cancelled,
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
} from './answers.ts';
import type { CommandInput } from './command.ts';
import type {
  ConflictSummary,
  FlushResult,
  OutcomeEnd,
  OutcomeRow,
  Settled,
  StateCounts,
} from './outcome.ts';
import type { Receipt } from './receipt.ts';
import type { AttemptData, RowIdentity } from './row.ts';
import type { SnapshotOffer, SnapshotPage } from './snapshot.ts';

export const PROTOCOL = 1;
export const RELEASE = '0.1.0';

/** The number both ends speak, or `undefined` where they are more than one release of it apart. */
export function agreeProtocol(theirs: unknown, mine: number = PROTOCOL): number | undefined {
  if (typeof theirs !== 'number' || !Number.isInteger(theirs) || Math.abs(theirs - mine) > 1)
    return undefined;
  return Math.min(theirs, mine);
}

/** What a page posts to a worker. One port travels along and brings the acknowledgement and the answer back. */
export interface CallEnvelope {
  readonly holdfast: 'call';
  readonly protocol: number;
  /** Comlink's own. */
  readonly message: unknown;
}

/** The first thing on the port: who has the call, so that the page can watch that host's lock (W10). */
export interface Acknowledgement {
  readonly holdfast: 'has';
  readonly protocol: number;
  readonly release: string;
  readonly host: string;
  /** False where locks are missing: then nothing can be learnt from the lock being free. */
  readonly locked: boolean;
}

/** The Web Lock that a host holds for as long as it runs (C6). */
export const hostLockName = (host: string): string => `holdfast-host:${host}`;

/** One channel per outbox; hosts write, pages read. */
export const channelName = (outbox: string): string => `holdfast:${outbox}`;

/** Which triggers may wake the queue, besides a page that is open (W20, W21). */
export interface Triggers {
  /** `armed` has never fired here yet; a browser that never fires it looks like that for ever. */
  readonly sync: 'missing' | 'refused' | 'idle' | 'armed' | 'proven';
  readonly periodicSync: boolean;
}

export interface HostFacts {
  readonly protocol: number;
  readonly release: string;
  readonly host: string;
  readonly kind: 'worker' | 'page';
  readonly activeOwner: string | undefined;
  /** The database was lost: the page hands over its snapshot of the active owner before its first command (S31). */
  readonly awaitsSnapshot: boolean;
  /** Made with the database; absent where it cannot be read (S15). */
  readonly epoch?: string | undefined;
  /** Of the active owner, as it is when the page connects. */
  readonly progress?: DrainProgress | undefined;
  /** Owners whose rows were discarded: a page that was not there to hear it drops their snapshots now (W32). */
  readonly discarded?: readonly string[] | undefined;
  readonly triggers: Triggers;
}

/** What a page shows of a row. The rest is in `explain`, the payload in `bodies`. */
export type ViewRow = Pick<
  RowIdentity,
  | 'id'
  | 'origin'
  | 'seq'
  | 'family'
  | 'kind'
  | 'target'
  | 'savedAt'
  | 'bodyId'
  | 'expectedRevision'
  | 'sourceRef'
  | 'tags'
  | 'replaces'
  | 'after'
  | 'urgent'
  | 'expiresAt'
> &
  ViewState;

/** The part of it that changes while the row lives. */
export type ViewState = Pick<
  AttemptData,
  | 'state'
  | 'version'
  | 'doubt'
  | 'blockedCode'
  | 'successorOf'
  | 'notBefore'
  | 'overtakenBy'
  | 'conflict'
  | 'recovery'
  | 'noticed'
> & {
  readonly attemptCount: number;
  readonly lastErrorCode?: string | undefined;
};

/**
 * A row a page has seen before: what may have changed, all of it. What a claim sets is left out, so `state` is
 * `sending` and `doubt` is true where they are missing.
 */
export type ViewPatch = Omit<ViewState, 'state' | 'doubt'> &
  Partial<Pick<ViewState, 'state' | 'doubt'>> & { readonly id: string };

export interface ViewPage {
  readonly rows: readonly ViewRow[];
  readonly generation: number;
  readonly epoch: string;
  readonly counts: StateCounts;
  /** The outbox cannot be read: these come from a witness, and nothing is accepted (S15). */
  readonly isReadOnly?: true | undefined;
}

/** A receipt without what it repeats of its row; what differs from that is named. */
export type WireReceipt = Omit<Receipt, 'id' | 'kind' | 'target'> &
  Partial<Pick<Receipt, 'id' | 'kind' | 'target'>>;

/** An outcome without what the page can say itself: the owner, and an origin that is the id. */
export type WireOutcome = {
  readonly row: Omit<OutcomeRow, 'owner' | 'origin'> & { readonly origin?: string };
} & (
  | Exclude<OutcomeEnd, { readonly type: 'committed' }>
  | (Omit<Extract<OutcomeEnd, { readonly type: 'committed' }>, 'receipt'> & { readonly receipt: WireReceipt })
);

export type WireEntry = WireOutcome & {
  readonly n: number;
  readonly at: number;
  /** The row is not gone with it, as it is with most. */
  readonly stays?: true | undefined;
};

export type Broadcast =
  | {
      readonly type: 'change';
      readonly owner: string;
      readonly epoch: string;
      /** This stands for the changes after `after`, up to and with `generation`. */
      readonly after: number;
      readonly generation: number;
      /** queued, sending, held, blocked */
      readonly counts: readonly [number, number, number, number];
      readonly rows: readonly (ViewRow | ViewPatch)[];
      readonly removed: readonly string[];
      readonly entries: readonly WireEntry[];
      /** Outcomes that are not journalled. */
      readonly passing: readonly WireOutcome[];
    }
  | (DrainProgress & {
      readonly type: 'progress';
      /** The device is full: the room kept to drain with was given up (S17). */
      readonly isFull?: boolean | undefined;
    })
  /** A host has started: whatever another one had not told any more must be read. */
  | { readonly type: 'host'; readonly host: string }
  | { readonly type: 'triggers'; readonly triggers: Triggers }
  /** What `storage` answers has changed. */
  | { readonly type: 'storage' }
  /** Who is signed in now; rows of the owner in `discarded` must not be shown or mirrored again. */
  | { readonly type: 'active'; readonly active: string | undefined; readonly discarded?: string | undefined }
  /** The host needs headers for an owner and has none, or what it had was refused (W31). */
  | { readonly type: 'credentials'; readonly owner: string; readonly refused: boolean };

export type FlushAnswer =
  | { readonly type: 'ended'; readonly result: FlushResult }
  /** Ask again, so that the host lives on (W4). */
  | { readonly type: 'running' };

/** Headers a page hands over for its owner; they live in the host's memory only. */
export interface HandedCredentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly account?: string | undefined;
}

/** A page's own: asked for headers, `refused` after the last ones were answered with 401. `undefined`: signed out. */
export type HandCredentials = (owner: string, refused: boolean) => Promise<HandedCredentials | undefined>;

/** What a host answers. Every call is safe to repeat (W11), and none takes longer than half a minute. */
export interface WorkerApi {
  hello(page: { readonly protocol: number; readonly release: string }): Promise<HostFacts>;
  signIn(owner: string): Promise<{ readonly awaitsSnapshot: boolean; readonly epoch?: string | undefined }>;
  signOut(owner: string, policy: SignOutPolicy): Promise<SignedOut>;
  enqueue(command: CommandInput, deadlineMs: number): Promise<Enqueued>;
  cancel(owner: string, id: string): Promise<Cancelled>;
  discard(owner: string, id: string): Promise<{ readonly removed: readonly string[] }>;
  retry(owner: string, id: string, options: { readonly overwrite?: boolean }): Promise<Enqueued>;
  recover(owner: string, id: string, edited: EditedCopy | undefined): Promise<Enqueued>;
  /**
   * Starts a flush, or has the one that runs followed by another, and waits for its end a while. A repeat has the same
   * `ticket` and the same answer. Without one, as older pages call, it joins whatever was asked for last so.
   */
  flush(owner: string, ticket?: string): Promise<FlushAnswer>;
  /** A trigger that a page saw. Answers at once; the host stays alive for the flush. */
  trigger(cause: FlushCause): Promise<void>;
  pause(owner: string): Promise<void>;
  resume(owner: string): Promise<void>;
  rows(
    owner: string,
    page: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<ViewPage>;
  bodies(
    owner: string,
    ids: readonly string[],
  ): Promise<readonly { readonly id: string; readonly body: unknown }[]>;
  journal(owner: string, after: JournalPlace | undefined, limit: number): Promise<JournalPage>;
  settled(owner: string, id: string): Promise<Settled | Waiting>;
  explain(owner: string, id: string): Promise<ExplainedRow | undefined>;
  conflicts(owner: string): Promise<readonly ConflictSummary[]>;
  exportOwner(owner: string): Promise<ExportedOutbox>;
  /** How well what waits is kept. */
  storage(): Promise<StorageStatus>;
  /** What this page has of the owner's snapshot, where the host awaits it (S31). */
  offerSnapshot(owner: string, offer: SnapshotOffer): Promise<{ readonly restored: number }>;
  /** What a page writes into its snapshot: rows of `ids` that still stand, or all of the owner's (S20). */
  readSnapshot(owner: string, ids: readonly string[] | undefined): Promise<SnapshotPage>;
  /** Answers a `credentials` broadcast, or hands them over unasked. `undefined`: nobody is signed in. */
  giveCredentials(owner: string, credentials: HandedCredentials | undefined): Promise<void>;
}
