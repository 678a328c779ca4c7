/** Searches a browser for a text: every database and cache, in every storage bucket, and all that a page can see. */
import type { Page } from 'puppeteer';

export type Places = readonly (readonly [name: string, held: string])[];

/** The places where `text` is, by name. */
export async function tracesOf(page: Page, text: string): Promise<readonly string[]> {
  return tracesIn(await readPlaces(page), text);
}

export function tracesIn(places: Places, text: string): readonly string[] {
  return places.flatMap(([place, held]) => (held.includes(text) ? [place] : []));
}

export async function readPlaces(page: Page): Promise<Places> {
  return await page.evaluate(async () => {
    interface Bucket {
      readonly indexedDB: IDBFactory;
      readonly caches: CacheStorage;
    }
    interface Buckets {
      keys(): Promise<readonly string[]>;
      open(name: string): Promise<Bucket>;
    }
    const settle = <T>(request: IDBRequest<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const asText = async (value: unknown): Promise<string> => {
      if (value instanceof Blob) return value.text();
      if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return new TextDecoder().decode(value);
      if (typeof value !== 'object' || value === null) return String(value);
      const entries = value instanceof Map || value instanceof Set ? [...value] : Object.entries(value);
      return (await Promise.all(entries.flat().map(asText))).join(' ');
    };
    const readDatabases = async (factory: IDBFactory): Promise<readonly (readonly [string, string])[]> => {
      const found: [string, string][] = [];
      for (const { name = '' } of await factory.databases()) {
        const database = await settle(factory.open(name));
        const stores = [...database.objectStoreNames];
        const transaction = stores.length > 0 ? database.transaction(stores) : undefined;
        const reads = stores.flatMap((store) => {
          const objects = transaction?.objectStore(store);
          return objects ? [settle(objects.getAll()), settle(objects.getAllKeys())] : [];
        });
        found.push([`IndexedDB ${name}`, await asText(await Promise.all(reads))]);
        database.close();
      }
      return found;
    };
    const readCaches = async (storage: CacheStorage): Promise<string> => {
      const found: string[] = [];
      for (const name of await storage.keys()) {
        const cache = await storage.open(name);
        for (const request of await cache.keys()) {
          const response = await cache.match(request);
          found.push(request.url, await asText([...request.headers]), (await response?.text()) ?? '');
        }
      }
      return found.join(' ');
    };

    const { outbox, reports, messages } = globalThis.outboxApp;
    const { epoch } = await outbox.journal(undefined);
    const { storageBuckets } = navigator as { readonly storageBuckets?: Buckets };
    const names = (await storageBuckets?.keys()) ?? [];
    const buckets: Bucket[] = [{ indexedDB, caches }];
    for (const name of names) if (storageBuckets) buckets.push(await storageBuckets.open(name));
    return [
      ...(await Promise.all(buckets.map((bucket) => readDatabases(bucket.indexedDB)))).flat(),
      ['Cache Storage', (await Promise.all(buckets.map((bucket) => readCaches(bucket.caches)))).join(' ')],
      ['localStorage', JSON.stringify({ ...localStorage })],
      ['sessionStorage', JSON.stringify({ ...sessionStorage })],
      ['cookies', document.cookie],
      ['journal', JSON.stringify(await outbox.journal({ epoch, n: 0 }))],
      ['export', JSON.stringify(await outbox.export())],
      ['view', JSON.stringify(outbox.view.getSnapshot())],
      ['reports', JSON.stringify(reports)],
      ['messages', messages.join(' ')],
    ] as const;
  });
}
