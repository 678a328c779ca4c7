/**
 * Servers that break the contract in one way each, as real ones do, made of the reference server and something
 * that stands before it. Each names the check that must notice.
 */
import { randomUUID } from 'node:crypto';
import type { Answer, ApiRequest, Intercept } from '../../examples/server/http/exchange.ts';
import { isJsonObject, type JsonObject } from '../../examples/server/http/json-body.ts';

export interface Defect {
  /** The check that must notice it. */
  readonly check: string;
  readonly what: string;
  /** A fresh one per server: it remembers. */
  readonly create: () => Intercept;
}

export const DEFECTS: readonly Defect[] = [
  { check: 'receipt', what: 'leaves the hash out of receipts', create: () => receiptWithout('requestHash') },
  { check: 'receipt', what: 'counts no generations', create: () => receiptWith({ generation: 0 }) },
  {
    check: 'same-key-twice',
    what: 'has no ledger',
    create: () => (request, next) => underFreshKey(request, next),
  },
  {
    check: 'same-key-twice',
    what: 'says of no repeat that it is one',
    create: () => receiptWithout('replayed'),
  },
  {
    check: 'same-key-other-content',
    what: 'does not compare hashes',
    create: () => {
      const first = new Map<string, string | undefined>();
      return (request, next) => {
        const key = keyOf(request);
        if (!first.has(key)) first.set(key, request.headers['holdfast-request-hash']);
        return next(withHeaders(request, { 'holdfast-request-hash': first.get(key) }));
      };
    },
  },
  {
    check: 'same-key-at-once',
    what: 'looks a key up, and writes it only later',
    create: () => {
      const open = new Set<string>();
      return async (request, next) => {
        const key = keyOf(request);
        if (open.has(key)) return underFreshKey(request, next);
        open.add(key);
        const answer = await slowly(next(request));
        open.delete(key);
        return answer;
      };
    },
  },
  {
    check: 'in-progress-says-when',
    what: 'answers 409 and nothing more while a key is at work',
    create: () => {
      const open = new Set<string>();
      return async (request, next) => {
        const key = keyOf(request);
        if (isCommand(request) && open.has(key)) return problemAnswer(409, 'in_progress');
        open.add(key);
        const answer = await slowly(next(request));
        open.delete(key);
        return answer;
      };
    },
  },
  {
    check: 'late-duplicate',
    what: 'deletes the ledger along with the resource',
    create: () => forgetsKeysOnDelete('/api/workouts/'),
  },
  {
    check: 'document',
    what: 'deletes the ledger along with the document',
    create: () => forgetsKeysOnDelete('/api/plans/'),
  },
  {
    check: 'refused-stays-refused',
    what: 'forgets refusals',
    create: () => {
      const refused = new Set<string>();
      return async (request, next) => {
        const key = keyOf(request);
        const answer = refused.has(key) ? await underFreshKey(request, next) : await next(request);
        if (answer.status === 412) refused.add(key);
        return answer;
      };
    },
  },
  {
    check: 'keys-per-account',
    what: 'has one ledger for all accounts',
    create: () => {
      const first = new Map<string, Answer>();
      return async (request, next) => {
        const known = isCommand(request) ? first.get(keyOf(request)) : undefined;
        if (known) return known;
        const answer = await next(request);
        if (isCommand(request) && answer.status < 300) first.set(keyOf(request), answer);
        return answer;
      };
    },
  },
  {
    check: 'revision-conflict',
    what: 'ignores If-Match',
    create: () => (request, next) => next(withHeaders(request, { 'if-match': undefined })),
  },
  {
    check: 'revision-conflict',
    what: 'does not say the actual revision',
    create: () => jsonOf(412, ({ actual_revision: _, ...rest }) => rest),
  },
  {
    check: 'one-of-many-updates',
    what: 'compares revisions before it writes',
    create: () => {
      const open = new Set<string>();
      return async (request, next) => {
        if (request.method !== 'PATCH') return next(request);
        const isSecond = open.has(request.path);
        open.add(request.path);
        const answer = await slowly(
          next(isSecond ? withHeaders(request, { 'if-match': undefined }) : request),
        );
        open.delete(request.path);
        return answer;
      };
    },
  },
  {
    check: 'etag',
    what: 'sends no ETag',
    create: () => async (request, next) => {
      const answer = await next(request);
      const headers = Object.entries(answer.headers).filter(([name]) => name !== 'etag');
      return { ...answer, headers: Object.fromEntries(headers) };
    },
  },
  {
    check: 'read',
    what: 'reads a resource without its revision',
    create: () => async (request, next) => {
      const answer = await next(request);
      if (request.method !== 'GET' || !isJsonObject(answer.json)) return answer;
      const { revision: _, ...json } = answer.json;
      return { ...answer, headers: {}, json };
    },
  },
  {
    check: 'look-up',
    what: 'tells a receipt once',
    create: () => {
      const told = new Set<string>();
      return async (request, next) => {
        if (!isLookUp(request)) return next(request);
        if (told.has(request.path)) return problemAnswer(404, 'no_such_receipt');
        told.add(request.path);
        return next(request);
      };
    },
  },
  {
    check: 'look-up-none',
    what: "answers an unknown key as a proxy's 404",
    create: () => async (request, next) => {
      const answer = await next(request);
      return isLookUp(request) && answer.status === 404
        ? { status: 404, headers: { 'content-type': 'text/html' }, text: '<h1>Not Found</h1>' }
        : answer;
    },
  },
  {
    check: 'look-up-own',
    what: "tells everybody's receipts to everybody",
    create: () => {
      let first: Pick<ApiRequest['headers'], 'authorization' | 'holdfast-owner'> | undefined;
      return (request, next) => {
        const { authorization, 'holdfast-owner': owner } = request.headers;
        if (isCommand(request)) first ??= { authorization, 'holdfast-owner': owner };
        return next(isLookUp(request) && first ? withHeaders(request, first) : request);
      };
    },
  },
  {
    check: 'look-up-source-ref',
    what: 'does not compare the sourceRef',
    create: () => (request, next) =>
      next(isLookUp(request) ? { ...request, query: new URLSearchParams() } : request),
  },
  {
    check: 'owner',
    what: 'takes everything for the account that is signed in',
    create: () => async (request, next) => {
      const answer = await next(request);
      const isOther = isJsonObject(answer.json) && answer.json['code'] === 'owner_mismatch';
      return isOther ? next(withHeaders(request, { 'holdfast-owner': 'grace' })) : answer;
    },
  },
  {
    check: 'signed-out',
    what: 'sends whoever is signed out to a page',
    create: () => async (request, next) => {
      const answer = await next(request);
      return answer.status === 401 ? { status: 302, headers: { location: '/login' } } : answer;
    },
  },
  {
    check: 'errors',
    what: 'fails at malformed input',
    create: () => async (request, next) => {
      const answer = await next(request);
      return answer.status === 400 ? problemAnswer(500, 'internal') : answer;
    },
  },
  {
    check: 'errors',
    what: 'explains errors in a page',
    create: () => async (request, next) => {
      const answer = await next(request);
      return answer.status === 400
        ? { status: 400, headers: { 'content-type': 'text/html' }, text: '<h1>Bad Request</h1>' }
        : answer;
    },
  },
  {
    check: 'gone',
    what: 'answers a deleted resource with an empty 404',
    create: () => async (request, next) => {
      const answer = await next(request);
      return answer.status === 410 ? { status: 404, headers: {} } : answer;
    },
  },
  {
    check: 'retry-after',
    what: 'is unavailable and does not say for how long',
    create: () => {
      let asked = false;
      return async (request, next) => {
        if (request.method !== 'GET' || asked) return next(request);
        asked = true;
        return problemAnswer(503, 'unavailable');
      };
    },
  },
  {
    check: 'batch',
    what: 'answers a batch in another order',
    create: () => batchOf((answers) => [...answers].reverse()),
  },
  {
    check: 'batch',
    what: 'stops a batch at the first failure',
    create: () =>
      batchOf((answers) =>
        answers.slice(0, answers.findIndex((one) => isJsonObject(one) && one['status'] === 412) + 1),
      ),
  },
];

