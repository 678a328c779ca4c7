/** T31: short stories of the simulator, a few of every kind of fault. Millions on demand: `npm run simulate`. */
import { expect, it, test } from 'vitest';
import { explainSeed, FAULT_GROUPS, type SimulationOptions, simulate } from '../sw/testing/simulate.ts';

/** The first seed; another one on demand, so that every run of a build server can be another thousand. */
const FROM = Number(process.env['SIMULATE_FROM'] ?? 1);
const SEEDS = Number(process.env['SIMULATE_SEEDS'] ?? 1_600);

async function keepPromises(from: number, seeds: number, options: SimulationOptions): Promise<void> {
  const totals = { stories: 0, steps: 0, requests: 0, applied: 0 };
  for (let seed = from; seed < from + seeds; seed++) {
    const played = await simulate(seed, options);
    if (played.broken.length > 0) expect.fail(await explainSeed(seed, options));
    totals.stories++;
    totals.steps += played.steps;
    totals.requests += played.requests;
    totals.applied += played.applied;
  }
  console.log(`simulated seeds ${from} to ${from + seeds - 1} ${JSON.stringify({ ...options, ...totals })}`);
  expect(totals.applied).toBeGreaterThan(seeds / 4);
}

it('[T31, T30] keeps every promise whatever befalls it', { timeout: 300_000 }, () =>
  keepPromises(FROM, SEEDS, { length: 24 }),
);

test.each(FAULT_GROUPS)('[T31] keeps every promise where the trouble is: %s', { timeout: 120_000 }, (group) =>
  keepPromises(FROM, Math.ceil(SEEDS / 20), { length: 24, groups: [group] }),
);

it('[T31] tells the same story for the same seed', async () => {
  const [once, again] = [await simulate(7), await simulate(7)];
  expect(again).toEqual(once);
  expect(once.steps).toBeGreaterThan(50);
});
