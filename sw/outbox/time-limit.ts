/** A limit around functions of the app (D4). */
import type { Timers } from '../environment.ts';

/** Settles as `run` does, or rejects after `ms`; what comes later is ignored. A throw is a rejection. */
export function inTime<T>(timers: Timers, ms: number, run: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = timers.after(ms, () => reject(new Error(`No answer within ${ms} ms`)));
    Promise.resolve().then(run).then(resolve, reject).finally(cancel);
  });
}
