/** Reads a response into an `Answer`: bounded, JSON only, and never longer than the attempt lasts (D4). */
import type { ReadAccepted } from './http-routes.ts';
import type { AcceptedFacts, Answer } from './sender.ts';

/** JSON up to here is read; of anything else a little, in case it is JSON without saying so. */
const MAX_JSON_BYTES = 1_048_576;
const MAX_OTHER_BYTES = 65_536;

export interface ExchangeInput {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly request: Request;
  readonly accepted?: ReadAccepted | undefined;
  /** How many commands the answer may be about. */
  readonly count?: number | undefined;
}

/** One request, one answer. Never rejects; ends when the request's signal fires, whatever `fetch` does. */
export async function exchange({ fetch, request, accepted, count = 1 }: ExchangeInput): Promise<Answer> {
  const { signal, url } = request;
  if (signal.aborted) return { ...failureOf(signal.reason, signal), neverLeft: true };
  const wantsJson = (request.headers.get('accept') ?? '').includes('json');
  let response: Response;
  try {
    response = await untilAborted(signal, fetch(request));
  } catch (error) {
    return failureOf(error, signal);
  }
  // A failing `fetch` stand-in of a Service Worker answers like this instead of rejecting.
  if (response.type === 'error') return failureOf(new TypeError('Network error'), signal);
  const { status, headers } = response;
  const redirected =
    response.redirected || response.type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);
  const contentType = headers.get('content-type') ?? undefined;
  let json: unknown;
  try {
    json = await readJson(response, limitOf(contentType) * count, signal);
  } catch (error) {
    // A refusal is one by its status, even cut short; an acceptance that is cut proves nothing.
    if (response.ok || signal.aborted) return failureOf(error, signal);
  }
  const etag = headers.get('etag') ?? undefined;
  const location = headers.get('location') ?? undefined;
  return {
    type: 'response',
    status,
    ok: response.ok,
    redirected,
    secure: url.startsWith('https:'),
    contentType,
    json,
    retryAfter: headers.get('retry-after') ?? undefined,
    etag,
    date: headers.get('date') ?? undefined,
    wantsJson,
    accepted: response.ok ? readAccepted({ status, json, etag, location }, accepted) : undefined,
  };
}

export function failureOf(error: unknown, signal: AbortSignal): Extract<Answer, { type: 'failure' }> {
  const { reason } = signal;
  const timedOut = signal.aborted && reason instanceof Error && reason.name === 'TimeoutError';
  return { type: 'failure', error, timedOut };
}

function limitOf(contentType = ''): number {
  if (/\bjson\b/i.test(contentType)) return MAX_JSON_BYTES;
  return /\bx?html\b/i.test(contentType) ? 0 : MAX_OTHER_BYTES;
}

async function readJson(response: Response, limit: number, signal: AbortSignal): Promise<unknown> {
  const { body } = response;
  if (!body) return undefined;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let bytes = 0; ; ) {
      if (bytes >= limit) return undefined;
      const { done, value } = await untilAborted(signal, reader.read());
      if (done) break;
      bytes += value.byteLength;
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    // Also the way out of a body that is too large, never ends, or is no business of ours.
    reader.cancel().catch(() => undefined);
  }
  try {
    return JSON.parse(text + decoder.decode());
  } catch {
    return undefined;
  }
}

function readAccepted(
  seen: Parameters<ReadAccepted>[0],
  accepted: ReadAccepted | undefined,
): AcceptedFacts | undefined {
  try {
    const said = accepted?.(seen);
    if (said) return said;
    const last = seen.status === 201 ? seen.location?.split(/[?#]/)[0]?.split('/').pop() : undefined;
    return last ? { target: decodeURIComponent(last) } : undefined;
  } catch {
    // The answer stands without it: the row was accepted, and what it is called stays unknown.
    return undefined;
  }
}

function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
