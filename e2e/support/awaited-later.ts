/**
 * A call whose end the test awaits after other steps. If one of those fails, the page is closed under the call: the
 * step's own failure is what should be read, not an unhandled rejection beside it.
 */
export function awaitedLater<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}
