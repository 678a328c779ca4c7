/**
 * A request and its answer as plain values, so that routes, fault switches and batches need no socket. The
 * body is bytes: a route that takes files can read them as they are.
 */

export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Uint8Array;
  /** A command out of a batch (V7). */
  readonly inBatch?: boolean | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON; absent for no body. */
  readonly json?: unknown;
  /** Sent as it is, in place of JSON. */
  readonly text?: string | undefined;
  /** A file, in place of JSON. */
  readonly bytes?: Uint8Array | undefined;
  /** How the answer leaves. Anything but `sent` is a fault (V9). */
  readonly ending?: Ending | undefined;
}

/** `reset` breaks the connection, `silence` leaves it open for good, `truncate` breaks off inside the body. */
export type Ending = 'sent' | 'reset' | 'silence' | 'truncate';

export type Exchange = (request: ApiRequest) => Promise<Answer>;

/** Stands between the listener and the routes: fault switches, request logs. */
export type Intercept = (request: ApiRequest, next: Exchange) => Promise<Answer>;

export function intercepted(exchange: Exchange, intercepts: readonly Intercept[]): Exchange {
  return intercepts.reduceRight<Exchange>(
    (next, intercept) => (request) => intercept(request, next),
    exchange,
  );
}
