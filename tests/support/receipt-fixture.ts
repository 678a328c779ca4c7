import type { Receipt } from '../../shared/receipt.ts';
import type { SentCommand } from '../../sw/receipts/check-receipt.ts';

/** An update of workout `w1` at revision 1, owner `ann`, as it was sent. */
export function sentFixture(overrides: Partial<SentCommand> = {}): SentCommand {
  const family = overrides.family ?? 'workout';
  const kind = overrides.kind ?? 'update';
  return {
    id: '00000000-0000-4000-8000-000000000001',
    requestHash: 'h1',
    owner: 'ann',
    family,
    kind,
    wireKind: `${family}.${kind}`,
    target: { type: 'id', id: 'w1' },
    expectedRevision: 1,
    ...overrides,
  };
}

/** The receipt that proves `sent`. */
export function receiptFixture(sent: SentCommand, overrides: Partial<Receipt> = {}): Receipt {
  return {
    id: sent.id,
    requestHash: sent.requestHash,
    kind: sent.wireKind,
    target: sent.target.type === 'id' ? sent.target.id : 'srv-1',
    revision: (sent.expectedRevision ?? 0) + 1,
    generation: 5,
    committedAt: '2026-11-30T12:00:00Z',
    ...overrides,
  };
}
