/** Limits around what a browser may never answer (S10): webkit.org/b/226547 leaves requests open for ever. */
import { StoreTimeoutError } from '../../shared/errors.ts';
import type { Timers } from '../environment.ts';

export const STORE_LIMIT_MS = 8_000;

/**
 * Settles as `work` does, or rejects with StoreTimeoutError once `limitMs` have passed; `onLimit` runs first.
 * What `work` does later is ignored.
 */
export function withLimit<T>(
  timers: Timers,
  limitMs: number,
  what: string,
  work: Promise<T>,
  onLimit: () => void = () => undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(limitMs, () => {
      onLimit();
      reject(
        new StoreTimeoutError(`IndexedDB did not answer within ${limitMs} ms: ${what}`, { what, limitMs }),
      );
    });
    work.then(resolve, reject).finally(cancel);
  });
}
