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
  return {
    read: (stores, work) =>
      connection.use((database) => {
        const transaction = database.transaction([...stores], 'readonly');
        return withLimit(timers, limitMs, `reading ${stores.join(', ')}`, work(transaction));
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

function isDead(error: unknown): boolean {
  return isConnectionLoss(error) || error instanceof StoreTimeoutError;
}
