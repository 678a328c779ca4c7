/** What a failure of IndexedDB means: by the exception's name, never by its text. */
import { HoldfastError, OutboxUnavailableError, QuotaError } from '../../shared/errors.ts';

export function nameOf(error: unknown): string {
  return error instanceof Error || error instanceof DOMException ? error.name : '';
}

/**
 * The connection is no good any more; another one may be (S12). WebKit calls a lost database server
 * `UnknownError`; a browser that closes a connection first aborts what runs on it.
 */
const LOST: ReadonlySet<string> = new Set(['InvalidStateError', 'UnknownError', 'AbortError']);

export function isConnectionLoss(error: unknown): boolean {
  return LOST.has(nameOf(error));
}

/** The same commit would fail again: its content is at fault, or there is no room. */
const LASTING: ReadonlySet<string> = new Set([
  'QuotaExceededError',
  'DataCloneError',
  'DataError',
  'ConstraintError',
  'TypeError',
  'RangeError',
]);

export function isLasting(error: unknown): boolean {
  return LASTING.has(nameOf(error));
}

/** The typed error a caller gets; errors of the content itself stay what they are. */
export function toStoreError(error: unknown, usage: Readonly<Record<string, unknown>> = {}): unknown {
  if (error instanceof HoldfastError) return error;
  const name = nameOf(error);
  if (name === 'QuotaExceededError')
    return new QuotaError('The device has no room for this', usage, { cause: error });
  if (isLasting(error) || !(error instanceof DOMException)) return error;
  return new OutboxUnavailableError(`IndexedDB failed: ${name}`, { name }, { cause: error });
}
