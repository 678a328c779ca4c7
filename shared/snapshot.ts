/**
 * A page's snapshot of one owner's rows, the second witness (S20, S23, S31). It lives in localStorage, which no
 * worker can reach, so the page hands it over when the outbox's database was lost.
 */

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
  /** Rows that had no room: their ids, so that they are not taken for rows that a page saw go. */
  readonly listed: readonly string[];
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
}
