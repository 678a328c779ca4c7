/** Requests as promises that may be awaited inside their transaction. */

export function answerOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

export type Tried<T> =
  | { readonly type: 'value'; readonly value: T }
  | { readonly type: 'error'; readonly error: unknown };

/** A request whose failure does not abort its transaction: one damaged record must not take others along (R3). */
export function tried<T>(request: IDBRequest<T>): Promise<Tried<T>> {
  return new Promise((resolve) => {
    request.onsuccess = () => resolve({ type: 'value', value: request.result });
    request.onerror = (event) => {
      event.preventDefault();
      event.stopPropagation();
      resolve({ type: 'error', error: request.error });
    };
  });
}
