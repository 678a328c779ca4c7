import type { Answer } from '../../sw/dispatch/sender.ts';

type Response = Extract<Answer, { type: 'response' }>;

/** An answer over https with a JSON body, or a problem document from 400 on; override what the test is about. */
export function responseFixture(status: number, overrides: Partial<Response> = {}): Response {
  return {
    type: 'response',
    status,
    ok: status >= 200 && status < 300,
    redirected: false,
    secure: true,
    contentType: status < 400 ? 'application/json' : 'application/problem+json',
    json: {},
    retryAfter: undefined,
    etag: undefined,
    date: undefined,
    ...overrides,
  };
}

export function problemFixture(
  status: number,
  code: string,
  members: object = {},
  overrides: Partial<Response> = {},
): Response {
  return responseFixture(status, {
    json: { type: `urn:holdfast:problem:${code}`, title: code, status, ...members },
    ...overrides,
  });
}

/** An answer with another content type and without JSON: a proxy, a portal, a crash. */
export function textFixture(
  status: number,
  contentType: string | undefined,
  overrides: Partial<Response> = {},
): Response {
  return responseFixture(status, { contentType, json: undefined, ...overrides });
}

export function failureFixture(error: unknown, timedOut = false): Answer {
  return { type: 'failure', error, timedOut };
}

/** An error that carries a code, as clients and runtimes make them. */
export function codedError(code: string, cause?: unknown): Error {
  return Object.assign(new Error(`coded ${code}`, { cause }), { code });
}
