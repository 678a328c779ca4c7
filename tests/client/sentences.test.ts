import { describe, expect, it } from 'vitest';
import { addWords } from '../../client/add-words.ts';
import { SENTENCES, sentenceOf } from '../../client/sentences.ts';
import { BLOCKED_REASONS, blockedReason } from '../../shared/blocked-code.ts';
import type { Settled } from '../../shared/outcome.ts';
import { receiptFixture, sentFixture } from '../support/receipt-fixture.ts';
import { rowFixture } from '../support/row-fixture.ts';

const isSentence = /^[A-Z].{5,160}\.$/;

describe('a blocked code', () => {
  const CODES = [
    'rejected',
    'conflict',
    'source_deleted',
    'unclassified',
    'key_reused',
    'receipt_missing',
    'receipt_mismatch',
    'successor_unprepared',
    'predecessor_receipt_unknown',
    'recovery_receipt_unknown',
    'body_unreadable',
    'expired',
    'ledger_expired',
  ];

  it('[D11] is one of a closed list, or a family’s own', () => {
    expect(Object.keys(BLOCKED_REASONS)).toEqual(CODES);
  });

  it.each([...CODES, 'plan_completed', '__proto__', 'constructor'])(
    '[D11] %s has a sentence for a person and says which ways out it has',
    (code) => {
      const { sentence, waysOut } = blockedReason(code);
      expect(sentence).toMatch(isSentence);
      expect(waysOut).toContain('discard');
      expect(new Set(waysOut).size).toBe(waysOut.length);
    },
  );

  it('[D11] of a row in doubt offers no way out that would make a second record', () => {
    for (const code of ['key_reused', 'receipt_missing', 'receipt_mismatch', 'ledger_expired'])
      expect(blockedReason(code).waysOut).not.toContain('recover');
  });

  it.each([...CODES, 'plan_completed'])(
    '[D11, R34] %s, of a row in doubt, is not put right under a new id: the server is asked first',
    (code) => {
      const { waysOut } = blockedReason(code, { kind: 'update', doubt: true });
      expect(waysOut).not.toContain('recover');
      expect(waysOut).toContain('wait');
      expect(blockedReason(code, { kind: 'update', doubt: false })).toEqual(blockedReason(code));
    },
  );

  it('[D11, R34] of a row without a body offers no other one', () => {
    expect(blockedReason('rejected', { kind: 'delete' }).waysOut).toEqual(['retry', 'discard']);
  });

  it('[D11, W19] is found for the very row that is asked about', () => {
    const row = rowFixture({ state: 'blocked', blockedCode: 'unclassified', doubt: true });
    const explained = addWords({ row, reason: { type: 'blocked', code: 'unclassified' }, wakes: [] });
    expect(explained.reason).toMatchObject({ waysOut: ['retry', 'discard', 'wait'] });
  });
});

describe('a sentence', () => {
  it('[D42] tells what became of a command, whatever it was', () => {
    const id = 'i1';
    const all: readonly Settled[] = [
      { type: 'uploaded', id, receipt: receiptFixture(sentFixture()) },
      { type: 'already_gone', id },
      { type: 'unknown', id, rejection: { code: 'receipt_missing' } },
      { type: 'blocked', id, code: 'conflict' },
      { type: 'held', id },
      { type: 'deferred', id },
      { type: 'dropped', id },
      { type: 'cancelled', id },
      { type: 'discarded', id },
      { type: 'not_found', id },
    ];
    const sentences = all.map(sentenceOf);
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z].*\.$/);
    expect(new Set(sentences).size).toBe(all.length);
  });

  it('[D42] counts', () => {
    for (const text of [SENTENCES.announce, SENTENCES.notice, SENTENCES.waiting]) {
      expect(text(1)).toMatch(isSentence);
      expect(text(3)).toContain('3 ');
      expect(text(3)).not.toBe(text(1));
    }
  });
});
