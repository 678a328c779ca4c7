import { IDBKeyRange } from 'fake-indexeddb';
import { describe, expect, it } from 'vitest';
import { keyOf, type Row } from '../../../shared/row.ts';
import { FACTS } from '../../../sw/outbox/row-store.ts';
import { createIdbRowStore } from '../../../sw/storage/idb-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { commitOf, draft, one, outcomeOf, stored, uuid } from '../../support/commit-fixture.ts';
import { readEverything, writeRaw } from '../../support/raw-database.ts';
import { rowFixture } from '../../support/row-fixture.ts';
import { createScriptedIndexedDb } from '../../support/scripted-indexed-db.ts';

const LIMIT = 8_000;

function setUp() {
  const clock = createManualClock();
  const scripted = createScriptedIndexedDb();
  let made = 0;
  const open = () =>
    createIdbRowStore(
      {
        indexedDB: scripted.indexedDB,
        keyRange: IDBKeyRange,
        clock,
        timers: clock,
        ids: { uuid: () => uuid(1_000 + made++) },
        estimate: async () => ({ usage: 7, quota: 9 }),
      },
      { name: 'holdfast', limitMs: LIMIT },
    );
  const store = open();
  /** Lets the fake database work, then the limit pass. */
  async function passLimit(ms = LIMIT): Promise<void> {
    await clock.settle(40);
    await clock.advance(ms);
    await clock.settle(40);
  }
  const dump = () => readEverything(scripted.honest, 'holdfast');
  return { clock, scripted, store, open, passLimit, dump };
}

const target = (id: string) => ({ type: 'id', id }) as const;

function claimOf(row: Row) {
  const claim = { host: 'a', expiresAt: 9, fence: (row.claim?.fence ?? 0) + 1 };
  return commitOf([{ ...row, state: 'sending', doubt: true, claim }], [row], { reason: 'claim', bodies: [] });
}
function acknowledgementOf(row: Row) {
  const outcomes = [outcomeOf(row, { type: 'already_gone' })];
  return commitOf([], [row], { remove: [row.id], outcomes, reason: 'acknowledge' });
}

