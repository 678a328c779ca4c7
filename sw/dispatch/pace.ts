/** How many rows may be claimed ahead of sending, judged by the answers' own pace (C7). Pure. */

export interface Pace {
  /** Smoothed time from request to answer, in ms; absent before the first answer. */
  readonly meanMs: number | undefined;
}

export const UNKNOWN_PACE: Pace = { meanMs: undefined };

const WEIGHT = 0.2;

export function notePace(pace: Pace, tookMs: number): Pace {
  const took = Math.max(0, tookMs);
  // A slow answer counts at once, a fast one only by its weight: claiming too little costs less than too much.
  if (pace.meanMs === undefined || took > pace.meanMs) return { meanMs: took };
  return { meanMs: pace.meanMs + (took - pace.meanMs) * WEIGHT };
}

/** Rows that will start within a third of the lease beyond those that start now. */
export function claimsAhead(
  pace: Pace,
  limits: { readonly leaseMs: number; readonly concurrency: number; readonly most: number },
): number {
  if (pace.meanMs === undefined) return 0;
  // Whole rounds only: requests that started together also end together.
  const rounds = Math.floor(limits.leaseMs / 3 / Math.max(pace.meanMs, 0.001));
  return Math.min(limits.most, rounds * limits.concurrency);
}
