import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { record } from '../../../shared/family.ts';
import { type AskedCommand, judgeLookup } from '../../../sw/dispatch/judge-lookup.ts';
import type { Answer, ReceiptLookup } from '../../../sw/dispatch/sender.ts';
import {
  failureFixture,
  problemFixture,
  responseFixture,
  textFixture,
} from '../../support/answer-fixture.ts';
import { receiptFixture, sentFixture } from '../../support/receipt-fixture.ts';

const sent = sentFixture();
const now = 1_000;

function judge(lookup: ReceiptLookup, asked: AskedCommand = sent) {
  return judgeLookup(lookup, asked, { owner: 'ann', family: record(), now });
}

const noAnswer = (answer: Answer): ReceiptLookup => ({ type: 'no_answer', answer });

describe('a look-up', () => {
  it('[D20] that finds the receipt of this very request is its word', () => {
    const receipt = receiptFixture(sent, { replayed: true });
    expect(judge({ type: 'receipt', receipt })).toEqual({ type: 'receipt', receipt });
  });

  it('[D24] asks for no hash where the row itself is gone and nobody knows it', () => {
    const { requestHash: _unknown, ...asked } = sent;
    const receipt = receiptFixture(sent);
    expect(judge({ type: 'receipt', receipt }, asked)).toEqual({ type: 'receipt', receipt });
    expect(judge({ type: 'receipt', receipt: { ...receipt, id: 'x' } }, asked).type).toBe('no_answer');
  });

  it('[D28] that finds a receipt of something else proves nothing', () => {
    const receipt = receiptFixture(sent, { target: 'w2' });
    expect(judge({ type: 'receipt', receipt })).toEqual({
      type: 'no_answer',
      failure: { class: 'transient', code: 'receipt_mismatch', detail: 'target' },
      isSignedOut: false,
    });
  });

  it('[D45] that proves a refusal for good makes the row refused', () => {
    const codeOf = (code: string, status?: number) => judge({ type: 'refused', code, status });
    expect(codeOf('invalid')).toEqual({ type: 'refused', code: 'rejected' });
    expect(codeOf('invalid', 422)).toEqual({ type: 'refused', code: 'rejected' });
    expect(codeOf('gone', 410)).toEqual({ type: 'refused', code: 'source_deleted' });
    expect(codeOf('revision_conflict', 412)).toEqual({ type: 'refused', code: 'conflict' });
    expect(codeOf('unheard_of', 503)).toEqual({ type: 'refused', code: 'rejected' });
  });

  it('[D45] that the server answers with "none" is just that', () => {
    expect(judge({ type: 'none' })).toEqual({ type: 'none' });
  });

  it('[D10] without an answer is never "none"', () => {
    expect(judge(noAnswer(failureFixture(new TypeError('x'))))).toMatchObject({
      type: 'no_answer',
      failure: { code: 'network' },
      isSignedOut: false,
    });
    expect(judge(noAnswer(responseFixture(503, { retryAfter: '9' })))).toMatchObject({
      type: 'no_answer',
      retryAt: now + 9_000,
    });
    expect(judge(noAnswer(responseFixture(401)))).toMatchObject({ type: 'no_answer', isSignedOut: true });
    for (const answer of [
      textFixture(404, 'text/html'),
      problemFixture(404, 'not_found'),
      responseFixture(200),
    ])
      expect(judge(noAnswer(answer)).type).toBe('no_answer');
  });

  it('[D4] that answers nonsense is no answer', () => {
    const types = ['receipt', 'refused', 'none', 'no_answer'];
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.record({ type: fc.constantFrom(...types), receipt: fc.anything(), answer: fc.anything() }),
        ),
        (lookup) => {
          expect(types).toContain(judge(lookup as ReceiptLookup).type);
        },
      ),
    );
    expect(judge(undefined as never)).toMatchObject({ type: 'no_answer', failure: { code: 'no_answer' } });
  });
});
