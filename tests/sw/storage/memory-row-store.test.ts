import { describe, expect, it } from 'vitest';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { describeRowStore } from '../../suites/row-store-suite.ts';
import { commitOf, draft, one, stored, uuid } from '../../support/commit-fixture.ts';
import { rowFixture } from '../../support/row-fixture.ts';

function open() {
  const clock = createManualClock();
  let made = 0;
  const store = createMemoryRowStore({ clock, ids: { uuid: () => uuid(1_000 + made++) } });
  return { clock, store };
}

describeRowStore('in memory', async () => {
  const { clock, store } = open();
  return {
    store,
    startedAt: clock.now(),
    advance: clock.jump,
    plant: async (place, value, id) => store.plant(place, value, id),
    dump: async () => ({
      rows: await store.index('ann', { limit: 99 }),
      unreadable: await store.unreadable(99),
      facts: await store.readFacts(['unmirrored'], 99),
      owner: await store.ownerFacts('ann'),
      journal: await store.readJournal('ann', undefined, 99),
    }),
  };
});

describe('the in-memory store for tests', () => {
  it('[R45, S14] a power cut takes every transaction since the last strict one', async () => {
    const { store } = open();
    const row = await stored(store);
    await one(
      store,
      commitOf([draft({ id: uuid(2), target: { type: 'id', id: 'w2' } })], [], { durability: 'strict' }),
    );
    await one(store, commitOf([{ ...row, state: 'held' }], [row]));
    await one(store, commitOf([], [], { keys: [], facts: [{ name: ['paused', 'ann'], value: true }] }));
    store.forgetRelaxed();
    expect(await store.index('ann', { limit: 9 })).toMatchObject([row, { id: uuid(2) }]);
    expect(await store.ownerFacts('ann')).toMatchObject({ generation: 2, counts: { queued: 2, held: 0 } });
    expect(await store.readFact(['paused', 'ann'])).toBeUndefined();
    expect(await store.readKeys([row])).toEqual([[row]]);
  });

  it('[R45] a power cut may take only the last few', async () => {
    const { store } = open();
    await stored(store);
    await stored(store, { id: uuid(2), target: { type: 'id', id: 'w2' } });
    store.forgetRelaxed(1);
    expect(await store.findRows([uuid(1), uuid(2)])).toMatchObject([{ id: uuid(1) }, undefined]);
  });

  it('[R41] a failure injected by the operation leaves everything as it was', async () => {
    const { store } = open();
    const error = new Error('no');
    store.failNext({ reason: 'claim', error });
    const row = await stored(store);
    const claim = commitOf([{ ...row, state: 'sending' }], [row], { reason: 'claim' });
    await expect(store.commit([claim])).rejects.toBe(error);
    expect(await store.findRows([row.id])).toEqual([row]);
    expect(await one(store, claim)).toMatchObject({ type: 'committed' });
  });

  it('[R40] a failing commit does not take its neighbours in the transaction with it', async () => {
    const { store } = open();
    const error = new Error('no');
    store.failNext({ reason: 'claim', error });
    const other = commitOf([draft({ id: uuid(2), target: { type: 'id', id: 'w2' } })], [], {
      reason: 'claim',
    });
    const results = await store.commit([commitOf([draft()]), other]);
    expect(results).toMatchObject([{ type: 'committed' }, { type: 'failed', error }]);
  });

  it('[S10] a commit can land without its caller being told', async () => {
    const { store } = open();
    const error = new Error('unknown');
    store.failNext({ error, landed: true });
    await expect(store.commit([commitOf([draft()])])).rejects.toBe(error);
    expect(await store.findRows([uuid(1)])).toMatchObject([{ id: uuid(1) }]);
  });

  it('[T5] a commit can be held open before it is judged', async () => {
    const { store } = open();
    const hold = store.holdNext('enqueue');
    const waiting = one(store, commitOf([draft()]));
    await hold.reached;
    expect(await store.findRows([uuid(1)])).toEqual([undefined]);
    const rival = await one(store, commitOf([draft({ id: uuid(2) })], [], { reason: 'person' }));
    hold.release();
    expect(rival.type).toBe('committed');
    expect(await waiting).toMatchObject({ type: 'stale', rows: [{ id: uuid(2) }] });
  });

  it('[S15] reads can be made to fail', async () => {
    const { store } = open();
    store.failReads(new Error('gone'));
    await expect(store.readKeys([rowFixture()])).rejects.toThrow('gone');
    store.failReads(undefined);
    expect(await store.readKeys([rowFixture()])).toEqual([[]]);
  });

  it('[S2] counts what is read and written', async () => {
    const { store } = open();
    const row = await stored(store);
    await one(
      store,
      commitOf([{ ...row, state: 'sending' }], [row], { reason: 'claim', durability: 'strict' }),
    );
    await store.readBodies([row.id]);
    expect(store.counters).toEqual({
      transactions: 2,
      strict: 1,
      rowsRead: 1,
      rowsWritten: 2,
      bodiesRead: 1,
      bodiesWritten: 1,
    });
  });
});
