/** A short note of each resolved conflict, for the inspector and the page (D33). Bounded. */
import type { ConflictSummary } from '../../shared/outcome.ts';
import type { FactName, FactWrite, RowStore } from '../outbox/row-store.ts';

/** Summaries kept per owner. */
export const MAX_CONFLICT_SUMMARIES = 50;

const factsOf = (owner: string): FactName => ['conflict', owner];

/**
 * Facts that keep one summary more and drop what is past the bound. A record each, named by time, so that hosts
 * that write at once lose none.
 */
export async function noteConflict(
  store: Pick<RowStore, 'readFacts'>,
  owner: string,
  summary: ConflictSummary,
): Promise<readonly FactWrite[]> {
  const kept = await store.readFacts(factsOf(owner), MAX_CONFLICT_SUMMARIES * 2);
  const excess = Math.max(0, kept.length + 1 - MAX_CONFLICT_SUMMARIES);
  const at = String(summary.at).padStart(15, '0');
  return [
    { name: [...factsOf(owner), at, summary.originalId], value: summary },
    ...inOrder(kept)
      .slice(0, excess)
      .map(({ name }) => ({ name, value: undefined })),
  ];
}

/** Oldest first. */
export async function readConflicts(
  store: Pick<RowStore, 'readFacts'>,
  owner: string,
): Promise<readonly ConflictSummary[]> {
  const kept = await store.readFacts(factsOf(owner), MAX_CONFLICT_SUMMARIES * 2);
  // Written above, by this release or another one that only added fields (R2).
  return inOrder(kept).map(({ value }) => value as ConflictSummary);
}

/** By their names, which begin with the instant; a store need not answer in this order. */
function inOrder<Fact extends { readonly name: FactName }>(facts: readonly Fact[]): readonly Fact[] {
  const place = ({ name }: Fact) => name.slice(2).join();
  return facts.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}
