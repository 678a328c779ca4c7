import { describe, expect, it } from 'vitest';
import { planSlice, readRecord } from '../../../sw/mirror/plan-slice.ts';
import { FACTS, type UnmirroredId } from '../../../sw/outbox/row-store.ts';

const record = (g: number, ids: readonly UnmirroredId[], owner = 'ann') =>
  readRecord({ name: FACTS.unmirrored(owner, g), value: ids });
const a = (g: number) => ({ id: 'a', g });
const b = (g: number) => ({ id: 'b', g });
const c = (g: number) => ({ id: 'c', g });

describe('a slice of what is to be mirrored', () => {
  it('[S22] takes records whole, as many as it takes for so many ids', () => {
    const records = [record(1, [a(1)]), record(3, [b(2), c(3)]), record(4, [{ id: 'd', g: 4 }])];
    const { taken, now, later } = planSlice(records, 2);
    expect(taken).toEqual(records.slice(0, 2));
    expect(now.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
    expect(later.map(({ id }) => id)).toEqual(['d']);
  });

  it('[S22] takes a record that is larger than a slice alone', () => {
    const records = [record(3, [a(1), b(2), c(3)]), record(4, [{ id: 'd', g: 4 }])];
    expect(planSlice(records, 1).taken).toEqual(records.slice(0, 1));
  });

  it('[S22] tells each id once, by its last note', () => {
    const gone = { id: 'a', g: 3, gone: 'deleted' } as const;
    const { now } = planSlice([record(1, [a(1)]), record(2, [b(2)]), record(3, [gone])], 9);
    expect(now).toEqual([
      { ...gone, owner: 'ann' },
      { ...b(2), owner: 'ann' },
    ]);
  });

  it('[S22] leaves an id that a later record names to that record, and still clears the earlier one', () => {
    const records = [record(2, [a(1), b(2)]), record(3, [a(3)])];
    const { taken, now, later } = planSlice(records, 2);
    expect(taken).toEqual(records.slice(0, 1));
    expect(now.map(({ id }) => id)).toEqual(['b']);
    expect(later).toEqual([{ ...a(3), owner: 'ann' }]);
  });

  it('[S22] keeps the same id of two owners apart', () => {
    const { now } = planSlice([record(1, [a(1)]), record(1, [a(1)], 'bob')], 9);
    expect(now.map(({ owner }) => owner)).toEqual(['ann', 'bob']);
  });

  it('[S22, R3] clears a note that does not read, and mirrors nothing for it', () => {
    const odd = readRecord({ name: FACTS.unmirrored('ann', 1), value: { g: 1 } });
    const { taken, now } = planSlice([odd], 9);
    expect(taken).toEqual([odd]);
    expect(now).toEqual([]);
  });

  it('[S22] is empty where nothing is noted', () => {
    expect(planSlice([], 9)).toEqual({ taken: [], now: [], later: [] });
  });
});
