import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { document, type Family, record } from '../../../shared/family.ts';
import type { MapFailure } from '../../../sw/dispatch/family-ports.ts';
import { judgeAnswer } from '../../../sw/dispatch/judge-answer.ts';
import type { Answer } from '../../../sw/dispatch/sender.ts';
import type { SentCommand } from '../../../sw/receipts/check-receipt.ts';
import {
  failureFixture,
  problemFixture,
  responseFixture,
  textFixture,
} from '../../support/answer-fixture.ts';
import { receiptFixture, sentFixture } from '../../support/receipt-fixture.ts';

const now = 1_000_000;
const sent = sentFixture();

function judge(
  answer: Answer,
  options: { sent?: SentCommand; family?: Family; owner?: string; mapFailure?: MapFailure } = {},
) {
  const { family = record(), owner = 'ann', mapFailure } = options;
  return judgeAnswer(answer, options.sent ?? sent, { owner, family, mapFailure, now });
}

const withReceipt = (receipt: unknown, status = 200) => responseFixture(status, { json: { receipt } });

describe('an answer with a receipt', () => {
  it('[D20] is acceptance if it proves this request', () => {
    const receipt = receiptFixture(sent);
    expect(judge(withReceipt(receipt))).toEqual({ type: 'accepted', receipt });
  });

  it('[D28] A17 that was meant for another request is refused, in doubt, with the field that is off', () => {
    const other = receiptFixture(sentFixture({ id: '00000000-0000-4000-8000-000000000009' }));
    expect(judge(withReceipt(other))).toEqual({
      type: 'refused',
      code: 'receipt_mismatch',
      applied: 'maybe',
      rejection: { code: 'receipt_mismatch', field: 'id' },
    });
  });

  it('[D20] A18 that is replayed says so', () => {
    const receipt = receiptFixture(sent, { replayed: true });
    expect(judge(withReceipt(receipt))).toEqual({ type: 'accepted', receipt });
  });

  it('[D21] changes nothing for a row of another owner, with or without receipts', () => {
    for (const family of [record(), record({ receipts: 'none' })])
      expect(judge(withReceipt(receiptFixture(sent)), { family, owner: 'ben' })).toMatchObject({
        type: 'refused',
        rejection: { field: 'owner' },
      });
  });
});

describe('a 2xx without a receipt', () => {
  it('[D22, D28] A15 is no success: the row is blocked, in doubt', () => {
    for (const answer of [responseFixture(200), textFixture(204, undefined), textFixture(200, 'text/plain')])
      expect(judge(answer)).toEqual({
        type: 'refused',
        code: 'receipt_missing',
        applied: 'maybe',
        rejection: { code: 'receipt_missing', field: 'receipt' },
      });
  });

  it('[D10] A14 is a portal’s page where it is HTML: it will be sent again', () => {
    for (const family of [record(), record({ receipts: 'none' })])
      expect(judge(textFixture(200, 'text/html'), { family })).toMatchObject({
        type: 'transient',
        failure: { class: 'transient', code: 'portal', status: 200 },
        applied: 'maybe',
        scope: 'key',
      });
  });

  it('[D10] is no portal’s page where the app asked for HTML', () => {
    const family = record({ receipts: 'none' });
    const answer = textFixture(200, 'text/html', { wantsJson: false });
    expect(judge(answer, { family }).type).toBe('accepted');
  });

  it('[D10] means what the family says it means', () => {
    const mapFailure: MapFailure = ({ json }) =>
      json && typeof json === 'object' && 'errors' in json
        ? { class: 'permanent', code: 'rejected' }
        : undefined;
    const told = responseFixture(200, { json: { errors: ['no'] } });
    for (const family of [record(), record({ receipts: 'none' })])
      expect(judge(told, { family, mapFailure })).toMatchObject({
        type: 'refused',
        code: 'rejected',
        applied: 'not_this_attempt',
      });
    expect(judge(responseFixture(200), { mapFailure })).toMatchObject({ code: 'receipt_missing' });
  });

  it('[D29] A15 is acceptance in a family without receipts; an entity tag or a member gives the revision', () => {
    const family = record({ receipts: 'none' });
    const accepted = (answer: Answer, command: SentCommand = sent) => {
      const judged = judge(answer, { family, sent: command });
      return judged.type === 'accepted' ? judged.receipt : judged;
    };
    expect(accepted(textFixture(200, undefined, { etag: '"7"' }))).toEqual({
      id: sent.id,
      requestHash: 'h1',
      kind: 'workout.update',
      target: 'w1',
      revision: 7,
      generation: 0,
      committedAt: now,
    });
    expect(accepted(responseFixture(200, { json: { revision: 8 } }))).toMatchObject({ revision: 8 });
    expect(accepted(responseFixture(200, { etag: '"7"', accepted: { revision: 9 } }))).toMatchObject({
      revision: 9,
    });
    expect(accepted(textFixture(204, undefined), sentFixture({ kind: 'delete' }))).toMatchObject({
      target: 'w1',
      revision: 0,
    });
    const create = sentFixture({ kind: 'create', target: { type: 'pending', origin: sent.id } });
    expect(accepted(responseFixture(201, { json: { id: 77 } }), create)).toMatchObject({ target: '77' });
    expect(
      accepted(responseFixture(201, { json: { id: 77 }, accepted: { target: 'x' } }), create),
    ).toMatchObject({ target: 'x' });
    expect(accepted(responseFixture(201), create)).toMatchObject({ target: '' });
  });
});

