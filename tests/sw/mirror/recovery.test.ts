import 'fake-indexeddb/auto';
import { createStore } from 'idb-keyval';
import { expect, it, test } from 'vitest';
import type { Row } from '../../../shared/row.ts';
import type { SnapshotOffer } from '../../../shared/snapshot.ts';
import { kvLedger } from '../../../sw/mirror/kv-ledger.ts';
import type { Ledger } from '../../../sw/mirror/ledger.ts';
import { createMirror } from '../../../sw/mirror/mirrored-store.ts';
import { createRecovery } from '../../../sw/mirror/recovery.ts';
import { readSnapshotPage } from '../../../sw/mirror/witness.ts';
import { FACTS, type RowStore } from '../../../sw/outbox/row-store.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { commitOf, draft, uuid } from '../../suites/row-store-suite.ts';
import { rowFixture } from '../../support/row-fixture.ts';

let databases = 0;

function setUp() {
  const clock = createManualClock(1_000_000);
  const kv = kvLedger(createStore(`recovery-ledger-${++databases}`, 'ledger'));
  let epochs = 0;
  /** A database made anew, as after a loss. */
  const freshStore = () => createMemoryRowStore({ clock, ids: { uuid: () => `epoch-${++epochs}` } });
  return { clock, kv, freshStore };
}

async function enqueue(store: RowStore, n: number, overrides: Partial<Row> = {}): Promise<Row> {
  const id = overrides.id ?? uuid(n);
  const target = { type: 'id', id: `w${n}` } as const;
  const row = draft({ id, target, bodyId: id, ...overrides });
  const [result] = await store.commit([
    commitOf([row], [], { bodies: [{ bodyId: id, body: { weight: n } }] }),
  ]);
  if (result?.type !== 'committed' || result.rows[0] === undefined) throw new Error('not stored');
  return result.rows[0];
}

/** Three rows mirrored, then the database lost: what the next host finds. */
async function lost(
  rows: readonly { readonly n: number; readonly overrides?: Partial<Row> }[] = [{ n: 1 }, { n: 2 }, { n: 3 }],
) {
  const { clock, kv, freshStore } = setUp();
  const before = freshStore();
  const mirror = createMirror({ store: before, ledger: kv, clock, timers: clock }, { release: '1' });
  const stored: Row[] = [];
  for (const { n, overrides } of rows) stored.push(await enqueue(mirror.store, n, overrides));
  await mirror.settle();
  const store = freshStore();
  return { clock, kv, store, stored, recovery: createRecovery({ store, ledger: kv, clock }) };
}

function snapshotOf(rows: readonly Row[], generation = 9): SnapshotOffer {
  const held = rows.map((row, i) => ({ row: { ...row }, body: { weight: i + 1 } }));
  return { type: 'snapshot', epoch: 'before', generation, at: 1, rows: held };
}

const all = (store: RowStore) => store.index('ann', { limit: 99 });
const byId = async (store: RowStore) => (await all(store)).toSorted((a, b) => (a.id < b.id ? -1 : 1));

it('[S31] rows come back from the ledger in their places, in doubt, shown but unproven', async () => {
  const { recovery, store, stored } = await lost();
  expect(await recovery.restoreFromLedger()).toEqual({ restored: 3 });
  const rows = await all(store);
  expect(rows.map(({ id, seq }) => ({ id, seq }))).toEqual(stored.map(({ id, seq }) => ({ id, seq })));
  for (const row of rows) {
    expect(row).toMatchObject({
      state: 'queued',
      doubt: true,
      recovery: { source: 'ledger', proof: 'unverified' },
    });
  }
  expect(await store.readLane('ann', 'ready', { limit: 9 })).toEqual([]);
  expect(await store.readLane('ann', 'asking', { limit: 9 })).toHaveLength(3);
  expect(await store.readBodies([uuid(2)])).toEqual([{ type: 'body', body: { weight: 2 } }]);
});

