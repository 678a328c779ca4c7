import { describe, expect, it, test } from 'vitest';
import { QuotaError, StoreTimeoutError } from '../../../shared/errors.ts';
import type { CommandKind } from '../../../shared/row.ts';
import { classifyFailure, FAILURE_TABLE } from '../../../sw/dispatch/classify-failure.ts';
import { failureSignals } from '../../../sw/dispatch/failure-signals.ts';
import type { MapFailure } from '../../../sw/dispatch/family-ports.ts';
import { signalsOf } from '../../../sw/dispatch/judge-answer.ts';
import type { Answer } from '../../../sw/dispatch/sender.ts';
import {
  codedError,
  failureFixture,
  problemFixture,
  responseFixture,
  textFixture,
} from '../../support/answer-fixture.ts';

const KINDS: readonly CommandKind[] = ['create', 'update', 'delete', 'put', 'remove'];
const DELETES: readonly CommandKind[] = ['delete', 'remove'];

function classify(answer: Answer, kind: CommandKind = 'update', mapFailure?: MapFailure) {
  return classifyFailure(signalsOf(answer, { now: 0 }), kind, mapFailure);
}

/** The table of docs/dispatch.md, in its order. */
const SEEN: readonly {
  readonly seen: string;
  readonly answers: readonly Answer[];
  readonly kinds?: readonly CommandKind[];
  readonly class: string;
  readonly code?: string;
  readonly applied: string;
  readonly scope?: string;
}[] = [
  {
    seen: 'no connection, DNS, reset',
    answers: [
      failureFixture(new TypeError('Failed to fetch')),
      failureFixture(new DOMException('lost', 'NetworkError')),
      failureFixture(new TypeError('fetch failed', { cause: codedError('ECONNREFUSED') })),
      failureFixture(codedError('ENOTFOUND')),
      failureFixture(
        new Error('wrapped', { cause: new Error('again', { cause: codedError('ECONNRESET') }) }),
      ),
    ],
    class: 'transient',
    code: 'network',
    applied: 'maybe',
    scope: 'network',
  },
  {
    seen: 'a timeout or the attempt’s own limit',
    answers: [
      failureFixture(new DOMException('late', 'TimeoutError')),
      failureFixture(new DOMException('cut', 'AbortError'), true),
      failureFixture(codedError('rejected'), true),
    ],
    class: 'transient',
    code: 'timeout',
    applied: 'maybe',
    scope: 'key',
  },
  {
    seen: 'an abort by this device',
    answers: [failureFixture(new DOMException('stop', 'AbortError'))],
    class: 'transient',
    code: 'aborted',
    applied: 'maybe',
    scope: 'device',
  },
  ...[408, 425, 500, 502, 503, 504, 507, 508, 511, 599].map((status) => ({
    seen: `${status}, whatever its body`,
    answers: [
      responseFixture(status),
      textFixture(status, 'text/plain'),
      textFixture(status, 'text/html'),
      textFixture(status, undefined),
      problemFixture(status, 'something_else'),
    ],
    class: 'transient',
    code: `http_${status}`,
    applied: 'maybe',
    scope: 'key',
  })),
  {
    seen: '503 with a wait',
    answers: [responseFixture(503, { retryAfter: '5' })],
    class: 'transient',
    code: 'http_503',
    applied: 'maybe',
    scope: 'everyone',
  },
  {
    seen: '429',
    answers: [responseFixture(429), textFixture(429, 'text/html', { retryAfter: '5' })],
    class: 'transient',
    code: 'too_many_requests',
    applied: 'not_this_attempt',
    scope: 'owner',
  },
  {
    seen: '409 with a wait, or the problem type "in progress"',
    answers: [
      responseFixture(409, { retryAfter: '3' }),
      problemFixture(409, 'in_progress'),
      problemFixture(409, 'in-progress', {}, { retryAfter: '3' }),
      responseFixture(425, { json: { code: 'in_progress' } }),
    ],
    class: 'transient',
    code: 'in_progress',
    applied: 'maybe',
    scope: 'key',
  },
  {
    seen: '401',
    answers: [responseFixture(401), textFixture(401, 'text/html', { retryAfter: '3' })],
    class: 'auth',
    code: 'unauthorized',
    applied: 'not_this_attempt',
  },
  {
    seen: 'the problem type owner_mismatch, whatever the status',
    answers: [problemFixture(401, 'owner_mismatch'), problemFixture(403, 'owner_mismatch')],
    class: 'auth',
    code: 'owner_mismatch',
    applied: 'not_this_attempt',
  },
  {
    seen: 'credentials that make no header',
    answers: [failureFixture(codedError('bad_credentials'))],
    class: 'auth',
    code: 'bad_credentials',
    applied: 'not_this_attempt',
  },
  {
    seen: 'a redirect over https',
    answers: [
      textFixture(0, undefined, { redirected: true }),
      textFixture(302, undefined, { redirected: true }),
      textFixture(200, 'text/html', { redirected: true }),
    ],
    class: 'auth',
    code: 'redirect',
    applied: 'maybe',
  },
  {
    seen: 'a redirect over plain http',
    answers: [
      textFixture(0, undefined, { redirected: true, secure: false }),
      textFixture(200, 'text/html', { redirected: true, secure: false }),
    ],
    class: 'transient',
    code: 'redirect',
    applied: 'maybe',
    scope: 'key',
  },
  {
    seen: '403 of another type',
    answers: [responseFixture(403), problemFixture(403, 'csrf'), textFixture(403, 'text/html')],
    class: 'permanent',
    code: 'rejected',
    applied: 'not_this_attempt',
  },
  {
    seen: '412; 409 or any status with a code that names a revision conflict',
    answers: [
      responseFixture(412),
      textFixture(412, 'text/plain'),
      responseFixture(409, { json: { actual_revision: 4 } }),
      problemFixture(409, 'revision_conflict', {}, { retryAfter: '9' }),
      responseFixture(400, { json: { code: 'Revision-Conflict' } }),
    ],
    class: 'conflict',
    code: 'revision_conflict',
    applied: 'not_this_attempt',
  },
  {
    seen: 'any other 409',
    answers: [responseFixture(409), textFixture(409, 'text/plain', { retryAfter: 'soon' })],
    class: 'permanent',
    code: 'conflict',
    applied: 'not_this_attempt',
  },
  {
    seen: '404 or 410 on a delete',
    answers: [problemFixture(404, 'not_found'), problemFixture(410, 'gone'), responseFixture(404)],
    kinds: DELETES,
    class: 'already_gone',
    applied: 'not_this_attempt',
  },
  {
    seen: '404 or 410 on an update',
    answers: [problemFixture(404, 'not_found'), problemFixture(410, 'gone')],
    kinds: ['update'],
    class: 'permanent',
    code: 'source_deleted',
    applied: 'not_this_attempt',
  },
  {
    seen: '404 or 410 on a create or put',
    answers: [problemFixture(404, 'not_found'), problemFixture(410, 'gone')],
    kinds: ['create', 'put'],
    class: 'permanent',
    code: 'rejected',
    applied: 'not_this_attempt',
  },
  {
    seen: '404 or 410 that is not the API’s own',
    answers: [
      textFixture(404, 'text/html'),
      textFixture(404, 'text/plain'),
      textFixture(404, undefined),
      textFixture(410, 'text/html'),
      textFixture(404, 'text/plain', { json: 404 }),
    ],
    class: 'transient',
    code: 'foreign_answer',
    applied: 'maybe',
    scope: 'key',
  },
  ...[400, 402, 405, 406, 411, 413, 414, 415, 418, 419, 422, 431, 451].map((status) => ({
    seen: `${status}, whatever its body`,
    answers: [
      responseFixture(status, { retryAfter: '5' }),
      textFixture(status, 'text/plain'),
      problemFixture(status, 'invalid'),
    ],
    class: 'permanent',
    code: 'rejected',
    applied: 'not_this_attempt',
  })),
  ...[501, 505].map((status) => ({
    seen: `${status}`,
    answers: [responseFixture(status), textFixture(status, 'text/html')],
    class: 'permanent',
    code: 'rejected',
    applied: 'maybe',
  })),
  {
    seen: 'idempotency_key_reused, whatever the status',
    answers: [400, 401, 409, 422, 500].map((status) =>
      problemFixture(status, 'idempotency_key_reused', { actual_revision: 3 }, { retryAfter: '3' }),
    ),
    class: 'permanent',
    code: 'key_reused',
    applied: 'maybe',
  },
  {
    seen: 'a page where JSON was asked',
    answers: [textFixture(200, 'text/html; charset=utf-8'), textFixture(200, 'application/xhtml+xml')],
    class: 'transient',
    code: 'portal',
    applied: 'maybe',
    scope: 'key',
  },
  {
    seen: 'a failure of the device',
    answers: [
      failureFixture(new DOMException('full', 'QuotaExceededError')),
      failureFixture(new Error('no room', { cause: new DOMException('', 'InvalidStateError') })),
    ],
    class: 'transient',
    code: 'device',
    applied: 'maybe',
    scope: 'device',
  },
  {
    seen: 'an error known to be a conflict of revisions, without code or status',
    answers: [failureFixture(Object.assign(new Error('x'), { name: 'RevisionConflictError' }))],
    class: 'conflict',
    code: 'revision_conflict',
    applied: 'not_this_attempt',
  },
  {
    seen: 'an error known to be a conflict of keys, without code or status',
    answers: [failureFixture(Object.assign(new Error('x'), { name: 'IdempotencyConflictError' }))],
    class: 'conflict',
    code: 'idempotency_conflict',
    applied: 'maybe',
  },
  {
    seen: 'an error known to be "not found", on a delete',
    answers: [failureFixture(Object.assign(new Error('x'), { name: 'NotFoundError' }))],
    kinds: DELETES,
    class: 'already_gone',
    applied: 'not_this_attempt',
  },
  {
    seen: 'an error known to be "not found", on anything else',
    answers: [failureFixture(Object.assign(new Error('x'), { name: 'NotFoundError' }))],
    kinds: ['create', 'update', 'put'],
    class: 'permanent',
    code: 'unclassified',
    applied: 'maybe',
  },
  {
    seen: 'nothing recognisable',
    answers: [
      failureFixture(undefined),
      failureFixture('network error'),
      failureFixture(new Error('network error: failed to fetch')),
      failureFixture(codedError('my_own_code', new TypeError('Failed to fetch'))),
      textFixture(0, undefined),
      textFixture(304, undefined),
    ],
    class: 'permanent',
    code: 'unclassified',
    applied: 'maybe',
  },
];

