/** A receipt as it is broadcast → as everybody knows it: the page adds what it repeats of its row. */

import type { WireOutcome, WireReceipt } from '../shared/protocol.ts';
import type { Receipt } from '../shared/receipt.ts';

export function unpackReceipt(
  { id, family, kind, target }: WireOutcome['row'],
  receipt: WireReceipt,
): Receipt {
  return { id, kind: `${family}.${kind}`, target: target.type === 'id' ? target.id : '', ...receipt };
}
