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
export async function exchange(input: ExchangeInput): Promise<Answer> {
  const { signal } = input.request;
  if (signal.aborted) return { ...failureOf(signal.reason, signal), neverLeft: true };
  try {
    return await readAnswer(input, await untilAborted(signal, input.fetch(input.request)));
  } catch (error) {
    return failureOf(error, signal);
  }
}

/** Rejects where the answer breaks off and with it what it was about to say. */
async function readAnswer(
  { request, accepted, count = 1 }: ExchangeInput,
  response: Response,
): Promise<Answer> {
  const { signal, url } = request;
  // A failing `fetch` stand-in of a Service Worker answers like this instead of rejecting.
  if (response.type === 'error') throw new TypeError('Network error');
  const { status, ok, headers } = response;
  const header = (name: string) => headers.get(name) ?? undefined;
  const contentType = header('content-type');
  let json: unknown;
  try {
    json = await readJson(response, limitOf(contentType) * count, signal);
  } catch (error) {
    // A refusal is one by its status, even cut short; an acceptance that is cut proves nothing.
    if (ok || signal.aborted) throw error;
  }
  const etag = header('etag');
  return {
    type: 'response',
    status,
    ok,
    redirected: response.redirected || response.type === 'opaqueredirect' || REDIRECTS.includes(status),
    secure: url.startsWith('https:'),
    contentType,
    json,
    retryAfter: header('retry-after'),
    etag,
    date: header('date'),
    wantsJson: (request.headers.get('accept') ?? '').includes('json'),
    accepted: ok ? readAccepted({ status, json, etag, location: header('location') }, accepted) : undefined,
  };
}

/** As Node shows a redirect that is not followed; a browser hides the status. */
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

function failureOf(error: unknown, signal: AbortSignal): Extract<Answer, { type: 'failure' }> {
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
