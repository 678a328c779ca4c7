import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Row } from '../../../shared/row.ts';
import type { Commit, RowDraft, RowStore } from '../../../sw/outbox/row-store.ts';
import { createIdbRowStore } from '../../../sw/storage/idb-row-store.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { commitOf, draft, outcomeOf, uuid } from '../../support/commit-fixture.ts';

/** One commit, by what it picks from the rows of its key as they stand or as they stood. */
interface Move {
  readonly owner: string;
  readonly target: string;
  readonly isOutdated: boolean;
  readonly writes: readonly {
    readonly id: number;
    readonly state: Row['state'];
    readonly seq: number | undefined;
  }[];
  readonly changes: boolean;
  readonly removes: boolean;
  readonly isSigned: boolean;
  readonly asks: 'nothing' | 'a row of the key' | number;
}

const move: fc.Arbitrary<Move> = fc.record({
  owner: fc.constantFrom('ann', 'bob'),
  target: fc.constantFrom('w1', 'w2', '__proto__'),
  isOutdated: fc.nat(5).map((n) => n === 0),
  writes: fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 9 }),
      state: fc.constantFrom('queued', 'sending', 'held', 'blocked'),
      seq: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    }),
    { maxLength: 2 },
  ),
  changes: fc.boolean(),
  removes: fc.boolean(),
  isSigned: fc.nat(3).map((n) => n === 0),
  asks: fc.constantFrom<Move['asks'][]>('nothing', 'nothing', 'nothing', 'a row of the key', 1, 2, 3),
});

const OWNERS = ['ann', 'bob'] as const;
const IDS = Array.from({ length: 9 }, (_, n) => uuid(n + 1));

async function commitFor(store: RowStore, { owner, target, ...move }: Move): Promise<Commit> {
  const key = { owner, family: 'workout', target: { type: 'id', id: target } as const };
  const [rows = []] = await store.readKeys([key]);
  const expected = move.isOutdated ? rows.slice(1) : rows;
  const fresh = move.writes
    .filter(({ id }, place) => move.writes.findIndex((other) => other.id === id) === place)
    .map(({ id, state, seq }) =>
      draft({ owner, target: key.target, id: uuid(id), state, ...(seq ? { seq } : {}) }),
    );
  const changed: readonly RowDraft[] = move.changes
    ? rows.filter(({ id }) => !fresh.some((row) => row.id === id)).map((row) => ({ ...row, noticed: true }))
    : [];
  const removed = move.removes ? rows : [];
  const asked =
    typeof move.asks === 'number' ? uuid(move.asks) : move.asks === 'nothing' ? undefined : rows[0]?.id;
  return commitOf([...fresh, ...changed], expected, {
    owner,
    keys: [key],
    remove: removed.map(({ id }) => id),
    outcomes: removed.map((row) => outcomeOf(row, { type: 'already_gone' })),
    bodies: fresh.map(({ id }) => ({ bodyId: id, body: { of: id } })),
    ...(move.isSigned ? { activeOwner: owner } : {}),
    ...(asked === undefined ? {} : { identity: { id: asked, key, requestHash: 'h1' } }),
  });
}

async function everything(store: RowStore): Promise<unknown> {
  return await Promise.all(
    OWNERS.map(async (owner) => ({
      rows: await store.index(owner, { limit: 99 }),
      lanes: await Promise.all(
        (['ready', 'held', 'blocked', 'asking'] as const).map((lane) =>
          store.readLane(owner, lane, { limit: 99 }),
        ),
      ),
      facts: await store.ownerFacts(owner),
      journal: (await store.readJournal(owner, undefined, 99)).entries,
      notes: await store.readFacts(['unmirrored', owner], 99),
      ends: await store.findEnds(IDS),
      bodies: await store.readBodies(IDS),
    })),
  );
}

it('[R45] the two stores give the same results and hold the same, whatever is committed in whatever batches', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(move, { minLength: 1, maxLength: 4 }), { maxLength: 8 }),
      async (batches) => {
        const clock = createManualClock();
        const ids = { uuid: () => uuid(1_000) };
        const memory = createMemoryRowStore({ clock, ids });
        const idb = createIdbRowStore(
          { clock, timers: clock, ids, indexedDB: new IDBFactory(), keyRange: IDBKeyRange },
          { name: 'twin' },
        );
        for (const store of [memory, idb])
          await store.writeFacts([{ name: ['active_owner'], value: 'ann' }], 'strict');
        for (const batch of batches) {
          const commits: Commit[] = [];
          for (const one of batch) commits.push(await commitFor(memory, one));
          expect(await idb.commit(commits)).toEqual(await memory.commit(commits));
          expect(await everything(idb)).toEqual(await everything(memory));
        }
        const counted = await Promise.all(
          OWNERS.map(
            async (owner) =>
              [(await memory.ownerFacts(owner)).counts, await memory.index(owner, { limit: 99 })] as const,
          ),
        );
        for (const [counts, rows] of counted) {
          for (const state of ['queued', 'sending', 'held', 'blocked'] as const)
            expect(counts[state]).toBe(rows.filter((row) => row.state === state).length);
          expect(new Set(rows.map(({ seq }) => seq)).size).toBe(rows.length);
        }
        idb.close();
      },
    ),
    { numRuns: 60 },
  );
});
