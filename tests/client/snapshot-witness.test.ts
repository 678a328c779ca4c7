import { describe, expect, it, test } from 'vitest';
import { createSnapshotWitness, readSnapshot, snapshotName } from '../../client/snapshot-witness.ts';
import type { SnapshotRow } from '../../shared/snapshot.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';

const name = snapshotName('app', 'ann');

function setUp() {
  const clock = createManualClock(1_000);
  const items = new Map<string, string>();
  const writes: string[] = [];
  const state = { full: false, locked: false, generation: 1, epoch: 'e1' };
  const rows = new Map<string, SnapshotRow>();
  const reads: (readonly string[] | undefined)[] = [];
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem(key: string, value: string) {
      if (state.full) throw new DOMException('full', 'QuotaExceededError');
      writes.push(value);
      items.set(key, value);
    },
    removeItem: (key: string) => void items.delete(key),
  };
  const witness = createSnapshotWitness(
    {
      storage,
      exclusively: async (_, write) => {
        if (!state.locked) write();
        return !state.locked;
      },
      read: async (ids) => {
        reads.push(ids);
        const found = ids ? ids.flatMap((id) => rows.get(id) ?? []) : [...rows.values()];
        return { epoch: state.epoch, generation: state.generation, rows: found };
      },
      after: (ms, callback) => clock.after(ms, callback),
      now: () => clock.now(),
    },
    name,
  );
  const put = (id: string, body: unknown = { kg: 60 }) => {
    rows.set(id, { row: { id, owner: 'ann' }, body });
    state.generation += 1;
    witness.note({ epoch: state.epoch, generation: state.generation, ids: [id] });
  };
  return { clock, items, writes, state, rows, reads, storage, witness, put };
}

describe('snapshot witness', () => {
  it('[S20] rewrites once, 1.5 s after the last change', async () => {
    const { clock, writes, put, storage } = setUp();
    put('a');
    await clock.advance(1_400);
    put('b');
    await clock.advance(1_400);
    expect(writes).toHaveLength(0);
    await clock.advance(100);
    expect(writes).toHaveLength(1);
    expect(readSnapshot(storage, name)).toMatchObject({
      type: 'snapshot',
      epoch: 'e1',
      generation: 3,
      listed: [],
      rows: [{ row: { id: 'a' }, body: { kg: 60 } }, { row: { id: 'b' } }],
    });
  });

  it('[S21] a drain of many rows rewrites it a constant number of times, and reads only what changed', async () => {
    const { clock, writes, put, rows, reads, witness, state } = setUp();
    for (let i = 0; i < 50; i++) put(`row-${i}`);
    await clock.advance(1_500);
    for (let i = 0; i < 50; i++) {
      rows.delete(`row-${i}`);
      state.generation += 1;
      witness.note({ epoch: 'e1', generation: state.generation, ids: [`row-${i}`] });
    }
    await witness.rewrite();
    expect(writes).toHaveLength(2);
    expect(JSON.parse(writes[1] ?? '')).toMatchObject({ rows: [], generation: 101 });
    expect(reads.map((ids) => ids?.length)).toEqual([undefined, 50]);
  });

  it('[S20] never goes over a later state of the same database that another page wrote', async () => {
    const { items, put, witness } = setUp();
    const other = '{"epoch":"e1","generation":99,"at":1,"listed":[],"rows":[]}';
    items.set(name, other);
    put('a');
    await witness.rewrite();
    expect(items.get(name)).toBe(other);
  });

  it('[S20] but does go over the snapshot of a database that is lost', async () => {
    const { items, put, witness, storage } = setUp();
    items.set(name, '{"epoch":"e0","generation":99,"at":1,"listed":[],"rows":[]}');
    put('a');
    await witness.rewrite();
    expect(readSnapshot(storage, name)).toMatchObject({ epoch: 'e1', generation: 2 });
  });

  it('[S22] without room the old snapshot goes, so that it vouches for nothing', async () => {
    const { items, put, witness, state } = setUp();
    put('a');
    await witness.rewrite();
    state.full = true;
    put('b');
    await witness.rewrite();
    expect(items.has(name)).toBe(false);
  });

  it('[S20] waits and tries again while another page holds the lock', async () => {
    const { clock, put, state, writes } = setUp();
    state.locked = true;
    put('a');
    await clock.advance(1_500);
    expect(writes).toHaveLength(0);
    state.locked = false;
    put('b');
    await clock.advance(1_500);
    expect(writes).toHaveLength(1);
  });

  it('[S23] lists rows that have no room by id', async () => {
    const { put, witness, storage } = setUp();
    put('small');
    put('large', { text: 'x'.repeat(3_000_000) });
    await witness.rewrite();
    expect(readSnapshot(storage, name)).toMatchObject({
      rows: [{ row: { id: 'small' } }],
      listed: ['large'],
    });
  });

  it('[W32] a cleared snapshot is gone, and a stopped page writes none', async () => {
    const { items, put, witness } = setUp();
    put('a');
    await witness.rewrite();
    witness.clear();
    expect(items.has(name)).toBe(false);
    witness.stop();
    put('b');
    await witness.rewrite();
    expect(items.has(name)).toBe(false);
  });
});

test.each([
  { what: 'a Blob', body: { photo: new Blob(['x']) } },
  { what: 'a Date', body: { at: new Date(0) } },
  { what: 'NaN', body: [Number.NaN] },
  { what: 'negative zero', body: { z: -0 } },
  { what: 'undefined', body: { note: undefined } },
])('[S23] leaves a body with $what out, since JSON would turn it into something else', async ({ body }) => {
  const { put, witness, storage } = setUp();
  put('a', body);
  await witness.rewrite();
  const offer = readSnapshot(storage, name);
  expect(offer).toMatchObject({ type: 'snapshot', rows: [{ row: { id: 'a' } }] });
  expect(JSON.stringify(offer)).not.toContain('body');
});

test.each([
  { what: 'nothing', text: undefined, type: 'none' },
  { what: 'no JSON', text: '{"epoch":', type: 'unreadable' },
  { what: 'something else', text: '[]', type: 'unreadable' },
  { what: 'null', text: 'null', type: 'unreadable' },
])('[S31] a page whose storage holds $what says so: $type', ({ text, type }) => {
  expect(readSnapshot({ getItem: () => text ?? null }, name)).toEqual({ type });
});

it('[S31] storage that cannot be read is never taken for absent', () => {
  const getItem = () => {
    throw new DOMException('denied', 'SecurityError');
  };
  expect(readSnapshot({ getItem }, name)).toEqual({ type: 'unreadable' });
});
