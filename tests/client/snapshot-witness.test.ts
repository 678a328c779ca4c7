import { describe, expect, it, test } from 'vitest';
import { readSnapshot, snapshotName } from '../../client/read-snapshot.ts';
import { createSnapshotWitness } from '../../client/snapshot-witness.ts';
import type { SnapshotOffer, SnapshotPage, SnapshotRow } from '../../shared/snapshot.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';

const name = snapshotName('app', 'ann');

function setUp() {
  const clock = createManualClock(1_000);
  const items = new Map<string, string>();
  const writes: string[] = [];
  const state = { full: false, locked: false, awaited: false, generation: 1, epoch: 'e1' };
  const rows = new Map<string, SnapshotRow>();
  const reads: (readonly string[] | undefined)[] = [];
  const offers: SnapshotOffer[] = [];
  const host = { room: Number.POSITIVE_INFINITY, beforeAnswer: async () => {} };
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
      async read(ids): Promise<SnapshotPage> {
        reads.push(ids);
        const { epoch, generation, awaited } = state;
        const standing = ids ? ids.flatMap((id) => rows.get(id) ?? []) : [...rows.values()];
        const found = standing.slice(0, host.room);
        const until =
          ids === undefined && standing.length > host.room ? Number(found.at(-1)?.row['seq']) : undefined;
        await host.beforeAnswer();
        return { epoch, generation, rows: found, until, ...(awaited && { isAwaited: true }) };
      },
      async offer(offer) {
        offers.push(offer);
        state.awaited = false;
      },
      after: (ms, callback) => clock.after(ms, callback),
      now: () => clock.now(),
    },
    name,
  );
  const tell = (ids: readonly string[], gone: readonly string[] = []) => {
    state.generation += 1;
    witness.note({ epoch: state.epoch, generation: state.generation, ids, gone });
  };
  const put = (id: string, body: unknown = { kg: 60 }) => {
    rows.set(id, { row: { id, owner: 'ann', seq: rows.size + 1 }, body });
    tell([id]);
  };
  const remove = (id: string) => {
    rows.delete(id);
    tell([], [id]);
  };
  const written = () => {
    const offer = readSnapshot(storage, name);
    const ids = offer.type === 'snapshot' ? offer.rows.map(({ row }) => row['id']) : [];
    return { ...offer, ids };
  };
  return {
    clock,
    items,
    writes,
    state,
    rows,
    reads,
    offers,
    host,
    storage,
    witness,
    tell,
    put,
    remove,
    written,
  };
}

