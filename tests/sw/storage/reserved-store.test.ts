import { expect, it } from 'vitest';
import { QuotaError } from '../../../shared/errors.ts';
import { keyOf, type Row } from '../../../shared/row.ts';
import type { Commit, RowStore } from '../../../sw/outbox/row-store.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createReservedStore } from '../../../sw/storage/reserved-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { commitOf, draft, uuid } from '../../support/commit-fixture.ts';

/** A store in an origin with `room` bytes: the reserve takes its size, each commit needs one. */
function tightStore(roomAtFirst: number) {
  const inner = createMemoryRowStore({ clock: createManualClock(), ids: { uuid: () => 'epoch' } });
  let room = roomAtFirst;
  let reconnects = 0;
  let reserve = 0;
  const needs = (bytes: number) => {
    if (bytes > room) throw new QuotaError('full');
    room -= bytes;
  };
  const store: RowStore = {
    ...inner,
    async commit(commits) {
      needs(commits.length);
      return inner.commit(commits);
    },
    async writeFacts(facts, durability) {
      for (const { name, value } of facts)
        if (name[0] === 'reserve') {
          if (value instanceof Blob) needs(value.size);
          else room += reserve;
          reserve = value instanceof Blob ? value.size : 0;
        }
      await inner.writeFacts(facts, durability);
    },
    reconnect: () => {
      reconnects += 1;
    },
  };
  return {
    store,
    fill: () => {
      room = 0;
    },
    room: () => room,
    reconnects: () => reconnects,
  };
}

const MB = 1024 * 1024;

const enqueue = (n: number): Commit =>
  commitOf([draft({ id: uuid(n), bodyId: undefined, target: { type: 'id', id: `w${n}` } })]);

async function claim(store: RowStore, n: number): Promise<Commit> {
  const [row] = await store.findRows([uuid(n)]);
  if (row === undefined) throw new Error('no such row');
  const sending: Row = { ...row, state: 'sending', sentAt: 1 };
  return commitOf([sending], [row], { reason: 'claim', keys: [keyOf(row)] });
}

it('[S17] a claim that meets the quota gives the reserve up and goes through', async () => {
  const { store: tight, fill } = tightStore(8 * MB);
  const store = createReservedStore(tight);
  await store.restoreReserve();
  await store.commit([enqueue(1)]);
  fill();
  const [result] = await store.commit([await claim(store, 1)]);
  expect(result?.type).toBe('committed');
  expect(store.isReserveGone()).toBe(true);
  expect(await store.readFact(['reserve_size'])).toBeUndefined();
});

it('[S17, A37] an enqueue leaves the reserve alone', async () => {
  const { store: tight, fill } = tightStore(8 * MB);
  const store = createReservedStore(tight);
  await store.restoreReserve();
  fill();
  await expect(store.commit([enqueue(1)])).rejects.toBeInstanceOf(QuotaError);
  expect(await store.readFact(['reserve_size'])).toBe(4 * MB);
  expect(store.isReserveGone()).toBe(false);
});

it('[S17] a fact that a drain needs gives the reserve up as well', async () => {
  const { store: inner, fill } = tightStore(2 * MB);
  let isFull = false;
  const guarded: RowStore = {
    ...inner,
    async writeFacts(facts, durability) {
      const gives = facts.some(({ name, value }) => name[0] === 'reserve' && value === undefined);
      if (isFull && !gives) throw new QuotaError('full');
      isFull &&= !gives;
      await inner.writeFacts(facts, durability);
    },
  };
  const store = createReservedStore(guarded, { bytes: MB });
  await store.restoreReserve();
  fill();
  isFull = true;
  await store.writeFacts([{ name: ['active_owner'], value: 'ann' }], 'strict');
  expect(await store.readFact(['active_owner'])).toBe('ann');
  expect(store.isReserveGone()).toBe(true);
});

it('[S17] while the reserve is gone an enqueue is refused as long as rows wait, then goes on', async () => {
  const { store: tight, fill } = tightStore(8 * MB);
  const store = createReservedStore(tight);
  await store.restoreReserve();
  await store.commit([enqueue(1)]);
  fill();
  const claimed = await store.commit([await claim(store, 1)]);
  await expect(store.commit([enqueue(2)])).rejects.toBeInstanceOf(QuotaError);
  const [row] = claimed[0]?.type === 'committed' ? claimed[0].rows : [];
  if (row === undefined) throw new Error('not claimed');
  await store.commit([commitOf([], [row], { reason: 'acknowledge', keys: [keyOf(row)], remove: [row.id] })]);
  expect((await store.commit([enqueue(2)]))[0]?.type).toBe('committed');
});

it('[S17] the reserve is stored again, smaller where there is less room', async () => {
  const { store: tight } = tightStore(1.5 * MB);
  const store = createReservedStore(tight);
  await store.restoreReserve();
  expect(await store.readFact(['reserve_size'])).toBe(MB);
  expect(store.isReserveGone()).toBe(false);
});

it('[S17] takes no more than a sixteenth of what the browser grants', async () => {
  const { store: tight } = tightStore(64 * MB);
  const store = createReservedStore(tight, { quota: async () => 16 * MB });
  await store.restoreReserve();
  expect(await store.readFact(['reserve_size'])).toBe(MB);
});

it('[S17] if giving it up was not enough the connection is let go, and the commit fails typed', async () => {
  const { store: tight, fill, reconnects } = tightStore(100);
  const store = createReservedStore(tight);
  await store.commit([enqueue(1)]);
  fill();
  await expect(store.commit([await claim(store, 1)])).rejects.toBeInstanceOf(QuotaError);
  expect(reconnects()).toBe(1);
  expect((await store.findRows([uuid(1)]))[0]).toMatchObject({ state: 'queued' });
});

it('[S17] a batch too large for the room goes through one by one', async () => {
  const { store: tight } = tightStore(4 + LEAST_RESERVE + 1);
  const store = createReservedStore(tight, { bytes: LEAST_RESERVE });
  for (const n of [1, 2, 3]) await store.commit([enqueue(n)]);
  await store.restoreReserve();
  const claims = await Promise.all([1, 2, 3].map((n) => claim(store, n)));
  expect((await store.commit(claims)).map(({ type }) => type)).toEqual([
    'committed',
    'committed',
    'committed',
  ]);
});

const LEAST_RESERVE = 64 * 1024;
