/**
 * Sends commands with `fetch`, by the conventions of docs/server.md: the idempotency key and what else proves a
 * request travel in headers, redirects are not followed, answers are read up to a bound.
 */
import type { Families } from '../../shared/family.ts';
import { classifyFailure } from './classify-failure.ts';
import { failureSignals, readMember } from './failure-signals.ts';
import { exchange } from './http-answer.ts';
import { batchAnswers, batchCommand, isBatchRefusal } from './http-batch.ts';
import {
  type BuildInput,
  buildRequest,
  commandHeaders,
  RequestNotBuiltError,
  routeFor,
} from './http-request.ts';
import type { ErasedRoutes, HttpRequest, HttpRoutes } from './http-routes.ts';
import { readRevision, revisionOfEtag } from './revision.ts';
import type { Answer, FindReceipt, ReceiptLookup, SenderFor, SendRequest, ServerState } from './sender.ts';
import { checkUrl, encodeText, UnsafeUrlError } from './url.ts';

export interface HttpSenderOptions {
  /** What relative URLs are relative to. Default: the worker's or page's own location. */
  readonly baseUrl?: string | undefined;
  /** Default: the realm's. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Cookies: `same-origin` (the platform's default), `include` or `omit`. */
  readonly credentials?: RequestCredentials | undefined;
  /**
   * Where receipts are looked up (V4): a path, asked as `<path>/<id>?family=…&sourceRef=…`, or the whole request.
   * Without it a row whose result is unknown can only be sent again.
   */
  readonly receipts?:
    | string
    | ((query: {
        readonly id: string;
        readonly owner: string;
        readonly family: string;
        readonly sourceRef: string | undefined;
      }) => HttpRequest)
    | undefined;
  /** A route that takes several commands at once (V7), and how many. Commands without a JSON body go alone. */
  readonly batch?: { readonly url: string; readonly limit?: number | undefined } | undefined;
}

const BATCH_LIMIT = 50;

/** @example httpSender({ plan: { put: ({ target, body }) => ({ method: 'PUT', url: url`/plans/${target}`, json: body }) } }) */
export function httpSender<const F extends Families>(
  routes: NoInfer<HttpRoutes<F>>,
  options: HttpSenderOptions = {},
): SenderFor<F> {
  const { receipts, batch } = options;
  // The one place where the definition's types end: from here on a body is what its family's validator let in.
  const families = routes as Readonly<Record<string, ErasedRoutes | undefined>>;
  const routesOf = (family: string) => (Object.hasOwn(families, family) ? families[family] : undefined);
  const fetch = options.fetch ?? ((request: Request) => globalThis.fetch(request));
  const context = {
    baseUrl: options.baseUrl ?? globalThis.location?.href,
    credentials: options.credentials,
  };
  let isBatchRefused = false;

  const ask = async (build: () => BuildInput, family?: string, count?: number): Promise<Answer> => {
    let request: Request;
    try {
      request = buildRequest(build());
    } catch (error) {
      return neverLeft(error);
    }
    const accepted = family === undefined ? undefined : routesOf(family)?.accepted;
    return exchange({ fetch, request, accepted, count });
  };

  const send = (request: SendRequest, signal: AbortSignal): Promise<Answer> => {
    const { headers: credentials, expectedRevision, family } = request;
    const build = () => {
      const http = routeFor(routesOf(family), request);
      return { http, credentials, own: commandHeaders(request), expectedRevision, signal, context };
    };
    return ask(build, family);
  };

  const sendBatch = async (requests: readonly SendRequest[], signal: AbortSignal) => {
    const answers = new Map<SendRequest, Answer>();
    const together: SendRequest[] = [];
    const commands: string[] = [];
    for (const request of requests) {
      try {
        const http = routeFor(routesOf(request.family), request);
        if (http.body !== undefined || http.headers !== undefined) continue;
        commands.push(batchCommand(request, http));
        together.push(request);
      } catch (error) {
        answers.set(request, neverLeft(error));
      }
    }
    const [first] = together;
    if (batch && first && together.length > 1 && !isBatchRefused) {
      const body = `{"commands":[${commands.join()}]}`;
      const headers = { 'content-type': 'application/json' };
      const http: HttpRequest = { method: 'POST', url: batch.url, body, headers };
      const own = { 'holdfast-owner': encodeText(first.owner) };
      const build = () => ({ http, credentials: first.headers, own, signal, context });
      const answer = await ask(build, undefined, together.length);
      isBatchRefused = isBatchRefusal(answer);
      if (!isBatchRefused)
        for (const [place, part] of batchAnswers(answer, together).entries()) {
          const request = together[place];
          if (request) answers.set(request, part);
        }
    }
    return Promise.all(requests.map((request) => answers.get(request) ?? send(request, signal)));
  };

  const findReceipt: FindReceipt = async ({ headers: credentials, ...query }, signal) => {
    const build = () => {
      const { id, owner, family, sourceRef } = query;
      const http =
        typeof receipts === 'function'
          ? receipts({ id, owner, family, sourceRef })
          : { method: 'GET', url: lookupUrl(receipts ?? '', query) };
      return { http, credentials, own: { 'holdfast-owner': encodeText(owner) }, signal, context };
    };
    return readLookup(await ask(build));
  };

  return {
    send,
    ...(batch && {
      sendBatch,
      batchLimit: () => (isBatchRefused ? 1 : (batch.limit ?? BATCH_LIMIT)),
    }),
    ...(receipts !== undefined && { findReceipt }),
    readCurrentOf(family) {
      const read = routesOf(family)?.read;
      if (!read) return undefined;
      return async ({ owner, target, headers: credentials }, signal) => {
        const build = () => {
          const http = read({ owner, target });
          checkUrl(http.url, target);
          return { http, credentials, own: { 'holdfast-owner': encodeText(owner) }, signal, context };
        };
        return readState(await ask(build));
      };
    },
  };
}

