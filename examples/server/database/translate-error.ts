/** From the database's SQLSTATE to this server's few words (V6). Pure. */
import {
  DatabaseBusyError,
  DatabaseContentionError,
  DatabaseError,
  DatabaseFailedError,
  DatabaseUnavailableError,
  DatabaseValueError,
} from './database.ts';

/** SQLSTATEs of PostgreSQL, or the codes of Node's sockets. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** A serialization failure or a deadlock: the same transaction may well succeed when it runs again. */
export function isContention(error: unknown): boolean {
  const code = codeOf(error);
  return code === '40001' || code === '40P01' || error instanceof DatabaseContentionError;
}

export function translateDatabaseError(error: unknown): Error {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  const options = { cause: error };
  if (isContention(error)) return new DatabaseContentionError('The transaction kept colliding', options);
  if (code === '55P03') return new DatabaseBusyError('A lock was not free in time', options);
  if (/^22/.test(code)) return new DatabaseValueError('A value that the database cannot store', options);
  // 08: connection; 53: resources; 57P: the server shuts down, starts, or ended this connection.
  if (/^(08|53|57P)/.test(code) || /^E[A-Z]+$/.test(code))
    return new DatabaseUnavailableError('The database is not available', options);
  if (/^[0-9A-Z]{5}$/.test(code)) return new DatabaseFailedError(`The database refused (${code})`, options);
  return error instanceof Error ? error : new DatabaseFailedError('The database failed', options);
}