it('[S31] restores once: only the fact stored with the database decides, and zero rows alone restore nothing', async () => {
  const { recovery, store, kv, clock } = await lost();
  await recovery.restoreFromLedger();
  const row = (await all(store))[0];
  if (row === undefined) throw new Error('nothing came back');
  await store.commit([commitOf([], [row], { remove: [row.id] })]);
  const again = createRecovery({ store, ledger: kv, clock });
  expect(await again.restoreFromLedger()).toEqual({ restored: 0 });
  expect(await all(store)).toHaveLength(2);
});

it('[S31] a recovery killed at any of its commits is finished by the next host, and nothing comes back twice', async () => {
  for (let step = 1; step <= 4; step++) {
    const { kv, clock, store } = await lost();
    let commits = 0;
    const dying: RowStore = {
      ...store,
      commit: (batch) => (++commits === step ? Promise.reject(new Error('killed')) : store.commit(batch)),
      writeFacts: (facts, durability) =>
        ++commits === step ? Promise.reject(new Error('killed')) : store.writeFacts(facts, durability),
    };
    await createRecovery({ store: dying, ledger: kv, clock, pageSize: 1 })
      .restoreFromLedger()
      .catch(() => undefined);
    await createRecovery({ store, ledger: kv, clock }).restoreFromLedger();
    expect((await all(store)).map(({ id }) => id)).toEqual([1, 2, 3].map(uuid));
    expect(await store.readFact(FACTS.recovery)).toMatchObject({ type: 'done' });
  }
});

it('[S31] of two hosts that recover at once the later one restores nothing that the earlier has since removed', async () => {
  const { recovery, store, kv, clock } = await lost();
  let release = () => {};
  const paused = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: RowStore = { ...store, commit: (batch) => paused.then(() => store.commit(batch)) };
  const late = createRecovery({ store: slow, ledger: kv, clock }).restoreFromLedger();
  await recovery.restoreFromLedger();
  const [row] = await all(store);
  if (row === undefined) throw new Error('nothing came back');
  await store.commit([commitOf([], [row], { remove: [row.id] })]);
  release();
  expect(await late).toEqual({ restored: 0 });
  expect((await all(store)).map(({ id }) => id)).toEqual([uuid(2), uuid(3)]);
});

it('[S32, T11] what a tombstone names stays gone, whatever the snapshot says', async () => {
  const { recovery, store, stored, kv } = await lost();
  await kv.write({
    tombstones: [{ id: uuid(1), tombstone: { owner: 'ann', generation: 4, at: 1, reason: 'uploaded' } }],
  });
  await recovery.restoreFromLedger();
  await recovery.offerSnapshot('ann', snapshotOf(stored));
  expect((await all(store)).map(({ id }) => id)).toEqual([uuid(2), uuid(3)]);
});

it('[S32] a pending tombstone counts: the server had accepted the row when it was written', async () => {
  const { recovery, store, kv } = await lost();
  await kv.markPending([
    { id: uuid(1), tombstone: { owner: 'ann', generation: 0, at: 1, reason: 'uploaded' } },
  ]);
  await recovery.restoreFromLedger();
  expect((await all(store)).map(({ id }) => id)).toEqual([uuid(2), uuid(3)]);
});

it('[S32] of two stages of one line only the one that took over stands in the end', async () => {
  const later = {
    id: uuid(2),
    origin: uuid(1),
    target: { type: 'id', id: 'w1' },
    replaces: [uuid(1)],
    seq: 1,
  } as const;
  for (const order of [
    [uuid(1), uuid(2)],
    [uuid(2), uuid(1)],
  ]) {
    const { kv, clock, freshStore } = setUp();
    const rows = [rowFixture({ id: uuid(1), origin: uuid(1) }), rowFixture(later)];
    for (const row of rows) {
      const content = { owner: 'ann', id: row.id, generation: 1, row: { ...row }, body: {} };
      await kv.write({ contents: [content] });
    }
    const store = freshStore();
    for (const id of order) {
      const single: Ledger = {
        ...kv,
        entries: async (after) =>
          after ? [] : (await kv.entries(undefined, 9)).filter(({ content }) => content.id === id),
      };
      await store.writeFacts([{ name: FACTS.recovery, value: { type: 'pending' } }], 'strict');
      await createRecovery({ store, ledger: single, clock }).restoreFromLedger();
    }
    expect((await all(store)).map(({ id }) => id)).toEqual([uuid(2)]);
  }
});