/** What makes no request is told from a lost connection by its code. */
function neverLeft(cause: unknown): Answer {
  const hasCode = cause instanceof RequestNotBuiltError || cause instanceof UnsafeUrlError;
  const error = hasCode ? cause : new RequestNotBuiltError('The request could not be built', { cause });
  return { type: 'failure', error, timedOut: false, neverLeft: true };
}

function lookupUrl(
  path: string,
  { id, family, sourceRef }: Omit<Parameters<FindReceipt>[0], 'headers'>,
): string {
  const ref = sourceRef === undefined ? '' : `&sourceRef=${encodeText(sourceRef)}`;
  return `${path}/${encodeText(id)}?family=${encodeText(family)}${ref}`;
}

/** Only the API's own 404 with its own code is a "none" (V4). */
function readLookup(answer: Answer): ReceiptLookup {
  const { isSuccess, codes, json } = failureSignals(answer);
  const receipt = isSuccess ? readMember(json, 'receipt') : undefined;
  if (receipt !== undefined) return { type: 'receipt', receipt };
  const refused = isSuccess ? readMember(json, 'refused') : undefined;
  const code = readMember(refused, 'code');
  if (typeof code === 'string') {
    const status = readMember(refused, 'status');
    return { type: 'refused', code, ...(typeof status === 'number' && { status }) };
  }
  return codes.includes('no_such_receipt') ? { type: 'none' } : { type: 'no_answer', answer };
}

function readState(answer: Answer): ServerState | undefined {
  const { isSuccess, json } = failureSignals(answer);
  if (isSuccess && answer.type === 'response') {
    const revision = revisionOfEtag(answer.etag) ?? readRevision(readMember(json, 'revision'));
    if (revision !== undefined) return { revision, body: json };
    throw new Error('The server names no revision, neither as ETag nor as a member "revision"');
  }
  const { class: found } = classifyFailure(failureSignals(answer), 'delete');
  if (found === 'already_gone') return undefined;
  throw new Error('The resource could not be read', { cause: answer });
}
