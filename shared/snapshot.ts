/**
 * A page's snapshot of one owner's rows, the second witness (S20, S23, S31). It lives in localStorage, which no
 * worker can reach, so the page hands it over when the outbox's database was lost.
 */

/**
 * Room for one owner's rows. localStorage gives a whole origin some five million characters and writes them while
 * the page waits, so a snapshot takes a fifth of that: the oldest rows. The ledger has all of them.
 */
export const SNAPSHOT_CHARACTERS = 1_000_000;
/** A larger body is left out (S23), in bytes. */
export const SNAPSHOT_BODY_BYTES = 100_000;

/** A row as a snapshot holds it. `body` is absent where it could not be expressed as JSON or had no room (S23). */
export interface SnapshotRow {
  readonly row: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export interface Snapshot {
  /** Of the database it reflects. */
  readonly epoch: string;
  /** The number of the last change it reflects. */
  readonly generation: number;
  readonly at: number;
  readonly rows: readonly SnapshotRow[];
  /** Rows with a higher seq had no room: it says nothing about them. */
  readonly until?: number | undefined;
}

/** What a page says of its snapshot of one owner. Unreachable is never absent (S31). */
export type SnapshotOffer =
  | ({ readonly type: 'snapshot' } & Snapshot)
  | { readonly type: 'none' }
  | { readonly type: 'unreadable' };

/** What the host gives a page to put into its snapshot: rows as stored, with their bodies. */
export interface SnapshotPage {
  readonly epoch: string;
  readonly generation: number;
  readonly rows: readonly SnapshotRow[];
  /** There are rows with a higher seq, for which a snapshot has no room. */
  readonly until?: number | undefined;
  /** The database was lost, and what the page still has of before comes first (S31). */
  readonly isAwaited?: true | undefined;
}
