/**
 * A store inside a page or a worker, with hands on the browser's own IndexedDB: transactions that are aborted at a
 * chosen write, held open, or whose end is kept secret; and counters around every operation.
 */
import type { CommandInput } from '../../shared/command.ts';
import { record } from '../../shared/family.ts';
import { createBrowserEnvironment } from '../../sw/browser-environment.ts';
import { createCommitQueue } from '../../sw/outbox/commit-queue.ts';
import { createOutbox } from '../../sw/outbox/outbox.ts';
import { FACTS } from '../../sw/outbox/row-store.ts';
import { createIdbRowStore, type IdbRowStore } from '../../sw/storage/idb-row-store.ts';
import { commitOf, draft, one, outcomeOf, stored, uuid } from '../../tests/support/commit-fixture.ts';

const environment = createBrowserEnvironment();
const { clock, timers } = environment;

export type AbortPoint = 'before the first write' | 'between removal and put' | 'after the last write';

type Hook = (write: { readonly transaction: IDBTransaction; readonly place: number }) => void;

/** Operations on the prototypes that read or write records. */
const OPERATIONS = [
  'get',
  'getAll',
  'getKey',
  'getAllKeys',
  'count',
  'openCursor',
  'openKeyCursor',
  'put',
  'delete',
  'clear',
] as const;

export interface Operation {
  readonly store: string;
  readonly index: string | undefined;
  readonly name: (typeof OPERATIONS)[number];
  /** Reads of many records: whether the query is bounded. */
  readonly hasRange: boolean;
  readonly limit: number | undefined;
}

let hook: Hook | undefined;
const operations: Operation[] = [];
const writes = new WeakMap<IDBTransaction, number>();

function watchPrototype(prototype: IDBObjectStore | IDBIndex): void {
  for (const name of OPERATIONS) {
    const original: unknown = Reflect.get(prototype, name);
    if (typeof original !== 'function') continue;
    Object.defineProperty(prototype, name, {
      configurable: true,
      value(this: IDBObjectStore | IDBIndex, ...given: readonly unknown[]) {
        const store = 'objectStore' in this ? this.objectStore : this;
        const [query, limit] = given;
        operations.push({
          store: store.name,
          index: 'objectStore' in this ? this.name : undefined,
          name,
          hasRange: query !== undefined && query !== null,
          limit: typeof limit === 'number' ? limit : undefined,
        });
        if (name === 'put' || name === 'delete') {
          const { transaction } = store;
          const place = writes.get(transaction) ?? 0;
          writes.set(transaction, place + 1);
          hook?.({ transaction, place });
        }
        return Reflect.apply(original, this, given);
      },
    });
  }
}
watchPrototype(IDBObjectStore.prototype);
watchPrototype(IDBIndex.prototype);

/** Keeps a transaction alive by asking it for nothing, for ever. */
function keepOpen(transaction: IDBTransaction, onHeld: () => void): void {
  const ask = (): void => {
    transaction.objectStore('rows').get(['nobody', 0]).onsuccess = () => {
      onHeld();
      ask();
    };
  };
  ask();
}

