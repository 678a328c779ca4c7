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

/** Rewrites the row of `id`: `set` over what is stored, without the fields that `drop` names. */
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
      const rows = database.transaction('rows', 'readwrite').objectStore('rows');
      const [record] = await settle(rows.index('names').getAll(of));
      const row = { ...record.row, ...changes };
      for (const name of without) delete row[name];
      await settle(rows.put({ ...record, row }));
      database.close();
    },
    id,
    set,
    drop,
  );
}
