/** The sender port: one attempt in, one answer out. It knows no rows beyond what a request needs. */

import type { Families } from '../../shared/family.ts';
import type { Target } from '../../shared/key.ts';
import type { CommandKind } from '../../shared/row.ts';

export interface SendRequest {
  /** The idempotency key. */
  readonly id: string;
  readonly requestHash: string;
  readonly owner: string;
  readonly family: string;
  readonly kind: CommandKind;
  /** By default `<family>.<kind>`. */
  readonly wireKind: string;
  /** Always an id, except for a create. */
  readonly target: Target;
  readonly expectedRevision?: number | undefined;
  readonly sourceRef?: string | undefined;
  readonly body: unknown;
  /** From the credentials port, for this attempt only; never stored (W31). */
  readonly headers: Readonly<Record<string, string>>;
  /** 1 for the first attempt. */
  readonly attempt: number;
}

/** What came back, as facts; `classify-failure.ts` alone decides what it means (D10). */
export type Answer =
  | {
      readonly type: 'response';
      readonly status: number;
      readonly ok: boolean;
      /** The answer was a redirect, which is not followed. */
      readonly redirected: boolean;
      readonly secure: boolean;
      readonly contentType: string | undefined;
      /** Parsed JSON, if it was JSON. */
      readonly json: unknown;
      readonly retryAfter: string | undefined;
      readonly etag: string | undefined;
      readonly date: string | undefined;
      /** `false` where the request asked for something other than JSON, so that an HTML answer is no surprise. */
      readonly wantsJson?: boolean | undefined;
      /** What the app's own mapping read from an answer without a receipt (`receipts: 'none'`, A15). */
      readonly accepted?: AcceptedFacts | undefined;
      /** Of a batch that says nothing about this command: no acceptance, not even where `receipts` are `'none'`. */
      readonly isUnsaid?: true | undefined;
    }
  /** The request failed without an answer, or was aborted by its time limit. `error` keeps its cause chain. */
  | {
      readonly type: 'failure';
      readonly error: unknown;
      readonly timedOut: boolean;
      /** Nothing was handed to the network: the server cannot have applied it (R7). */
      readonly neverLeft?: boolean | undefined;
    };

/** What a server without receipts says about what it accepted. */
export interface AcceptedFacts {
  /** The server's id of what was created. */
  readonly target?: string | undefined;
  readonly revision?: number | undefined;
}

export interface Sender {
  /** One attempt; never throws. Ends when `signal` aborts, answer body included. */
  send(request: SendRequest, signal: AbortSignal): Promise<Answer>;
  /** Several commands in one request, an answer each, in order (V7). */
  readonly sendBatch?:
    | ((requests: readonly SendRequest[], signal: AbortSignal) => Promise<readonly Answer[]>)
    | undefined;
  /** Most commands per batch; 1 where there is no batch route. */
  batchLimit?(family: string): number;
  /** Looks receipts up, where the server can (V4); a family's own port comes before it. */
  readonly findReceipt?: FindReceipt | undefined;
  /** Reads a family's resources, where it has a route for that (D30); a family's own port comes before it. */
  readCurrentOf?(family: string): ReadCurrent | undefined;
}

/** A sender made for one definition: `startOutbox` infers the routes' bodies from it. */
export interface SenderFor<F extends Families> extends Sender {
  /** Only a type; no value is ever there. */
  readonly definition?: F | undefined;
}

export type ReceiptLookup =
  | { readonly type: 'receipt'; readonly receipt: unknown }
  /** The server proves that it refused this key for good (D45). */
  | { readonly type: 'refused'; readonly code: string; readonly status?: number | undefined }
  /** The server's own word that it has no receipt for this key. */
  | { readonly type: 'none' }
  /** No answer, or one that proves nothing: never taken for "none" (C23). */
  | { readonly type: 'no_answer'; readonly answer: Answer };

/** Asks the server whether it applied an id (C23, S37, R34). */
export type FindReceipt = (
  request: {
    readonly owner: string;
    readonly id: string;
    readonly family: string;
    readonly sourceRef?: string | undefined;
    readonly headers: Readonly<Record<string, string>>;
  },
  signal: AbortSignal,
) => Promise<ReceiptLookup>;

export interface ServerState {
  readonly revision: number;
  readonly body: unknown;
}

/** Reads one resource as the server has it now; `undefined` where there is none. Rejects where it cannot tell. */
export type ReadCurrent = (
  request: {
    readonly owner: string;
    readonly target: string;
    readonly headers: Readonly<Record<string, string>>;
  },
  signal: AbortSignal,
) => Promise<ServerState | undefined>;
