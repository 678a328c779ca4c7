/** How long a receipt lives (V1), and when one may be thrown away. Pure. */

export interface Retention {
  /** What families state as `ledgerDays`: an attempted row older than this is not sent again. */
  readonly ledgerDays: number;
}

export class RetentionError extends Error {
  override readonly name = 'RetentionError';
}

const DAY_MS = 86_400_000;

/**
 * Devices count the days by their own clocks, and one that is a day or two slow would still send a key that is
 * gone here; so entries are kept this much longer than promised.
 */
export const RETENTION_MARGIN_DAYS = 7;

/** @throws RetentionError where a device could still repeat a key that this purge would forget. */
export function assertPurgeable(olderThan: Date, retention: Retention | undefined, now: Date): void {
  if (retention === undefined)
    throw new RetentionError(
      'This ledger is kept for good: state `ledgerDays` here and in every family first',
    );
  const latest = now.getTime() - (retention.ledgerDays + RETENTION_MARGIN_DAYS) * DAY_MS;
  // Written so that an invalid date is refused too.
  if (!(olderThan.getTime() <= latest))
    throw new RetentionError(
      `Receipts are promised for ${retention.ledgerDays} days; nothing younger than ` +
        `${new Date(latest).toISOString()} may go, which is that and ${RETENTION_MARGIN_DAYS} days for slow clocks`,
    );
}