describe('a transaction that does not end', () => {
  it('[S10] is aborted at its limit, and the same commit lands at the second try', async () => {
    const { scripted, store, passLimit, dump } = setUp();
    await store.epoch();
    scripted.onWrite('stuck');
    const result = one(store, commitOf([draft()]));
    await passLimit();
    expect(await result).toMatchObject({ type: 'committed', rows: [{ id: uuid(1), version: 1 }] });
    expect((await dump())['rows']).toHaveLength(1);
  });

  it('[S10] is given up after the second limit, with a typed error and nothing written', async () => {
    const { scripted, store, passLimit, dump } = setUp();
    const row = await stored(store);
    const before = await dump();
    scripted.onWrite('stuck', 'stuck');
    const result = expect(one(store, claimOf(row))).rejects.toMatchObject({ code: 'store_timeout' });
    await passLimit();
    await passLimit();
    await result;
    expect(await dump()).toEqual(before);
  });

  it('[S11] and that landed is judged applied: committed, one row, nothing written twice', async () => {
    const { scripted, store, passLimit, dump } = setUp();
    await store.epoch();
    scripted.onWrite('lands_unseen');
    const result = one(store, commitOf([draft()]));
    await passLimit();
    expect(await result).toMatchObject({
      type: 'committed',
      generation: 1,
      counts: { queued: 1 },
      rows: [{ id: uuid(1), version: 1 }],
    });
    expect((await dump())['rows']).toHaveLength(1);
    expect(scripted.durabilities).toHaveLength(1);
  });

  it('[S11] and that landed is judged by fields merged with those of another release', async () => {
    const { scripted, store, passLimit } = setUp();
    await one(store, commitOf([{ ...draft(), mood: 'good' } as ReturnType<typeof draft>]));
    const [row] = await store.findRows([uuid(1)]);
    if (!row) throw new Error('not stored');
    scripted.onWrite('lands_unseen');
    const result = one(store, commitOf([draft({ state: 'held' })], [row]));
    await passLimit();
    expect(await result).toMatchObject({
      type: 'committed',
      rows: [{ state: 'held', mood: 'good', version: 2 }],
    });
    expect(scripted.durabilities).toHaveLength(2);
  });

  it('[S11] and that did not land is judged so, and tried once more', async () => {
    const { scripted, store, passLimit, dump } = setUp();
    const row = await stored(store);
    scripted.onWrite('lost_unseen');
    const result = one(store, claimOf(row));
    await passLimit();
    expect(await result).toMatchObject({ type: 'committed', rows: [{ claim: { fence: 1 }, version: 2 }] });
    expect((await dump())['rows']).toHaveLength(1);
    expect(scripted.durabilities).toHaveLength(3);
  });

  it('[S11] and whose row someone else changed meanwhile is stale, with the rows of now', async () => {
    const { scripted, store, open, passLimit } = setUp();
    const row = await stored(store);
    scripted.onWrite('lost_unseen');
    const result = one(store, claimOf(row));
    const rival = open();
    await rival.epoch();
    expect(await one(rival, commitOf([{ ...row, noticed: true }], [row]))).toMatchObject({
      type: 'committed',
    });
    await passLimit();
    expect(await result).toMatchObject({ type: 'stale', rows: [{ noticed: true }] });
  });

  it('[S11] and that removed its rows answers with the outcomes it journalled', async () => {
    const { scripted, store, passLimit } = setUp();
    const row = await stored(store);
    scripted.onWrite('lands_unseen');
    const result = one(store, acknowledgementOf(row));
    await passLimit();
    expect(await result).toMatchObject({
      type: 'committed',
      rows: [],
      entries: [{ n: 1, outcome: { type: 'already_gone' } }],
    });
  });

  it('[S11] is applied where its row has been written and has ended since', async () => {
    const { scripted, store, open, passLimit } = setUp();
    const rival = open();
    await rival.epoch();
    await store.epoch();
    scripted.onWrite('lands_unseen');
    const result = one(store, commitOf([draft()]));
    let row: Row | undefined;
    while (!row) [row] = await rival.findRows([uuid(1)]);
    await one(rival, acknowledgementOf(row));
    await passLimit();
    expect(await result).toMatchObject({ type: 'committed', rows: [] });
  });

  it('[S11, R9] is unknown where re-reading hangs too; the repeat by id tells', async () => {
    const { scripted, store, passLimit } = setUp();
    await store.epoch();
    const row = draft();
    const enqueue = commitOf([row], [], {
      identity: { id: row.id, key: keyOf(rowFixture()), requestHash: 'h1' },
    });
    scripted.onWrite('lands_unseen');
    scripted.onRead('stuck');
    const result = expect(one(store, enqueue)).rejects.toMatchObject({
      code: 'commit_unknown',
      data: { reason: 'enqueue', ids: [row.id] },
    });
    await passLimit();
    await passLimit();
    await result;
    expect(await one(store, enqueue)).toMatchObject({ type: 'known', row: { id: row.id } });
  });

  it('[S10] a late end settles it while re-reading hangs', async () => {
    const { scripted, store, passLimit, clock } = setUp();
    await store.epoch();
    scripted.onWrite('lands_unseen');
    scripted.onRead('stuck');
    const result = one(store, commitOf([draft()]));
    await passLimit();
    scripted.release();
    await clock.settle(10);
    expect(await result).toMatchObject({ type: 'committed', generation: 1, rows: [{ id: uuid(1) }] });
  });

  it('[R40, S11] of several commits in it, each is judged alone', async () => {
    const { scripted, store, passLimit } = setUp();
    const row = await stored(store);
    scripted.onWrite('lands_unseen');
    const results = store.commit([
      claimOf(row),
      commitOf([draft({ id: uuid(2), target: target('w2') })]),
      commitOf([draft({ id: uuid(3) })], [rowFixture({ version: 7 })]),
    ]);
    await passLimit();
    expect((await results).map(({ type }) => type)).toEqual(['committed', 'committed', 'stale']);
    expect(scripted.durabilities).toHaveLength(2);
  });

  it('[S13] a read has the plain limit and is not tried again', async () => {
    const { scripted, store, passLimit } = setUp();
    await store.epoch();
    scripted.onRead('stuck');
    const result = expect(store.index('ann', { limit: 1 })).rejects.toMatchObject({ code: 'store_timeout' });
    await passLimit();
    await result;
    expect(await store.index('ann', { limit: 1 })).toEqual([]);
  });
});

