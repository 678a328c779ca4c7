/** Reads `Retry-After` (D3, C4): both forms of RFC 9110, nothing else. */

/** The longest wait that is believed, whoever names it (C4). */
export const LONGEST_WAIT_MS = 3_600_000;

export interface RetryAfterContext {
  /** Epoch ms. */
  readonly now: number;
  /** The answer's own `Date`: an instant is measured from it, so that this device's clock does not matter. */
  readonly date?: unknown;
  readonly longestWaitMs?: number | undefined;
}

/**
 * The instant (epoch ms) that the header names, at most `longestWaitMs` ahead; `undefined` where it cannot be
 * read or does not lie in the future.
 */
export function readRetryAfter(value: unknown, context: RetryAfterContext): number | undefined {
  const { now, longestWaitMs = LONGEST_WAIT_MS } = context;
  let waitMs = Number.NaN;
  if (typeof value === 'string' && /^\s*\d+\s*$/.test(value)) waitMs = Number(value) * 1000;
  else {
    const at = readHttpDate(value);
    if (at !== undefined) waitMs = at - (readHttpDate(context.date) ?? now);
  }
  return waitMs > 0 ? now + Math.min(waitMs, longestWaitMs) : undefined;
}

/** IMF-fixdate, RFC 850 or asctime; `Date.parse` alone would take `2035` and much else for a date. */
function readHttpDate(value: unknown): number | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return undefined;
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : at;
}
