/**
 * Whether a receipt comes a second time (D29). The journal is the memory: an adoption, its entry there and the
 * row's end are one commit, so every host knows it, also one that started since. Only asked where the row of an
 * accepted answer is gone: a row that is still stored without a receipt of its own has not been adopted.
 */
import type { RowStore } from '../outbox/row-store.ts';

/** @throws what the store throws. */
export async function wasAdopted(journal: Pick<RowStore, 'findEnds'>, id: string): Promise<boolean> {
  const [end] = await journal.findEnds([id]);
  return end?.end === 'committed';
}