test.each([
  {
    when: 'the snapshot has it',
    offer: (rows: readonly Row[]) => snapshotOf(rows),
    proof: 'agreed',
    state: 'queued',
  },
  {
    when: 'there is no snapshot',
    offer: () => ({ type: 'none' }) as const,
    proof: 'mirrored',
    state: 'queued',
  },
  {
    when: 'the snapshot is older than the entry',
    offer: () => snapshotOf([], 0),
    proof: 'mirrored',
    state: 'queued',
  },
  {
    when: 'a newer snapshot lacks it',
    offer: () => snapshotOf([], 9),
    proof: 'unverified',
    state: 'blocked',
  },
])('[S33, S34, S39, T14] a ledger row comes back as $proof where $when', async ({ offer, proof, state }) => {
  const { recovery, store, stored } = await lost([{ n: 1 }]);
  await recovery.restoreFromLedger();
  await recovery.offerSnapshot('ann', offer(stored));
  expect(await all(store)).toMatchObject([{ id: uuid(1), state, recovery: { proof } }]);
  expect(await store.readLane('ann', 'ready', { limit: 9 })).toHaveLength(state === 'queued' ? 1 : 0);
});

it('[S23, S39] where the snapshot had no room it is no more than one that is not there', async () => {
  const { recovery, store, stored } = await lost([{ n: 1 }, { n: 2 }]);
  await recovery.restoreFromLedger();
  const [first] = stored;
  if (first === undefined) throw new Error('nothing was stored');
  const held = [{ row: { ...first } }];
  const offer = {
    type: 'snapshot',
    epoch: 'e0',
    generation: 9,
    at: 1,
    rows: held,
    until: first.seq,
  } as const;
  await recovery.offerSnapshot('ann', offer);
  expect((await byId(store)).map((row) => row.recovery?.proof)).toEqual(['agreed', 'mirrored']);
});

it('[S31] a snapshot written after the loss vouches for nothing', async () => {
  const { recovery, store, stored } = await lost([{ n: 1 }]);
  await recovery.restoreFromLedger();
  const offer = { ...snapshotOf(stored), type: 'snapshot', epoch: await store.epoch() } as SnapshotOffer;
  await recovery.offerSnapshot('ann', offer);
  expect(await all(store)).toMatchObject([{ recovery: { proof: 'unverified' } }]);
  expect(await recovery.awaitsSnapshot('ann')).toBe(true);
});

it('[S31] a page that cannot read its storage proves nothing and leaves the question open', async () => {
  const { recovery, store } = await lost([{ n: 1 }]);
  await recovery.restoreFromLedger();
  await recovery.offerSnapshot('ann', { type: 'unreadable' });
  expect(await all(store)).toMatchObject([{ recovery: { proof: 'unverified' } }]);
  expect(await recovery.awaitsSnapshot('ann')).toBe(true);
});

it('[S31] each owner waits for its own snapshot', async () => {
  const { recovery, store } = await lost([{ n: 1 }, { n: 2, overrides: { owner: 'bob' } }]);
  await recovery.restoreFromLedger();
  await recovery.offerSnapshot('ann', { type: 'none' });
  expect(await recovery.awaitsSnapshot('ann')).toBe(false);
  expect(await recovery.awaitsSnapshot('bob')).toBe(true);
  expect(await store.index('bob', { limit: 9 })).toMatchObject([{ recovery: { proof: 'unverified' } }]);
});

it('[S35, T17] a row only the snapshot has comes back if there is no ledger manifest', async () => {
  const { clock, kv, freshStore } = setUp();
  const store = freshStore();
  const recovery = createRecovery({ store, ledger: kv, clock });
  await recovery.restoreFromLedger();
  await recovery.offerSnapshot('ann', snapshotOf([rowFixture({ id: uuid(7), seq: 3 })]));
  expect(await all(store)).toMatchObject([
    {
      id: uuid(7),
      seq: 3,
      state: 'queued',
      doubt: true,
      recovery: { source: 'snapshot', proof: 'mirrored' },
    },
  ]);
  expect(await store.readBodies(['00000000-0000-4000-8000-000000000007'])).toEqual([
    { type: 'body', body: { weight: 1 } },
  ]);
});

