/**
 * The database, laid out once (S1, S2). A raised version would lock out every page and worker of an older
 * release, so nothing here may ever change: later needs are met by fields inside `row`, by facts in `meta`, or
 * by a database of their own. docs/decisions/0001-schema.md says why it is laid out so.
 */
import { type KeyArray, toKeyArray } from '../../shared/key.ts';
import type { IdEntry } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import { FACTS, type Lane, type LanePlace } from '../outbox/row-store.ts';
import { laneOf } from '../outbox/standing.ts';
import type { OwnerRecord, StoredEntry } from './judge.ts';

export const DATABASE_VERSION = 1;

export const ROWS = 'rows';
export const BODIES = 'bodies';
export const JOURNAL = 'journal';
export const IDS = 'ids';
export const META = 'meta';

/** Indexes of `rows`; `NAMES` also of `journal` and `ids`. */
export const NAMES = 'names';
export const KEY = 'key';
export const LANE = 'lane';
export const WAITS = 'waits';

/**
 * A record of `rows`: what the indexes need, beside the row itself. The wrapper is made anew by every write
 * from the row alone, so it may hold nothing of its own; a row that does not read keeps its wrapper.
 */
export interface StoredRow {
  readonly owner: string;
  readonly seq: number;
  /** The row's id, and its origin where that is another. */
  readonly names: readonly string[];
  readonly key: KeyArray;
  readonly lane: LaneKey;
  /** Origins it waits for; absent where it waits for none, so that the index does not hold it. */
  readonly waits?: readonly string[];
  readonly row: Row;
}

export type LaneKey = readonly [owner: string, lane: Lane, rank: 0 | 1, seq: number];

/**
 * A record of `bodies`. The envelope leaves room for other forms: a record without `body` does not read. An encrypted
 * one has none, so that a release that knows no encryption blocks its row and never sends what it cannot read (W63).
 */
export type StoredBody = { readonly body: unknown } | { readonly sealed: unknown };

/** A record of `journal`: the outcomes of one owner in one transaction, under the number of the last. */
export interface JournalChunk {
  readonly owner: string;
  readonly n: number;
  readonly at: number;
  readonly names: readonly string[];
  readonly entries: readonly StoredEntry[];
}

/** A record of `ids`: the ids that ended in one transaction. `n` counts all ids ever written, up to its last. */
export interface IdChunk {
  readonly n: number;
  readonly at: number;
  readonly names: readonly string[];
  readonly entries: readonly IdEntry[];
}

/** The record of `meta` that the store keeps for itself, beside the facts. */
export interface StoreState {
  /** Made with the database (D41). */
  readonly epoch: string;
  /** The last number given to a row (R6). */
  readonly seq: number;
  /** How many ids have ended so far: the number of the last record of `ids`. */
  readonly ids: number;
  /** By owner; a list, since an owner may be called anything. */
  readonly owners: readonly (readonly [owner: string, record: OwnerRecord])[];
}

export const STATE_KEY: IDBValidKey = ['state'];

/** Runs inside the upgrade that creates the database. `now` in epoch ms. */
export function createSchema(database: IDBDatabase, meta: (store: IDBObjectStore) => void): void {
  const rows = database.createObjectStore(ROWS, { keyPath: ['owner', 'seq'] });
  rows.createIndex(NAMES, 'names', { multiEntry: true });
  rows.createIndex(KEY, 'key');
  rows.createIndex(LANE, 'lane');
  rows.createIndex(WAITS, 'waits', { multiEntry: true });
  database.createObjectStore(BODIES);
  database
    .createObjectStore(JOURNAL, { keyPath: ['owner', 'n'] })
    .createIndex(NAMES, 'names', { multiEntry: true });
  database.createObjectStore(IDS, { keyPath: 'n' }).createIndex(NAMES, 'names', { multiEntry: true });
  meta(database.createObjectStore(META));
}

/** The first facts: written by the upgrade itself, so that a database without them does not exist (S31). */
export function writeFirstFacts(meta: IDBObjectStore, epoch: string, now: number): void {
  const state: StoreState = { epoch, seq: now * 1000, ids: 0, owners: [] };
  meta.put(state, STATE_KEY);
  meta.put({ type: 'pending', at: now }, toDbKey(FACTS.recovery));
}

export function toStoredRow(row: Row): StoredRow {
  const waits = [
    ...new Set([...(row.successorOf === undefined ? [] : [row.successorOf]), ...(row.after ?? [])]),
  ];
  return {
    owner: row.owner,
    seq: row.seq,
    names: namesOf([row]),
    key: toKeyArray(keyOf(row)),
    lane: [row.owner, laneOf(row), rankOf(row), row.seq],
    ...(waits.length === 0 ? {} : { waits }),
    row,
  };
}

export function namesOf(
  named: readonly { readonly id: string; readonly origin: string }[],
): readonly string[] {
  return [...new Set(named.flatMap(({ id, origin }) => [id, origin]))];
}

/** Urgent rows come first. */
export function rankOf({ urgent }: { readonly urgent?: boolean | undefined }): 0 | 1 {
  return urgent ? 0 : 1;
}

/** What IndexedDB takes for a key: it wants arrays that could be written to, and never does. */
export function toDbKey(key: readonly (string | number)[]): IDBValidKey {
  return [...key];
}

/** Above every key that begins with `prefix`: arrays sort behind strings and numbers. */
export function above(prefix: readonly (string | number)[]): IDBValidKey {
  return [...prefix, []];
}

export function laneStart(owner: string, lane: Lane, after: LanePlace | undefined): IDBValidKey {
  return after === undefined ? [owner, lane] : [owner, lane, rankOf(after), after.seq];
}