const realm = {
  open(options: { readonly name?: string; readonly limitMs?: number } = {}): IdbRowStore {
    return createIdbRowStore(
      {
        indexedDB,
        keyRange: IDBKeyRange,
        clock,
        timers,
        ids: environment.ids,
        estimate: () => navigator.storage.estimate(),
      },
      { name: options.name ?? 'holdfast', ...options },
    );
  },
  /** Stores row `n` for workout w1 in the place of whatever stands there; says what came of it, errors included. */
  async replace(
    n: number,
    options: { readonly bodyBytes?: number; readonly limitMs?: number } = {},
  ): Promise<{ readonly type: string; readonly code?: unknown; readonly data?: unknown }> {
    const { bodyBytes: bodySize = 20, limitMs } = options;
    const store = realm.open(limitMs === undefined ? {} : { limitMs });
    const row = draft({ id: uuid(n), bodySize });
    const [expected = []] = await store.readKeys([row]);
    const body = new Uint8Array(bodySize);
    for (let from = 0; from < bodySize; from += 65_536)
      crypto.getRandomValues(body.subarray(from, Math.min(from + 65_536, bodySize)));
    const commit = {
      ...commitOf([row], expected, { bodies: [{ bodyId: row.id, body }], durability: 'strict' }),
      remove: expected.map(({ id }) => id),
      outcomes: expected.map((old) => outcomeOf(old, { type: 'replaced', by: row.id })),
    };
    try {
      return { type: (await one(store, commit)).type };
    } catch (error) {
      const { code, data } = Object(error);
      return { type: 'error', code, data };
    } finally {
      store.close();
    }
  },
  /** An outbox on a store of its own, ann signed in; `enqueue` says what came of a command, refusals included. */
  async openOutbox(): Promise<{ enqueue(command: Partial<CommandInput>): Promise<string> }> {
    const store = realm.open();
    await store.writeFacts([{ name: FACTS.activeOwner, value: 'ann' }], 'strict');
    const outbox = createOutbox({
      ...environment,
      store,
      queue: createCommitQueue(store),
      families: { workout: record() },
      leaseMs: () => 10_000,
      appLimitMs: 8_000,
      prepareSuccessor: () => undefined,
    });
    return {
      async enqueue(command) {
        const target = { type: 'id', id: 'w1' } as const;
        try {
          const whole = {
            id: uuid(1),
            owner: 'ann',
            family: 'workout',
            kind: 'update',
            target,
            ...command,
          } as const;
          return (await outbox.enqueue(whole)).action;
        } catch (error) {
          return String(Object(error).code);
        }
      },
    };
  },
  /** From now on every writing transaction is aborted there. */
  abortAt(point: AbortPoint): void {
    hook = ({ transaction, place }) => {
      if (point === 'before the first write' && place === 0) transaction.abort();
      if (point === 'between removal and put' && place === 1) transaction.abort();
      if (point === 'after the last write' && place === 0) queueMicrotask(() => transaction.abort());
    };
  },
  /** Holds the next writing transaction open after its writes; resolves once it is held. */
  holdNext(): Promise<void> {
    return new Promise((resolve) => {
      hook = ({ transaction }) => {
        hook = undefined;
        // The store would end it as soon as its requests are made.
        transaction.commit = () => undefined;
        queueMicrotask(() => keepOpen(transaction, resolve));
      };
    });
  },
  /** The next writing transaction completes without telling anybody. */
  hideNextEnd(): void {
    hook = ({ transaction }) => {
      hook = undefined;
      transaction.addEventListener('complete', (event) => event.stopImmediatePropagation());
      const { oncomplete } = transaction;
      transaction.oncomplete = null;
      // Registered again behind the listener above, which lets nothing through.
      transaction.oncomplete = oncomplete;
    };
  },
  behave(): void {
    hook = undefined;
  },
  /** What was done since the last call. */
  takeOperations(): readonly Operation[] {
    return operations.splice(0);
  },
  commitOf,
  draft,
  one,
  outcomeOf,
  stored,
  uuid,
};

export type StoreRealm = typeof realm;

declare global {
  var storeRealm: StoreRealm;
}
Object.assign(globalThis, { storeRealm: realm });

// In a worker: a call per message, answered on the port that it brought.
if (!('document' in globalThis))
  addEventListener('message', (event: Event & Partial<Pick<MessageEvent, 'data' | 'ports'>>) => {
    const [port] = event.ports ?? [];
    const work =
      event.data === 'hold'
        ? Promise.race([realm.holdNext(), realm.replace(2, { limitMs: 60_000 })])
        : realm.replace(Number(event.data));
    void work.then((answer) => port?.postMessage(answer ?? 'held'));
  });
