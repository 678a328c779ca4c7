import 'fake-indexeddb/auto';
import { createStore } from 'idb-keyval';
import { expect, it } from 'vitest';
import { compareWitness } from '../../../sw/mirror/comparison.ts';
import { kvLedger } from '../../../sw/mirror/kv-ledger.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { commitOf, draft, uuid } from '../../suites/row-store-suite.ts';
import { rowFixture } from '../../support/row-fixture.ts';

let databases = 0;

async function setUp(rows: readonly number[]) {
  const clock = createManualClock(1_000_000);
  const ledger = kvLedger(createStore(`comparison-${++databases}`, 'ledger'));
  const store = createMemoryRowStore({ clock, ids: { uuid: () => 'epoch' } });
  for (const n of rows) {
    const id = uuid(n);
    const row = draft({ id, bodyId: id, target: { type: 'id', id: `w${n}` } });
    await store.commit([commitOf([row], [], { bodies: [{ bodyId: id, body: { n } }] })]);
  }
  const compare = () =>
    compareWitness({ store, ledger, clock }, { release: '1', maxBodyBytes: 1_000, pageSize: 2 });
  return { clock, ledger, store, compare };
}

const content = (n: number) => ({
  owner: 'ann',
  id: uuid(n),
  generation: 1,
  row: { ...rowFixture({ id: uuid(n) }) },
});

it('[S30, T12] entries without a row get a repair tombstone, and nothing is restored', async () => {
  const { ledger, store, compare } = await setUp([]);
  await ledger.write({ contents: [1, 2, 3].map(content) });
  expect(await compare()).toMatchObject({ buried: 3, mirrored: 0 });
  expect(await ledger.entries(undefined, 9)).toEqual([]);
  expect(await ledger.findTombstones([uuid(1)])).toMatchObject([{ reason: 'repair' }]);
  expect(await store.index('ann', { limit: 9 })).toEqual([]);
});

it('[S30, T13] writes what the ledger lacks, and attempt data that differs; the row stands as it is', async () => {
  const { ledger, store, compare } = await setUp([1, 2, 3]);
  await ledger.write({
    contents: [content(1)],
    attempts: [{ owner: 'ann', id: uuid(1), generation: 1, fingerprint: 'old', data: { state: 'blocked' } }],
  });
  const before = await store.index('ann', { limit: 9 });
  expect(await compare()).toMatchObject({ mirrored: 3, buried: 0 });
  const entries = await ledger.entries(undefined, 9);
  expect(entries.map(({ attempt }) => attempt?.data['state'])).toEqual(['queued', 'queued', 'queued']);
  expect(entries[1]?.content.body).toEqual({ n: 2 });
  expect(await store.index('ann', { limit: 9 })).toEqual(before);
  expect(await compare()).toMatchObject({ mirrored: 0 });
});

it('[S30] removes the tombstone of a row that lives, but not one that belongs to an acceptance under way', async () => {
  const { ledger, compare } = await setUp([1, 2]);
  const tombstone = { owner: 'ann', generation: 1, at: 1, reason: 'replaced' } as const;
  await ledger.write({ tombstones: [{ id: uuid(1), tombstone }] });
  await ledger.markPending([{ id: uuid(2), tombstone: { ...tombstone, generation: 0, reason: 'uploaded' } }]);
  expect(await compare()).toMatchObject({ unburied: 1 });
  expect(await ledger.findTombstones([uuid(1), uuid(2)])).toMatchObject([undefined, { reason: 'uploaded' }]);
});

it('[S30, R3, T14] keeps originals that this release cannot read', async () => {
  const { ledger, store, compare } = await setUp([]);
  store.plant({ owner: 'ann', seq: 5 }, { format: 2, id: uuid(5) }, uuid(5));
  expect(await compare()).toMatchObject({ unreadable: 1 });
  expect(await ledger.unreadable(9)).toMatchObject([{ value: { format: 2 } }]);
});
