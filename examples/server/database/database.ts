/**
 * The database port: the few verbs that the ledger and the demo's tables need, the same on an embedded
 * PostgreSQL (PGlite) and on a real one, with the same SQL (V6). It knows no tables.
 */

export interface Sql {
  /** One statement with `$1` parameters. Instants come back as `Date`, `bigint` columns as numbers. */
  query<Row extends object>(text: string, parameters?: readonly unknown[]): Promise<readonly Row[]>;
  /** Several statements without parameters. */
  script(text: string): Promise<void>;
}

export interface Database extends Sql {
  readonly technology: 'pglite' | 'postgres';
  /**
   * Runs `work` in one transaction and commits it when `work` resolves. After a serialization failure or a
   * deadlock (40001, 40P01) everything is rolled back and `work` runs again, so it must have no effect outside
   * of `sql` (V6).
   * @throws DatabaseBusyError, DatabaseContentionError, DatabaseUnavailableError, DatabaseValueError
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The database's own errors never leave an adapter; these do. None says what was asked of which table. */
export abstract class DatabaseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A lock was not free within the limit: somebody else is at work on the same key or resource. */
export class DatabaseBusyError extends DatabaseError {}
/** Serialization failures or deadlocks, time after time. Nothing was written. */
export class DatabaseContentionError extends DatabaseError {}
/** The database cannot be reached, or went away; whether a commit in flight landed is not known. */
export class DatabaseUnavailableError extends DatabaseError {}
/** A value that PostgreSQL cannot store, such as U+0000 in a text. Nothing was written. */
export class DatabaseValueError extends DatabaseError {}
/** Anything else: a defect of the program or its schema. `cause` has the database's error, for the log. */
export class DatabaseFailedError extends DatabaseError {}
