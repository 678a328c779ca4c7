/** Counts what IndexedDB is asked, on its prototypes, so that nothing in the engine knows of it. */
import type { Counts } from '../common/worker-calls.ts';

const ROWS = 'rows';
const BODIES = 'bodies';

interface Tally {
  readwrite: number;
  rowsRead: number;
  bodiesRead: number;
  recordsRead: number;
  fullReads: number;
  ledgerBytes: number;
  readonly operations: Record<string, number>;
}

/** Never taken back: a worker that counts does so until it stops. */
export function countOperations(full: number): () => Counts {
  const tally: Tally = {
    readwrite: 0,
    rowsRead: 0,
    bodiesRead: 0,
    recordsRead: 0,
    fullReads: 0,
    ledgerBytes: 0,
    operations: {},
  };
  const note = (name: string): void => {
    tally.operations[name] = (tally.operations[name] ?? 0) + 1;
  };
  const isLedger = (database: IDBDatabase): boolean => database.objectStoreNames.length === 1;

  wrap(IDBDatabase.prototype, 'transaction', (database, [, mode = 'readonly']) => {
    note(`${database.name} transaction ${String(mode)}`);
    if (mode === 'readwrite' && !isLedger(database)) tally.readwrite++;
  });
  for (const name of ['put', 'add', 'delete', 'clear'] as const) {
    wrap(IDBObjectStore.prototype, name, (store, [value]) => {
      const { db } = store.transaction;
      note(`${db.name} ${store.name} ${name}`);
      if (name === 'put' && isLedger(db)) tally.ledgerBytes += JSON.stringify(value).length;
    });
  }
  const noteRead = (store: IDBObjectStore, name: string, query: unknown, request: unknown): void => {
    const { db } = store.transaction;
    note(`${db.name} ${store.name} ${name}`);
    const isQueue = !isLedger(db) && (store.name === ROWS || store.name === BODIES);
    if (isQueue && (query === undefined || query === null)) tally.fullReads++;
    if (!(request instanceof IDBRequest)) return;
    request.addEventListener('success', () => {
      const found = Array.isArray(request.result)
        ? request.result.length
        : request.result === undefined
          ? 0
          : 1;
      tally.recordsRead += found;
      if (!isQueue) return;
      if (found >= full) tally.fullReads++;
      if (store.name === ROWS) tally.rowsRead += found;
      else tally.bodiesRead += found;
    });
  };
  for (const name of [
    'get',
    'getAll',
    'openCursor',
    'getAllKeys',
    'getKey',
    'openKeyCursor',
    'count',
  ] as const) {
    wrap(IDBObjectStore.prototype, name, (store, [query], request) => noteRead(store, name, query, request));
    wrap(IDBIndex.prototype, name, (index, [query], request) =>
      noteRead(index.objectStore, `${index.name} ${name}`, query, request),
    );
  }
  return () => ({ ...tally, operations: { ...tally.operations } });
}

/** Calls `seen` with what the method was called on, with, and what it answered. */
function wrap<This extends object>(
  prototype: This,
  name: keyof This & string,
  seen: (self: This, args: readonly unknown[], result: unknown) => void,
): void {
  const original = prototype[name];
  if (typeof original !== 'function') throw new Error(`${name} is no method`);
  Object.defineProperty(prototype, name, {
    configurable: true,
    writable: true,
    value(this: This, ...args: readonly unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, args);
      seen(this, args, result);
      return result;
    },
  });
}
