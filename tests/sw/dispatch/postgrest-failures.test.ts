import { expect, it, test } from 'vitest';
import type { CommandKind } from '../../../shared/row.ts';
import { classifyFailure } from '../../../sw/dispatch/classify-failure.ts';
import { failureSignals } from '../../../sw/dispatch/failure-signals.ts';
import { type PostgrestOptions, postgrestFailures } from '../../../sw/dispatch/postgrest-failures.ts';
import { responseFixture } from '../../support/answer-fixture.ts';

function classify(status: number, json: object, options?: PostgrestOptions, kind: CommandKind = 'update') {
  return classifyFailure(failureSignals(responseFixture(status, { json })), kind, postgrestFailures(options));
}

test.each([
  { shape: 'JSON text', details: '{"actual_revision": 7}' },
  { shape: 'a member', details: { actual_revision: 7 } },
  { shape: 'name and value', details: 'expected_revision=6 actual_revision=7' },
])('[D10, D30] a 400 with a code and the actual revision as $shape is a conflict', ({ details }) => {
  expect(classify(400, { code: 'LG409', details, message: 'stale' })).toMatchObject({
    class: 'conflict',
    code: 'revision_conflict',
    actualRevision: 7,
    applied: 'not_this_attempt',
  });
});

test.each([
  { code: 'PGRST000', status: 503, class: 'transient', as: 'database_unreachable' },
  { code: 'PGRST003', status: 504, class: 'transient', as: 'database_unreachable' },
  { code: 'PGRST301', status: 401, class: 'auth', as: 'unauthorized' },
  { code: 'PGRST303', status: 401, class: 'auth', as: 'unauthorized' },
  { code: 'PGRST116', status: 406, class: 'permanent', as: 'source_deleted' },
  { code: 'PGRST204', status: 400, class: 'permanent', as: 'rejected' },
  { code: '23505', status: 409, class: 'permanent', as: 'conflict' },
  { code: '23503', status: 409, class: 'permanent', as: 'rejected' },
  { code: '23514', status: 400, class: 'permanent', as: 'rejected' },
  { code: '22P02', status: 400, class: 'permanent', as: 'rejected' },
  { code: 'P0001', status: 400, class: 'permanent', as: 'rejected' },
  { code: '42501', status: 403, class: 'permanent', as: 'rejected' },
  { code: '40001', status: 500, class: 'transient', as: 'serialization' },
  { code: '40P01', status: 500, class: 'transient', as: 'serialization' },
  { code: '55P03', status: 400, class: 'transient', as: 'locked' },
  { code: '57014', status: 500, class: 'transient', as: 'statement_timeout' },
  { code: '57P01', status: 503, class: 'transient', as: 'database_unreachable' },
  { code: '53300', status: 503, class: 'transient', as: 'database_busy' },
  { code: '08006', status: 503, class: 'transient', as: 'database_unreachable' },
  { code: '25006', status: 405, class: 'transient', as: 'read_only' },
  { code: '28P01', status: 403, class: 'auth', as: 'unauthorized' },
])('[D10] PostgREST’s $code is $class $as', ({ code, status, class: given, as }) => {
  expect(classify(status, { code, details: null, hint: null, message: '' })).toMatchObject({
    class: given,
    code: as,
  });
});

it('[D10] knows the codes that an app’s own functions raise', () => {
  const options = { conflictCodes: ['APP01'], goneCodes: ['APP02'], keyReusedCodes: ['APP03'] };
  expect(classify(400, { code: 'APP01' }, options)).toMatchObject({
    class: 'conflict',
    actualRevision: undefined,
  });
  expect(classify(400, { code: 'APP02' }, options)).toMatchObject({ code: 'source_deleted' });
  expect(classify(400, { code: 'APP02' }, options, 'delete').class).toBe('already_gone');
  expect(classify(400, { code: 'APP03' }, options)).toMatchObject({ code: 'key_reused', applied: 'maybe' });
});

it('[D10] leaves an answer without a code to the common table', () => {
  expect(classify(502, { message: 'bad gateway' })).toMatchObject({ class: 'transient', code: 'http_502' });
});
