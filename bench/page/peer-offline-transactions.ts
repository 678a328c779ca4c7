/** @tanstack/offline-transactions as its documentation drives it: one transaction per change, sent in order. */
import { createCollection } from '@tanstack/db';
import { IndexedDBAdapter, startOfflineExecutor } from '@tanstack/offline-transactions';
import { makeItem } from '../common/definition.ts';
import type { Send, Timings } from './timings.ts';

interface Todo {
  readonly id: string;
  readonly item: unknown;
}

export async function runOfflineTransactions(count: number, send: Send): Promise<Timings> {
  const collection = createCollection<Todo, string>({
    id: 'items',
    getKey: ({ id }) => id,
    startSync: true,
    sync: { sync: ({ markReady }) => markReady() },
  });
  await collection.preload();
  let isOnline = false;
  const listeners = new Set<() => void>();
  const executor = startOfflineExecutor({
    collections: { items: collection },
    storage: new IndexedDBAdapter(`peer-${crypto.randomUUID()}`, 'transactions'),
    mutationFns: {
      send: async ({ transaction, idempotencyKey }) => {
        for (const { modified } of transaction.mutations) await send(modified['item'], idempotencyKey);
      },
    },
    onlineDetector: {
      subscribe(callback) {
        listeners.add(callback);
        return () => listeners.delete(callback);
      },
      notifyOnline: () => listeners.forEach((callback) => void callback()),
      isOnline: () => isOnline,
      dispose: () => undefined,
    },
  });
  await executor.waitForInit();

  const start = performance.now();
  const commits = Array.from({ length: count }, (_, n) => {
    const transaction = executor.createOfflineTransaction({ mutationFnName: 'send', autoCommit: false });
    transaction.mutate(() => void collection.insert({ id: crypto.randomUUID(), item: makeItem(n) }));
    return transaction.commit();
  });
  // A commit resolves when it has been sent; being stored shows in the outbox.
  while ((await executor.peekOutbox()).length < count)
    await new Promise((resolve) => setTimeout(resolve, 20));
  const stored = performance.now();
  isOnline = true;
  executor.getOnlineDetector().notifyOnline();
  await Promise.all(commits);
  const ended = performance.now();
  executor.dispose();
  return { enqueueMs: stored - start, drainMs: ended - stored };
}
