/** Transactions with limits on a connection that may be lost (S10, S12, S13). */
import { StoreTimeoutError } from '../../shared/errors.ts';
import type { Timers } from '../environment.ts';
import type { Database } from './open-database.ts';
import { isConnectionLoss } from './store-failure.ts';
import { withLimit } from './time-limit.ts';
import { type WriteResult, writeTransaction } from './write-transaction.ts';

export type Work<T> = (transaction: IDBTransaction) => Promise<T>;

export interface IdbTransactions {
  /** The plain limit. Runs `work` once more where the connection was lost. */
  read<T>(stores: readonly string[], work: Work<T>): Promise<T>;
  /**
   * The three-way limit. Only an opening that fails, or a transaction that could not begin on a new connection
   * either, rejects.
   */
  write<T>(
    stores: readonly string[],
    durability: 'strict' | 'relaxed',
    work: Work<T>,
  ): Promise<WriteResult<T>>;
}

export function createTransactions(connection: Database, timers: Timers, limitMs: number): IdbTransactions {
  const openReads = new Map<
    string,
    { readonly database: IDBDatabase; readonly transaction: IDBTransaction }
  >();

  /** Reads of one turn share a transaction: beginning one costs more than most of them read. */
  function beginRead(database: IDBDatabase, stores: readonly string[]): IDBTransaction {
    const names = stores.join(', ');
    const open = openReads.get(names);
    if (open?.database === database) return open.transaction;
    const transaction = database.transaction([...stores], 'readonly');
    openReads.set(names, { database, transaction });
    // Requests may be added until the browser gets its turn; this comes before that.
    void Promise.resolve().then(() => openReads.delete(names));
    return transaction;
  }
  function readOn<T>(transaction: IDBTransaction, stores: readonly string[], work: Work<T>): Promise<T> {
    return withLimit(timers, limitMs, `reading ${stores.join(', ')}`, work(transaction));
  }

  return {
    read: (stores, work) =>
      connection.use(async (database) => {
        try {
          return await readOn(beginRead(database, stores), stores, work);
        } catch (error) {
          // A neighbour's damaged record ended the transaction that both were in (R3).
          if (!isAbort(error)) throw error;
          return await readOn(database.transaction([...stores], 'readonly'), stores, work);
        }
      }),
    write: (stores, durability, work) =>
      connection.use(async (database) => {
        const end = await writeTransaction(database, timers, { stores, durability, limitMs }, work);
        // A connection that hung or was lost in the middle is given up; the end it gave stands.
        if (end.type === 'unknown' || (end.type === 'aborted' && isDead(end.error)))
          connection.drop(database);
        return end;
      }),
  };
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

function isDead(error: unknown): boolean {
  return isConnectionLoss(error) || error instanceof StoreTimeoutError;
}