it('[S35] so does one that the manifest names as not mirrored', async () => {
  const { recovery, store, stored, kv } = await lost([{ n: 1 }]);
  await kv.write({ manifests: [{ owner: 'ann', generation: 1, at: 1, writer: '1', unmirrored: [uuid(7)] }] });
  await recovery.restoreFromLedger();
  await recovery.offerSnapshot(
    'ann',
    snapshotOf([...stored, rowFixture({ id: uuid(7), seq: 2, bodyId: uuid(7) })]),
  );
  expect(await byId(store)).toMatchObject([
    { id: uuid(1) },
    { id: uuid(7), recovery: { proof: 'mirrored' } },
  ]);
});

it('[S36, T14] a row that only the snapshot has beside a ledger that never saw it is blocked for a receipt check', async () => {
  const { recovery, store, stored } = await lost([{ n: 1 }]);
  await recovery.restoreFromLedger();
  await recovery.offerSnapshot(
    'ann',
    snapshotOf([...stored, rowFixture({ id: uuid(7), seq: 2, bodyId: uuid(7) })]),
  );
  expect(await byId(store)).toMatchObject([
    { id: uuid(1), recovery: { proof: 'agreed' } },
    {
      id: uuid(7),
      state: 'blocked',
      blockedCode: 'recovery_receipt_unknown',
      recovery: { proof: 'unverified' },
    },
  ]);
});

it('[S31, W16] a snapshot row of another owner, or one that does not read, is left out', async () => {
  const { clock, kv, freshStore } = setUp();
  const store = freshStore();
  const recovery = createRecovery({ store, ledger: kv, clock });
  await recovery.restoreFromLedger();
  const rows = [{ row: { ...rowFixture({ owner: 'bob' }) } }, { row: { format: 2 } }, { row: {} }];
  await recovery.offerSnapshot('ann', {
    type: 'snapshot',
    epoch: 'e',
    generation: 1,
    at: 1,
    rows,
  });
  expect(await all(store)).toEqual([]);
  expect(await store.index('bob', { limit: 9 })).toEqual([]);
});

it('[S23] a row whose body was too large for the mirror comes back blocked, not empty', async () => {
  const { recovery, store } = await lost([{ n: 1, overrides: { bodySize: 5_000_000 } }]);
  await recovery.restoreFromLedger();
  expect(await all(store)).toMatchObject([{ state: 'blocked', blockedCode: 'body_unreadable', doubt: true }]);
});

it('[S31, A66] states come back as they were, a row in flight as one that waits, its fence kept', async () => {
  const claim = { host: 'dead', expiresAt: 1_010_000, fence: 3 };
  const writer = { release: '1', at: 1 };
  const { recovery, store } = await lost([
    { n: 1, overrides: { state: 'sending', sentAt: 1_000_000, claim, writer, doubt: true } },
    { n: 2, overrides: { state: 'blocked', blockedAt: 5, blockedCode: 'rejected' } },
    { n: 3, overrides: { state: 'held', heldAt: 5 } },
  ]);
  await recovery.restoreFromLedger();
  expect(await all(store)).toMatchObject([
    { state: 'queued', claim: { fence: 3, expiresAt: 1_000_000 } },
    { state: 'blocked', blockedCode: 'rejected' },
    { state: 'held' },
  ]);
});

it('[S20, S31] numbers of changes go on above every one a witness shows', async () => {
  const { recovery, store, kv } = await lost([{ n: 1 }]);
  await kv.write({ manifests: [{ owner: 'ann', generation: 700, at: 1, writer: '1', unmirrored: [] }] });
  await recovery.restoreFromLedger();
  expect((await store.ownerFacts('ann')).generation).toBeGreaterThan(700);
});

