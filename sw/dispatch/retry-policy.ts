/**
 * When a row or a sender may try again (D3). The engine's own wait grows exponentially with jitter; a wait the
 * server named is kept as it is, cut to the longest that is believed (C4). Pure.
 */
import type { FlushCause } from '../../shared/answers.ts';
import type { Wait } from '../../shared/row.ts';

export interface RetryPolicy {
  /** Shortest wait of the engine's own, in ms. */
  readonly firstMs: number;
  /** Longest wait of the engine's own, in ms. */
  readonly longestMs: number;
  /** Longest wait believed at all, in ms: a longer `Retry-After` is cut to it (C4). */
  readonly believedMs: number;
}

/** `attempt` is 1 after the first failure; `random` is in [0, 1). */
export function engineWaitMs(attempt: number, random: number, policy: RetryPolicy): number {
  const { firstMs, longestMs } = policy;
  // 2 ** 40 firsts are longer than anyone waits; the cut keeps the number finite.
  const ceiling = Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(attempt, 1), 40));
  return Math.max(firstMs, Math.round(ceiling / 2 + (random * ceiling) / 2));
}

/**
 * The wait of a row that failed in passing: the server's if it named an instant ahead, else the engine's own.
 */
export function planWait(input: {
  readonly now: number;
  readonly attempt: number;
  readonly random: number;
  /** What `Retry-After` says, as an instant; absent where it was missing, unreadable or past. */
  readonly serverAt: number | undefined;
  readonly policy: RetryPolicy;
}): Wait {
  const { now, serverAt, policy } = input;
  if (serverAt !== undefined && serverAt > now)
    return { at: Math.min(serverAt, now + policy.believedMs), by: 'server' };
  return { at: now + engineWaitMs(input.attempt, input.random, policy), by: 'engine' };
}

const OVERRIDING: ReadonlySet<FlushCause> = new Set(['flush', 'sync', 'online']);

/** Reconnecting, `flush()` and a sync event override the engine's own wait, never the server's (D3). */
export function overridesEngineWait(causes: Iterable<FlushCause>): boolean {
  for (const cause of causes) if (OVERRIDING.has(cause)) return true;
  return false;
}

/**
 * Until when `wait` holds, or `undefined` if it holds nothing back now. One further ahead than is believed
 * comes from a clock that jumped (C4).
 */
export function waitsUntil(
  wait: Wait | undefined,
  context: { readonly now: number; readonly overrides: boolean; readonly believedMs: number },
): number | undefined {
  if (!wait || wait.at <= context.now || wait.at > context.now + context.believedMs) return undefined;
  return wait.by === 'engine' && context.overrides ? undefined : wait.at;
}