function keyOf(request: ApiRequest): string {
  return request.headers['idempotency-key'] ?? '';
}

function isCommand(request: ApiRequest): boolean {
  return keyOf(request) !== '';
}

function isLookUp(request: ApiRequest): boolean {
  return request.path.startsWith('/api/receipts/');
}

function withHeaders(request: ApiRequest, headers: ApiRequest['headers']): ApiRequest {
  return { ...request, headers: { ...request.headers, ...headers } };
}

/** A server whose work takes a while: an embedded database in the same process would be done at once. */
async function slowly(answer: Promise<Answer>): Promise<Answer> {
  await new Promise((resolve) => setTimeout(resolve, 30));
  return answer;
}

/** As if the ledger had never seen the key. */
async function underFreshKey(
  request: ApiRequest,
  next: (request: ApiRequest) => Promise<Answer>,
): Promise<Answer> {
  if (!isCommand(request)) return next(request);
  const answer = await next(withHeaders(request, { 'idempotency-key': randomUUID() }));
  const id = keyOf(request).replace(/^"|"$/g, '');
  return mapReceipt(answer, (receipt) => ({ ...receipt, id }));
}

function forgetsKeysOnDelete(prefix: string): Intercept {
  const forgotten = new Set<string>();
  const known = new Set<string>();
  return async (request, next) => {
    const key = keyOf(request);
    const answer = forgotten.has(key) ? await underFreshKey(request, next) : await next(request);
    if (request.method === 'DELETE' && request.path.startsWith(prefix))
      for (const one of known) forgotten.add(one);
    else if (isCommand(request)) known.add(key);
    return answer;
  };
}

function receiptWith(over: JsonObject): Intercept {
  return async (request, next) => mapReceipt(await next(request), (receipt) => ({ ...receipt, ...over }));
}

function receiptWithout(field: string): Intercept {
  return async (request, next) =>
    mapReceipt(await next(request), (receipt) =>
      Object.fromEntries(Object.entries(receipt).filter(([name]) => name !== field)),
    );
}

function mapReceipt(answer: Answer, map: (receipt: JsonObject) => JsonObject): Answer {
  return isJsonObject(answer.json) && isJsonObject(answer.json['receipt'])
    ? { ...answer, json: { ...answer.json, receipt: map(answer.json['receipt']) } }
    : answer;
}

function jsonOf(status: number, map: (json: JsonObject) => JsonObject): Intercept {
  return async (request, next) => {
    const answer = await next(request);
    return answer.status === status && isJsonObject(answer.json)
      ? { ...answer, json: map(answer.json) }
      : answer;
  };
}

function batchOf(map: (answers: readonly unknown[]) => readonly unknown[]): Intercept {
  return async (request, next) => {
    const answer = await next(request);
    const answers = isJsonObject(answer.json) ? answer.json['answers'] : undefined;
    return Array.isArray(answers) ? { ...answer, json: { answers: map(answers) } } : answer;
  };
}

function problemAnswer(status: number, code: string): Answer {
  return {
    status,
    headers: { 'content-type': 'application/problem+json' },
    json: { type: `urn:holdfast:problem:${code}`, title: code, status },
  };
}
