/** Time limits for the app's own functions (D4), with a signal for those that can stop. */
import type { Timers } from '../environment.ts';
import { inTime } from '../outbox/time-limit.ts';

/** As `inTime`; the signal that `run` gets fires when nobody waits for it any longer. */
export async function withinLimit<T>(
  timers: Timers,
  ms: number,
  run: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  try {
    return await inTime(timers, ms, () => run(controller.signal));
  } finally {
    controller.abort();
  }
}
