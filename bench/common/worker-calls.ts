/** What a page asks of the benchmark's workers, beside what an app would. One call, one port. */

/** What the worker's IndexedDB did since counting began. Of the main database unless said otherwise. */
export interface Counts {
  readonly readwrite: number;
  readonly rowsRead: number;
  readonly bodiesRead: number;
  /** Of whatever store, the ledger's too; one that was looked for and is not there counts as none. */
  readonly recordsRead: number;
  /** Reads without bounds, or that answered as many records as there were rows. */
  readonly fullReads: number;
  /** JSON characters put into the ledger's database. */
  readonly ledgerBytes: number;
  /** By database, store and operation. */
  readonly operations: Readonly<Record<string, number>>;
}

export type OutboxOp =
  /** From now on, and until the worker stops, operations are counted, which costs time. `full`: what a whole read answers. */
  | { readonly op: 'count'; readonly full: number }
  | { readonly op: 'counts' }
  /** Marks made since it was asked last; making them begins with the first time. */
  | { readonly op: 'trace' };

/** One step of a call, by the clock that pages and workers share, in ms. */
export interface Mark {
  readonly at: number;
  readonly what: string;
}

export interface PeerOp {
  readonly op: 'ping' | 'bare' | 'workbox';
  readonly count: number;
  readonly concurrency: number;
  readonly body: string;
}

export interface PeerAnswer {
  readonly ms: number;
  /** Workbox only: filling its queue. */
  readonly pushMs?: number | undefined;
}
