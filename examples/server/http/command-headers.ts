/** What a command says of itself in its headers (V3-V5). Pure; the table is in docs/server.md. */
import { createHash } from 'node:crypto';
import type { ApiRequest } from './exchange.ts';
import { invalid } from './problem.ts';

const MAX_KEY_LENGTH = 255;
const MAX_HASH_LENGTH = 128;

/** A structured-field string, as in the IETF draft, or the bare value. @throws ProblemError */
export function readIdempotencyKey(request: ApiRequest): string {
  const header = request.headers['idempotency-key']?.trim();
  if (!header) return invalid('Every change needs an Idempotency-Key header');
  const key = header.startsWith('"') ? unquote(header) : header;
  if (key === undefined || key === '' || key.length > MAX_KEY_LENGTH || !/^[\x20-\x7e]+$/.test(key))
    return invalid('The Idempotency-Key is not a quoted string of at most 255 printable characters');
  return key;
}

/**
 * The sender's hash of kind, target, revision and body. Without one, a client that knows only the IETF draft,
 * the server takes its own of the same things.
 * @throws ProblemError
 */
export function readRequestHash(request: ApiRequest): string {
  const header = request.headers['holdfast-request-hash'];
  if (header === undefined) {
    const head = JSON.stringify([request.method, request.path, request.headers['if-match'] ?? null]);
    return createHash('sha256').update(head).update(request.bytes).digest('hex');
  }
  if (!/^[0-9A-Za-z+/=_-]+$/.test(header) || header.length > MAX_HASH_LENGTH)
    return invalid('The Holdfast-Request-Hash is not a hash');
  return header;
}

/** A header that carries any text, percent-encoded. @throws ProblemError */
export function readEncoded(request: ApiRequest, name: string): string | undefined {
  const header = request.headers[name];
  if (header === undefined) return undefined;
  try {
    return decodeURIComponent(header);
  } catch {
    return invalid(`The ${name} header is not percent-encoded UTF-8`);
  }
}

/** The revision in `If-Match`: `"3"`, or 3. `*` and no header ask for none. @throws ProblemError */
export function readExpectedRevision(request: ApiRequest): number | undefined {
  const header = request.headers['if-match']?.trim();
  if (header === undefined || header === '*') return undefined;
  const match = /^"?(\d{1,9})"?$/.exec(header);
  if (match?.[1] === undefined) return invalid('If-Match names no revision of this server, such as "3"');
  return Number(match[1]);
}

function unquote(text: string): string | undefined {
  const match = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text);
  return match?.[1]?.replace(/\\(["\\])/g, '$1');
}
