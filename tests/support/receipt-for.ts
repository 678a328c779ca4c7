import type { Receipt } from '../../shared/receipt.ts';
import type { Row } from '../../shared/row.ts';

/** A receipt for `row`, at revision 2. */
export function receiptFor(row: Row, overrides: Partial<Receipt> = {}): Receipt {
  return {
    id: row.id,
    requestHash: row.requestHash,
    kind: `${row.family}.${row.kind}`,
    target: row.target.type === 'id' ? row.target.id : 'srv-1',
    revision: 2,
    generation: 1,
    committedAt: 1_000,
    ...overrides,
  };
}