describe('a failure', () => {
  it('[D10, D3] A16 is judged by its status, keeps little, and says what rests until when', () => {
    expect(judge(textFixture(500, 'text/plain'))).toEqual({
      type: 'transient',
      failure: { class: 'transient', code: 'http_500', status: 500, detail: undefined },
      applied: 'maybe',
      scope: 'key',
      retryAt: undefined,
    });
    expect(judge(textFixture(502, 'text/html')).type).toBe('transient');
    expect(judge(textFixture(400, 'text/plain'))).toMatchObject({ type: 'refused', code: 'rejected' });
    expect(judge(responseFixture(503, { retryAfter: '30' }))).toMatchObject({
      scope: 'everyone',
      retryAt: now + 30_000,
    });
    expect(judge(responseFixture(429, { retryAfter: '30' }))).toMatchObject({
      scope: 'owner',
      retryAt: now + 30_000,
      applied: 'not_this_attempt',
    });
    expect(judge(responseFixture(409, { retryAfter: '30' }))).toMatchObject({
      scope: 'key',
      retryAt: now + 30_000,
    });
  });

  it('[D10] A09 of the passing kind is passing, whatever else is wrong with the network', () => {
    const types = [408, 425].map((status) => judge(textFixture(status, 'text/plain')).type);
    expect(types).toEqual(['transient', 'transient']);
    expect(judge(withReceipt(receiptFixture(sent))).type).toBe('accepted');
  });

  it('[D10, R7] A13 by redirect is signed out over https, a portal over http; in doubt both times', () => {
    const redirect = (secure: boolean) => textFixture(200, 'text/html', { redirected: true, secure });
    expect(judge(redirect(true))).toMatchObject({ type: 'signed_out', applied: 'maybe' });
    expect(judge(redirect(false))).toMatchObject({ type: 'transient', applied: 'maybe' });
    const followed = { ...withReceipt(receiptFixture(sent)), redirected: true };
    expect(judge(followed).type).toBe('signed_out');
  });

  it('[D10] A22 413 is refused for good', () => {
    expect(judge(textFixture(413, 'text/html'))).toMatchObject({
      type: 'refused',
      code: 'rejected',
      applied: 'not_this_attempt',
    });
  });

  it('[D10, D42] A55, A56 of a missing record is the end of an update and the wish of a delete', () => {
    for (const status of [404, 410]) {
      const gone = problemFixture(status, 'gone');
      expect(judge(gone)).toMatchObject({ type: 'refused', code: 'source_deleted' });
      expect(judge(gone, { sent: sentFixture({ kind: 'delete' }) })).toEqual({ type: 'already_gone' });
      expect(judge(textFixture(status, 'text/html'))).toMatchObject({ type: 'transient' });
    }
    const remove = sentFixture({ family: 'plan', kind: 'remove' });
    expect(judge(responseFixture(404), { sent: remove, family: document() }).type).toBe('already_gone');
  });

  it('[D30] by conflict carries the revision the server has', () => {
    const answer = problemFixture(412, 'revision_conflict', { actual_revision: 6 });
    expect(judge(answer)).toMatchObject({ type: 'conflict', actual: 6, applied: 'not_this_attempt' });
    expect(judge(responseFixture(412))).toMatchObject({ type: 'conflict', actual: undefined });
  });

  it('[D48] names codes and cuts details short', () => {
    const { failure } = judge(problemFixture(422, 'too_heavy', { detail: `no ${'x'.repeat(900)}` })) as {
      failure: { detail: string };
    };
    expect(failure.detail).toHaveLength(200);
    expect(judge(responseFixture(422, { json: { code: 'E7' } }))).toMatchObject({
      failure: { detail: 'E7' },
    });
  });
});

it('[D10, D28] nothing a sender hands over makes it throw', () => {
  const response = fc.record(
    {
      type: fc.constant('response'),
      status: fc.oneof(fc.integer({ min: 0, max: 700 }), fc.anything()),
      ok: fc.oneof(fc.boolean(), fc.anything()),
      redirected: fc.boolean(),
      secure: fc.boolean(),
      contentType: fc.oneof(fc.constantFrom('application/json', 'text/html'), fc.anything()),
      json: fc.oneof(fc.object(), fc.anything()),
      retryAfter: fc.anything(),
      etag: fc.anything(),
      date: fc.anything(),
    },
    { requiredKeys: ['type'] },
  );
  const failure = fc.record({
    type: fc.constant('failure'),
    error: fc.oneof(
      fc.anything(),
      fc.record({ cause: fc.anything(), status: fc.anything(), code: fc.anything() }),
    ),
    timedOut: fc.anything(),
  });
  const types = ['accepted', 'already_gone', 'transient', 'signed_out', 'conflict', 'refused'];
  fc.assert(
    fc.property(fc.oneof(response, failure, fc.anything()), fc.boolean(), (answer, hasReceipts) => {
      const family = record({ receipts: hasReceipts ? 'ledger' : 'none' });
      const judged = judge(answer as Answer, { family });
      expect(types).toContain(judged.type);
      expect(JSON.stringify(judged).length).toBeLessThan(2_000);
    }),
    { numRuns: 500 },
  );
});

it('[D10] a sender that answers nonsense leaves its row for a person', () => {
  for (const nonsense of [undefined, null, 5, 'ok', {}, { type: 'response' }] as unknown as Answer[])
    expect(judge(nonsense)).toMatchObject({ type: 'refused', code: 'unclassified', applied: 'maybe' });
  expect(judge(failureFixture(undefined))).toMatchObject({ code: 'unclassified' });
});
