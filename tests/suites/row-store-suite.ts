/**
 * What every row store keeps (R40-R45, R2, R3, R6, R9, S2, S4, D41): run over memory, over a fake IndexedDB
 * and, bundled, in Chromium. No Node here.
 */
import { describe, expect, it } from 'vitest';
import { keyOf, type Row } from '../../shared/row.ts';
import { FACTS, type RowStore } from '../../sw/outbox/row-store.ts';
import type { Place } from '../../sw/storage/judge.ts';
import { commitOf, draft, one, outcomeOf, stored, uuid } from '../support/commit-fixture.ts';
import { rowFixture } from '../support/row-fixture.ts';

export { commitOf, draft, one, outcomeOf, stored, uuid };

export interface OpenRowStore {
  readonly store: RowStore;
  /** Epoch ms at which the store was made; the clock its journal reads stands there. */
  readonly startedAt: number;
  /** Moves that clock. */
  advance(ms: number): void;
  /** Stores a value past the store, as another release or a bad disk may have left it. `id`: where the index finds it. */
  plant(place: Place, value: unknown, id: string): Promise<void>;
  /** All of what is stored, to prove that nothing changed. */
  dump(): Promise<unknown>;
}

const target = (id: string) => ({ type: 'id', id }) as const;

export function describeRowStore(name: string, open: () => Promise<OpenRowStore>): void {
  describe(`row store: ${name}`, () => {
    describe('one commit', () => {
      it('[R40, R41] writes rows that were expected as they are, and answers them as stored', async () => {
        const { store } = await open();
        const result = await one(store, commitOf([draft()]));
        expect(result).toMatchObject({
          type: 'committed',
          generation: 1,
          rows: [{ id: uuid(1), version: 1 }],
        });
        const [rows] = await store.readKeys([keyOf(rowFixture())]);
        expect(rows).toEqual(result.type === 'committed' ? result.rows : undefined);
        expect(await store.readBodies([uuid(1)])).toEqual([{ type: 'body', body: { of: uuid(1) } }]);
      });

      it('[R41] is stale where a row of its keys changed, answers the rows of now and writes nothing', async () => {
        const opened = await open();
        const row = await stored(opened.store);
        await one(opened.store, commitOf([{ ...row, noticed: true }], [row]));
        const before = await opened.dump();
        const result = await one(
          opened.store,
          commitOf([{ ...row, state: 'sending' }, draft({ id: uuid(2) })], [row], {
            outcomes: [outcomeOf(row, { type: 'cancelled' })],
            facts: [{ name: FACTS.paused('ann'), value: true }],
          }),
        );
        expect(result).toMatchObject({
          type: 'stale',
          reason: 'rows',
          rows: [{ id: row.id, noticed: true }],
        });
        expect(await opened.dump()).toEqual(before);
      });

      it.each([
        { when: 'a row came', expected: (_: Row) => [] as readonly Row[] },
        { when: 'a field is other', expected: (row: Row) => [{ ...row, doubt: true }] },
        {
          when: 'a nested field is other',
          expected: (row: Row) => [{ ...row, evidence: { attemptCount: 1 } }],
        },
        { when: 'a row went', expected: (row: Row) => [row, { ...row, id: uuid(9), seq: 9 }] },
      ])('[R41] compares whole content: stale when $when', async ({ expected }) => {
        const { store } = await open();
        const row = await stored(store);
        const result = await one(
          store,
          commitOf([draft({ id: uuid(2) })], expected(row), { keys: [keyOf(row)] }),
        );
        expect(result).toMatchObject({ type: 'stale', rows: [row] });
      });

      it('[R41] takes no notice of the order of fields, nor of fields that are undefined', async () => {
        const { store } = await open();
        const row = await stored(store, { claim: { host: 'a', expiresAt: 1, fence: 1 }, tags: ['x'] });
        const turned = { ...Object.fromEntries(Object.entries(row).reverse()), ...row, notBefore: undefined };
        expect(await one(store, commitOf([{ ...row, state: 'held' }], [turned]))).toMatchObject({
          type: 'committed',
        });
      });

      it('[R43] is not made stale by another key, another family or another owner', async () => {
        const { store } = await open();
        const row = await stored(store);
        await stored(store, { id: uuid(2), target: target('w2') });
        await stored(store, { id: uuid(3), family: 'plan' });
        await stored(store, { id: uuid(4), owner: 'bob' });
        await stored(store, { id: uuid(5), target: { type: 'pending', origin: 'w1' } });
        expect(await one(store, commitOf([{ ...row, noticed: true }], [row]))).toMatchObject({
          type: 'committed',
        });
      });

      it('[R40] writes an id that is in both write and remove', async () => {
        const { store } = await open();
        const row = await stored(store);
        const result = await one(store, commitOf([{ ...row, noticed: true }], [row], { remove: [row.id] }));
        expect(result).toMatchObject({ type: 'committed', rows: [{ id: row.id, version: 2 }] });
        expect(await store.findRows([row.id])).toMatchObject([{ noticed: true }]);
      });

      it('[R40] removes rows, and the body with its last row', async () => {
        const { store } = await open();
        const row = await stored(store);
        expect(await one(store, commitOf([], [row], { remove: [row.id] }))).toMatchObject({
          type: 'committed',
          rows: [],
        });
        expect(await store.findRows([row.id])).toEqual([undefined]);
        expect(await store.readBodies([row.id])).toEqual([{ type: 'missing' }]);
      });

      it('[R1] keeps a body that a written row points to', async () => {
        const { store } = await open();
        const row = await stored(store);
        const next = { ...row, id: uuid(2), replaces: [row.id] };
        await one(store, commitOf([next], [row], { remove: [row.id] }));
        expect(await store.readBodies([row.id])).toEqual([{ type: 'body', body: { of: row.id } }]);
      });

      it('[R7] raises the version with every write', async () => {
        const { store } = await open();
        let row = await stored(store);
        for (const version of [2, 3]) {
          const result = await one(store, commitOf([row], [row]));
          if (result.type === 'committed') row = result.rows[0] ?? row;
          expect(row.version).toBe(version);
        }
      });

      it('[W30] is stale when the active owner is another at the time of the transaction', async () => {
        const { store } = await open();
        await store.writeFacts([{ name: FACTS.activeOwner, value: 'bob' }], 'strict');
        const refused = await one(store, commitOf([draft()], [], { activeOwner: 'ann' }));
        expect(refused).toMatchObject({ type: 'stale', reason: 'active_owner' });
        await store.writeFacts([{ name: FACTS.activeOwner, value: 'ann' }], 'strict');
        expect(await one(store, commitOf([draft()], [], { activeOwner: 'ann' }))).toMatchObject({
          type: 'committed',
        });
      });
    });

    describe('a batch', () => {
      it('[R40] may be empty', async () => {
        const { store } = await open();
        expect(await store.commit([])).toEqual([]);
      });

      it('[R40] judges in order, each commit seeing the writes before it, each with its own result', async () => {
        const { store } = await open();
        const results = await store.commit([
          commitOf([draft()]),
          commitOf([draft({ id: uuid(2) })]),
          commitOf([draft({ id: uuid(3), target: target('w3') })]),
        ]);
        expect(results.map(({ type }) => type)).toEqual(['committed', 'stale', 'committed']);
        expect(results[1]).toMatchObject({ rows: [{ id: uuid(1) }] });
        expect(await store.findRows([uuid(1), uuid(2), uuid(3)])).toMatchObject([
          { id: uuid(1) },
          undefined,
          { id: uuid(3) },
        ]);
        const facts = await store.ownerFacts('ann');
        expect(facts).toMatchObject({ generation: 2, counts: { queued: 2, bodyBytes: 40 } });
      });

      it('[R40] a row that one commit wrote and the next removed is gone, with its body', async () => {
        const { store } = await open();
        const first = commitOf([draft({ seq: 5 })]);
        const row = { ...rowFixture({ seq: 5 }), version: 1 };
        const results = await store.commit([first, commitOf([], [row], { remove: [row.id] })]);
        expect(results.map(({ type }) => type)).toEqual(['committed', 'committed']);
        expect(await store.index('ann', { limit: 9 })).toEqual([]);
        expect(await store.readBodies([row.id])).toEqual([{ type: 'missing' }]);
      });

      it('[R40] a commit whose content cannot be written does not take the others with it', async () => {
        const { store } = await open();
        const bad = commitOf([draft({ id: uuid(2), target: target('w2') })], [], {
          bodies: [{ bodyId: uuid(2), body: () => 1 }],
        });
        const results = await store.commit([commitOf([draft()]), bad]);
        expect(results).toMatchObject([
          { type: 'committed' },
          { type: 'failed', error: { name: 'DataCloneError' } },
        ]);
        await expect(store.commit([bad])).rejects.toMatchObject({ name: 'DataCloneError' });
        expect(await store.findRows([uuid(1), uuid(2)])).toMatchObject([{ id: uuid(1) }, undefined]);
      });
    });

    describe('identity', () => {
      const identity = { id: uuid(1), key: keyOf(rowFixture()), requestHash: 'h1' };

      it('[R9] answers a stored id with the same key and hash, and writes nothing', async () => {
        const opened = await open();
        const row = await stored(opened.store);
        const before = await opened.dump();
        const result = await one(opened.store, commitOf([draft({ noticed: true })], [], { identity }));
        expect(result).toMatchObject({ type: 'known', row });
        expect(await opened.dump()).toEqual(before);
      });

      it.each([
        { what: 'hash', with: { ...identity, requestHash: 'h2' } },
        { what: 'key', with: { ...identity, key: { ...identity.key, family: 'plan' } } },
        { what: 'owner', with: { ...identity, key: { ...identity.key, owner: 'bob' } } },
      ])('[R9, R11] refuses a stored id with another $what', async ({ with: other }) => {
        const opened = await open();
        await stored(opened.store);
        const before = await opened.dump();
        const write = draft({
          owner: other.key.owner,
          family: other.key.family,
          requestHash: other.requestHash,
        });
        const result = await one(opened.store, commitOf([write], [], { identity: other }));
        expect(result).toEqual({ type: 'identity_conflict', id: uuid(1) });
        expect(await opened.dump()).toEqual(before);
      });

      it('[R9] answers an ended id with its end, and refuses it with other content', async () => {
        const { store } = await open();
        const row = await stored(store);
        const outcomes = [outcomeOf(row, { type: 'replaced', by: uuid(2) })];
        await one(store, commitOf([draft({ id: uuid(2) })], [row], { remove: [row.id], outcomes }));
        const known = await one(store, commitOf([draft()], [], { identity }));
        expect(known).toMatchObject({ type: 'known', entry: { id: row.id, end: 'replaced', by: uuid(2) } });
        const other = { ...identity, requestHash: 'h2' };
        expect(await one(store, commitOf([draft()], [], { identity: other }))).toMatchObject({
          type: 'identity_conflict',
        });
        expect(await store.findEnds([row.id, uuid(2)])).toEqual([
          {
            id: row.id,
            key: ['ann', 'workout', 'id', 'w1'],
            requestHash: 'h1',
            origin: row.id,
            end: 'replaced',
            by: uuid(2),
          },
          undefined,
        ]);
      });

      it('[R9] an outcome that leaves the row in place is no end of its id', async () => {
        const { store } = await open();
        const row = await stored(store);
        const outcomes = [outcomeOf(row, { type: 'blocked', code: 'rejected' })];
        await one(store, commitOf([{ ...row, state: 'blocked' }], [row], { outcomes }));
        expect(await store.findEnds([row.id])).toEqual([undefined]);
        expect(await store.findOutcome(row.id)).toMatchObject({ n: 1, outcome: { type: 'blocked' } });
      });

      it('[R9] a cancelled id that had not arrived refuses it, whatever its content', async () => {
        const { store } = await open();
        const note = {
          id: uuid(1),
          key: ['ann', '', 'id', ''],
          requestHash: '',
          origin: uuid(1),
          end: 'cancelled',
        } as const;
        await one(store, commitOf([], [], { ids: [note] }));
        expect(await one(store, commitOf([draft()], [], { identity }))).toMatchObject({
          type: 'known',
          entry: { end: 'cancelled' },
        });
      });

      it('[R9] sees an id that an earlier commit of the same transaction stored', async () => {
        const { store } = await open();
        const enqueue = commitOf([draft()], [], { identity });
        const results = await store.commit([enqueue, enqueue]);
        expect(results).toMatchObject([{ type: 'committed' }, { type: 'known', row: { id: uuid(1) } }]);
      });

      it.each([
        { field: 'requestHash', change: { requestHash: 'h2' } },
        { field: 'savedAt', change: { savedAt: 2 } },
        { field: 'bodyId', change: { bodyId: undefined } },
        { field: 'tags', change: { tags: ['new'] } },
        { field: 'origin', change: { origin: uuid(7) } },
      ] satisfies readonly { field: string; change: Partial<Row> }[])(
        '[R2, R41] an identity conflict where the $field of a stored row would change',
        async ({ change }) => {
          const opened = await open();
          const row = await stored(opened.store);
          const before = await opened.dump();
          const result = await one(opened.store, commitOf([{ ...row, ...change }], [row]));
          expect(result).toEqual({ type: 'identity_conflict', id: row.id });
          expect(await opened.dump()).toEqual(before);
        },
      );

      it('[R41] an identity conflict where the id is stored under another key', async () => {
        const { store } = await open();
        const row = await stored(store);
        const elsewhere = draft({ id: row.id, target: target('w2') });
        expect(await one(store, commitOf([elsewhere]))).toEqual({ type: 'identity_conflict', id: row.id });
      });
    });

    describe('place', () => {
      it('[R6] gives rising numbers from the creation time in µs', async () => {
        const { store, startedAt } = await open();
        const a = await stored(store);
        const b = await stored(store, { id: uuid(2), target: target('w2'), owner: 'bob' });
        expect([a.seq, b.seq]).toEqual([startedAt * 1000 + 1, startedAt * 1000 + 2]);
      });

      it('[R6] a row that takes the place of one removed in the same commit has its number', async () => {
        const { store } = await open();
        const row = await stored(store);
        const result = await one(store, commitOf([{ ...row, id: uuid(2) }], [row], { remove: [row.id] }));
        expect(result).toMatchObject({ rows: [{ id: uuid(2), seq: row.seq }] });
        expect(await store.index('ann', { limit: 9 })).toMatchObject([{ id: uuid(2), seq: row.seq }]);
      });

      it('[R6] a restored row keeps its number; a taken one gets the next free one below', async () => {
        const { store } = await open();
        for (const [n, seq] of [
          [1, 10],
          [2, 9],
          [3, 10],
          [4, 10],
        ] as const)
          await stored(store, { id: uuid(n), target: target(`w${n}`), seq });
        const later = await stored(store, { id: uuid(5), target: target('w5') });
        const rows = await store.index('ann', { limit: 9 });
        expect(rows.map(({ id, seq }) => [id, seq])).toEqual([
          [uuid(4), 7],
          [uuid(3), 8],
          [uuid(2), 9],
          [uuid(1), 10],
          [uuid(5), later.seq],
        ]);
      });

      it('[R6] taken numbers are found within one commit and within one transaction', async () => {
        const { store } = await open();
        await stored(store, { id: uuid(1), target: target('w1'), seq: 20 });
        const restore = (n: number) => draft({ id: uuid(n), target: target(`w${n}`), seq: 20 });
        const results = await store.commit([commitOf([restore(2), restore(3)]), commitOf([restore(4)])]);
        expect(results.map(({ type }) => type)).toEqual(['committed', 'committed']);
        const rows = await store.index('ann', { limit: 9 });
        expect(rows.map(({ id, seq }) => [id, seq])).toEqual([
          [uuid(4), 17],
          [uuid(3), 18],
          [uuid(2), 19],
          [uuid(1), 20],
        ]);
      });

      it.each([
        { when: 'the row that has it is written again', removes: true, writes: true },
        { when: 'the row that has it stays', removes: false, writes: false },
        { when: 'two rows ask for the place of one that goes', removes: true, writes: false },
      ])(
        '[R6] a number asked for beside a row of the same commit never costs a third its place: $when',
        async ({ removes, writes }) => {
          const { store } = await open();
          const neighbour = await stored(store, { id: uuid(1), target: target('w1'), seq: 3 });
          const row = await stored(store, { id: uuid(2), target: target('w2'), seq: 4 });
          const asks = [3, 4].map((n) => draft({ id: uuid(n), target: target('w2'), seq: 4 }));
          const write = writes ? [row, ...asks] : asks;
          const commit = commitOf(write, [row], { remove: removes ? [row.id] : [] });
          expect(await one(store, commit)).toMatchObject({ type: 'committed' });
          expect(await store.findRows([uuid(1)])).toEqual([neighbour]);
          const rows = await store.index('ann', { limit: 9 });
          expect(rows).toHaveLength(removes && !writes ? 3 : 4);
        },
      );

      it('[R6] numbers given later lie above one restored from a clock that was ahead', async () => {
        const { store, startedAt } = await open();
        const ahead = (startedAt + 1_000_000) * 1000;
        await stored(store, { seq: ahead });
        expect((await stored(store, { id: uuid(2), target: target('w2') })).seq).toBe(ahead + 1);
      });
    });

    describe('rows of other releases', () => {
      it('[R2] keeps fields it does not know through every write, nested ones too', async () => {
        const { store } = await open();
        const newer = {
          ...draft({ claim: { host: 'a', expiresAt: 1, fence: 1 } }),
          mood: 'good',
          evidence: { attemptCount: 0, weather: { sky: 'blue' } },
        };
        await one(store, commitOf([newer]));
        const [row] = await store.findRows([uuid(1)]);
        if (!row) throw new Error('not stored');
        expect(row).toMatchObject({ mood: 'good', evidence: { weather: { sky: 'blue' } } });
        // A planner of this release writes only what it knows.
        const known = draft({ seq: row.seq, state: 'held', evidence: { attemptCount: 1 } });
        const result = await one(store, commitOf([known], [row]));
        expect(result).toMatchObject({
          rows: [{ state: 'held', mood: 'good', evidence: { attemptCount: 1, weather: { sky: 'blue' } } }],
        });
        expect(result).not.toHaveProperty(['rows', 0, 'claim']);
      });

      it('[R3, T30] an unreadable value is kept, listed and stepped over; its neighbours are read', async () => {
        const { store, plant, dump } = await open();
        const a = await stored(store);
        const b = await stored(store, { id: uuid(2), target: target('w2') });
        await plant(
          { owner: 'ann', seq: a.seq - 1 },
          { ...rowFixture({ id: uuid(8) }), state: 'dancing' },
          uuid(8),
        );
        await plant({ owner: 'ann', seq: b.seq + 1 }, 'rubble', uuid(9));
        const before = await dump();
        expect(await store.index('ann', { limit: 9 })).toEqual([a, b]);
        expect(await store.readKeys([keyOf(a)])).toEqual([[a]]);
        expect(await store.readLane('ann', 'ready', { limit: 9 })).toEqual([a, b]);
        expect(await store.findRows([uuid(8), uuid(9), uuid(1)])).toEqual([undefined, undefined, a]);
        const bad = await store.unreadable(9);
        expect(bad).toMatchObject([
          { reason: 'state', value: { state: 'dancing' } },
          { reason: 'not a record', value: 'rubble' },
        ]);
        expect(await store.unreadable(1)).toEqual(bad.slice(0, 1));
        expect(await store.unreadable(9, bad[0]?.place)).toEqual(bad.slice(1));
        expect(await dump()).toEqual(before);
      });

      it('[R3, R9] an id whose row does not read is taken', async () => {
        const { store, plant, startedAt } = await open();
        await plant({ owner: 'ann', seq: startedAt * 1000 }, 'rubble', uuid(1));
        const identity = { id: uuid(1), key: keyOf(rowFixture()), requestHash: 'h1' };
        const conflict = { type: 'identity_conflict', id: uuid(1) };
        expect(await one(store, commitOf([draft()], [], { identity }))).toEqual(conflict);
        expect(await one(store, commitOf([draft()]))).toEqual(conflict);
      });

      it('[R3, R6] the number of a row that does not read is never given away', async () => {
        const { store, plant } = await open();
        await plant({ owner: 'ann', seq: 30 }, 'rubble', uuid(9));
        expect((await stored(store, { seq: 30 })).seq).toBe(29);
        expect(await store.unreadable(9)).toHaveLength(1);
      });
    });

    describe('the journal', () => {
      it('[R40, D41] numbers outcomes within their owner, in the commit that makes them', async () => {
        const { store, startedAt } = await open();
        const a = await stored(store);
        const b = await stored(store, { id: uuid(2), owner: 'bob' });
        const end = (row: Row) =>
          commitOf([], [row], { remove: [row.id], outcomes: [outcomeOf(row, { type: 'already_gone' })] });
        const [first, second] = await store.commit([end(a), end(b)]);
        expect(first).toMatchObject({
          entries: [{ n: 1, at: startedAt, outcome: { type: 'already_gone' } }],
        });
        expect(second).toMatchObject({ entries: [{ n: 1, outcome: { row: { id: b.id } } }] });
        const epoch = await store.epoch();
        expect(await store.readJournal('ann', undefined, 9)).toMatchObject({
          epoch,
          truncated: false,
          last: 1,
          entries: [{ n: 1, outcome: { row: { id: a.id } } }],
        });
        expect(await store.readJournal('ann', { epoch, n: 1 }, 9)).toMatchObject({
          entries: [],
          truncated: false,
        });
      });

      it('[D41] is read on in pages, and says when what was asked for is of another database', async () => {
        const { store } = await open();
        await manyOutcomes(store, 5);
        const epoch = await store.epoch();
        const page = await store.readJournal('ann', { epoch, n: 1 }, 2);
        expect(page.entries.map(({ n }) => n)).toEqual([2, 3]);
        expect(page).toMatchObject({ last: 5, truncated: false });
        expect(await store.readJournal('ann', { epoch: 'other', n: 4 }, 1)).toMatchObject({
          truncated: true,
          entries: [{ n: 1 }],
        });
      });

      it('[D41, S14] says so to who has seen another outcome under that number, which a power cut took back', async () => {
        const { store, startedAt } = await open();
        await manyOutcomes(store, 3);
        const epoch = await store.epoch();
        expect(await store.readJournal('ann', undefined, 0)).toMatchObject({ last: 3, lastAt: startedAt });
        expect(await store.readJournal('ann', { epoch, n: 2, at: startedAt }, 9)).toMatchObject({
          truncated: false,
          entries: [{ n: 3 }],
        });
        expect(await store.readJournal('ann', { epoch, n: 2, at: startedAt - 5 }, 9)).toMatchObject({
          truncated: true,
          entries: [{ n: 1 }, { n: 2 }, { n: 3 }],
        });
      });

      it('[D41] is cut to its last 1,000 outcomes, and says so to who asks for older ones', async () => {
        const { store, startedAt } = await open();
        await manyOutcomes(store, 1_003);
        while (await store.trim('ann', startedAt)) expect(true).toBe(true);
        const epoch = await store.epoch();
        expect(await store.readJournal('ann', { epoch, n: 2 }, 1)).toMatchObject({
          truncated: true,
          entries: [{ n: 4 }],
        });
        expect(await store.readJournal('ann', { epoch, n: 3 }, 1)).toMatchObject({
          truncated: false,
          entries: [{ n: 4 }],
        });
      });

      it('[D41, R9] forgets outcomes after 7 days and ids after an hour, but not what the journal still holds', async () => {
        const { store, startedAt, advance } = await open();
        await manyOutcomes(store, 1);
        const note = {
          id: uuid(900),
          key: ['ann', 'a', 'id', 'b'],
          requestHash: 'h',
          origin: uuid(900),
          end: 'merged',
        } as const;
        await one(store, commitOf([], [], { ids: [note] }));
        advance(3_600_001);
        await store.trim('ann', startedAt + 3_600_001);
        expect(await store.findEnds([uuid(1), uuid(900)])).toMatchObject([
          { end: 'already_gone' },
          undefined,
        ]);
        await store.trim('ann', startedAt + 7 * 24 * 3_600_000 + 1);
        expect(await store.findEnds([uuid(1)])).toEqual([undefined]);
        expect(await store.findOutcome(uuid(1))).toBeUndefined();
        const epoch = await store.epoch();
        expect(await store.readJournal('ann', { epoch, n: 0 }, 9)).toMatchObject({
          truncated: true,
          entries: [],
          last: 1,
        });
      });

      it('[S2] finds the newest outcome by id and the newest end by origin', async () => {
        const { store } = await open();
        const row = await stored(store);
        const next = { ...row, id: uuid(2) };
        const taken = await one(
          store,
          commitOf([next], [row], {
            remove: [row.id],
            outcomes: [outcomeOf(row, { type: 'superseded', by: uuid(2) })],
          }),
        );
        const [second] = taken.type === 'committed' ? taken.rows : [];
        if (!second) throw new Error('not stored');
        expect(await store.findEndOfOrigin(row.origin)).toMatchObject({ id: row.id, end: 'superseded' });
        const outcomes = [
          outcomeOf(second, { type: 'blocked', code: 'rejected' }),
          outcomeOf(second, { type: 'discarded' }),
        ];
        await one(store, commitOf([], [second], { remove: [second.id], outcomes }));
        expect(await store.findEndOfOrigin(row.origin)).toMatchObject({ id: uuid(2), end: 'discarded' });
        expect(await store.findOutcome(uuid(2))).toMatchObject({ n: 3, outcome: { type: 'discarded' } });
        expect(await store.findOutcome(uuid(7))).toBeUndefined();
        expect(await store.findEndOfOrigin(uuid(7))).toBeUndefined();
      });
    });

    describe('reads', () => {
      it('[R5] keys are never joined: strings that look alike stay apart', async () => {
        const { store } = await open();
        const owners = ['__proto__', 'a|b', 'a', '["a"]', '🙂', 'constructor'];
        const rows: Row[] = [];
        for (const [n, owner] of owners.entries())
          rows.push(
            await stored(store, { id: uuid(n + 1), owner, family: 'toString', target: target('pending:x') }),
          );
        for (const row of rows) {
          expect(await store.readKeys([keyOf(row)])).toEqual([[row]]);
          expect(await store.index(row.owner, { limit: 9 })).toEqual([row]);
          expect((await store.ownerFacts(row.owner)).counts.queued).toBe(1);
        }
        expect([...(await store.owners())].sort()).toEqual([...owners].sort());
      });

      it('[S4] pages through an owner in order, and through several keys at once', async () => {
        const { store } = await open();
        const rows: Row[] = [];
        for (const n of [1, 2, 3, 4])
          rows.push(await stored(store, { id: uuid(n), target: target(`w${n % 2}`), seq: n }));
        await stored(store, { id: uuid(9), owner: 'bob' });
        expect(await store.index('ann', { limit: 3 })).toEqual(rows.slice(0, 3));
        expect(await store.index('ann', { after: 3, limit: 3 })).toEqual(rows.slice(3));
        const [odd, even, none] = await store.readKeys([
          { owner: 'ann', family: 'workout', target: target('w1') },
          { owner: 'ann', family: 'workout', target: target('w0') },
          { owner: 'ann', family: 'workout', target: target('w9') },
        ]);
        expect([odd, even, none]).toEqual([[rows[0], rows[2]], [rows[1], rows[3]], []]);
      });

      it('[S2, C30] lanes are read in the order of sending: urgent first, then by number', async () => {
        const { store } = await open();
        const make = (n: number, more: Partial<Row> = {}) =>
          stored(store, { id: uuid(n), target: target(`w${n}`), seq: n, ...more });
        const a = await make(1);
        const b = await make(2, { urgent: true });
        const c = await make(3, { state: 'sending', sentAt: 1 });
        const d = await make(4, { urgent: true });
        const held = await make(5, { state: 'held' });
        const blocked = await make(6, { state: 'blocked', blockedCode: 'rejected' });
        const waiting = await make(7, { target: { type: 'pending', origin: uuid(1) }, successorOf: uuid(1) });
        const asking = await make(8, { state: 'blocked', blockedCode: 'recovery_receipt_unknown' });
        expect(await store.readLane('ann', 'ready', { limit: 9 })).toEqual([b, d, a, c]);
        expect(await store.readLane('ann', 'ready', { limit: 2 })).toEqual([b, d]);
        expect(await store.readLane('ann', 'ready', { after: { urgent: true, seq: 2 }, limit: 2 })).toEqual([
          d,
          a,
        ]);
        expect(await store.readLane('ann', 'ready', { after: { urgent: false, seq: 1 }, limit: 2 })).toEqual([
          c,
        ]);
        expect(await store.readLane('ann', 'held', { limit: 9 })).toEqual([held]);
        expect(await store.readLane('ann', 'blocked', { limit: 9 })).toEqual([blocked]);
        expect(await store.readLane('ann', 'waiting', { limit: 9 })).toEqual([waiting]);
        expect(await store.readLane('ann', 'asking', { limit: 9 })).toEqual([asking]);
        expect(await store.readLane('bob', 'ready', { limit: 9 })).toEqual([]);
      });

      it('[S2] finds rows by origin, and those that wait for an origin', async () => {
        const { store } = await open();
        const first = await stored(store);
        const renamed = await stored(store, { id: uuid(2), origin: uuid(7), target: target('w2') });
        const behind = await stored(store, { id: uuid(3), target: target('w1b'), successorOf: first.origin });
        const after = await stored(store, {
          id: uuid(4),
          target: target('w4'),
          after: [uuid(7), first.origin],
          successorOf: first.origin,
        });
        expect(await store.findByOrigin([first.origin, uuid(7), uuid(2)])).toEqual([
          first,
          renamed,
          undefined,
        ]);
        expect(await store.findRows([uuid(7), uuid(2)])).toEqual([undefined, renamed]);
        expect(await store.findWaiting(first.origin)).toEqual([behind, after]);
        expect(await store.findWaiting(uuid(7))).toEqual([after]);
        expect(await store.findWaiting(uuid(3))).toEqual([]);
      });

      it('[S2] counts are kept by the commits', async () => {
        const { store } = await open();
        const a = await stored(store);
        const b = await stored(store, { id: uuid(2), target: target('w2'), bodySize: 5 });
        await one(store, commitOf([{ ...a, state: 'held' }], [a]));
        const result = await one(store, commitOf([], [b], { remove: [b.id] }));
        const counts = { queued: 0, sending: 0, held: 1, blocked: 0, bodyBytes: 20 };
        expect(result).toMatchObject({ counts });
        expect(await store.ownerFacts('ann')).toEqual({
          owner: 'ann',
          counts,
          generation: 4,
          journalLast: 0,
        });
        expect(await store.ownerFacts('nobody')).toMatchObject({ generation: 0, counts: { queued: 0 } });
      });
    });

    describe('facts', () => {
      it('[S2] are written with a commit or alone, found by the beginning of their name, and removed', async () => {
        const { store } = await open();
        await one(
          store,
          commitOf([draft()], [], { facts: [{ name: FACTS.restOwner('ann'), value: { at: 5 } }] }),
        );
        await store.writeFacts(
          [
            { name: FACTS.restAll, value: { at: 9 } },
            { name: FACTS.heldOwner('ann'), value: { at: 1 } },
          ],
          'relaxed',
        );
        expect(await store.readFact(FACTS.restOwner('ann'))).toEqual({ at: 5 });
        expect(await store.readFacts(['rest'], 9)).toEqual([
          { name: FACTS.restAll, value: { at: 9 } },
          { name: FACTS.restOwner('ann'), value: { at: 5 } },
        ]);
        expect(await store.readFacts(['rest'], 1)).toHaveLength(1);
        await store.writeFacts([{ name: FACTS.restAll, value: undefined }], 'relaxed');
        expect(await store.readFact(FACTS.restAll)).toBeUndefined();
      });

      it('[S22] every transaction notes the ids it touched in a record of its own, each with the number of the change', async () => {
        const { store } = await open();
        const row = await stored(store);
        await one(store, commitOf([{ ...row, id: uuid(2) }], [row], { remove: [row.id] }));
        await store.commit(
          [3, 4].map((n) => commitOf([rowFixture({ id: uuid(n), target: { type: 'id', id: uuid(n) } })])),
        );
        const notes = await store.readFacts(['unmirrored', 'ann'], 9);
        expect(notes).toEqual([
          { name: FACTS.unmirrored('ann', 1), value: [{ id: uuid(1), g: 1 }] },
          {
            name: FACTS.unmirrored('ann', 2),
            value: [
              { id: uuid(2), g: 2 },
              { id: uuid(1), g: 2, gone: 'uploaded' },
            ],
          },
          {
            name: FACTS.unmirrored('ann', 4),
            value: [
              { id: uuid(3), g: 3 },
              { id: uuid(4), g: 4 },
            ],
          },
        ]);
      });

      it('[S22] the notes are read in the order of the changes, also past nine', async () => {
        const { store } = await open();
        for (const g of [10, 9, 100])
          await store.writeFacts([{ name: FACTS.unmirrored('ann', g), value: [] }], 'relaxed');
        const names = (await store.readFacts(['unmirrored'], 9)).map(({ name }) => name);
        expect(names).toEqual([9, 10, 100].map((g) => FACTS.unmirrored('ann', g)));
      });

      it('[S22] a commit that touches no row leaves no note', async () => {
        const { store } = await open();
        await one(store, commitOf([], [], { facts: [{ name: FACTS.restAll, value: { at: 9 } }] }));
        expect(await store.readFacts(['unmirrored'], 9)).toEqual([]);
      });

      it('[S31] a commit guarded by a fact is stale once the fact has changed, also within a batch', async () => {
        const { store } = await open();
        const name = ['recovery', 'ann'] as const;
        const guarded = (id: string, value: unknown) =>
          commitOf([rowFixture({ id, target: { type: 'id', id } })], [], { guard: { name, value } });
        expect((await one(store, guarded(uuid(1), undefined))).type).toBe('committed');
        const done = { ...guarded(uuid(2), undefined), facts: [{ name, value: 'done' }] };
        const results = await store.commit([done, guarded(uuid(3), undefined)]);
        expect(results.map(({ type }) => type)).toEqual(['committed', 'stale']);
        expect((await one(store, guarded(uuid(4), 'done'))).type).toBe('committed');
      });

      it('[S20] numbers of changes go on above the one a witness showed', async () => {
        const { store } = await open();
        const result = await one(store, commitOf([rowFixture()], [], { generationAtLeast: 41 }));
        expect(result).toMatchObject({ type: 'committed', generation: 42 });
        expect((await store.ownerFacts('ann')).generation).toBe(42);
      });

      it('[S22] a fact is changed only if it is as it was seen, where that is asked', async () => {
        const { store } = await open();
        const name = FACTS.restOwner('ann');
        await store.writeFacts([{ name, value: 2 }], 'relaxed');
        await store.writeFacts([{ name, value: undefined, was: 1 }], 'relaxed');
        expect(await store.readFact(name)).toBe(2);
        await store.writeFacts([{ name, value: undefined, was: 2 }], 'relaxed');
        expect(await store.readFact(name)).toBeUndefined();
      });

      it('[S31] a store made anew waits for recovery', async () => {
        const { store } = await open();
        expect(await store.readFact(FACTS.recovery)).toMatchObject({ type: 'pending' });
      });
    });
  });

  async function manyOutcomes(store: RowStore, count: number): Promise<void> {
    for (let from = 1; from <= count; from += 100) {
      const outcomes = Array.from({ length: Math.min(100, count + 1 - from) }, (_, i) =>
        outcomeOf(rowFixture({ id: uuid(from + i) }), { type: 'already_gone' }),
      );
      await one(store, commitOf([], [], { outcomes }));
    }
  }
}
