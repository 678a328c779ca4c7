import { expect, it } from 'vitest';
import { deriveId } from '../../../sw/outbox/derive-id.ts';
import { sha256Hex } from '../../support/sha256-hex.ts';

const digest = { sha256: sha256Hex };

it('[R6] makes the same id for the same step, and another for every other step', async () => {
  const steps: readonly [string, number | undefined, string | undefined][] = [
    ['a', 1, 'd'],
    ['b', 1, 'd'],
    ['a', 2, 'd'],
    ['a', undefined, 'd'],
    ['a', 1, 'e'],
    ['a', 1, undefined],
  ];
  const ids = await Promise.all(steps.map((step) => deriveId(digest, ...step)));
  expect(new Set(ids).size).toBe(steps.length);
  expect(await Promise.all(steps.map((step) => deriveId(digest, ...step)))).toEqual(ids);
});

it('[R6] makes ids that are well-formed UUIDs', async () => {
  for (let n = 0; n < 50; n++)
    expect(await deriveId(digest, `row ${n}`, n, undefined)).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
});
