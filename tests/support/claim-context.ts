import type { ClaimContext } from '../../sw/outbox/plan-claim.ts';

export const LEASE_MS = 10_000;
export const NOW = 1_000_000;

/** Host `here` at NOW, a lease of ten seconds, a family that is known and cannot ask for receipts. */
export function claimContext(overrides: Partial<ClaimContext> = {}): ClaimContext {
  return {
    now: NOW,
    host: 'here',
    release: 'r2',
    leaseMs: () => LEASE_MS,
    longestWaitMs: 3_600_000,
    waits: 'all',
    isKnownFamily: () => true,
    canAsk: () => false,
    saidNone: new Set(),
    ledgerDays: () => undefined,
    ...overrides,
  };
}

/** A living claim of another host. */
export function claimedBy(host: string, fence = 1, now = NOW) {
  return {
    state: 'sending',
    doubt: true,
    sentAt: now,
    claim: { host, expiresAt: now + LEASE_MS, fence },
    writer: { release: 'r1', at: now },
    evidence: { attemptCount: fence, lastAttemptAt: now, doubtSince: now },
  } as const;
}
