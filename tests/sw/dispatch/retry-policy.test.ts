import { describe, expect, it, test } from 'vitest';
import {
  engineWaitMs,
  overridesEngineWait,
  planWait,
  waitsUntil,
} from '../../../sw/dispatch/retry-policy.ts';

const policy = { firstMs: 2_000, longestMs: 300_000, believedMs: 3_600_000 };
const now = 1_000_000;

describe('the engine’s own wait', () => {
  it('[D3] grows with every attempt, from 2 s to 5 min, and jitters between half and all of its ceiling', () => {
    for (let attempt = 1; attempt < 60; attempt++) {
      const shortest = engineWaitMs(attempt, 0, policy);
      const longest = engineWaitMs(attempt, 0.999_999, policy);
      expect(shortest).toBeGreaterThanOrEqual(2_000);
      expect(longest).toBeLessThanOrEqual(300_000);
      expect(longest).toBeGreaterThan(shortest);
      expect(engineWaitMs(attempt + 1, 0.5, policy)).toBeGreaterThanOrEqual(
        engineWaitMs(attempt, 0.5, policy),
      );
    }
    expect(engineWaitMs(1, 0, policy)).toBe(2_000);
    expect(engineWaitMs(1_000_000, 0.999_999_999, policy)).toBe(300_000);
  });
});

test.each([
  { when: 'nothing was named', serverAt: undefined, by: 'engine' },
  { when: 'the instant named is past', serverAt: now - 1, by: 'engine' },
  { when: 'an instant ahead was named', serverAt: now + 120_000, by: 'server', at: now + 120_000 },
  { when: 'more than an hour was named', serverAt: now + 86_400_000, by: 'server', at: now + 3_600_000 },
])('[D3, C4, A11] the wait when $when is the $by’s', ({ serverAt, by, at }) => {
  const wait = planWait({ now, attempt: 3, random: 0.5, serverAt, policy });
  expect(wait.by).toBe(by);
  expect(wait.at).toBe(at ?? now + engineWaitMs(3, 0.5, policy));
});

test.each([
  { cause: 'flush', overrides: true },
  { cause: 'sync', overrides: true },
  { cause: 'online', overrides: true },
  { cause: 'enqueue', overrides: false },
  { cause: 'visible', overrides: false },
  { cause: 'connect', overrides: false },
  { cause: 'timer', overrides: false },
] as const)('[D3] $cause overrides the engine’s own wait: $overrides', ({ cause, overrides }) => {
  expect(overridesEngineWait([cause])).toBe(overrides);
  expect(overridesEngineWait(['enqueue', cause])).toBe(overrides);
});

test.each([
  { wait: undefined, overrides: false, until: undefined },
  { wait: { at: now, by: 'server' }, overrides: false, until: undefined },
  { wait: { at: now + 5, by: 'server' }, overrides: true, until: now + 5 },
  { wait: { at: now + 5, by: 'engine' }, overrides: true, until: undefined },
  { wait: { at: now + 5, by: 'engine' }, overrides: false, until: now + 5 },
  { wait: { at: now + 86_400_000, by: 'server' }, overrides: false, until: undefined },
] as const)('[D3, C4, A21] a wait $wait holds until $until (overridden: $overrides)', (line) => {
  const context = { now, overrides: line.overrides, believedMs: policy.believedMs };
  expect(waitsUntil(line.wait, context)).toBe(line.until);
});
