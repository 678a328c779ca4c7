/** What came in and what went out, for tests: bounded, in memory, without bodies and credentials. */
import type { Answer, ApiRequest, Exchange } from './exchange.ts';

export interface LoggedRequest {
  readonly n: number;
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly requestHash: string | undefined;
  readonly owner: string | undefined;
  readonly kind: string | undefined;
  readonly ifMatch: string | undefined;
  readonly inBatch: boolean;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  readonly status: number | undefined;
  readonly ending: string | undefined;
}

export interface RequestLog {
  requests(): readonly LoggedRequest[];
  /** How many older ones were let go. */
  dropped(): number;
  clear(): void;
  readonly intercept: (request: ApiRequest, next: Exchange) => Promise<Answer>;
}

const LIMIT = 20_000;

export function createRequestLog(now: () => number): RequestLog {
  let cells: { entry: LoggedRequest }[] = [];
  let last = 0;
  let dropped = 0;

  return {
    requests: () => cells.map((cell) => cell.entry),
    dropped: () => dropped,
    clear: () => {
      cells = [];
      dropped = 0;
    },
    intercept: async (request, next) => {
      if (request.path.startsWith('/api/_test/')) return next(request);
      const { headers } = request;
      last += 1;
      const entry = {
        n: last,
        method: request.method,
        path: request.path,
        key: headers['idempotency-key']?.replace(/^"|"$/g, ''),
        requestHash: headers['holdfast-request-hash'],
        owner: headers['holdfast-owner'],
        kind: headers['holdfast-kind'],
        ifMatch: headers['if-match'],
        inBatch: request.inBatch ?? false,
        startedAt: now(),
        endedAt: undefined,
        status: undefined,
        ending: undefined,
      };
      const cell: { entry: LoggedRequest } = { entry };
      cells.push(cell);
      if (cells.length > LIMIT) dropped += cells.splice(0, LIMIT / 10).length;
      const answer = await next(request);
      cell.entry = { ...entry, endedAt: now(), status: answer.status, ending: answer.ending ?? 'sent' };
      return answer;
    },
  };
}