describe('a transaction the browser ends', () => {
  it('[W12, S2] where no Blob can be written, nothing of its commit is: the call says so, and others go on', async () => {
    const { scripted, store, dump } = setUp();
    await store.epoch();
    const photo = draft({ bodyId: 'photo' });
    const body = { picture: new Blob(['a picture']) };
    scripted.onWrite('no_blobs', 'no_blobs');
    await expect(
      one(store, commitOf([photo], [], { bodies: [{ bodyId: 'photo', body }] })),
    ).rejects.toMatchObject({ code: 'outbox_unavailable' });
    expect(await dump()).toMatchObject({ rows: [], bodies: [] });
    expect(await one(store, commitOf([draft()]))).toMatchObject({ type: 'committed' });
  });

  it.each(['aborts_silently', 'server_lost', 'closing'] as const)(
    '[S10, S12] %s: enqueue, claim and acknowledgement are each done once',
    async (step) => {
      const { scripted, store } = setUp();
      await store.epoch();
      scripted.onWrite(step);
      const row = await stored(store);
      scripted.onWrite(step);
      const claimed = await one(store, claimOf(row));
      expect(claimed).toMatchObject({ type: 'committed', rows: [{ claim: { fence: 1 }, version: 2 }] });
      scripted.onWrite(step);
      const [sent] = claimed.type === 'committed' ? claimed.rows : [];
      expect(await one(store, acknowledgementOf(sent ?? row))).toMatchObject({
        type: 'committed',
        entries: [{ n: 1 }],
      });
      expect(await store.index('ann', { limit: 9 })).toEqual([]);
      expect(scripted.connections).toBe(1);
    },
  );

  it('[S10] for good rejects with a typed error, the old rows unchanged', async () => {
    const { scripted, store, dump } = setUp();
    const row = await stored(store);
    const before = await dump();
    scripted.onWrite('aborts_silently', 'aborts_silently');
    await expect(one(store, claimOf(row))).rejects.toMatchObject({ code: 'outbox_unavailable' });
    expect(await dump()).toEqual(before);
  });

  it('[S12] a read on a connection that closes is answered on the next one', async () => {
    const { scripted, store } = setUp();
    const row = await stored(store);
    scripted.onRead('closing');
    expect(await store.findRows([row.id])).toEqual([row]);
    expect(scripted.connections).toBe(1);
  });

  it('[S16, R41] QuotaExceededError rejects with what is used, the earlier rows unchanged', async () => {
    const { scripted, store, dump } = setUp();
    await stored(store);
    const before = await dump();
    scripted.onWrite('full');
    await expect(one(store, commitOf([draft({ id: uuid(2), target: target('w2') })]))).rejects.toMatchObject({
      code: 'quota',
      data: { owner: 'ann', usage: 7, quota: 9, waiting: { queued: 1, bodyBytes: 20 } },
    });
    expect(await dump()).toEqual(before);
    expect(scripted.durabilities).toHaveLength(2);
    expect(await one(store, commitOf([draft({ id: uuid(3), target: target('w3') })]))).toMatchObject({
      type: 'committed',
    });
  });

  it('[R40, S16] a full disk is told to the commit it is about, and not to those that fit', async () => {
    const { scripted, store } = setUp();
    await store.epoch();
    scripted.onWrite('full', 'answer', 'full');
    const results = await store.commit([
      commitOf([draft()]),
      commitOf([draft({ id: uuid(2), target: target('w2') })]),
    ]);
    expect(results).toMatchObject([{ type: 'committed' }, { type: 'failed', error: { code: 'quota' } }]);
  });
});

