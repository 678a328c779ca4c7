/**
 * A clock that stands still until it is told to move, with the timers that hang on it. A wall clock may jump
 * (C4) while timers go on counting what really passed, so the two are moved apart: `jump` moves only the wall.
 */
import type { Clock, Timers } from '../environment.ts';

export interface ManualClock extends Clock, Timers {
  /** Lets everything that is ready run, without moving time. `turns` counts macrotasks; raise it over real I/O. */
  settle(turns?: number): Promise<void>;
  /** Moves time by `ms`, timer by timer in order, and lets everything run after each. */
  advance(ms: number): Promise<void>;
  /** Moves time until `promise` has settled, then answers it. Rejects when `limitMs` passed without that. */
  until<T>(promise: Promise<T>, limitMs?: number): Promise<T>;
  /** Moves the wall clock alone, forward or back, as a correction by the system does; timers do not notice. */
  jump(ms: number): void;
  /** Timers that have not gone off. */
  readonly pendingTimers: number;
}

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** One macrotask: every microtask that is ready runs before it comes back. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

export function createManualClock(startAt = 1_700_000_000_000): ManualClock {
  const timers = new Set<Timer>();
  let passed = 0;
  let offset = startAt;
  let order = 0;

  const next = (limit: number): Timer | undefined => {
    let found: Timer | undefined;
    for (const timer of timers) {
      if (timer.at > limit) continue;
      if (!found || timer.at < found.at || (timer.at === found.at && timer.order < found.order))
        found = timer;
    }
    return found;
  };

  const fire = (timer: Timer): void => {
    timers.delete(timer);
    passed = Math.max(passed, timer.at);
    timer.callback();
  };

  const clock: ManualClock = {
    now: () => offset + passed,
    after(ms, callback) {
      const timer = { at: passed + Math.max(0, ms), order: order++, callback };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async settle(turns = 2) {
      for (let i = 0; i < turns; i++) await turn();
    },
    async advance(ms) {
      const target = passed + ms;
      await clock.settle();
      for (let timer = next(target); timer; timer = next(target)) {
        fire(timer);
        await clock.settle();
      }
      passed = target;
      await clock.settle();
    },
    async until(promise, limitMs = 3_600_000) {
      let settled = false;
      const done = () => {
        settled = true;
      };
      promise.then(done, done);
      const limit = passed + limitMs;
      await clock.settle();
      while (!settled) {
        const timer = next(limit);
        if (!timer) {
          // Real work (a digest, a fake database) may still be under way although no timer waits.
          await clock.settle(20);
          if (!settled && !next(limit)) {
            throw new Error(
              `Nothing is left to wait for within ${limitMs} ms, and the promise has not settled`,
            );
          }
          continue;
        }
        fire(timer);
        await clock.settle();
      }
      return promise;
    },
    jump(ms) {
      offset += ms;
    },
    get pendingTimers() {
      return timers.size;
    },
  };
  return clock;
}
