/**
 * The store port: one writing operation, `commit`, and reads whose cost does not grow with the queue (R40,
 * S2-S4). It knows rows; it knows no server, no receipt rules, no page. Implemented on IndexedDB and, for
 * tests and apps' own tests, in memory; both share `judge.ts` and pass one suite (R45).
 */

import type { JournalPage, JournalPlace } from '../../shared/answers.ts';
import type { Key } from '../../shared/key.ts';
import type { IdEntry, JournalEntry, Outcome, StateCounts } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';

export type { JournalPage };

/** Why a commit is made: names the operation for durability, mirror, fault injection and logs. */
export type CommitReason =
  | 'enqueue'
  | 'claim'
  | 'give_back'
  | 'acknowledge'
  | 'note_receipt'
  | 'convert'
  | 'resend'
  | 'release_held'
  | 'person'
  | 'recover'
  | 'settle'
  | 'discard_owner'
  | 'expire';

/**
 * A row to write. `seq` absent: the store gives the next number, inside the transaction (R6). `version` and,
 * for a stored id, unknown fields are the store's business: it raises the one and keeps the others (R2).
 */
export type RowDraft = Omit<Row, 'seq' | 'version'> & {
  readonly seq?: number | undefined;
  readonly version?: number | undefined;
};

export interface BodyWrite {
  readonly bodyId: string;
  readonly body: unknown;
}

/**
 * An id whose end is remembered although no outcome is journalled for it (R9). A cancel of an unknown id knows
 * neither key nor hash: with `end: 'cancelled'` and an empty `requestHash` it is `known` to whatever comes.
 */
export type IdNote = IdEntry;

/** An outcome as its commit carries it; `requestHash` goes to the id's entry. */
export interface OutcomeDraft {
  readonly outcome: Outcome;
  readonly requestHash: string;
  /** Who tells it: of two hosts with the same answer to a row, one is the first (C11). Kept in the store. */
  readonly host?: string | undefined;
}

/** A journalled outcome, and who told it. */
export interface ToldOutcome extends JournalEntry {
  readonly host?: string | undefined;
}

/** A small fact in `meta` that is written in the same transaction (D3, D5, D29, D33). `value: undefined` removes it. */
export interface FactWrite {
  readonly name: FactName;
  readonly value: unknown;
  /** Only if the fact still has this content; for `writeFacts` alone. */
  readonly was?: unknown;
}

/** Why a row is gone. */
export type GoneReason = 'uploaded' | 'replaced' | 'dropped' | 'deleted';

/** A row that was written or removed and that the mirror has not looked at since. */
export interface UnmirroredId {
  readonly id: string;
  /** The number of the change. */
  readonly g: number;
  /** Where the change removed the row. */
  readonly gone?: GoneReason | undefined;
}

/** Always an array, never joined (R5). The first part names the fact, the second, if any, its owner. */
export type FactName = readonly [kind: string, ...rest: string[]];

export interface Commit {
  readonly owner: string;
  readonly reason: CommitReason;
  /** Bound what is re-read, and what `write` may touch. All of one owner. */
  readonly keys: readonly Key[];
  /** The rows of `keys` as the planner saw them, in any order. Compared by whole content (R41). */
  readonly expected: readonly Row[];
  readonly write: readonly RowDraft[];
  /** Ids to remove. An id in both `write` and `remove` is written. */
  readonly remove: readonly string[];
  readonly outcomes: readonly OutcomeDraft[];
  /** Outcomes that are told to pages and not journalled (deferred, held); the store does not keep them. */
  readonly passing?: readonly Outcome[] | undefined;
  /**
   * Stored if a row of this commit points to them. A body leaves with its last row: rows that share one must be
   * rows of this commit's keys, or the store cannot know of them.
   */
  readonly bodies?: readonly BodyWrite[] | undefined;
  readonly ids?: readonly IdNote[] | undefined;
  readonly facts?: readonly FactWrite[] | undefined;
  /**
   * R9: look this id up first, under whatever key, among rows and ended ids. If it is known with the same key
   * and hash the result is `known`; with another, `identity_conflict`; in both cases nothing is written.
   */
  readonly identity?: { readonly id: string; readonly key: Key; readonly requestHash: string } | undefined;
  /** W30: stale unless this is the active owner at the time of the transaction. */
  readonly activeOwner?: string | undefined;
  /** S31: stale unless this fact has this content at the time of the transaction. */
  readonly guard?: { readonly name: FactName; readonly value: unknown } | undefined;
  /** The owner's numbers go on above this one (S20: above every one that a witness shows). */
  readonly generationAtLeast?: number | undefined;
  /** `strict` survives a power cut (S14). */
  readonly durability: 'strict' | 'relaxed';
}

export type CommitResult =
  | {
      readonly type: 'committed';
      /** The written rows as stored, in the order of `write`. */
      readonly rows: readonly Row[];
      readonly entries: readonly JournalEntry[];
      /** The number of this change for its owner (D41's stream, S20's generation). */
      readonly generation: number;
      /** The owner's counts after this commit, so that nobody reads them again (S2). */
      readonly counts: OwnerCounts;
    }
  | {
      readonly type: 'stale';
      readonly reason: 'rows' | 'active_owner' | 'guard' /** The rows of `keys` now. */;
      readonly rows: readonly Row[];
    }
  | { readonly type: 'known'; readonly row?: Row | undefined; readonly entry?: IdEntry | undefined }
  | { readonly type: 'identity_conflict'; readonly id: string }
  /**
   * Only in a call with several commits, of which others had a result: this one could not be written or its end
   * is unknown. `error` is what a call with this commit alone would have rejected with.
   */
  | { readonly type: 'failed'; readonly error: unknown };

