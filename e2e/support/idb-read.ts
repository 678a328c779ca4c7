/** Reads a page's IndexedDB from outside: the judge of what is really stored. */
import type { Page } from 'puppeteer';

/** Values by store name. Blobs and buffers come as `{ $blob: size }` and `{ $bytes: length }`. */
export type StoredValues = Readonly<Record<string, readonly unknown[]>>;

/** Everything in a database, or `undefined` where there is none. Never creates or upgrades it. */
export async function readDatabase(page: Page, name: string): Promise<StoredValues | undefined> {
  return await page.evaluate(async (databaseName) => {
    const known = await indexedDB.databases();
    if (!known.some((one) => one.name === databaseName)) return undefined;
    const settle = <T>(request: IDBRequest<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const plain = (value: unknown): unknown => {
      if (value instanceof Blob) return { $blob: value.size };
      if (value instanceof ArrayBuffer) return { $bytes: value.byteLength };
      if (ArrayBuffer.isView(value)) return { $bytes: value.byteLength };
      if (Array.isArray(value)) return value.map(plain);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
    };
    const database = await settle(indexedDB.open(databaseName));
    try {
      const names = [...database.objectStoreNames];
      if (names.length === 0) return {};
      const transaction = database.transaction(names, 'readonly');
      const all = await Promise.all(names.map((store) => settle(transaction.objectStore(store).getAll())));
      return Object.fromEntries(names.map((store, i) => [store, (all[i] ?? []).map(plain)]));
    } finally {
      database.close();
    }
  }, name);
}

/** Names of the databases of the page's origin. */
export async function listDatabases(page: Page): Promise<readonly string[]> {
  return await page.evaluate(async () => (await indexedDB.databases()).map((one) => one.name ?? ''));
}