describe('snapshot witness', () => {
  it('[S20] rewrites once, 1.5 s after the last change', async () => {
    const { clock, writes, put, written } = setUp();
    put('a');
    await clock.advance(1_400);
    put('b');
    await clock.advance(1_400);
    expect(writes).toHaveLength(0);
    await clock.advance(100);
    expect(writes).toHaveLength(1);
    expect(written()).toMatchObject({
      type: 'snapshot',
      epoch: 'e1',
      generation: 3,
      rows: [{ row: { id: 'a' }, body: { kg: 60 } }, { row: { id: 'b' } }],
    });
  });

  it('[S21] a drain of many rows rewrites it a constant number of times, and reads nothing to do so', async () => {
    const { clock, put, remove, reads, writes, witness, written } = setUp();
    for (let i = 0; i < 50; i++) put(`row-${i}`);
    await clock.advance(1_500);
    reads.length = 0;
    for (let i = 0; i < 50; i++) remove(`row-${i}`);
    await witness.rewrite();
    expect(writes).toHaveLength(2);
    expect(written()).toMatchObject({ rows: [], generation: 101 });
    expect(reads).toEqual([]);
  });

  it('[S21] a change reads the rows that changed, not the others', async () => {
    const { put, reads, witness, written } = setUp();
    put('a');
    put('b');
    await witness.rewrite();
    reads.length = 0;
    put('c');
    await witness.rewrite();
    expect(reads).toEqual([['c']]);
    expect(written().ids).toEqual(['a', 'b', 'c']);
  });

  it('[T12, S20] a page that comes brings what others left in line, and leaves what is in line', async () => {
    const { clock, items, reads, writes, written } = setUp();
    items.set(name, '{"epoch":"e1","generation":0,"at":1,"rows":[{"row":{"id":"stale"}}]}');
    await clock.advance(1_500);
    expect(written()).toMatchObject({ generation: 1, rows: [] });
    const again = setUp();
    again.items.set(name, items.get(name) ?? '');
    await again.clock.advance(1_500);
    expect(again.writes).toEqual([]);
    expect(again.reads).toEqual([[]]);
    expect([reads.length, writes.length]).toEqual([2, 1]);
  });

  it('[S20] never goes over a later state of the same database that another page wrote', async () => {
    const { items, put, witness } = setUp();
    const other = '{"epoch":"e1","generation":99,"at":1,"rows":[]}';
    items.set(name, other);
    put('a');
    await witness.rewrite();
    expect(items.get(name)).toBe(other);
  });

  it('[S20] but does go over the snapshot of a database that is lost', async () => {
    const { items, put, witness, written } = setUp();
    items.set(name, '{"epoch":"e0","generation":99,"at":1,"rows":[]}');
    put('a');
    await witness.rewrite();
    expect(written()).toMatchObject({ epoch: 'e1', generation: 2 });
  });

  it('[S31] hands over what stands there before it writes, where the host still awaits it', async () => {
    const { items, state, offers, put, witness, written } = setUp();
    items.set(name, '{"epoch":"e0","generation":7,"at":1,"rows":[{"row":{"id":"of before"}}]}');
    state.awaited = true;
    put('a');
    await witness.rewrite();
    expect(offers).toMatchObject([{ type: 'snapshot', epoch: 'e0', rows: [{ row: { id: 'of before' } }] }]);
    expect(written()).toMatchObject({ epoch: 'e1', ids: ['a'] });
  });

  it('[S20] another database under the same page is read anew', async () => {
    const { state, put, rows, tell, witness, written } = setUp();
    put('a');
    await witness.rewrite();
    rows.delete('a');
    Object.assign(state, { epoch: 'e2', generation: 0 });
    tell([]);
    await witness.rewrite();
    expect(written()).toMatchObject({ epoch: 'e2', ids: [] });
  });

  it('[S20] a row that goes while it is read stays gone', async () => {
    const { put, remove, host, witness, written } = setUp();
    put('a');
    await witness.rewrite();
    put('b');
    put('c');
    host.beforeAnswer = async () => {
      host.beforeAnswer = async () => {};
      remove('b');
    };
    await witness.rewrite();
    expect(written().ids).toEqual(['a', 'c']);
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

  it('[S22] a host that does not answer costs nothing but the rewrite; the next change tries again', async () => {
    const { put, host, witness, written } = setUp();
    host.beforeAnswer = () => Promise.reject(new Error('no answer'));
    put('a');
    await witness.rewrite();
    expect(written()).toMatchObject({ type: 'none' });
    host.beforeAnswer = async () => {};
    put('b');
    await witness.rewrite();
    expect(written().ids).toEqual(['a', 'b']);
  });

  it('[S20] waits and tries again while another page holds the lock', async () => {
    const { clock, put, state, writes } = setUp();
    state.locked = true;
    put('a');
    await clock.advance(1_500);
    expect(writes).toHaveLength(0);
    state.locked = false;
    await clock.advance(1_500);
    expect(writes).toHaveLength(1);
  });

  it('[S23] holds the oldest rows, as many as have room, and says where it ends', async () => {
    const { put, witness, written } = setUp();
    put('small');
    put('large', { text: 'x'.repeat(1_000_000) });
    put('later');
    await witness.rewrite();
    expect(written()).toMatchObject({ ids: ['small'], until: 1 });
  });

  it('[S23] takes up rows that had no room once there is room again', async () => {
    const { put, remove, host, reads, witness, written } = setUp();
    host.room = 2;
    for (const id of ['a', 'b', 'c', 'd']) put(id);
    await witness.rewrite();
    expect(written()).toMatchObject({ ids: ['a', 'b'], until: 2 });
    reads.length = 0;
    remove('a');
    await witness.rewrite();
    expect(written()).toMatchObject({ ids: ['b', 'c'], until: 3 });
    remove('b');
    remove('c');
    await witness.rewrite();
    expect(written()).toMatchObject({ ids: ['d'] });
    expect(written()).not.toHaveProperty('until');
  });

  it('[W32] a page that has stopped writes none', async () => {
    const { items, put, witness } = setUp();
    put('a');
    witness.stop();
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
  const { put, witness, written } = setUp();
  put('a', body);
  await witness.rewrite();
  expect(written()).toMatchObject({ type: 'snapshot', rows: [{ row: { id: 'a' } }] });
  expect(JSON.stringify(written())).not.toContain('body');
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

it('[S3, S21] after many changes asks the host for what has room, and not for each by its id', async () => {
  const { witness, put, reads, clock } = setUp();
  put('first');
  await witness.rewrite();
  for (let n = 0; n < 300; n++) put(`row-${n}`);
  await clock.advance(1_500);
  await witness.rewrite();
  expect(reads.filter((ids) => ids !== undefined && ids.length > 0)).toEqual([]);
  expect(reads.filter((ids) => ids === undefined)).toHaveLength(2);
});
