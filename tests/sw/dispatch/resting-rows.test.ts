import { describe, expect, it } from 'vitest';
import type { FlushCause } from '../../../shared/answers.ts';
import { keyOf, type Row } from '../../../shared/row.ts';
import { PAGE_ROWS } from '../../../sw/dispatch/lane-reader.ts';
import { createRestingRows, placeOf } from '../../../sw/dispatch/resting-rows.ts';
import { type DispatchWorld, dispatchWorld } from '../../support/dispatch-world.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const REST_MS = 200_000;

/** As other flushes left them: deferred, each for a while. Written past the host, as another host would. */
async function rest(world: DispatchWorld, rows: readonly Row[], notBefore: Row['notBefore']): Promise<void> {
  const results = await world.store.commit(
    rows.map((row) => ({
      owner: row.owner,
      reason: 'acknowledge',
      keys: [keyOf(row)],
      expected: [row],
      write: [{ ...row, notBefore, deferredAt: world.clock.now() }],
      remove: [],
      outcomes: [],
      durability: 'relaxed',
    })),
  );
  expect(new Set(results.map(({ type }) => type))).toEqual(new Set(['committed']));
}

async function longOutage(rows: number) {
  const world = await dispatchWorld();
  const waiting: Row[] = [];
  for (let n = 0; n < rows; n++) waiting.push(await world.put(`t${n}`));
  await rest(world, waiting, { at: world.clock.now() + REST_MS, by: 'engine' });
  const heal = world.server.always({ type: 'status', status: 500 });
  const { counters } = world.store;
  const flush = async (cause: FlushCause = 'enqueue') => {
    const before = { ...counters };
    const result = await world.run(world.engine.flush('ann', cause));
    const { wakeAt } = world.engine.progress('ann');
    const { rowsRead, transactions } = counters;
    return {
      result,
      wakeAt,
      rowsRead: rowsRead - before.rowsRead,
      transactions: transactions - before.transactions,
    };
  };
  return { world, waiting, flush, heal };
}

describe('a flush while many rows rest', () => {
  it.each([100, 2_000])('[S3, S40, D3] reads as much after %i of them as after a few', async (rows) => {
    const { world, flush } = await longOutage(rows);
    const first = await flush();
    expect(first.rowsRead).toBeGreaterThanOrEqual(rows);
    const due = world.clock.now() + REST_MS;
    const second = await flush();
    expect(second.rowsRead).toBeLessThan(PAGE_ROWS);
    expect(second.wakeAt).toBe(first.wakeAt);
    expect(Math.abs((second.wakeAt ?? 0) - due)).toBeLessThan(1_000);
    for (let save = 0; save < 10; save++) {
      await world.put(`late${save}`);
      expect((await flush()).rowsRead).toBeLessThan(4 * PAGE_ROWS);
    }
    expect(world.server.requests.length).toBe(10);
  });

  it('[D3] finds a row that is due, and one that somebody else made due', async () => {
    const { world, waiting, flush, heal } = await longOutage(200);
    await flush();
    heal();
    expect((await flush()).result.outcomes).toEqual([]);
    const [, , third] = waiting;
    if (!third) throw new Error('no row');
    await rest(world, [await world.row(third.id)], undefined);
    expect((await flush()).result.outcomes.map(({ type }) => type)).toEqual(['committed']);
    expect(world.sent()).toEqual([third.id]);
    await world.clock.advance(REST_MS);
    expect((await flush('timer')).result.outcomes).toHaveLength(199);
  });

  it('[D3, C31] a row behind one that rests is passed over with it, and goes after it', async () => {
    const { world, waiting, flush, heal } = await longOutage(100);
    const [head] = waiting;
    if (!head) throw new Error('no row');
    heal();
    // In doubt, so that the next command of its key stands behind it.
    const sent = await world.row(head.id);
    await world.store.commit([
      {
        owner: 'ann',
        reason: 'acknowledge',
        keys: [keyOf(sent)],
        expected: [sent],
        write: [{ ...sent, doubt: true }],
        remove: [],
        outcomes: [],
        durability: 'relaxed',
      },
    ]);
    const behind = await world.put('t0');
    expect(behind.id).not.toBe(head.id);
    const first = await flush();
    expect(first.result.outcomes).toEqual([]);
    const second = await flush();
    expect([second.result.outcomes, second.transactions]).toEqual([[], 0]);
    expect(second.rowsRead).toBeLessThan(PAGE_ROWS);
    await world.clock.advance(REST_MS);
    await flush('timer');
    expect(world.sent().indexOf(behind.id)).toBeGreaterThan(world.sent().indexOf(head.id));
    expect(await world.rows()).toEqual([]);
  });

  it('[D3] flush(), which overrides the engine’s own waits, passes over nothing', async () => {
    const { flush, heal } = await longOutage(150);
    await flush();
    heal();
    expect((await flush('flush')).result.outcomes).toHaveLength(150);
  });

  it('[C30, W14] rows of a family that a later release brought rest for good, and wake nobody', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    const { seq: _, version: __, ...draft } = { ...row, id: world.uuid(), family: 'later' };
    const later = { ...draft, origin: draft.id };
    const results = await world.store.commit([
      {
        owner: 'ann',
        reason: 'enqueue',
        keys: [keyOf({ ...row, ...later })],
        expected: [],
        write: [later],
        remove: [],
        outcomes: [],
        durability: 'relaxed',
      },
    ]);
    expect(results.map(({ type }) => type)).toEqual(['committed']);
    await world.flush();
    for (let again = 0; again < 3; again++) {
      await world.run(world.engine.flush('ann', 'enqueue'));
      expect(world.engine.progress('ann').wakeAt).toBeUndefined();
    }
    expect(world.sent()).toEqual([row.id]);
  });

  it('[C4] a clock that was set back voids what is known', async () => {
    const { world, flush } = await longOutage(150);
    await flush();
    world.clock.jump(-2 * REST_MS);
    expect((await flush()).rowsRead).toBeGreaterThanOrEqual(150);
  });
});