describe('the table of failures', () => {
  test.each(SEEN)(
    '[D10, R7] $seen is $class $code',
    ({ seen: _seen, answers, kinds = KINDS, ...expected }) => {
      for (const answer of answers)
        for (const kind of kinds) expect(classify(answer, kind)).toMatchObject(expected);
    },
  );

  it('[D10] has no line that the cases above leave out', () => {
    const used = new Set<unknown>();
    for (const { answers, kinds = KINDS } of SEEN)
      for (const answer of answers)
        for (const kind of kinds) {
          const { class: found, scope, applied, code } = classify(answer, kind);
          used.add([found, scope, applied, code.replace(/^http_\d+/, 'http')].join());
        }
    const expected = FAILURE_TABLE.map((line) => {
      const { class: found, scope = 'key', as = line.fact === 'device' ? 'device' : 'http' } = line;
      return [
        found,
        scope,
        line.applied ?? (found === 'transient' ? 'maybe' : 'not_this_attempt'),
        as,
      ].join();
    });
    expect(expected.filter((line) => !used.has(line))).toEqual([]);
  });

  it('[D10] prefers permanent to conflict, conflict to auth, auth to transient', () => {
    const both = (type: string, code: string) =>
      classify(responseFixture(400, { json: { type: `urn:x:${type}`, code } })).class;
    expect(both('revision_conflict', 'idempotency_key_reused')).toBe('permanent');
    expect(both('owner_mismatch', 'revision_conflict')).toBe('conflict');
    expect(both('in_progress', 'owner_mismatch')).toBe('auth');
  });

  it('[D10] takes a code of this library’s own store for a failure of the device', () => {
    for (const error of [new QuotaError('full'), new StoreTimeoutError('late')])
      expect(classify(failureFixture(new Error('send', { cause: error })))).toMatchObject({
        class: 'transient',
        scope: 'device',
        code: error.code,
      });
    // The same word in the server's mouth is the server's.
    expect(classify(problemFixture(403, 'quota'))).toMatchObject({ class: 'permanent', code: 'rejected' });
  });

  it('[D10] reads status and code from an error that carries its answer', () => {
    const error = Object.assign(new Error('Request failed'), {
      code: 'ERR_BAD_REQUEST',
      response: { status: 412, data: { code: 'revision_conflict', actual_revision: 8 } },
    });
    expect(classify(failureFixture(error))).toMatchObject({ class: 'conflict', actualRevision: 8 });
    expect(classify(failureFixture({ statusCode: 404 }), 'delete').code).toBe('foreign_answer');
  });

  it('[D10] never lets a message outweigh a code or a status', () => {
    const error = Object.assign(new TypeError('Failed to fetch: network error'), { status: 422 });
    expect(classify(failureFixture(error))).toMatchObject({ class: 'permanent', code: 'rejected' });
    const text = 'revision conflict, idempotency_key_reused';
    expect(classify(responseFixture(500, { json: { detail: text, title: text } })).class).toBe('transient');
  });

  it('[D10, D30] passes on the revision that a conflict names', () => {
    const actual = (answer: Answer) => classify(answer).actualRevision;
    expect(actual(problemFixture(412, 'revision_conflict', { actual_revision: 9 }))).toBe(9);
    expect(actual(problemFixture(409, 'revision_conflict', { actualRevision: '9' }))).toBe(9);
    expect(actual(responseFixture(412, { etag: 'W/"9"' }))).toBe(9);
    expect(actual(responseFixture(412, { etag: '"abc"' }))).toBeUndefined();
    expect(actual(problemFixture(412, 'revision_conflict', { actual_revision: -1 }))).toBeUndefined();
  });

  it('[R7] clears the doubt of an attempt that never left', () => {
    const answer: Answer = { type: 'failure', error: new TypeError('x'), timedOut: true, neverLeft: true };
    expect(classify(answer).applied).toBe('not_this_attempt');
  });

  it('[D45] takes a refusal for good as proof that the key was never applied', () => {
    const refused = { refused: { code: 'invalid' } };
    expect(classify(problemFixture(422, 'invalid', refused)).applied).toBe('never');
    expect(classify(problemFixture(412, 'revision_conflict', refused)).applied).toBe('never');
    expect(classify(problemFixture(401, 'unauthorized', refused)).applied).toBe('not_this_attempt');
    expect(classify(problemFixture(503, 'invalid', refused)).applied).toBe('maybe');
    expect(classify(problemFixture(422, 'idempotency_key_reused', refused)).applied).toBe('maybe');
  });
});

