/**
 * What a decision about an answer is made from beside the rows: requests prepared, identities derived, bodies
 * folded. A planner that lacks some of it says so with `needs`; the caller supplies it and plans again.
 */
import type { Key, Target } from '../../shared/key.ts';
import type { Receipt } from '../../shared/receipt.ts';
import type { Row } from '../../shared/row.ts';
import type { BodyWrite } from './row-store.ts';

/** Everything that has been read or prepared for one decision so far. */
export interface Material {
  readonly keys: readonly Key[];
  /** All rows of `keys`, as last seen. */
  readonly rows: readonly Row[];
  /** Rows of other keys that name this line (`findWaiting`); absent until they were asked for. */
  readonly waiting?: readonly Row[] | undefined;
  /** New identities of rows moved to another revision, by their present id; `keep` leaves the row as it is. */
  readonly rehashed?: ReadonlyMap<string, NewIdentity | 'keep'> | undefined;
  /** By the intent's id. */
  readonly prepared?: ReadonlyMap<string, Preparation> | undefined;
  /** Prepared requests with a later patch folded over them, by the intent's id. */
  readonly folds?: ReadonlyMap<string, Fold> | undefined;
}

/** A row and the receipt that proves it. */
export interface Accepted {
  readonly row: Row;
  readonly receipt: Receipt;
}

export interface NewIdentity {
  readonly id: string;
  readonly requestHash: string;
}

/** What the caller supplies before it plans again. */
export interface Needs {
  readonly type: 'needs';
  /** Rows of these keys, read and added to the material. */
  readonly keys: readonly Key[];
  /** The rows waiting for this origin. */
  readonly waitingFor?: string | undefined;
  /** The row that is being accepted, if there is one. */
  readonly accepted?: Accepted | undefined;
  /** Identities for these rows on the revision of `accepted`. */
  readonly rehash: readonly Row[];
  /** These intents, prepared. */
  readonly prepare: readonly Row[];
  /** The later patch folded over the prepared request. */
  readonly fold: readonly { readonly intent: Row; readonly later: Row }[];
}

/** The request part of a row that takes an intent's place. */
export interface PreparedRequest {
  readonly id: string;
  readonly requestHash: string;
  readonly target: Target;
  readonly expectedRevision?: number | undefined;
  readonly bodyId?: string | undefined;
  readonly bodyDigest?: string | undefined;
  readonly bodySize?: number | undefined;
  /** Absent where the intent's own body is sent as it is. */
  readonly body?: BodyWrite | undefined;
}

export type Preparation =
  | { readonly type: 'prepared'; readonly request: PreparedRequest }
  /** `prepareSuccessor` is missing, threw, took too long or answered nonsense (C22). */
  | { readonly type: 'failed' }
  /** Other rows that it waits for are still stored: these, as they were seen. */
  | { readonly type: 'waits'; readonly on?: readonly Row[] | undefined }
  /** The end of another row that it waits for is not known here: flushes ask for it (C23). */
  | { readonly type: 'unknown' };

export type Fold =
  | { readonly type: 'folded'; readonly over: string; readonly request: PreparedRequest }
  | { readonly type: 'failed'; readonly over: string };