describe('what is known of rows that rest', () => {
  const row = (seq: number, over: Partial<Row> = {}) =>
    rowFixture({ id: `r${seq}`, origin: `r${seq}`, seq, ...over });
  const page = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => row(from + i));

  it('[S3] passes over one stretch after the other, until something is due or not known', () => {
    const resting = createRestingRows();
    resting.check(7, 0);
    resting.noteRead(undefined, { rows: page(1, 10), isLast: false }, () => 500);
    resting.noteRead(placeOf(row(10)), { rows: page(11, 20), isLast: false }, ({ seq }) =>
      seq === 15 ? undefined : 400,
    );
    resting.noteRead(placeOf(row(20)), { rows: page(21, 25), isLast: true }, () => 300);
    expect(resting.passOver(undefined, 100)).toEqual({ place: placeOf(row(10)), until: 500 });
    resting.rest([row(15)], 200);
    expect(resting.passOver(undefined, 100)).toEqual({ place: placeOf(row(25)), until: 200 });
    expect(resting.passOver(placeOf(row(12)), 100)).toEqual({ place: placeOf(row(25)), until: 200 });
    // Something of the second stretch is due now.
    expect(resting.passOver(undefined, 200)).toEqual({ place: placeOf(row(10)), until: 500 });
    expect(resting.passOver(placeOf(row(20)), 200)).toEqual({ place: placeOf(row(25)), until: 300 });
  });

  it('[S3] a row that is written, and those of its key, are read again, their neighbours are not', () => {
    const resting = createRestingRows();
    resting.check(7, 0);
    resting.noteRead(undefined, { rows: page(1, 10), isLast: true }, () => 500);
    resting.noteCommit([row(4)]);
    resting.check(8, 0);
    expect(resting.passOver(undefined, 0)).toEqual({ place: placeOf(row(3)), until: 500 });
    expect(resting.passOver(placeOf(row(4)), 0)).toEqual({ place: placeOf(row(10)), until: 500 });
  });

  it('[S3] is void once another host has committed', () => {
    const resting = createRestingRows();
    resting.check(7, 0);
    resting.noteRead(undefined, { rows: page(1, 10), isLast: true }, () => 500);
    resting.noteCommit([]);
    resting.check(9, 0);
    expect(resting.passOver(undefined, 0).place).toBeUndefined();
  });

  it('[W61] an urgent row stands before the others', () => {
    const resting = createRestingRows();
    resting.check(7, 0);
    resting.noteRead(undefined, { rows: [row(9, { urgent: true }), ...page(1, 5)], isLast: true }, () => 500);
    expect(resting.passOver(undefined, 0).place).toEqual(placeOf(row(5)));
    resting.noteCommit([row(12, { urgent: true })]);
    expect(resting.passOver(undefined, 0).place).toEqual({ urgent: true, seq: 11 });
  });

  it('[S3] keeps a bounded number of stretches, however long the queue is', () => {
    const resting = createRestingRows();
    resting.check(7, 0);
    for (let n = 0; n < 5_000; n++) {
      const from = n === 0 ? undefined : placeOf(row(n * 2));
      resting.noteRead(from, { rows: page(n * 2 + 1, n * 2 + 2), isLast: false }, () => 1_000 + n);
    }
    expect(resting.passOver(undefined, 0)).toEqual({ place: placeOf(row(10_000)), until: 1_000 });
    // Something near the start is due: what was joined with it is read again, and no more.
    const { place } = resting.passOver(placeOf(row(200)), 1_000);
    expect(place).toEqual(placeOf(row(10_000)));
  });
});
