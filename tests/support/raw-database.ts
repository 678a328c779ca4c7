/** A store's database past the store: what is really there, and values as another release may have left them. */
import type { Place } from '../../sw/storage/judge.ts';

function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function withDatabase<T>(
  indexedDB: IDBFactory,
  name: string,
  work: (database: IDBDatabase) => Promise<T>,
): Promise<T> {
  const database = await answerOf(indexedDB.open(name));
  try {
    return await work(database);
  } finally {
    database.close();
  }
}

/** Every record of every object store, by store. */
export function readEverything(
  indexedDB: IDBFactory,
  name: string,
): Promise<Readonly<Record<string, readonly (readonly [unknown, unknown])[]>>> {
  return withDatabase(indexedDB, name, async (database) => {
    const names = [...database.objectStoreNames];
    const transaction = database.transaction(names);
    const stores = await Promise.all(
      names.map(async (storeName) => {
        const store = transaction.objectStore(storeName);
        const [keys, values] = await Promise.all([
          answerOf(store.getAllKeys()),
          answerOf<unknown[]>(store.getAll()),
        ]);
        return [storeName, keys.map((key, at) => [key, values[at]] as const)] as const;
      }),
    );
    return Object.fromEntries(stores);
  });
}

/** A row's record whose content is `value`, wherever the indexes would look for a queued update of workout w1. */
export function plantRecord(
  indexedDB: IDBFactory,
  name: string,
  { owner, seq }: Place,
  value: unknown,
  id: string,
): Promise<void> {
  const key = [owner, 'workout', 'id', 'w1'];
  const record = { owner, seq, names: [id], key, lane: [owner, 'ready', 1, seq], row: value };
  return writeRaw(indexedDB, 'rows', record, name);
}

export function writeRaw(
  indexedDB: IDBFactory,
  store: string,
  record: unknown,
  name = 'holdfast',
): Promise<void> {
  return withDatabase(indexedDB, name, async (database) => {
    const transaction = database.transaction(store, 'readwrite');
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
    transaction.objectStore(store).put(record);
    await done;
  });
}
