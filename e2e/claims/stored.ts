/** What the outbox's database holds, read from outside, and rows put into it as another release would have. */
import type { Page } from 'puppeteer';
import type { Outcome } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { readDatabase } from '../support/idb-read.ts';

interface RowRecord {
  readonly row: Row;
}
interface ChunkRecord {
  readonly entries: readonly { readonly outcome: Outcome }[];
}

/** The rows, in their order. */
export async function storedRows(page: Page): Promise<readonly Row[]> {
  const stored = (await readDatabase(page, 'holdfast')) ?? {};
  return ((stored['rows'] ?? []) as RowRecord[]).map(({ row }) => row);
}

/** What the journal tells, in order: an id and the type of its outcome. */
export async function told(page: Page): Promise<readonly string[]> {
  const stored = (await readDatabase(page, 'holdfast')) ?? {};
  const chunks = (stored['journal'] ?? []) as ChunkRecord[];
  return chunks.flatMap(({ entries }) => entries.map(({ outcome }) => `${outcome.row.id} ${outcome.type}`));
}

/** Rewrites the row of `id`: `set` over what is stored, without the fields that `drop` names. Counts are kept right. */
export async function rewriteRow(
  page: Page,
  id: string,
  { set = {}, drop = [] }: { readonly set?: object; readonly drop?: readonly string[] },
): Promise<void> {
  await page.evaluate(
    async (of, changes, without) => {
      const settle = <T>(request: IDBRequest<T>): Promise<T> =>
        new Promise((resolve, reject) => {
          request.onsuccess = () => resolve(request.result);
          request.onerror = () => reject(request.error);
        });
      const database = await settle(indexedDB.open('holdfast'));
      const transaction = database.transaction(['rows', 'meta'], 'readwrite');
      const rows = transaction.objectStore('rows');
      const meta = transaction.objectStore('meta');
      const [record] = await settle(rows.index('names').getAll(of));
      const state = await settle(meta.get(['state']));
      const row = { ...record.row, ...changes };
      for (const name of without) delete row[name];
      const { counts } = state.owners.find(([owner]: [string]) => owner === row.owner)[1];
      counts[record.row.state]--;
      counts[row.state]++;
      await settle(rows.put({ ...record, row }));
      await settle(meta.put(state, ['state']));
      database.close();
    },
    id,
    set,
    drop,
  );
}

/** Resolves when every host has mirrored what it wrote and no transaction is open: a page may be frozen now. */
export async function whenQuiet(page: Page, limitMs = 30_000): Promise<void> {
  await page.waitForFunction(
    async () => {
      const settle = <T>(request: IDBRequest<T>): Promise<T> =>
        new Promise((resolve, reject) => {
          request.onsuccess = () => resolve(request.result);
          request.onerror = () => reject(request.error);
        });
      const database = await settle(indexedDB.open('holdfast'));
      // Readwrite, so that it begins when all others have ended.
      const meta = database.transaction(database.objectStoreNames, 'readwrite').objectStore('meta');
      const notes = await settle(meta.count(IDBKeyRange.bound(['unmirrored'], ['unmirrored', []])));
      database.close();
      return notes === 0;
    },
    { polling: 100, timeout: limitMs },
  );
}

/** The attempt data that the ledger, the host's own witness, has of a row. */
export async function ledgerAttempt(page: Page, id: string): Promise<unknown> {
  return await page.evaluate(async (of) => {
    const settle = <T>(request: IDBRequest<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const { storageBuckets } = navigator as unknown as {
      readonly storageBuckets: { open(name: string): Promise<{ readonly indexedDB: IDBFactory }> };
    };
    const bucket = await storageBuckets.open('holdfast-ledger');
    const database = await settle(bucket.indexedDB.open('holdfast-ledger'));
    const ledger = database.transaction('ledger').objectStore('ledger');
    const attempt = await settle(ledger.get(['attempt', 'ada', of]));
    database.close();
    return attempt?.data;
  }, id);
}
