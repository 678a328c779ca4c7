/**
 * Stands in for a receipt where the server has none (`receipts: 'none'`): any 2xx is acceptance, and what the
 * answer does not say stays unsaid (no target, revision 0).
 */
import type { Receipt } from '../../shared/receipt.ts';
import type { SentCommand } from './check-receipt.ts';

export function acceptanceReceipt(
  sent: SentCommand,
  said: { readonly target?: string | undefined; readonly revision?: number | undefined },
  now: number,
): Receipt {
  const { target: aimed } = sent;
  return {
    id: sent.id,
    requestHash: sent.requestHash,
    kind: sent.wireKind,
    target: aimed.type === 'id' ? aimed.id : (said.target ?? ''),
    revision: said.revision ?? 0,
    generation: 0,
    committedAt: now,
  };
}
