/** The page of the peers: those that live in a page run here, those of a worker are asked there. */
import { ITEMS_PATH, makeItem, ROW_BYTES } from '../common/definition.ts';
import type { PeerAnswer, PeerOp } from '../common/worker-calls.ts';
import { runOfflineTransactions } from './peer-offline-transactions.ts';
import { runReduxOffline } from './peer-redux-offline.ts';

const DATABASE = 'raw';

async function openRaw(): Promise<IDBDatabase> {
  return await new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore('rows', { keyPath: 'id' });
      store.createIndex('key', ['owner', 'target']);
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function putStrictly(database: IDBDatabase, n: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction('rows', 'readwrite', { durability: 'strict' });
    const row = { id: crypto.randomUUID(), owner: 'bench', target: String(n), body: makeItem(n) };
    transaction.objectStore('rows').put(row);
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

const api = {
  async register(): Promise<void> {
    await navigator.serviceWorker.register('/peers.js');
    await navigator.serviceWorker.ready;
  },
  async ask(call: Omit<PeerOp, 'body'>, bytes: number = ROW_BYTES): Promise<PeerAnswer> {
    const registration = await navigator.serviceWorker.ready;
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise<PeerAnswer>((resolve) => {
      port1.onmessage = ({ data }) => resolve(data as PeerAnswer);
    });
    registration.active?.postMessage({ ...call, body: JSON.stringify(makeItem(1, bytes)) }, [port2]);
    return await answer;
  },
  /** A message to the worker and its answer. */
  async ping(): Promise<number> {
    const start = performance.now();
    await api.ask({ op: 'ping', count: 0, concurrency: 0 }, 40);
    return performance.now() - start;
  },
  /** One strict put of one row, one after another: milliseconds of each. */
  async rawPuts(count: number): Promise<readonly number[]> {
    const database = await openRaw();
    const samples: number[] = [];
    for (let i = 0; i < count; i++) {
      const start = performance.now();
      await putStrictly(database, i);
      samples.push(performance.now() - start);
    }
    database.close();
    return samples;
  },
  offlineTransactions: (count: number) => runOfflineTransactions(count, send),
  reduxOffline: (count: number) => runReduxOffline(count, send),
};

async function send(item: unknown, id: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': id };
  const response = await fetch(ITEMS_PATH, { method: 'POST', headers, body: JSON.stringify(item) });
  if (!response.ok) throw new Error(`The server answered ${response.status}`);
  await response.json();
}

export type PeersPage = typeof api;

Object.assign(globalThis, { bench: api });
