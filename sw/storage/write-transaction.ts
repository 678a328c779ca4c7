/** One readwrite transaction with a limit, and the three ways it can end (S10). */
import { StoreTimeoutError } from '../../shared/errors.ts';
import type { Timers } from '../environment.ts';

export type WriteEnd<T> =
  | { readonly type: 'committed'; readonly value: T }
  /** Nothing was written. */
  | { readonly type: 'aborted'; readonly error: unknown };

export type WriteResult<T> =
  | WriteEnd<T>
  /** It was committing already when its limit passed. `settled` tells how it ended, if that ever comes out. */
  | { readonly type: 'unknown'; readonly settled: Promise<WriteEnd<T>> };

export interface WriteOptions {
  readonly stores: readonly string[];
  readonly durability: 'strict' | 'relaxed';
  readonly limitMs: number;
}

/**
 * Runs `work`, which may await nothing but the transaction's own requests. A `work` that rejects aborts it.
 * @throws what `IDBDatabase.transaction` throws: then nothing began.
 */
export async function writeTransaction<T>(
  database: IDBDatabase,
  timers: Timers,
  { stores, durability, limitMs }: WriteOptions,
  work: (transaction: IDBTransaction) => Promise<T>,
): Promise<WriteResult<T>> {
  const transaction = database.transaction([...stores], 'readwrite', { durability });
  let cancel = (): void => undefined;
  let failure: unknown;
  const ended = new Promise<WriteEnd<T>>((resolve) => {
    const running = work(transaction).then((value) => {
      finishEarly(transaction);
      return value;
    });
    running.catch((error: unknown) => {
      failure = error;
      if (tryToAbort(transaction)) resolve({ type: 'aborted', error });
    });
    transaction.oncomplete = () => {
      running.then(
        (value) => resolve({ type: 'committed', value }),
        // Cannot happen while `work` awaits only its requests; if it did, what was written stays written.
        (error: unknown) => resolve({ type: 'aborted', error }),
      );
    };
    // WebKit aborts without an `error` at times; then there is only this event.
    transaction.onabort = () =>
      resolve({
        type: 'aborted',
        error:
          transaction.error ?? failure ?? new DOMException('The browser ended the transaction', 'AbortError'),
      });
  });
  const limit = new Promise<WriteResult<T>>((resolve) => {
    cancel = timers.after(limitMs, () => {
      const error = new StoreTimeoutError(`A transaction did not end within ${limitMs} ms`, { limitMs });
      resolve(tryToAbort(transaction) ? { type: 'aborted', error } : { type: 'unknown', settled: ended });
    });
  });
  return Promise.race([ended, limit]).finally(() => cancel());
}

/** All requests are made, so the browser need not wait for someone to hear of them before it commits. */
function finishEarly(transaction: IDBTransaction): void {
  try {
    transaction.commit?.();
  } catch {
    // It is over already.
  }
}

/** Whether the abort was accepted: it is refused once the transaction is committing or over. */
function tryToAbort(transaction: IDBTransaction): boolean {
  try {
    transaction.abort();
    return true;
  } catch {
    return false;
  }
}
