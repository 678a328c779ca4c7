/** A real PostgreSQL over a pool of connections. Several server processes may share one database. */
import pg from 'pg';
import { type Database, DatabaseUnavailableError, type Sql } from './database.ts';
import { jitteredPause, retryContention } from './retry-contention.ts';
import { translateDatabaseError } from './translate-error.ts';

export interface PostgresOptions {
  /** As in DATABASE_URL. */
  readonly url: string;
  /** Connections at most; further transactions wait for one. */
  readonly poolSize?: number | undefined;
  /** How long a transaction waits for somebody else's lock (ms). */
  readonly lockTimeoutMs?: number | undefined;
  /** The ledger is exact under either; the stricter one collides more, and is repeated here. */
  readonly isolation?: 'read committed' | 'serializable' | undefined;
}

const INT8 = 20;

export async function openPostgres(options: PostgresOptions): Promise<Database> {
  const { poolSize = 10, lockTimeoutMs = 3000, isolation = 'read committed' } = options;
  const begin = `begin isolation level ${isolation}; set local lock_timeout = ${Math.trunc(lockTimeoutMs)}`;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: poolSize,
    connectionTimeoutMillis: 10_000,
    types: { getTypeParser: (oid, format) => (oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) },
  });
  // A connection that breaks is reported by the query that used it; unheard, the event would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));

  async function attempt<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const client = await reached(() => pool.connect());
    let broken: unknown;
    try {
      await reached(() => client.query(begin));
      const result = await work(sqlOver(client));
      const end = await reached(() => client.query('commit'));
      // PostgreSQL answers COMMIT of a failed transaction with ROLLBACK and no error.
      if (end.command !== 'COMMIT') throw new Error('The transaction had failed before its commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch((failure: unknown) => {
        broken = failure;
      });
      throw error;
    } finally {
      client.release(broken instanceof Error ? broken : undefined);
    }
  }

  const outside = sqlOver(pool);
  const translated = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      throw translateDatabaseError(error);
    }
  };
  const database: Database = {
    technology: 'postgres',
    query: (text, parameters) => translated(() => outside.query(text, parameters)),
    script: (text) => translated(() => outside.script(text)),
    transaction: (work) => retryContention(() => attempt(work), { attempts: 12, pause: jitteredPause }),
    close: () => pool.end(),
  };
  await database.query('select 1');
  return database;
}

function sqlOver(connection: pg.Pool | pg.PoolClient): Sql {
  return {
    query: async <Row extends object>(text: string, parameters: readonly unknown[] = []) =>
      (await reached(() => connection.query<Row>(text, [...parameters]))).rows,
    script: async (text) => {
      await reached(() => connection.query(text));
    },
  };
}

/** What PostgreSQL itself says has a SQLSTATE; a driver's error without any code is a connection that broke. */
async function reached<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const isOurs = error instanceof TypeError || (error instanceof Error && 'code' in error);
    throw isOurs
      ? error
      : new DatabaseUnavailableError('The connection to the database broke', { cause: error });
  }
}
