/**
 * The ledger port: the host's own witness, in a database that shares nothing with the outbox (S20-S23). It is
 * written beside the work and read only to recover. It knows rows as values; it knows no server and no page.
 */
import type { GoneReason } from '../outbox/row-store.ts';

export type TombstoneReason = GoneReason | 'recovered' | 'repair';

export interface Tombstone {
  readonly owner: string;
  /** The number of the change that removed the row, or 0 while its commit has not landed. */
  readonly generation: number;
  readonly at: number;
  readonly reason: TombstoneReason;
}

export interface LedgerRef {
  readonly owner: string;
  readonly id: string;
}

/** A row's content, written once. `row` is the stored row as it was then, unknown fields included. */
export interface LedgerContent extends LedgerRef {
  readonly generation: number;
  readonly row: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /**
   * The body was too large to keep here: hash and size stand in the row (S23). Also beside an encrypted body, so that
   * a release that knows no encryption restores the row without one, and never sends what it cannot read (W63).
   */
  readonly bodyLeftOut?: boolean | undefined;
}

/** What changes while a row waits: every field that is not identity. */
export interface LedgerAttempt extends LedgerRef {
  readonly generation: number;
  readonly fingerprint: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Manifest {
  readonly owner: string;
  /** Every change up to this number stands here, but for `unmirrored`. */
  readonly generation: number;
  readonly at: number;
  readonly writer: string;
  /** Ids that were known not to be mirrored when this was written; bounded. */
  readonly unmirrored: readonly string[];
}

export interface NamedTombstone {
  readonly id: string;
  readonly tombstone: Tombstone;
}

export interface LedgerBatch {
  readonly contents?: readonly LedgerContent[];
  readonly attempts?: readonly LedgerAttempt[];
  readonly tombstones?: readonly NamedTombstone[];
  /** Whose content and attempt data go. */
  readonly forget?: readonly LedgerRef[];
  /** Final ones only: a pending one belongs to a commit that is under way. */
  readonly removeTombstones?: readonly string[];
  /** Pending ones only: the final tombstone that may stand beside it is left as it was. */
  readonly removePending?: readonly string[];
  readonly manifests?: readonly Manifest[];
}

export interface LedgerEntry {
  readonly content: LedgerContent;
  readonly attempt: LedgerAttempt | undefined;
}

export interface UnreadableOriginal {
  readonly place: string;
  readonly value: unknown;
}

/** A key for bodies, as the encryption made it (W63). Never changed, only removed. */
export interface LedgerKey extends LedgerRef {
  readonly key: unknown;
}

export interface Ledger {
  /** All of it in one transaction. */
  write(batch: LedgerBatch): Promise<void>;
  /** Tombstones whose removing commit has not been seen to land (S20). They count, until taken back. */
  markPending(marks: readonly NamedTombstone[]): Promise<void>;
  /** Final or pending. */
  findTombstones(ids: readonly string[]): Promise<readonly (Tombstone | undefined)[]>;
  pendingTombstones(limit: number): Promise<readonly NamedTombstone[]>;
  /** For rows whose content stands here: the fingerprint of their attempt data. */
  findFingerprints(rows: readonly LedgerRef[]): Promise<readonly (string | undefined)[]>;
  /** One page of entries in key order, after `after`. */
  entries(after: LedgerRef | undefined, limit: number): Promise<readonly LedgerEntry[]>;
  findManifest(owner: string): Promise<Manifest | undefined>;
  manifests(): Promise<readonly Manifest[]>;
  /** Removes tombstones older than `before`, and the oldest beyond `keep`. */
  trimTombstones(before: number, keep: number): Promise<void>;
  /** Keeps originals that this release cannot read (R3), once per place. */
  keepUnreadable(originals: readonly UnreadableOriginal[]): Promise<void>;
  unreadable(limit: number): Promise<readonly UnreadableOriginal[]>;
  /** `key: undefined` removes it. */
  keepKey(key: LedgerKey): Promise<void>;
  /** Of all owners. */
  keys(): Promise<readonly LedgerKey[]>;
  /** Clears an owner's rows, keys and manifest; tombstones stay (W32). */
  forgetOwner(owner: string): Promise<void>;
}