/**
 * In which part of the index a row stands: a pure function of the row (`laneOf`). `ready` rows may be sent,
 * `waiting` intents wait for a creation or other rows, `asking` rows need the server's word first.
 */
export type Lane = 'ready' | 'held' | 'blocked' | 'waiting' | 'asking';

/** A place in a lane: urgent rows first, then by seq. */
export interface LanePlace {
  readonly urgent: boolean;
  readonly seq: number;
}

export interface OwnerCounts extends StateCounts {
  /** Payload bytes of the stored rows, as far as known. */
  readonly bodyBytes: number;
}

export interface OwnerFacts {
  readonly owner: string;
  readonly counts: OwnerCounts;
  readonly generation: number;
  /** The last journal number given. */
  readonly journalLast: number;
}

export type BodyRead =
  | { readonly type: 'body'; readonly body: unknown }
  | { readonly type: 'missing' }
  | { readonly type: 'unreadable' };

export interface UnreadableRow {
  readonly place: unknown;
  readonly value: unknown;
  readonly reason: string;
}

export interface RowStore {
  /** An id made with the database (D41); another one means that everything must be read again. */
  epoch(): Promise<string>;
  /**
   * Judges and applies the commits in order, in one transaction where possible (R40). Each has its own result;
   * a stale one writes nothing and does not disturb the others. Resolves after the transaction completed, never
   * before (R44). If the shared transaction fails, each commit is tried alone. Rejects where every one of them
   * failed, with the first error.
   * @throws QuotaError, StoreTimeoutError, CommitUnknownError, OutboxUnavailableError, IdbBlockedError
   */
  commit(commits: readonly Commit[]): Promise<readonly CommitResult[]>;
  /** The rows of each key, by seq, in the order of `keys`. */
  readKeys(keys: readonly Key[]): Promise<readonly (readonly Row[])[]>;
  /** By id; `undefined` where there is none. */
  findRows(ids: readonly string[]): Promise<readonly (Row | undefined)[]>;
  /** By the origin of their line. */
  findByOrigin(origins: readonly string[]): Promise<readonly (Row | undefined)[]>;
  /** Rows that name this origin in `successorOf` or `after`, by seq. */
  findWaiting(origin: string): Promise<readonly Row[]>;
  /** One page of a lane in the order of sending, after `after`. */
  readLane(
    owner: string,
    lane: Lane,
    page: { readonly after?: LanePlace | undefined; readonly limit: number },
  ): Promise<readonly Row[]>;
  /** One page of an owner's rows by seq, after `after` (S4). */
  index(
    owner: string,
    page: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<readonly Row[]>;
  readBodies(bodyIds: readonly string[]): Promise<readonly BodyRead[]>;
  /** Kept by the commits, never counted (S2). */
  ownerFacts(owner: string): Promise<OwnerFacts>;
  /** Owners that have rows or a journal here. */
  owners(): Promise<readonly string[]>;
  findEnds(ids: readonly string[]): Promise<readonly (IdEntry | undefined)[]>;
  /** The newest end known of a line. */
  findEndOfOrigin(origin: string): Promise<IdEntry | undefined>;
  /** The newest journalled outcome of an id, while the journal holds it. */
  findOutcome(id: string): Promise<ToldOutcome | undefined>;
  readJournal(owner: string, after: JournalPlace | undefined, limit: number): Promise<JournalPage>;
  /** Removes journal entries and remembered ids past their bounds, a slice at a time; answers whether more is left. */
  trim(owner: string, now: number): Promise<boolean>;
  readFact(name: FactName): Promise<unknown>;
  /** Facts whose name begins with `prefix`, with their names. */
  readFacts(
    prefix: FactName,
    limit: number,
  ): Promise<readonly { readonly name: FactName; readonly value: unknown }[]>;
  writeFacts(facts: readonly FactWrite[], durability: 'strict' | 'relaxed'): Promise<void>;
  /** Stored values that the codec cannot read (R3), one page, after the place of the last one seen. */
  unreadable(limit: number, after?: unknown): Promise<readonly UnreadableRow[]>;
  /** Calls back when the database was made anew, or may have been, under a store that was open: what memory knows of it is void (S31). */
  onFresh?(listener: () => void): void;
  /** Lets go of the connection, so that the browser may compact; the next call opens another (S17). */
  reconnect?(): void;
  close(): void;
}

/** Facts that several modules share. */
export const FACTS = {
  /** The signed-in owner (W30): string or absent. */
  activeOwner: ['active_owner'],
  /** `{ at }`: nobody's rows are sent before (D3, 503 with Retry-After). */
  restAll: ['rest'],
  /** `{ at }`: this owner's rows are not sent before (D3, 429). */
  restOwner: (owner: string): FactName => ['rest', owner],
  /** `{ at }`: signed out; cleared when credentials are offered (D5). */
  heldOwner: (owner: string): FactName => ['held', owner],
  paused: (owner: string): FactName => ['paused', owner],
  /** `{ at }`: signed out with the person's word that the rows may be lost (W32); stands until the next sign-in. */
  discarded: (owner: string): FactName => ['discarded', owner],
  /**
   * What one transaction touched of an owner's rows and the mirror has not seen (S22), `UnmirroredId[]`, under the
   * number of its last change; in the order of the numbers.
   */
  unmirrored: (owner: string, generation: number): FactName => [
    'unmirrored',
    owner,
    String(generation).padStart(16, '0'),
  ],
  recovery: ['recovery'],
} as const;