describe('a family’s own mapping', () => {
  const csrf: MapFailure = ({ code }) => (code === 'csrf' ? { class: 'auth', code: 'csrf' } : undefined);

  it('[D10] A70 comes before the table and leaves to it what it does not know', () => {
    expect(classify(problemFixture(403, 'csrf'), 'update', csrf)).toMatchObject({
      class: 'auth',
      code: 'csrf',
      applied: 'not_this_attempt',
    });
    expect(classify(problemFixture(403, 'csrf'))).toMatchObject({ class: 'permanent', code: 'rejected' });
    expect(classify(responseFixture(419), 'update', csrf)).toMatchObject({ code: 'rejected' });
  });

  it.each<[string, MapFailure]>([
    [
      'throws',
      () => {
        throw new Error('bug');
      },
    ],
    ['answers a word', () => 'transient' as never],
    ['answers an unknown class', () => ({ class: 'maybe', code: 'x' }) as never],
    ['answers without a code', () => ({ class: 'auth' }) as never],
    ['answers null', () => null as never],
  ])('[D4, D10] that %s leaves it to the table', (_what, mapFailure) => {
    expect(classify(responseFixture(500), 'update', mapFailure)).toEqual(classify(responseFixture(500)));
  });

  it('[D10] says the class; the table still knows what rests and what stays in doubt', () => {
    const as =
      (given: 'permanent' | 'transient' | 'conflict', code: string): MapFailure =>
      () => ({ class: given, code });
    const seen = (status: number, mapFailure: MapFailure, kind: CommandKind = 'update') =>
      classify(responseFixture(status, { retryAfter: '5' }), kind, mapFailure);
    expect(seen(503, as('transient', 'maintenance'))).toMatchObject({ scope: 'everyone', applied: 'maybe' });
    expect(seen(429, as('permanent', 'plan_full'))).toMatchObject({ applied: 'not_this_attempt' });
    expect(seen(500, as('permanent', 'bad_row'))).toMatchObject({ applied: 'maybe' });
    expect(seen(422, as('transient', 'locked'))).toMatchObject({ applied: 'not_this_attempt' });
    expect(seen(200, as('permanent', 'bad_row'))).toMatchObject({ applied: 'not_this_attempt' });
    expect(seen(400, as('permanent', 'key_reused'))).toMatchObject({ applied: 'maybe' });
    expect(seen(400, as('permanent', 'source_deleted'), 'delete').class).toBe('already_gone');
    expect(seen(400, as('permanent', 'source_deleted'), 'update').class).toBe('permanent');
  });

  it('[D10] sees status, the first code, the body and the command', () => {
    const calls: unknown[] = [];
    classify(problemFixture(418, 'tea'), 'put', (signals) => {
      calls.push(signals);
      return undefined;
    });
    expect(calls).toEqual([
      { kind: 'put', status: 418, code: 'tea', json: expect.objectContaining({ title: 'tea' }) },
    ]);
  });
});

describe('signals', () => {
  it('[D10] walk a cause chain that bites its own tail', () => {
    const error: Error & { cause?: unknown } = new Error('a');
    error.cause = new Error('b', { cause: error });
    expect(failureSignals(failureFixture(error)).codes).toEqual([]);
  });

  it('[D10] survive members that throw when they are read', () => {
    const error = Object.defineProperty(new Error('x'), 'code', {
      get() {
        throw new Error('no');
      },
    });
    expect(classify(failureFixture(error)).code).toBe('unclassified');
  });

  it('[D48] cut what people may read short and carry no body', () => {
    const { detail } = failureSignals(responseFixture(400, { json: { detail: 'x'.repeat(5_000) } }));
    expect(detail).toHaveLength(200);
  });
});