describe('damage', () => {
  it('[R3, T30] a record that the browser cannot give is listed; its neighbours are read and written', async () => {
    const { scripted, store } = setUp();
    const a = await stored(store);
    const bad = await stored(store, { id: uuid(2), target: target('w2') });
    const c = await stored(store, { id: uuid(3), target: target('w3') });
    scripted.damage(bad);
    expect(await store.index('ann', { limit: 9 })).toEqual([a, c]);
    expect(await store.index('ann', { limit: 2 })).toEqual([a, c]);
    expect(await store.readLane('ann', 'ready', { limit: 2 })).toEqual([a, c]);
    expect(await store.readKeys([keyOf(bad), keyOf(c)])).toEqual([[], [c]]);
    expect(await store.unreadable(9)).toEqual([
      { place: ['ann', bad.seq], value: undefined, reason: 'not a record' },
    ]);
    expect(await one(store, claimOf(c))).toMatchObject({ type: 'committed' });
    expect(await stored(store, { id: uuid(4), target: target('w4'), seq: bad.seq })).toMatchObject({
      seq: a.seq - 1,
    });
  });

  it('[R3, T30] records of the journal that do not read cost what they remembered, and nothing else', async () => {
    const { scripted, store } = setUp();
    const row = await stored(store);
    await one(store, acknowledgementOf(row));
    await writeRaw(scripted.honest, 'journal', { owner: 'ann', n: 1, at: 1, names: [row.id] });
    await writeRaw(scripted.honest, 'ids', { n: 1, names: [row.id] });
    const epoch = await store.epoch();
    expect(await store.readJournal('ann', { epoch, n: 0 }, 9)).toMatchObject({ entries: [], last: 1 });
    expect(await store.findEnds([row.id])).toEqual([undefined]);
    const again = commitOf([draft({ id: uuid(2) })], [], {
      identity: { id: uuid(2), key: keyOf(row), requestHash: 'h1' },
    });
    expect(await one(store, again)).toMatchObject({ type: 'committed' });
    expect(await store.trim('ann', 0)).toBe(false);
  });
});

