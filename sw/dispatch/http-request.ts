/** Turns a command into a request with the headers of docs/server.md. What cannot be built throws before anything is sent. */
import type { ErasedRoutes, HttpRequest } from './http-routes.ts';
import type { SendRequest } from './sender.ts';
import { checkUrl, encodeText, UnsafeUrlError } from './url.ts';

/** The app's route, or what it was given, makes no request: nothing was sent. */
export class RequestNotBuiltError extends Error {
  override readonly name = 'RequestNotBuiltError';
  readonly code: string = 'request_not_built';
}

/** A header that the credentials port gave cannot be sent: as good as none, so the rows are held (D10). */
export class BadCredentialsError extends RequestNotBuiltError {
  override readonly code = 'bad_credentials';
}

export interface HttpContext {
  readonly baseUrl: string | undefined;
  readonly credentials: RequestCredentials | undefined;
}

/** The app's own request for a command. @throws RequestNotBuiltError, UnsafeUrlError */
export function routeFor(routes: ErasedRoutes | undefined, request: SendRequest): HttpRequest {
  const route = routes && Object.hasOwn(routes, request.kind) ? routes[request.kind] : undefined;
  const name = `${request.family}.${request.kind}`;
  if (!route) throw new RequestNotBuiltError(`There is no route for ${name}`);
  const { id, owner, body, expectedRevision, sourceRef } = request;
  const target = request.target.type === 'id' ? request.target.id : '';
  let built: HttpRequest;
  try {
    built = route({ id, owner, target, body, expectedRevision, sourceRef });
  } catch (cause) {
    if (cause instanceof UnsafeUrlError) throw cause;
    throw new RequestNotBuiltError(`The route for ${name} failed: ${String(cause)}`, { cause });
  }
  if (target !== '') checkUrl(built.url, target);
  return built;
}

/** The headers that make a request a command (V2-V5). */
export function commandHeaders(request: SendRequest): Readonly<Record<string, string>> {
  const { id, requestHash, owner, wireKind, sourceRef } = request;
  return {
    'idempotency-key': quoted(id),
    'holdfast-request-hash': requestHash,
    'holdfast-owner': encodeText(owner),
    'holdfast-kind': encodeText(wireKind),
    ...(sourceRef === undefined ? {} : { 'holdfast-source-ref': encodeText(sourceRef) }),
  };
}

export function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

export interface BuildInput {
  readonly http: HttpRequest;
  /** From the credentials port. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Nobody overrides these. */
  readonly own: Readonly<Record<string, string>>;
  readonly expectedRevision?: number | undefined;
  readonly signal: AbortSignal;
  readonly context: HttpContext;
}

/**
 * The platform's own request. Made here and not by `fetch`, whose rejection would look like a lost connection.
 * @throws RequestNotBuiltError, BadCredentialsError, UnsafeUrlError
 */
export function buildRequest(input: BuildInput): Request {
  const { http, credentials, own, expectedRevision, signal, context } = input;
  const { method, json, headers: routeHeaders = {} } = http;
  const headers = new Headers({ accept: 'application/json' });
  if (!setHeaders(headers, credentials))
    throw new BadCredentialsError('The credentials make no valid header');
  const body = json === undefined ? http.body : toJson(json);
  if (json !== undefined) headers.set('content-type', 'application/json');
  if (expectedRevision !== undefined) headers.set('if-match', quoted(String(expectedRevision)));
  if (!setHeaders(headers, { ...routeHeaders, ...own }))
    throw new RequestNotBuiltError('A header of the request is not valid');
  const { credentials: mode, baseUrl } = context;
  try {
    return new Request(new URL(http.url, baseUrl).href, {
      method,
      headers,
      signal,
      redirect: 'manual',
      cache: 'no-store',
      ...(body !== undefined && { body }),
      ...(mode && { credentials: mode }),
    });
  } catch (cause) {
    throw new RequestNotBuiltError(`${method} ${http.url} is no request`, { cause });
  }
}

/** The platform's own error names the value, which may be a token and must get into no message (W31). */
function setHeaders(headers: Headers, values: Readonly<Record<string, string>>): boolean {
  try {
    for (const [name, value] of Object.entries(values)) headers.set(name, value);
    return true;
  } catch {
    return false;
  }
}

/**
 * JSON, but nothing is lost on the way in silence: what JSON would turn into `{}` or `null` is refused.
 * @throws RequestNotBuiltError
 */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (key, member: unknown) => {
    const isLost =
      (typeof member === 'number' && !Number.isFinite(member)) ||
      member instanceof Map ||
      member instanceof Set ||
      member instanceof Blob ||
      member instanceof ArrayBuffer ||
      ArrayBuffer.isView(member);
    if (isLost)
      throw new RequestNotBuiltError(`JSON cannot carry the value of "${key}"; use a body of your own`);
    return member;
  });
  if (text === undefined) throw new RequestNotBuiltError('JSON cannot carry this body');
  return text;
}
