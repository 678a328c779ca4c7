/**
 * What a page sees and a worker does not (W20): the connection coming back, the page being looked at again, and time
 * passing. While a drain runs it also keeps the worker alive, by a fresh message before the last one is over (W4).
 */
import type { FlushCause } from '../shared/answers.ts';
import type { Broadcast } from '../shared/protocol.ts';
import type { PageRealm } from './page-realm.ts';

export type ProgressMessage = Extract<Broadcast, { readonly type: 'progress' }>;

const KEEP_ALIVE_MS = 20_000;
/** A wake-up that is due at once waits a little, so that no misunderstanding makes a loop. */
const SHORTEST_MS = 250;
/** Timers take a signed 32-bit number; what is longer would go off at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Answers the listener for progress; `signal` ends everything. */
export function listenForTriggers(
  realm: PageRealm,
  signal: AbortSignal,
  trigger: (cause: FlushCause) => void,
): (progress: ProgressMessage) => void {
  let timer: number | undefined;
  let isRunning = false;
  const wake = (ms: number): void => {
    realm.clearTimeout(timer);
    timer = realm.setTimeout(
      () => {
        if (signal.aborted) return;
        trigger('timer');
        if (isRunning) wake(KEEP_ALIVE_MS);
      },
      Math.min(Math.max(ms, SHORTEST_MS), LONGEST_MS),
    );
  };
  realm.addEventListener('online', () => trigger('online'), { signal });
  realm.addEventListener('pageshow', () => trigger('visible'), { signal });
  realm.document.addEventListener('visibilitychange', () => realm.document.hidden || trigger('visible'), {
    signal,
  });

  return ({ running, wakeAt }) => {
    if (running && !isRunning) wake(KEEP_ALIVE_MS);
    isRunning = running;
    if (running) return;
    realm.clearTimeout(timer);
    if (wakeAt !== undefined) wake(wakeAt - realm.Date.now());
  };
}
