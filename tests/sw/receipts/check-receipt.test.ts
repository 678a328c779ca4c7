import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Family } from '../../../shared/family.ts';
import { document, record } from '../../../shared/family.ts';
import { checkReceipt, type SentCommand } from '../../../sw/receipts/check-receipt.ts';
import { receiptFixture, sentFixture } from '../../support/receipt-fixture.ts';

function check(
  receipt: unknown,
  sent: SentCommand = sentFixture(),
  family: Family = record(),
  owner = 'ann',
) {
  const verdict = checkReceipt({ receipt, sent, owner, family });
  return verdict.type === 'matches' ? 'matches' : `${verdict.rejection.code}/${verdict.rejection.field}`;
}

const sent = sentFixture();
const create = sentFixture({
  kind: 'create',
  target: { type: 'pending', origin: sent.id },
  expectedRevision: undefined,
});
const good = receiptFixture(sent);

describe('a receipt', () => {
  it('[D20] that matches in every field is taken over, and nothing else of the answer with it', () => {
    const verdict = checkReceipt({
      receipt: { ...good, replayed: true, secret: 'x' },
      sent,
      owner: 'ann',
      family: record(),
    });
    expect(verdict).toEqual({ type: 'matches', receipt: { ...good, replayed: true } });
  });

  it('[D21] is refused for a row of another owner, before anything else is looked at', () => {
    expect(check(undefined, sent, record(), 'ben')).toBe('receipt_mismatch/owner');
    expect(check(good, sent, record(), 'ben')).toBe('receipt_mismatch/owner');
  });

  test.each([undefined, null, 0, '', 'ok', true, [], [good], () => good])(
    '[D22, D28] is missing where the answer has %o',
    (receipt) => {
      expect(check(receipt)).toBe('receipt_missing/receipt');
    },
  );

  test.each([
    { id: 'D23', field: 'kind', values: ['workout.create', 'update', '', undefined, 5] },
    { id: 'D24', field: 'id', values: ['00000000-0000-4000-8000-000000000002', '', undefined, 5] },
    { id: 'D24', field: 'requestHash', values: ['h2', 'H1', '', undefined, null] },
    { id: 'D25', field: 'target', values: ['w2', 'W1', '', undefined, 1, { id: 'w1' }] },
    {
      id: 'D26',
      field: 'revision',
      values: [0, -1, 1.5, '2', Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, undefined, null],
    },
    { id: 'D27', field: 'generation', values: [0, -1, 1.5, '5', Number.NaN, undefined, null] },
  ])('[$id, D28] A17 is refused for a wrong $field alone', ({ field, values }) => {
    for (const value of values) expect(check({ ...good, [field]: value })).toBe(`receipt_mismatch/${field}`);
  });

  it('[D20] names the first field that is off, in the order of the checks', () => {
    const fields = ['kind', 'id', 'requestHash', 'target', 'revision', 'generation'];
    let receipt: object = { ...good };
    for (const field of fields.toReversed()) {
      receipt = { ...receipt, [field]: undefined };
      expect(check(receipt)).toBe(`receipt_mismatch/${field}`);
    }
  });

  it('[D23] may carry an older name that the family lists for this kind', () => {
    const family = record({ wireKinds: { update: ['save_session'] } });
    expect(check({ ...good, kind: 'save_session' }, sent, family)).toBe('matches');
    expect(check({ ...good, kind: 'other' }, sent, family)).toBe('receipt_mismatch/kind');
    const removed = sentFixture({ kind: 'delete' });
    const older = { ...receiptFixture(removed), kind: 'save_session' };
    expect(check(older, removed, family)).toBe('receipt_mismatch/kind');
  });

  it('[D24] need not carry key and hash where the family’s adapter has checked them', () => {
    const family = record({ checksKeyItself: true });
    const bare = { ...good, id: undefined, requestHash: 'derived' };
    expect(check(bare, sent, family)).toBe('matches');
    expect(check({ ...bare, target: 'w2' }, sent, family)).toBe('receipt_mismatch/target');
  });

  it('[D25] of a creation names the server’s id, whatever it is', () => {
    expect(check(receiptFixture(create, { target: 'srv-9' }), create)).toBe('matches');
    expect(check({ ...receiptFixture(create), target: '' }, create)).toBe('receipt_mismatch/target');
    expect(check({ ...receiptFixture(create), target: undefined }, create)).toBe('receipt_mismatch/target');
  });

  it('[D26] of an update or delete is not below the revision it expected', () => {
    for (const kind of ['update', 'delete'] as const) {
      const bound = sentFixture({ kind, expectedRevision: 4 });
      expect(check(receiptFixture(bound, { revision: 3 }), bound)).toBe('receipt_mismatch/revision');
      expect(check(receiptFixture(bound, { revision: 4 }), bound)).toBe('matches');
    }
    const put = sentFixture({ family: 'plan', kind: 'put', expectedRevision: 4 });
    expect(check(receiptFixture(put, { revision: 1 }), put, document())).toBe('matches');
  });

  it('[D27] of a document may have generation 0', () => {
    const put = sentFixture({ family: 'plan', kind: 'put' });
    expect(check(receiptFixture(put, { generation: 0 }), put, document())).toBe('matches');
    expect(check(receiptFixture(put, { generation: -1 }), put, document())).toBe(
      'receipt_mismatch/generation',
    );
  });

  it('[D20] never throws, whatever it is given', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const trap = Object.defineProperty({ ...good }, 'revision', {
      get() {
        throw new Error('no');
      },
    });
    expect(check(proxy)).toBe('receipt_missing/receipt');
    expect(check(trap)).toBe('receipt_missing/receipt');
    const odd = fc.record(Object.fromEntries(Object.keys(good).map((field) => [field, fc.anything()])), {
      requiredKeys: [],
    });
    fc.assert(
      fc.property(fc.oneof(fc.anything(), odd), (receipt) => {
        expect(check(receipt)).toMatch(/^(matches|receipt_(missing|mismatch)\/\w+)$/);
      }),
    );
  });

  it('[D20] cuts what it takes over from the server to a bounded size', () => {
    const verdict = checkReceipt({
      receipt: { ...good, committedAt: 'x'.repeat(10_000) },
      sent,
      owner: 'ann',
      family: record(),
    });
    expect(JSON.stringify(verdict).length).toBeLessThan(500);
  });
});
