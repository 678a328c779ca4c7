import { isContention, translateDatabaseError } from './translate-error.ts';

export interface RetryOptions {
  /** Attempts in all. */
  readonly attempts: number;
  /** Waits before attempt `n` (2 for the first repeat), a little longer each time and not in step with others. */
  readonly pause: (n: number) => Promise<void>;
}

/** Runs a transaction again after a serialization failure or a deadlock; translates what is left (V6). */
export async function retryContention<T>(run: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await run();
    } catch (error) {
      if (!isContention(error) || n >= options.attempts) throw translateDatabaseError(error);
      await options.pause(n + 1);
    }
  }
}

/** 2-10 ms before the first repeat, doubling: collisions end within a transaction's length. */
export function jitteredPause(n: number): Promise<void> {
  const ceiling = 10 * 2 ** Math.min(n - 2, 5);
  return new Promise((resolve) => setTimeout(resolve, ceiling * (0.2 + 0.8 * Math.random())));
}
