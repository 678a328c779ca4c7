import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sameContent, sameRow, sameRows } from '../../../sw/outbox/same-row.ts';
import { rowFixture } from '../../support/row-fixture.ts';

describe('comparison by whole content', () => {
  it.each([
    { a: { x: 1, y: { z: [1, 2] } }, b: { y: { z: [1, 2] }, x: 1 }, same: true },
    { a: { x: 1, y: undefined }, b: { x: 1 }, same: true },
    { a: { x: 1 }, b: { x: 1, y: undefined }, same: true },
    { a: { x: undefined }, b: { y: undefined }, same: true },
    { a: { x: 1, y: undefined }, b: { x: 1, z: 2 }, same: false },
    { a: [1, 2], b: [2, 1], same: false },
    { a: [undefined], b: [], same: false },
    { a: [], b: {}, same: false },
    { a: null, b: undefined, same: false },
    { a: null, b: {}, same: false },
    { a: 0, b: -0, same: false },
    { a: Number.NaN, b: Number.NaN, same: true },
    { a: '1', b: 1, same: false },
    { a: { toString: 1 }, b: {}, same: false },
    { a: JSON.parse('{"__proto__": 1}'), b: {}, same: false },
    { a: new Date(1), b: {}, same: false },
  ])('[R41] $a and $b: $same', ({ a, b, same }) => {
    expect(sameContent(a, b)).toBe(same);
    expect(sameContent(b, a)).toBe(same);
  });

  it('[R41] a copy is the same, whatever the content and the order of its fields', () => {
    const turn = (value: unknown): unknown =>
      typeof value !== 'object' || value === null
        ? value
        : Array.isArray(value)
          ? value.map(turn)
          : Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([name, part]) => [name, turn(part)]),
            );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(sameContent(value, turn(value))).toBe(true);
      }),
    );
  });

  it('[R41] rows are compared by every field, those of a newer release included', () => {
    expect(sameRow(rowFixture(), rowFixture())).toBe(true);
    expect(sameRow(rowFixture(), { ...rowFixture(), ...{ mood: 'good' } })).toBe(false);
  });

  it('[R41] lists of rows are compared in any order', () => {
    const a = rowFixture();
    const b = rowFixture({ id: 'b' });
    expect(sameRows([a, b], [b, a])).toBe(true);
    expect(sameRows([a], [a, b])).toBe(false);
    expect(sameRows([a, b], [a, { ...b, noticed: true }])).toBe(false);
    expect(sameRows([], [])).toBe(true);
  });
});