describe('opening', () => {
  it('[S12] tells whether it made the database', async () => {
    const { store, open } = setUp();
    expect(await store.createdFresh()).toBe(true);
    expect(await open().createdFresh()).toBe(false);
  });

  it('[S12] blocked is a typed error; nothing is deleted, and the late connection is closed', async () => {
    const { scripted, store, dump } = setUp();
    await stored(store);
    const before = await dump();
    scripted.closeConnections();
    scripted.onOpen('blocked');
    await expect(store.epoch()).rejects.toMatchObject({ code: 'idb_blocked' });
    scripted.release();
    expect(scripted.connections).toBe(0);
    expect(await dump()).toEqual(before);
    expect(await store.index('ann', { limit: 9 })).toHaveLength(1);
  });

  it('[S12] that is never answered is tried a second time within its limit', async () => {
    const { scripted, store, passLimit } = setUp();
    scripted.onOpen('hang');
    const results = Promise.all(
      [1, 2, 3].map((n) => one(store, commitOf([draft({ id: uuid(n), target: target(`w${n}`) })]))),
    );
    await passLimit(LIMIT / 2);
    expect((await results).map(({ type }) => type)).toEqual(['committed', 'committed', 'committed']);
    expect(scripted.connections).toBe(1);
  });

  it('[S12] has a limit; a connection that opens later is closed', async () => {
    const { scripted, store, passLimit } = setUp();
    scripted.onOpen('late', 'hang');
    const result = expect(store.epoch()).rejects.toMatchObject({ code: 'store_timeout' });
    await passLimit();
    await result;
    scripted.release();
    expect(scripted.connections).toBe(0);
    expect(await store.epoch()).toBe(uuid(1_000));
    expect(scripted.connections).toBe(1);
  });

  it.each([
    { when: 'a private window has no database', name: 'InvalidStateError' },
    { when: 'another release raised the version', name: 'VersionError' },
    { when: 'the files are damaged', name: 'UnknownError' },
  ])('[S15] rejects with OutboxUnavailableError when $when', async ({ name }) => {
    const { scripted, store } = setUp();
    scripted.onOpen(new DOMException('', name), new DOMException('', name));
    await expect(one(store, commitOf([draft()]))).rejects.toMatchObject({
      code: 'outbox_unavailable',
      data: { name },
    });
    await expect(store.index('ann', { limit: 1 })).rejects.toMatchObject({ code: 'outbox_unavailable' });
    expect(await store.index('ann', { limit: 1 })).toEqual([]);
    expect(scripted.openings).toBe(3);
  });

  it('[S12] a connection that the browser closes is opened again by whoever needs it', async () => {
    const { scripted, store } = setUp();
    const row = await stored(store);
    scripted.closeConnections();
    expect(await one(store, claimOf(row))).toMatchObject({ type: 'committed' });
    expect(scripted.openings).toBe(2);
  });

  it('[S12] lets go on versionchange, so that another may delete; afterwards the database is made anew', async () => {
    const { scripted, store } = setUp();
    await stored(store);
    const epoch = await store.epoch();
    await new Promise<void>((resolve, reject) => {
      const deletion = scripted.honest.deleteDatabase('holdfast');
      deletion.onsuccess = () => resolve();
      deletion.onblocked = () => reject(new Error('blocked'));
    });
    expect(await store.createdFresh()).toBe(true);
    expect(await store.epoch()).not.toBe(epoch);
    expect(await store.readFact(FACTS.recovery)).toMatchObject({ type: 'pending' });
    expect(await store.index('ann', { limit: 9 })).toEqual([]);
  });

  it('[S12] that hangs behind a deletion which a third connection holds up is blocked', async () => {
    const { clock, scripted, store, passLimit } = setUp();
    await store.epoch();
    const third = await new Promise<IDBDatabase>((resolve) => {
      const opening = scripted.honest.open('holdfast');
      opening.onsuccess = () => resolve(opening.result);
    });
    const deleted = new Promise<void>((resolve) => {
      scripted.honest.deleteDatabase('holdfast').onsuccess = () => resolve();
    });
    await clock.settle(20);
    const result = expect(one(store, commitOf([draft()]))).rejects.toMatchObject({ code: 'idb_blocked' });
    await passLimit();
    await result;
    third.close();
    await deleted;
    expect(await one(store, commitOf([draft()]))).toMatchObject({ type: 'committed' });
  });

  it.each([
    { by: 'an opening that nobody waited for any more', isOther: false },
    { by: 'another host', isOther: true },
  ])('[S12, S31] a database that was made anew by $by is noticed all the same', async ({ isOther }) => {
    const { clock, scripted, store, open, passLimit } = setUp();
    let told = 0;
    store.onFresh?.(() => told++);
    await store.epoch();
    const third = await new Promise<IDBDatabase>((resolve) => {
      const opening = scripted.honest.open('holdfast');
      opening.onsuccess = () => resolve(opening.result);
    });
    const deletion = scripted.honest.deleteDatabase('holdfast');
    await clock.settle(20);
    if (!isOther) {
      const refused = expect(store.epoch()).rejects.toMatchObject({ code: 'idb_blocked' });
      await passLimit();
      await refused;
    }
    third.close();
    await clock.settle(40);
    expect(deletion.readyState).toBe('done');
    if (isOther) await open().epoch();
    expect(told).toBe(0);
    expect(await store.createdFresh()).toBe(false);
    expect(told).toBe(1);
  });

  it('[S12] after close() every call is refused', async () => {
    const { scripted, store } = setUp();
    await store.epoch();
    store.close();
    await expect(store.epoch()).rejects.toMatchObject({ code: 'outbox_unavailable' });
    expect(scripted.connections).toBe(0);
  });

  it('[S12] a lost server makes calls reject promptly, without a storm of openings', async () => {
    const { scripted, store } = setUp();
    await store.epoch();
    for (let call = 0; call < 5; call++) {
      scripted.onWrite('server_lost', 'server_lost');
      await expect(one(store, commitOf([draft()]))).rejects.toMatchObject({ code: 'outbox_unavailable' });
    }
    expect(scripted.openings).toBeLessThanOrEqual(1 + 5 * 2);
    expect(await one(store, commitOf([draft()]))).toMatchObject({ type: 'committed' });
  });
});