it('[R2, S20] fields of a newer release come back with the row', async () => {
  const { clock, kv, freshStore } = setUp();
  const row = { ...rowFixture(), mood: 'fresh', evidence: { attemptCount: 0, weather: 'rain' } };
  await kv.write({ contents: [{ owner: 'ann', id: row.id, generation: 1, row, body: {} }] });
  const store = freshStore();
  await createRecovery({ store, ledger: kv, clock }).restoreFromLedger();
  expect(await all(store)).toMatchObject([{ mood: 'fresh', evidence: { weather: 'rain' } }]);
});

it('[S31] a recovery of which one commit failed stays pending, and the next one brings the rest back', async () => {
  const { recovery, store, stored } = await lost();
  store.failNext({ reason: 'recover', error: new Error('no room') });
  await expect(recovery.restoreFromLedger()).rejects.toThrow('no room');
  expect(await all(store)).toHaveLength(2);
  expect(await recovery.restoreFromLedger()).toEqual({ restored: 1 });
  expect((await all(store)).map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
});

it('[S31] a snapshot stays awaited where what it vouches for could not be written', async () => {
  const { recovery, store, stored } = await lost();
  await recovery.restoreFromLedger();
  store.failNext({ reason: 'recover', error: new Error('no room') });
  await expect(recovery.offerSnapshot('ann', snapshotOf(stored))).rejects.toThrow('no room');
  expect(await recovery.awaitsSnapshot('ann')).toBe(true);
  await recovery.offerSnapshot('ann', snapshotOf(stored));
  expect((await all(store)).map((row) => row.recovery?.proof)).toEqual(['agreed', 'agreed', 'agreed']);
});

it('[S31, S20] any number of rows of one key come back', async () => {
  const { clock, kv, freshStore } = setUp();
  const mirror = createMirror({ store: freshStore(), ledger: kv, clock, timers: clock }, { release: '1' });
  const blocked = { target: { type: 'id', id: 'w1' }, state: 'blocked', blockedCode: 'rejected' } as const;
  for (let n = 1; n <= 12; n++)
    await mirror.store.commit([commitOf([draft({ id: uuid(n), ...blocked })], await all(mirror.store))]);
  await mirror.settle();
  const store = freshStore();
  const recovery = createRecovery({ store, ledger: kv, clock });
  expect(await recovery.restoreFromLedger()).toEqual({ restored: 12 });
  expect(await all(store)).toHaveLength(12);
});

it('[S32, C21] an intent does not come back beside the row that it became, whichever of the two comes first', async () => {
  const pending = { type: 'pending', origin: uuid(9) } as const;
  // Entries come in the order of their ids: once the intent is the first, once the row.
  for (const [intent, row] of [
    [1, 2],
    [4, 3],
  ] as const) {
    const became = { origin: uuid(intent), replaces: [uuid(intent)], seq: 40 + row } as const;
    const { recovery, store } = await lost([
      { n: intent, overrides: { kind: 'update', target: pending } },
      { n: row, overrides: { kind: 'update', ...became } },
    ]);
    await recovery.restoreFromLedger();
    expect((await all(store)).map(({ id }) => id)).toEqual([uuid(row)]);
  }
});

it('[S23, S36] a row that nobody vouches for and whose content is nowhere says first that its content is gone', async () => {
  const { recovery, store } = await lost([{ n: 1 }]);
  await recovery.restoreFromLedger();
  const rows = [{ row: { ...rowFixture({ id: uuid(7), seq: 2, bodyId: uuid(7) }) } }];
  await recovery.offerSnapshot('ann', { type: 'snapshot', epoch: 'before', generation: 9, at: 1, rows });
  expect((await byId(store))[1]).toMatchObject({
    blockedCode: 'body_unreadable',
    recovery: { proof: 'unverified' },
  });
});

it('[S20] a row that goes while a snapshot is read is not in it: it would come back without its content', async () => {
  const { freshStore } = setUp();
  const store = freshStore();
  const row = await enqueue(store, 1);
  const going = {
    ...store,
    async readBodies(bodyIds: readonly string[]) {
      await store.commit([commitOf([], [row], { remove: [row.id] })]);
      return store.readBodies(bodyIds);
    },
  };
  expect((await readSnapshotPage(going, 'ann', undefined)).rows).toEqual([]);
});
