/**
 * From an HTTP request to the ledger and back, the same for every resource: an application lists its
 * `CommandRoute`s and nothing else here changes. It knows headers and problems; it knows no table.
 */
import type { Sql } from '../database/database.ts';
import {
  readEncoded,
  readExpectedRevision,
  readIdempotencyKey,
  readRequestHash,
} from '../http/command-headers.ts';
import type { Answer, ApiRequest } from '../http/exchange.ts';
import { type JsonObject, readJson } from '../http/json-body.ts';
import { invalid, ProblemError, problem } from '../http/problem.ts';
import { inProgress, type Route } from '../http/router.ts';
import type { Applied, Ledger, LedgerAnswer, Refusal } from '../ledger/ledger.ts';
import type { Account, Authenticate } from './sign-in.ts';

export interface CommandInput {
  readonly owner: string;
  readonly id: string;
  readonly requestHash: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** `undefined` where the request has no body, or is a file. */
  readonly body: JsonObject | undefined;
  /** Of a route that takes files: the request's bytes as they came, and its media type without parameters. */
  readonly file?: { readonly type: string; readonly bytes: Uint8Array } | undefined;
  /** From `If-Match`; `undefined` where the sender expects none. */
  readonly expectedRevision: number | undefined;
  readonly sourceRef: string | undefined;
}

export interface CommandRoute {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly family: string;
  /** What the receipt will say that was done. */
  readonly kind: string;
  /** What a request's body is. Default `json`. */
  readonly takes?: 'json' | 'file' | undefined;
  /** Runs inside the ledger's transaction, perhaps more than once. */
  readonly apply: (sql: Sql, input: CommandInput) => Promise<Applied | Refusal>;
}

export function toRoute(route: CommandRoute, ledger: Ledger, authenticate: Authenticate): Route {
  const { method, path, family, kind, takes = 'json' } = route;
  return {
    method,
    path,
    handle: async (request, parameters) => {
      const account = await authenticate(request);
      checkOwner(request, account);
      const named = request.headers['holdfast-kind'];
      if (named !== undefined && named !== kind) return invalid(`This route does ${kind}, not ${named}`);
      const input: CommandInput = {
        owner: account.id,
        id: readIdempotencyKey(request),
        requestHash: readRequestHash(request),
        parameters,
        ...(takes === 'file' ? { body: undefined, file: readFile(request) } : { body: readJson(request) }),
        expectedRevision: readExpectedRevision(request),
        sourceRef: readEncoded(request, 'holdfast-source-ref'),
      };
      const { owner, id, requestHash, sourceRef } = input;
      const command = { owner, id, requestHash, family, kind, sourceRef };
      return toAnswer(await ledger.carryOut(command, (sql) => route.apply(sql, input)));
    },
  };
}

/**
 * The account that signed in must be the one the request was made for, so that a change of account between
 * saving and sending never lands in the wrong one (V5).
 * @throws ProblemError 401 `owner_mismatch`, or 400 where the request names no owner
 */
export function checkOwner(request: ApiRequest, account: Account): void {
  const owner = readEncoded(request, 'holdfast-owner');
  if (owner === undefined) invalid('Every change names its account in a Holdfast-Owner header');
  if (owner !== account.id)
    throw new ProblemError(problem(401, 'owner_mismatch', 'Nothing was changed; sign in as its owner'));
}

function readFile({ headers, bytes }: ApiRequest): CommandInput['file'] {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  return bytes.length === 0 ? undefined : { type: type.trim().toLowerCase(), bytes };
}

function toAnswer(end: LedgerAnswer): Answer {
  switch (end.type) {
    case 'receipt':
      return {
        status: end.status,
        headers: { etag: `"${end.receipt.revision}"`, 'cache-control': 'no-store' },
        json: { ...end.resource, receipt: end.receipt },
      };
    case 'refused': {
      const { status, code, detail, members } = end.refusal;
      // D45: the ledger has it, so asking again brings the same; a client need not stay in doubt of this key.
      return problem(status, code, detail, { members: { ...members, refused: { code, status } } });
    }
    case 'key_reused':
      return problem(422, 'idempotency_key_reused', 'The ledger has this key with another request hash');
    case 'in_progress':
      return inProgress();
  }
}
