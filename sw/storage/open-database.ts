/**
 * The one connection of a store (S12): opened when first needed, dropped when the browser closes it, opened
 * again by whoever needs it next. It never deletes a database to get on.
 */
import {
  HoldfastError,
  IdbBlockedError,
  OutboxUnavailableError,
  StoreTimeoutError,
} from '../../shared/errors.ts';
import type { Clock, Ids, Timers } from '../environment.ts';
import { createSchema, DATABASE_VERSION, writeFirstFacts } from './schema.ts';
import { isConnectionLoss, nameOf, toStoreError } from './store-failure.ts';
import { withLimit } from './time-limit.ts';

export interface DatabaseDeps {
  readonly indexedDB: IDBFactory;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Pick<Ids, 'uuid'>;
}

export interface DatabaseOptions {
  readonly name: string;
  /** For the whole of an opening, its second try included. */
  readonly limitMs: number;
  /** The database was, or may have been, lost and made anew since the last opening, by whoever came first (S31). */
  readonly onFresh?: (() => void) | undefined;
}

export interface Connection {
  readonly database: IDBDatabase;
  /** This opening created the database (`oldVersion` 0). What follows from it, `recovery` in `meta` decides (S31). */
  readonly createdFresh: boolean;
}

export interface Database {
  /** @throws IdbBlockedError, StoreTimeoutError, QuotaError, OutboxUnavailableError */
  connect(): Promise<Connection>;
  /**
   * Runs `work` on the connection. Where that turns out to be lost it is opened again, once, and `work` runs
   * again: so `work` must be safe to repeat.
   */
  use<T>(work: (database: IDBDatabase) => Promise<T>): Promise<T>;
  /** Lets go of a connection that is lost or no longer answers. */
  drop(database: IDBDatabase): void;
  /** Lets go of whatever connection there is. */
  letGo(): void;
  close(): void;
}

export function createDatabase(deps: DatabaseDeps, { name, limitMs, onFresh }: DatabaseOptions): Database {
  let opening: Promise<Connection> | undefined;
  let open: IDBDatabase | undefined;
  let wasOpen = false;
  let isClosed = false;
  /** Someone wanted the database to themselves: an opening that hangs now waits for a third party's connection. */
  let wasAskedToClose = false;
  /** By an opening that came too late, or by another host, once the browser had closed this connection. */
  let mayBeNew = false;

  function openOnce(): Promise<Connection> {
    let isOver = false;
    let cancelSecond = (): void => undefined;
    const opened = new Promise<Connection>((resolve, reject) => {
      const fail = (error: unknown): void => {
        isOver = true;
        reject(error);
      };
      const tryToOpen = (): void => {
        try {
          const request = deps.indexedDB.open(name, DATABASE_VERSION);
          let createdFresh = false;
          request.onupgradeneeded = ({ oldVersion }) => {
            createdFresh = oldVersion === 0;
            mayBeNew ||= createdFresh;
            createSchema(request.result, (meta) => writeFirstFacts(meta, deps.ids.uuid(), deps.clock.now()));
          };
          request.onblocked = () =>
            fail(new IdbBlockedError(`Another connection keeps ${name} from being opened`, { name }));
          request.onerror = () => fail(request.error);
          request.onsuccess = () => {
            // Too late: nobody waits for this connection, and it would keep others from the database.
            if (isOver) request.result.close();
            else resolve({ database: request.result, createdFresh });
            isOver = true;
          };
        } catch (error) {
          fail(error);
        }
      };
      tryToOpen();
      // In WebKit the first opening of a session may never be answered, while a second is (webkit.org/b/226547).
      cancelSecond = deps.timers.after(limitMs / 2, tryToOpen);
    });
    return withLimit(deps.timers, limitMs, `opening ${name}`, opened, () => {
      isOver = true;
    }).finally(() => cancelSecond());
  }

  async function openAndWatch(): Promise<Connection> {
    try {
      // A database that is being cleared aborts an opening that came in between; the next one makes it anew.
      const connection = await openOnce().catch((error: unknown) =>
        nameOf(error) === 'AbortError' ? openOnce() : Promise.reject(error),
      );
      const { database } = connection;
      if (isClosed) database.close();
      open = database;
      if (wasOpen && mayBeNew) onFresh?.();
      wasOpen = true;
      wasAskedToClose = false;
      mayBeNew = false;
      database.onclose = () => {
        mayBeNew = true;
        forget(database);
      };
      database.onversionchange = () => {
        wasAskedToClose = true;
        mayBeNew = true;
        drop(database);
      };
      return connection;
    } catch (error) {
      opening = undefined;
      if (wasAskedToClose && error instanceof StoreTimeoutError)
        throw new IdbBlockedError(
          `Another connection keeps ${name} from being opened`,
          { name },
          { cause: error },
        );
      const typed = toStoreError(error);
      if (typed instanceof HoldfastError) throw typed;
      // No IndexedDB at all, or one that refuses by throwing.
      throw new OutboxUnavailableError(`${name} cannot be opened`, { name }, { cause: error });
    }
  }

  function forget(database: IDBDatabase): void {
    if (open !== database) return;
    open = undefined;
    opening = undefined;
  }
  function drop(database: IDBDatabase): void {
    forget(database);
    database.close();
  }
  function connect(): Promise<Connection> {
    if (isClosed) return Promise.reject(new OutboxUnavailableError('The store is closed'));
    opening ??= openAndWatch();
    return opening;
  }

  return {
    connect,
    drop,
    async use(work) {
      for (let isAgain = false; ; isAgain = true) {
        const { database } = await connect();
        try {
          return await work(database);
        } catch (error) {
          if (isConnectionLoss(error) || error instanceof StoreTimeoutError) drop(database);
          if (isAgain || !isConnectionLoss(error)) throw toStoreError(error);
        }
      }
    },
    letGo() {
      if (open) drop(open);
    },
    close() {
      isClosed = true;
      if (open) drop(open);
    },
  };
}
