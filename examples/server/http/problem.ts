/** Problem documents (RFC 9457), the one shape of every refusal (V4). */
import type { Answer } from './exchange.ts';

export const PROBLEM_PREFIX = 'urn:holdfast:problem:';

/** What a client may rely on; the sentence beside it is for people. */
const TITLES = {
  invalid: 'The request is not valid',
  unauthorized: 'Sign in first',
  owner_mismatch: 'The request belongs to another account than the one signed in',
  forbidden: 'This is not allowed',
  not_found: 'There is no such resource',
  gone: 'The resource was deleted',
  no_such_receipt: 'There is no receipt for this key',
  in_progress: 'A request with this key is still being worked on',
  idempotency_key_reused: 'The key was used for another request',
  revision_conflict: 'The resource has changed since the revision named',
  method_not_allowed: 'The resource has no such method',
  too_large: 'The request is too large',
  unsupported_media_type: 'The body is of a type that is not understood',
  too_many_requests: 'Too many requests',
  unavailable: 'The service is not available right now',
  internal: 'Something went wrong in the server',
} as const satisfies Record<string, string>;

export type ProblemCode = keyof typeof TITLES;

export interface ProblemExtras {
  /** Further members of the document, such as `actual_revision`. */
  readonly members?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export function problem(
  status: number,
  code: ProblemCode | (string & {}),
  detail: string,
  extras: ProblemExtras = {},
): Answer {
  const title = Object.hasOwn(TITLES, code) ? TITLES[code as ProblemCode] : code;
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...extras.headers },
    json: { type: `${PROBLEM_PREFIX}${code}`, title, status, code, detail, ...extras.members },
  };
}

/** A request that goes no further; thrown by parsers, answered by the router. Nothing is remembered of it. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(`HTTP ${answer.status}`);
    this.answer = answer;
  }
}

/** @throws ProblemError, always: 400 `invalid` */
export function invalid(detail: string, status: 400 | 415 | 422 = 400): never {
  throw new ProblemError(problem(status, status === 415 ? 'unsupported_media_type' : 'invalid', detail));
}
