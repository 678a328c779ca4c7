import { expect, it } from 'vitest';
import { claimsAhead, notePace, UNKNOWN_PACE } from '../../../sw/dispatch/pace.ts';

const limits = { leaseMs: 10_000, concurrency: 6, most: 128 };

it('[C7] nothing is claimed ahead before the first answer has shown the pace', () => {
  expect(claimsAhead(UNKNOWN_PACE, limits)).toBe(0);
});

it('[C7, A61] what is claimed ahead starts within a third of the lease', () => {
  expect(claimsAhead(notePace(UNKNOWN_PACE, 3_000), limits)).toBe(6);
  expect(claimsAhead(notePace(UNKNOWN_PACE, 10_000), limits)).toBe(0);
  expect(claimsAhead(notePace(UNKNOWN_PACE, 1_000), limits)).toBe(18);
});

it('[C7, S3] a fast server does not make the claims grow past their bound', () => {
  expect(claimsAhead(notePace(UNKNOWN_PACE, 0), limits)).toBe(128);
});

it('[C7] one slow answer counts at once, fast ones bring the pace back little by little', () => {
  const slow = notePace(notePace(UNKNOWN_PACE, 10), 6_000);
  expect(slow.meanMs).toBe(6_000);
  let pace = slow;
  for (let i = 0; i < 30; i++) pace = notePace(pace, 10);
  expect(pace.meanMs).toBeLessThan(50);
});
