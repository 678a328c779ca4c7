/**
 * Remembers which receipts were adopted (D29), so that one that comes twice makes the page react once. The journal
 * is the memory: an adoption is one commit with its entry there, and outlives every worker. What this host adopted
 * last it also knows without a read. Never asked on the way of an ordinary answer: a row that is still stored
 * without a receipt of its own has not been adopted.
 */
import type { RowStore } from '../outbox/row-store.ts';

export interface ReceiptReconciler {
  /** Call when the commit that adopted these ids has completed. */
  noteAdopted(ids: readonly string[]): void;
  /**
   * Whether a committed outcome for this id is known: then the waiting caller resolves and nobody else hears of it.
   * @throws what the store throws.
   */
  isDuplicate(id: string): Promise<boolean>;
}

/** At least 64 (D29); a flush at concurrency 32 repeats itself within fewer. */
const REMEMBERED = 256;

export function createReceiptReconciler(journal: Pick<RowStore, 'findEnds'>): ReceiptReconciler {
  const adopted = new Set<string>();
  return {
    noteAdopted(ids) {
      for (const id of ids) {
        adopted.delete(id);
        adopted.add(id);
      }
      for (const oldest of adopted) {
        if (adopted.size <= REMEMBERED) break;
        adopted.delete(oldest);
      }
    },
    async isDuplicate(id) {
      if (adopted.has(id)) return true;
      const [end] = await journal.findEnds([id]);
      return end?.end === 'committed';
    },
  };
}
