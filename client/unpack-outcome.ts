/** Outcomes as they are broadcast → as everybody knows them: the page adds what was left out on the way. */
import type { Outcome } from '../shared/outcome.ts';
import type { WireOutcome } from '../shared/protocol.ts';

export function unpackOutcome(wire: WireOutcome, owner: string): Outcome {
  const { id, kind, family, target } = wire.row;
  const row = { origin: id, ...wire.row, owner };
  if (wire.type !== 'committed') return { ...wire, row };
  const repeated = { id, kind: `${family}.${kind}`, target: target.type === 'id' ? target.id : '' };
  return { ...wire, row, receipt: { ...repeated, ...wire.receipt } };
}