describe('transactions', () => {
  it('[S14] are strict where one of their commits is, and relaxed otherwise', async () => {
    const { scripted, store } = setUp();
    await store.epoch();
    await one(store, commitOf([draft()], [], { durability: 'strict' }));
    await one(store, commitOf([draft({ id: uuid(2), target: target('w2') })]));
    await store.commit([
      commitOf([draft({ id: uuid(3), target: target('w3') })]),
      commitOf([draft({ id: uuid(4), target: target('w4') })], [], { durability: 'strict' }),
    ]);
    await store.writeFacts([{ name: FACTS.restAll, value: 1 }], 'strict');
    expect(scripted.durabilities).toEqual(['strict', 'relaxed', 'strict', 'strict']);
  });

  it('[S2] of a claim, a failure or a fact leave the bodies out of their scope', async () => {
    const { scripted, store } = setUp();
    const row = await stored(store);
    await one(store, claimOf(row));
    await store.writeFacts([{ name: FACTS.restAll, value: 1 }], 'relaxed');
    const [enqueue, claim, fact] = scripted.writeScopes;
    expect(enqueue).toContain('bodies');
    expect(claim).not.toContain('bodies');
    expect(fact).toEqual(['meta']);
  });

  it('[S40] reads of one turn share a transaction, and one that fails takes no other along', async () => {
    const { scripted, store } = setUp();
    await store.epoch();
    const before = scripted.readScopes.length;
    const names = [FACTS.restAll, FACTS.recovery, FACTS.activeOwner];
    const [rest] = await Promise.all(names.map((name) => store.readFact(name)));
    expect(rest).toBeUndefined();
    expect(scripted.readScopes.slice(before)).toEqual([['meta']]);
    const [unfit, recovery] = await Promise.allSettled([
      store.readFact(['rest', {} as string]),
      store.readFact(FACTS.recovery),
    ]);
    expect([unfit.status, recovery.status]).toEqual(['rejected', 'fulfilled']);
  });

  it('[R40] commits of one turn ride together, and those that arrive meanwhile in the next', async () => {
    const { scripted, store } = setUp();
    await store.epoch();
    const enqueue = (n: number) => one(store, commitOf([draft({ id: uuid(n), target: target(`w${n}`) })]));
    const first = [enqueue(1), enqueue(2), enqueue(3)];
    await new Promise((resolve) => setImmediate(resolve));
    const later = [4, 5, 6, 7, 8, 9].map(enqueue);
    const results = await Promise.all([...first, ...later]);
    expect(results.every(({ type }) => type === 'committed')).toBe(true);
    expect(scripted.durabilities).toHaveLength(2);
    expect((await store.ownerFacts('ann')).generation).toBe(9);
  });

  it('[R40] a large body travels alone', async () => {
    const { scripted, store } = setUp();
    await store.epoch();
    const enqueue = (n: number, bodySize: number) =>
      one(store, commitOf([draft({ id: uuid(n), target: target(`w${n}`), bodySize })]));
    const results = await Promise.all([
      enqueue(1, 20),
      enqueue(2, 20),
      enqueue(3, 300_000),
      enqueue(4, 20),
      enqueue(5, 20),
    ]);
    expect(results.map((result) => result.type === 'committed' && result.generation)).toEqual([
      1, 2, 3, 4, 5,
    ]);
    expect(scripted.durabilities).toHaveLength(3);
  });

  it("[R40] one caller's refusal does not disturb another that rode along", async () => {
    const { store } = setUp();
    const row = await stored(store);
    const bad = commitOf([draft({ id: uuid(2), target: target('w2') })], [], {
      bodies: [{ bodyId: uuid(2), body: () => 1 }],
    });
    const [first, second, third] = await Promise.allSettled([
      one(store, claimOf(row)),
      one(store, bad),
      one(store, commitOf([draft({ id: uuid(3), target: target('w3') })])),
    ]);
    expect(first).toMatchObject({ value: { type: 'committed' } });
    expect(second).toMatchObject({ reason: { name: 'DataCloneError' } });
    expect(third).toMatchObject({ value: { type: 'committed' } });
  });
});
