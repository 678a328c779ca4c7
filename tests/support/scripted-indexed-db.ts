/**
 * A fake IndexedDB that misbehaves on command, as browsers do: openings and transactions that never answer, end
 * late, end unseen, end without an error, or find the disk full (S10-S12, S16).
 */
import { IDBFactory as FakeFactory } from 'fake-indexeddb';
import type { Place } from '../../sw/storage/judge.ts';

/** What the next opening does. `late`: it opens, but tells only after `release()`. */
export type OpenStep = 'answer' | 'hang' | 'late' | 'blocked' | DOMException;

/**
 * What the next transaction of that mode does.
 * `stuck`: no request is ever answered; an abort is accepted.
 * `lands_unseen`: it completes, but tells only after `release()`; an abort is refused.
 * `lost_unseen`: it writes nothing and tells nobody, or tells of an abort after `release()`; an abort is refused.
 * `aborts_silently`: it aborts and gives no error, as WebKit does.
 * `full`: its writes succeed as requests, then it aborts with QuotaExceededError.
 * `closing`: `transaction()` throws, as on a connection that the browser is closing.
 * `server_lost`: it aborts with UnknownError.
 * `no_blobs`: writing a Blob fails after a while. If it was told to commit by then, all else is committed, as in WebKit.
 * `frozen`: it does what it is asked and stays open, in everybody's way, until `release()`: its page is frozen.
 */
export type TransactionStep =
  | 'answer'
  | 'stuck'
  | 'lands_unseen'
  | 'lost_unseen'
  | 'aborts_silently'
  | 'full'
  | 'closing'
  | 'server_lost'
  | 'no_blobs'
  | 'frozen';

export interface ScriptedIndexedDb {
  readonly indexedDB: IDBFactory;
  /** The same databases, behaving well. */
  readonly honest: IDBFactory;
  onOpen(...steps: readonly OpenStep[]): void;
  onWrite(...steps: readonly TransactionStep[]): void;
  onRead(...steps: readonly TransactionStep[]): void;
  /** The record of that row can no longer be read: requests for it, or for many that might include it, fail. */
  damage(place: Place): void;
  /** Tells what was kept back so far. */
  release(): void;
  /** The browser closes every connection (storage cleared, server lost): `close` events. */
  closeConnections(): void;
  /** Durability of each readwrite transaction so far. */
  readonly durabilities: readonly (string | undefined)[];
  readonly writeScopes: readonly (readonly string[])[];
  readonly readScopes: readonly (readonly string[])[];
  readonly openings: number;
  /** Connections that are open now. */
  readonly connections: number;
}

