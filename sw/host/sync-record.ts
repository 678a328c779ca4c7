/**
 * Whether a `sync` event has ever come here (W21). A fact about the browser and not about anybody's rows: it has a small
 * database of its own, outlives the worker, and is read when a page asks, not at the start.
 */
import { get, promisifyRequest, set, type UseStore } from 'idb-keyval';

export interface SyncRecord {
  /** When one came first (epoch ms). */
  read(): Promise<number | undefined>;
  write(at: number): Promise<void>;
}

const FIRED_AT = 'sync_fired_at';

export function kvSyncRecord(name: string, factory: IDBFactory): SyncRecord {
  const use = onceOpen(`${name}-facts`, factory);
  return { read: () => get<number>(FIRED_AT, use), write: (at) => set(FIRED_AT, at, use) };
}

/** Used twice in a worker's life: a connection that stayed open would only be in the way of who clears the storage. */
function onceOpen(name: string, factory: IDBFactory): UseStore {
  return async (mode, callback) => {
    const request = factory.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore('facts');
    const db = await promisifyRequest(request);
    try {
      return await callback(db.transaction('facts', mode).objectStore('facts'));
    } finally {
      db.close();
    }
  };
}
