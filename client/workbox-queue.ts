/**
 * A queue as `workbox-background-sync` 7 keeps it: one database for all queues of an origin, an entry per request, in
 * the order of their numbers. Entries are set aside by renaming the queue they are in, so that workbox finds them no
 * more; that and every removal is durable before it resolves. Knows nothing of the outbox.
 */
export interface WorkboxEntry {
  readonly id: number;
  readonly queueName: string;
  /** When workbox stored it, in epoch ms. */
  readonly timestamp: number;
  readonly metadata?: object | undefined;
  readonly requestData: RequestInit & { readonly url: string };
  /** When an adoption set it aside, in epoch ms. */
  readonly setAsideAt?: number | undefined;
}

export interface WorkboxQueue {
  /** What is in the queue, and what an earlier adoption has set aside of it, in workbox's order. */
  read(): Promise<readonly WorkboxEntry[]>;
  /** Those that are gone meanwhile are passed over. */
  setAside(ids: readonly number[], at: number): Promise<void>;
  /** Puts entries that were set aside back into the queue, in their old places. */
  giveBack(ids: readonly number[]): Promise<void>;
  remove(id: number): Promise<void>;
  close(): void;
}

const DATABASE = 'workbox-background-sync';
const STORE = 'requests';
const INDEX = 'queueName';

/** `undefined` where there is none, or one that another release of workbox made: that is left alone. */
export async function openWorkboxQueue(
  factory: Pick<IDBFactory, 'open'>,
  queue: string,
): Promise<WorkboxQueue | undefined> {
  const aside = `holdfast:${queue}`;
  const database = await openDatabase(factory);
  if (!database || !isKnown(database)) {
    database?.close();
    return undefined;
  }
  /** Resolves once what `work` asked for is on disk. */
  const transact = async <T>(
    mode: IDBTransactionMode,
    work: (store: IDBObjectStore) => IDBRequest<T> | undefined,
  ): Promise<T | undefined> => {
    const transaction = database.transaction(STORE, mode, { durability: 'strict' });
    const request = work(transaction.objectStore(STORE));
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('The transaction was aborted'));
    });
    return request?.result;
  };
  const rename = async (
    ids: readonly number[],
    from: string,
    renamed: (entry: WorkboxEntry) => WorkboxEntry,
  ): Promise<void> => {
    if (ids.length === 0) return;
    await transact('readwrite', (store) => {
      for (const id of ids) {
        const found: IDBRequest<WorkboxEntry | undefined> = store.get(id);
        found.onsuccess = () => {
          if (found.result?.queueName === from) store.put(renamed(found.result));
        };
      }
      return undefined;
    });
  };
  return {
    async read() {
      const found = [queue, aside].map((name) =>
        transact<WorkboxEntry[]>('readonly', (store) => store.index(INDEX).getAll(name)),
      );
      return (await Promise.all(found)).flatMap((entries) => entries ?? []).sort((a, b) => a.id - b.id);
    },
    setAside: (ids, at) => rename(ids, queue, (entry) => ({ ...entry, queueName: aside, setAsideAt: at })),
    giveBack: (ids) => rename(ids, aside, ({ setAsideAt: _, ...entry }) => ({ ...entry, queueName: queue })),
    async remove(id) {
      await transact('readwrite', (store) => store.delete(id));
    },
    close: () => database.close(),
  };
}

function isKnown(database: IDBDatabase): boolean {
  return (
    database.objectStoreNames.contains(STORE) &&
    database.transaction(STORE).objectStore(STORE).indexNames.contains(INDEX)
  );
}

/** `undefined` where there is none; it is not made. */
function openDatabase(factory: Pick<IDBFactory, 'open'>): Promise<IDBDatabase | undefined> {
  return new Promise((resolve, reject) => {
    const request = factory.open(DATABASE);
    let isMissing = false;
    request.onupgradeneeded = () => {
      isMissing = true;
      request.transaction?.abort();
    };
    request.onerror = () => {
      if (isMissing) resolve(undefined);
      else reject(request.error);
    };
    request.onsuccess = () => {
      const database = request.result;
      // Another release of workbox may want to change it.
      database.onversionchange = () => database.close();
      resolve(database);
    };
  });
}
