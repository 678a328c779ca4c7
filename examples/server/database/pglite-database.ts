/** PostgreSQL inside this process: no installation, one connection, transactions one after another. */
import { PGlite, type Transaction } from '@electric-sql/pglite';
import type { Database, Sql } from './database.ts';
import { jitteredPause, retryContention } from './retry-contention.ts';
import { translateDatabaseError } from './translate-error.ts';

const INT8 = 20;
const BYTEA = 17;

export interface PgliteOptions {
  /** A directory for the data; in memory without one. One process at a time may use it. */
  readonly dataDir?: string | undefined;
  /** A dump of a data directory to begin with, which takes a fraction of the time that a new one takes. */
  readonly template?: Blob | undefined;
}

export async function openPglite(options: PgliteOptions = {}): Promise<Database> {
  const db = await PGlite.create({
    ...(options.dataDir === undefined ? {} : { dataDir: options.dataDir }),
    ...(options.template === undefined ? {} : { loadDataDir: options.template }),
    parsers: { [INT8]: Number, [BYTEA]: (text) => Buffer.from(text.slice(2), 'hex') },
    // PGlite's own goes byte by byte: a photo of 10 MB would keep this process from everything else for many seconds.
    serializers: { [BYTEA]: toHex },
  });
  const translated = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      throw translateDatabaseError(error);
    }
  };
  const outside = sqlOver(db);
  return {
    technology: 'pglite',
    query: (text, parameters) => translated(() => outside.query(text, parameters)),
    script: (text) => translated(() => outside.script(text)),
    transaction: (work) =>
      retryContention(() => db.transaction((tx) => work(sqlOver(tx))), { attempts: 6, pause: jitteredPause }),
    close: () => db.close(),
  };
}

function toHex(value: unknown): string {
  if (!(value instanceof Uint8Array)) throw new TypeError('Bytes are written as a Uint8Array');
  return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
}

function sqlOver(db: PGlite | Transaction): Sql {
  return {
    query: async <Row extends object>(text: string, parameters: readonly unknown[] = []) =>
      (await db.query<Row>(text, [...parameters])).rows,
    script: async (text) => {
      await db.exec(text);
    },
  };
}