export function createScriptedIndexedDb(): ScriptedIndexedDb {
  const honest: IDBFactory = new FakeFactory();
  const openSteps: OpenStep[] = [];
  const steps: Record<'readwrite' | 'readonly', TransactionStep[]> = { readwrite: [], readonly: [] };
  const kept: (() => void)[] = [];
  const durabilities: (string | undefined)[] = [];
  const writeScopes: (readonly string[])[] = [];
  const readScopes: (readonly string[])[] = [];
  const connections = new Map<IDBDatabase, IDBDatabase>();
  const damaged = new Set<string>();
  let openings = 0;

  function wrapDatabase(real: IDBDatabase): IDBDatabase {
    const wrapped: IDBDatabase = wrap(real, {
      close: () => {
        connections.delete(real);
        real.close();
      },
      transaction: (names: string[], mode: 'readonly' | 'readwrite', options?: IDBTransactionOptions) => {
        const kind = mode ?? 'readonly';
        const step = steps[kind].shift() ?? 'answer';
        if (step === 'closing')
          throw new DOMException('The database connection is closing.', 'InvalidStateError');
        if (kind === 'readwrite') {
          durabilities.push(options?.durability);
          writeScopes.push(names);
        } else readScopes.push(names);
        const transaction = real.transaction(names, kind, options);
        return damaged.size > 0 ? wrapDamaged(transaction) : wrapTransaction(transaction, step);
      },
    });
    real.onversionchange = (event) => wrapped.onversionchange?.call(wrapped, event);
    connections.set(real, wrapped);
    return wrapped;
  }

  function wrapDamaged(real: IDBTransaction): IDBTransaction {
    const isDamaged = (key: unknown): boolean => damaged.has(JSON.stringify(key));
    const wrapSource = <T extends IDBObjectStore | IDBIndex>(source: T): T =>
      wrap(source, {
        getAll: () => failingRequest(),
        get: (key: IDBValidKey) => (isDamaged(key) ? failingRequest() : source.get(key)),
        index: (name: string) => wrapSource((source as IDBObjectStore).index(name)),
        get objectStore() {
          return wrapSource((source as IDBIndex).objectStore);
        },
      });
    const wrapped: IDBTransaction = wrap(real, {
      objectStore: (name: string) =>
        name === 'rows' ? wrapSource(real.objectStore(name)) : real.objectStore(name),
    });
    real.oncomplete = (event) => wrapped.oncomplete?.call(wrapped, event);
    real.onabort = (event) => wrapped.onabort?.call(wrapped, event);
    return wrapped;
  }

  function wrapTransaction(real: IDBTransaction, step: TransactionStep): IDBTransaction {
    if (step === 'answer') return real;
    let error: DOMException | null = null;
    let isEnding = false;
    let isCommitting = false;
    const wrapped: IDBTransaction = wrap(real, {
      get error() {
        return error;
      },
      // How it ends is the script's business.
      commit: () => {
        isCommitting = true;
      },
      abort: () => {
        if (step === 'lands_unseen' || step === 'lost_unseen')
          throw new DOMException('The transaction is committing.', 'InvalidStateError');
        if (step !== 'stuck') real.abort();
      },
      objectStore: (name: string) => (step === 'stuck' ? silentStore() : wrapStore(real.objectStore(name))),
    });
    // The real transaction's ends are told as the script says.
    real.oncomplete = (event) => {
      const tell = (): void => void wrapped.oncomplete?.call(wrapped, event);
      if (step === 'lands_unseen') kept.push(tell);
      else tell();
    };
    real.onabort = (event) => {
      if (step === 'full') error = new DOMException('', 'QuotaExceededError');
      if (step === 'server_lost')
        error = new DOMException('Connection to Indexed Database server lost', 'UnknownError');
      if (step === 'no_blobs') error = blobError();
      const tell = (): void => void wrapped.onabort?.call(wrapped, event);
      if (step === 'lost_unseen') kept.push(tell);
      else tell();
    };
    if (step === 'frozen') keepOpen(real);
    /** Once the caller has made its writes, and before the fake carries them out. */
    function endAfterWrites(): void {
      if (isEnding || step === 'lands_unseen' || step === 'frozen' || step === 'no_blobs') return;
      isEnding = true;
      queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => real.abort())));
    }
    function failLate(store: IDBObjectStore): IDBRequest {
      const request: Partial<IDBRequest> = { error: blobError() };
      store.count().onsuccess = (event) => {
        request.onerror?.call(request as IDBRequest, event);
        if (!isCommitting) real.abort();
      };
      return request as IDBRequest;
    }
    function wrapStore(store: IDBObjectStore): IDBObjectStore {
      const write =
        (name: 'put' | 'delete') =>
        (...values: [IDBValidKey]): IDBRequest => {
          if (step === 'no_blobs' && holdsBlob(values[0])) return failLate(store);
          endAfterWrites();
          return store[name](...values);
        };
      return wrap(store, { put: write('put'), delete: write('delete') });
    }
    return wrapped;
  }

  /** A transaction lives for as long as it has requests. */
  function keepOpen(real: IDBTransaction): void {
    let isReleased = false;
    kept.push(() => {
      isReleased = true;
    });
    const again = (): void => {
      if (isReleased) return;
      const [name = ''] = real.objectStoreNames;
      real.objectStore(name).count().onsuccess = again;
    };
    again();
  }

  const indexedDB: IDBFactory = wrap(honest, {
    open: (name: string, version?: number) => {
      openings++;
      const step = openSteps.shift() ?? 'answer';
      if (step === 'hang') return silentRequest();
      const real = honest.open(name, version);
      let database: IDBDatabase | undefined;
      let error: DOMException | null = null;
      const request: IDBOpenDBRequest = wrap(real, {
        get result() {
          return database ?? real.result;
        },
        get error() {
          return error ?? real.error;
        },
      });
      real.onupgradeneeded = (event) => request.onupgradeneeded?.call(request, event);
      real.onerror = (event) => request.onerror?.call(request, event);
      real.onsuccess = (event) => {
        if (step instanceof DOMException) {
          real.result.close();
          error = step;
          request.onerror?.call(request, event);
          return;
        }
        database = wrapDatabase(real.result);
        const tell = (): void => void request.onsuccess?.call(request, event);
        if (step === 'answer') tell();
        else kept.push(tell);
        if (step === 'blocked') {
          const blocked = Object.assign(event, { oldVersion: 1, newVersion: 1 });
          request.onblocked?.call(request, blocked as unknown as IDBVersionChangeEvent);
        }
      };
      return request;
    },
  });

  return {
    indexedDB,
    honest,
    onOpen: (...more) => void openSteps.push(...more),
    onWrite: (...more) => void steps.readwrite.push(...more),
    onRead: (...more) => void steps.readonly.push(...more),
    damage: ({ owner, seq }) => void damaged.add(JSON.stringify([owner, seq])),
    release() {
      for (const tell of kept.splice(0)) tell();
    },
    closeConnections() {
      for (const [real, wrapped] of [...connections]) {
        connections.delete(real);
        real.close();
        wrapped.onclose?.call(wrapped, new Event('close'));
      }
    },
    durabilities,
    writeScopes,
    readScopes,
    get openings() {
      return openings;
    },
    get connections() {
      return connections.size;
    },
  };
}

/** `real` with some members replaced; handlers set on it stay on it, so that the script decides when they run. */
function wrap<T extends object>(real: T, own: object): T {
  const handlers = new Map<PropertyKey, unknown>();
  return new Proxy(real, {
    get(target, name) {
      if (Reflect.has(own, name)) return Reflect.get(own, name);
      if (typeof name === 'string' && name.startsWith('on')) return handlers.get(name) ?? null;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    set(_target, name, value) {
      handlers.set(name, value);
      return true;
    },
  });
}

function failingRequest(): IDBRequest {
  const request: Partial<IDBRequest> = { error: new DOMException('', 'DataError') };
  queueMicrotask(() => request.onerror?.call(request as IDBRequest, new Event('error')));
  return request as IDBRequest;
}

const blobError = (): DOMException =>
  new DOMException('Error preparing Blob/File data to be stored in object store', 'UnknownError');

/** In a body's own members. */
function holdsBlob(stored: unknown): boolean {
  const { body } = Object(stored) as { readonly body?: unknown };
  return Object.values(Object(body)).some((member) => member instanceof Blob);
}

function silentRequest(): IDBOpenDBRequest {
  return Object.create(null) as IDBOpenDBRequest;
}

/** An object store, or an index, whose requests are never answered. */
function silentStore(): IDBObjectStore {
  const store: object = new Proxy(
    {},
    {
      get: (_target, name) =>
        name === 'index' ? () => store : name === 'keyPath' ? null : () => silentRequest(),
    },
  );
  return store as IDBObjectStore;
}
