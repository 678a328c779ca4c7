/** Several commands in one request (V7): what is sent, and an answer each. */
import { readMember } from './failure-signals.ts';
import { quoted, toJson } from './http-request.ts';
import type { HttpRequest } from './http-routes.ts';
import type { Answer, SendRequest } from './sender.ts';

type Response = Extract<Answer, { type: 'response' }>;

/** One command of a batch, as JSON; the server treats it as the request it would have been alone. @throws RequestNotBuiltError */
export function batchCommand(request: SendRequest, http: HttpRequest): string {
  const { id, requestHash, owner, family, kind, wireKind, sourceRef, expectedRevision } = request;
  const ifMatch = expectedRevision === undefined ? undefined : quoted(String(expectedRevision));
  const { method, url, json: body } = http;
  return toJson({ id, requestHash, owner, family, kind, wireKind, method, url, ifMatch, sourceRef, body });
}

/** Whether the server has no batch route, or not for us: its refusal says nothing about the single commands. */
export function isBatchRefusal(answer: Answer): boolean {
  if (answer.type !== 'response' || answer.redirected) return false;
  const { status } = answer;
  const isPassing = status === 401 || status === 408 || status === 425 || status === 429;
  return (status >= 400 && status < 500 && !isPassing) || status === 501 || status === 505;
}

/**
 * The answers by id. A refusal of the whole (401, 503, a lost connection) is everybody's; a command the batch does
 * not answer has no receipt.
 */
export function batchAnswers(answer: Answer, requests: readonly SendRequest[]): readonly Answer[] {
  if (answer.type !== 'response' || !answer.ok) return requests.map(() => answer);
  const given = readMember(answer.json, 'answers');
  const byId = new Map<unknown, unknown>();
  if (Array.isArray(given)) for (const part of given) byId.set(readMember(part, 'id'), part);
  return requests.map(({ id }) => partAnswer(byId.get(id), answer));
}

function partAnswer(part: unknown, whole: Response): Answer {
  const status = readMember(part, 'status');
  if (typeof status !== 'number') return { ...whole, json: undefined, isUnsaid: true };
  const headers = readMember(part, 'headers');
  const names = new Map(
    typeof headers === 'object' && headers !== null
      ? Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
      : [],
  );
  const header = (name: string): string | undefined => {
    const value: unknown = names.get(name);
    return typeof value === 'string' ? value : undefined;
  };
  const body = readMember(part, 'body');
  const isJson = typeof body === 'object' && body !== null;
  return {
    ...whole,
    status,
    ok: status >= 200 && status < 300,
    contentType: header('content-type') ?? (isJson ? 'application/json' : undefined),
    json: isJson ? body : undefined,
    retryAfter: header('retry-after'),
    etag: header('etag'),
    date: whole.date,
    accepted: undefined,
  };
}
