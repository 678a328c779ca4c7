/**
 * The engine on what a browser gives: IndexedDB with a reserve, the ledger in a database of its own, Web Locks, the
 * network's state. The same for a Service Worker and for a page that has none (W40).
 */
import { createBrowserEnvironment } from './browser-environment.ts';
import { createEngine } from './create-engine.ts';
import type { Engine } from './engine.ts';
import type { EngineOptions } from './engine-options.ts';
import type { Environment } from './environment.ts';
import { kvLedger, openLedgerStore, type StorageBuckets } from './mirror/kv-ledger.ts';
import { createIdbRowStore } from './storage/idb-row-store.ts';
import { createReservedStore } from './storage/reserved-store.ts';

export interface OpenEngineOptions extends EngineOptions {
  /** Names this outbox's databases and locks: pages and workers with the same name share one. Default `holdfast`. */
  readonly name?: string | undefined;
}

/**
 * Opens nothing before it is needed, so that a worker starts as fast with 100,000 rows as with none (W3).
 * @throws InvalidOptionError
 */
export function openEngine(
  options: OpenEngineOptions,
  environment: Environment = createBrowserEnvironment(),
): Engine {
  const { name = 'holdfast' } = options;
  const rows = createIdbRowStore({ ...environment, indexedDB, keyRange: IDBKeyRange, estimate }, { name });
  const store = createReservedStore(rows, { quota: async () => (await estimate()).quota });
  const ledger = kvLedger(openLedgerStore(`${name}-ledger`, indexedDB, storageBuckets()));
  const connection = { online: () => navigator.onLine };
  return createEngine({ ...environment, store, reserve: store, ledger, connection }, options);
}

/** Where the browser does not tell, nothing is said. */
async function estimate(): Promise<StorageEstimate> {
  return (await navigator.storage?.estimate?.()) ?? {};
}

/** Chromium only, and in no TypeScript library yet. */
function storageBuckets(): StorageBuckets | undefined {
  return (navigator as { readonly storageBuckets?: StorageBuckets }).storageBuckets;
}
