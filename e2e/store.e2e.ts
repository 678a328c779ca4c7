/** What only a browser shows of the store: aborted, held and killed transactions, quota, releases side by side. */
import type { Page } from 'puppeteer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildFixture } from './support/build-fixture.ts';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { runSuiteInBrowser } from './support/run-suite-in-browser.ts';
import { type AppServer, serveApp } from './support/serve-app.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';
import type { AbortPoint } from './support/store-realm.ts';

const PAGE = '<!doctype html><meta charset="utf-8"><title>store</title><script src="/realm.js"></script>';

const ID = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

describe('the store in Chromium', () => {
  let realm: string;
  let app: AppServer;
  let chromium: Chromium;
  let page: Page;

  beforeAll(async () => {
    realm = await buildFixture({ entry: { file: 'e2e/support/store-realm.ts' }, plugins: [] });
    chromium = await launchChromium();
  });
  afterAll(() => chromium.close());
  beforeEach(async () => {
    // An origin, and so a database, of its own for each test.
    app = await serveApp({
      files: new Map([
        ['/index.html', PAGE],
        ['/realm.js', realm],
      ]),
    });
    page = await chromium.openPage(app.origin);
  });
  afterEach(async () => {
    await page.close().catch(() => undefined);
    await app.stop();
  });

  /** Ids of the rows and of the bodies that are really there, after a reload. */
  async function readIds(): Promise<{ readonly rows: readonly unknown[]; readonly bodies: number }> {
    await page.reload();
    const stored = await readDatabase(page, 'holdfast');
    const rows = (stored?.['rows'] ?? []).map((record) => Object(Object(record).row).id);
    return { rows, bodies: stored?.['bodies']?.length ?? 0 };
  }
  const replace = (n: number, options?: { bodyBytes?: number; limitMs?: number }) =>
    page.evaluate((number, given) => globalThis.storeRealm.replace(number, given), n, options ?? {});

  describe('an atomic replacement', () => {
    it.each([
      { point: 'before the first write' },
      { point: 'between removal and put' },
      { point: 'after the last write' },
    ] satisfies readonly { point: AbortPoint }[])(
      '[T1, T2, T3, R41] aborted $point: the old row stands, the new one does not exist',
      async ({ point }) => {
        expect(await replace(1)).toEqual({ type: 'committed' });
        await page.evaluate((where) => globalThis.storeRealm.abortAt(where), point);
        expect(await replace(2)).toMatchObject({ type: 'error', code: 'outbox_unavailable' });
        expect(await readIds()).toEqual({ rows: [ID(1)], bodies: 1 });
        expect(await replace(2)).toEqual({ type: 'committed' });
        expect(await readIds()).toEqual({ rows: [ID(2)], bodies: 1 });
      },
    );

    it('[T4, S16] that exceeds the quota: a typed error that says what is used; the old row stands', async () => {
      const session = await page.createCDPSession();
      // Before the origin first writes: later it counts what is there already.
      await session.send('Storage.overrideQuotaForOrigin', { origin: app.origin, quotaSize: 2_000_000 });
      expect(await replace(1)).toEqual({ type: 'committed' });
      expect(await replace(2, { bodyBytes: 4_000_000 })).toMatchObject({
        type: 'error',
        code: 'quota',
        data: {
          owner: 'ann',
          usage: expect.any(Number),
          quota: expect.any(Number),
          waiting: { queued: 1, bodyBytes: 20 },
        },
      });
      expect(await readIds()).toEqual({ rows: [ID(1)], bodies: 1 });
      expect(await replace(3)).toEqual({ type: 'committed' });
    });

    it('[T5] whose worker is stopped while it is held open: the old row, and then the new one', async () => {
      expect(await replace(1)).toEqual({ type: 'committed' });
      await page.evaluate(async () => {
        await navigator.serviceWorker.register('/realm.js');
        await navigator.serviceWorker.ready;
      });
      const ask = (message: string | number) =>
        page.evaluate(async (text) => {
          const registration = await navigator.serviceWorker.ready;
          const { port1, port2 } = new MessageChannel();
          const answer = new Promise<unknown>((resolve) => {
            port1.onmessage = (event) => resolve(event.data);
          });
          registration.active?.postMessage(text, [port2]);
          return await answer;
        }, message);
      expect(await ask('hold')).toBe('held');
      const control = await openServiceWorkerControl(page);
      await control.stop();
      expect(await readIds()).toEqual({ rows: [ID(1)], bodies: 1 });
      expect(await ask(2)).toEqual({ type: 'committed' });
      expect(await readIds()).toEqual({ rows: [ID(2)], bodies: 1 });
      await control.close();
    });

    const hold = (): Promise<void> =>
      page.evaluate(async () => {
        const held = globalThis.storeRealm.holdNext();
        void globalThis.storeRealm.replace(2, { limitMs: 60_000 });
        await held;
      });

    it('[T5] whose tab is closed while it is held open: the old row', async () => {
      expect(await replace(1)).toEqual({ type: 'committed' });
      await hold();
      await page.close();
      page = await chromium.openPage(app.origin);
      expect(await readIds()).toEqual({ rows: [ID(1)], bodies: 1 });
    });

    it('[T5] whose browser is killed while it is held open: the old row', async () => {
      expect(await replace(1)).toEqual({ type: 'committed' });
      await hold();
      await chromium.kill();
      chromium = await chromium.relaunch();
      page = await chromium.openPage(app.origin);
      expect(await readIds()).toEqual({ rows: [ID(1)], bodies: 1 });
    });

    it('[T5] whose browser is killed at any moment: the old row or the new one, never both, never neither', async () => {
      expect(await replace(1)).toEqual({ type: 'committed' });
      for (let round = 0; round < 3; round++) {
        // Rows 2, 3, 4, … replace each other as fast as they can until the kill.
        await page.evaluate(
          (from) => {
            void (async () => {
              for (let n = from; ; n++) await globalThis.storeRealm.replace(n);
            })();
          },
          2 + round * 1_000,
        );
        await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 20)));
        await chromium.kill();
        chromium = await chromium.relaunch();
        page = await chromium.openPage(app.origin);
        const { rows, bodies } = await readIds();
        expect(rows).toHaveLength(1);
        expect(bodies).toBe(1);
      }
    });
  });

  it('[T6] of two commits planned from one observation, one lands and one is stale', async () => {
    const results = await page.evaluate(async () => {
      const { open, stored, one, commitOf } = globalThis.storeRealm;
      const [a, b] = [open(), open()];
      const row = await stored(a);
      await b.epoch();
      return await Promise.all([
        one(a, commitOf([{ ...row, state: 'held' }], [row])),
        one(b, commitOf([{ ...row, noticed: true }], [row])),
      ]);
    });
    expect(results.map(({ type }) => type).sort()).toEqual(['committed', 'stale']);
    const stored = await readDatabase(page, 'holdfast');
    expect(stored?.['rows']).toMatchObject([{ row: { version: 2 } }]);
  });

  it('[T6] two enqueues of one key at once both succeed in turn: one row, the last', async () => {
    const actions = await page.evaluate(async () => {
      const { openOutbox, uuid } = globalThis.storeRealm;
      const [a, b] = await Promise.all([openOutbox(), openOutbox()]);
      const command = (n: number) => ({ id: uuid(n), body: { n } });
      return await Promise.all([a.enqueue(command(1)), b.enqueue(command(2))]);
    });
    expect(actions).toEqual(['queued', 'queued']);
    const stored = await readDatabase(page, 'holdfast');
    const outcomes = stored?.['journal']?.flatMap((record) => Object(record).entries) ?? [];
    const [first] = outcomes.map(({ outcome }) => [outcome.type, outcome.row.id, outcome.by]);
    expect(outcomes).toHaveLength(1);
    const [, earlier, later] = first ?? [];
    expect(first?.[0]).toBe('replaced');
    expect([earlier, later].sort()).toEqual([ID(1), ID(2)]);
    expect(await readIds()).toEqual({ rows: [later], bodies: 1 });
  });

  it('[T7] another owner’s row with the same target is untouched', async () => {
    await page.evaluate(async () => {
      const { open, stored, uuid } = globalThis.storeRealm;
      await stored(open(), { owner: 'bob', id: uuid(9) });
    });
    const before = await readDatabase(page, 'holdfast');
    await replace(1);
    await replace(2);
    const after = await readDatabase(page, 'holdfast');
    const ofBob = (values: typeof before) =>
      values?.['rows']?.filter((record) => Object(record).owner === 'bob');
    expect(ofBob(after)).toEqual(ofBob(before));
    expect(after?.['rows']).toHaveLength(2);
  });

  it('[T8, R12] an update behind a delete that waits is refused, the store the same to the byte', async () => {
    const enqueue = (command: { id: string; kind?: 'delete'; body?: unknown }) =>
      page.evaluate(async (given) => (await globalThis.storeRealm.openOutbox()).enqueue(given), command);
    expect(await enqueue({ id: ID(1), kind: 'delete' })).toBe('queued');
    const before = await readDatabase(page, 'holdfast');
    expect(await enqueue({ id: ID(2), body: { note: 'late' } })).toBe('target_deleted');
    expect(await enqueue({ id: ID(1), body: { note: 'other' } })).toBe('identity_conflict');
    expect(await readDatabase(page, 'holdfast')).toEqual(before);
  });

  it('[T8] an id reused with other content is refused, the store the same to the byte', async () => {
    await replace(1);
    const before = await readDatabase(page, 'holdfast');
    const result = await page.evaluate(async () => {
      const { open, one, commitOf, draft, uuid } = globalThis.storeRealm;
      const row = draft({ id: uuid(1), requestHash: 'other' });
      const key = { owner: row.owner, family: row.family, target: row.target };
      return await one(open(), commitOf([row], [], { identity: { id: row.id, key, requestHash: 'other' } }));
    });
    expect(result).toEqual({ type: 'identity_conflict', id: ID(1) });
    expect(await readDatabase(page, 'holdfast')).toEqual(before);
  });

  describe('limits', () => {
    it('[S10] a transaction held past its limit is aborted, and its commit lands at the second try: one row', async () => {
      const told = await page.evaluate(async () => {
        const { open, holdNext, replace: enqueue } = globalThis.storeRealm;
        await open().epoch();
        void holdNext();
        const startedAt = performance.now();
        const result = await enqueue(1, { limitMs: 1_000 });
        return { result, wasHeld: performance.now() - startedAt >= 1_000 };
      });
      expect(told).toEqual({ result: { type: 'committed' }, wasHeld: true });
      expect(await readIds()).toEqual({ rows: [ID(1)], bodies: 1 });
    });

    it('[S10] a transaction that another tab holds open makes a commit give up, typed; once it ends the next lands', async () => {
      expect(await replace(1)).toEqual({ type: 'committed' });
      const other = await chromium.openPage(app.origin);
      await other.evaluate(async () => {
        const held = globalThis.storeRealm.holdNext();
        void globalThis.storeRealm.replace(2, { limitMs: 60_000 });
        await held;
      });
      const refused = await page.evaluate(async () => {
        const { open, commitOf, draft, uuid } = globalThis.storeRealm;
        const store = open({ limitMs: 500 });
        const row = draft({ id: uuid(3), target: { type: 'id', id: 'w3' } });
        return await store.commit([commitOf([row])]).then(
          () => 'landed',
          (error: unknown) => Object(error).code,
        );
      });
      expect(refused).toBe('store_timeout');
      await other.close();
      expect(await replace(4)).toEqual({ type: 'committed' });
      expect(await readIds()).toEqual({ rows: [ID(4)], bodies: 1 });
    });

    it('[S11] a commit that had landed when its limit passed is judged applied: one put, no duplicate', async () => {
      const told = await page.evaluate(async () => {
        const { open, hideNextEnd, replace: enqueue, takeOperations } = globalThis.storeRealm;
        await open().epoch();
        hideNextEnd();
        takeOperations();
        const startedAt = performance.now();
        const result = await enqueue(1, { limitMs: 1_000 });
        const puts = takeOperations().filter(({ store, name }) => store === 'rows' && name === 'put');
        return { result, puts: puts.length, wasHidden: performance.now() - startedAt >= 1_000 };
      });
      expect(told).toEqual({ result: { type: 'committed' }, puts: 1, wasHidden: true });
      expect(await readIds()).toEqual({ rows: [ID(1)], bodies: 1 });
    });
  });

  it('[S12] a database that is cleared under an open connection is made anew by the next call', async () => {
    await page.evaluate(async () => {
      const { open, stored } = globalThis.storeRealm;
      Object.assign(globalThis, { kept: open() });
      await stored(Object(globalThis).kept);
    });
    const session = await page.createCDPSession();
    await session.send('Storage.clearDataForOrigin', { origin: app.origin, storageTypes: 'indexeddb' });
    const after = await page.evaluate(async () => {
      const { kept } = Object(globalThis);
      const { stored } = globalThis.storeRealm;
      const before = await kept.index('ann', { limit: 9 });
      return {
        before,
        fresh: await kept.createdFresh(),
        recovery: await kept.readFact(['recovery']),
        row: (await stored(kept)).version,
      };
    });
    expect(after).toMatchObject({ before: [], fresh: true, recovery: { type: 'pending' }, row: 1 });
  });

  it('[S12] another tab can delete the database while a connection is open', async () => {
    await replace(1);
    const outcome = await page.evaluate(async () => {
      const store = globalThis.storeRealm.open();
      await store.epoch();
      return await new Promise((resolve) => {
        const deletion = indexedDB.deleteDatabase('holdfast');
        deletion.onsuccess = () => resolve('deleted');
        deletion.onblocked = () => resolve('blocked');
      });
    });
    expect(outcome).toBe('deleted');
    expect(await replace(2)).toEqual({ type: 'committed' });
    expect(await readIds()).toEqual({ rows: [ID(2)], bodies: 1 });
  });

  it('[S1] a connection opened as the first release does works on after this one has written, and the other way round', async () => {
    const result = await page.evaluate(async () => {
      const settle = <T>(request: IDBRequest<T>): Promise<T> =>
        new Promise((resolve, reject) => {
          request.onsuccess = () => resolve(request.result);
          request.onerror = () => reject(request.error);
        });
      // As release 0.1.0 lays the database out, word for word: this text never changes.
      const opening = indexedDB.open('holdfast', 1);
      opening.onupgradeneeded = () => {
        const database = opening.result;
        const rows = database.createObjectStore('rows', { keyPath: ['owner', 'seq'] });
        rows.createIndex('names', 'names', { multiEntry: true });
        rows.createIndex('key', 'key');
        rows.createIndex('lane', 'lane');
        rows.createIndex('waits', 'waits', { multiEntry: true });
        database.createObjectStore('bodies');
        database
          .createObjectStore('journal', { keyPath: ['owner', 'n'] })
          .createIndex('names', 'names', { multiEntry: true });
        database
          .createObjectStore('ids', { keyPath: 'n' })
          .createIndex('names', 'names', { multiEntry: true });
        const meta = database.createObjectStore('meta');
        meta.put({ epoch: 'e', seq: 1_000, ids: 0, owners: [] }, ['state']);
        meta.put({ type: 'pending', at: 1 }, ['recovery']);
      };
      const old = await settle(opening);
      let disturbed = 0;
      old.onversionchange = () => disturbed++;
      const { open, stored, one, commitOf } = globalThis.storeRealm;
      const store = open();
      const row = await stored(store);

      // The older release claims the row by what it knows of it.
      const transaction = old.transaction(['rows', 'meta'], 'readwrite');
      const [record] = await settle(
        transaction.objectStore('rows').index('key').getAll(['ann', 'workout', 'id', 'w1']),
      );
      const claimed = { ...record.row, state: 'sending', version: 2 };
      await settle(transaction.objectStore('rows').put({ ...record, row: claimed }));

      const [seen] = await store.readLane('ann', 'ready', { limit: 9 });
      const written = seen && (await one(store, commitOf([{ ...seen, state: 'held' }], [seen])));
      const held = await settle(
        old
          .transaction('rows')
          .objectStore('rows')
          .index('lane')
          .getAll(IDBKeyRange.bound(['ann', 'held'], ['ann', 'held', []])),
      );
      return {
        seq: row.seq,
        seen,
        written: written?.type,
        held: held.length,
        disturbed,
        version: old.version,
      };
    });
    expect(result).toMatchObject({
      seq: 1_001,
      seen: { state: 'sending', version: 2 },
      written: 'committed',
      held: 1,
      disturbed: 0,
      version: 1,
    });
  });

  it('[S1] lays the database out as release 0.1.0 did', async () => {
    await replace(1);
    const layout = await page.evaluate(async () => {
      const database = await new Promise<IDBDatabase>((resolve) => {
        const opening = indexedDB.open('holdfast');
        opening.onsuccess = () => resolve(opening.result);
      });
      const transaction = database.transaction([...database.objectStoreNames]);
      return [...database.objectStoreNames].map((name) => {
        const store = transaction.objectStore(name);
        const indexes = [...store.indexNames].map((indexName) => {
          const { keyPath, multiEntry, unique } = store.index(indexName);
          return { name: indexName, keyPath, multiEntry, unique };
        });
        return { name, keyPath: store.keyPath, autoIncrement: store.autoIncrement, indexes };
      });
    });
    const names = { name: 'names', keyPath: 'names', multiEntry: true, unique: false };
    expect(layout).toEqual([
      { name: 'bodies', keyPath: null, autoIncrement: false, indexes: [] },
      { name: 'ids', keyPath: 'n', autoIncrement: false, indexes: [names] },
      { name: 'journal', keyPath: ['owner', 'n'], autoIncrement: false, indexes: [names] },
      { name: 'meta', keyPath: null, autoIncrement: false, indexes: [] },
      {
        name: 'rows',
        keyPath: ['owner', 'seq'],
        autoIncrement: false,
        indexes: [
          { name: 'key', keyPath: 'key', multiEntry: false, unique: false },
          { name: 'lane', keyPath: 'lane', multiEntry: false, unique: false },
          names,
          { name: 'waits', keyPath: 'waits', multiEntry: true, unique: false },
        ],
      },
    ]);
  });

  describe('counted', () => {
    it('[S2, S40] claims, failures, rebases and counts never touch a body; nothing is read whole or counted', async () => {
      const seen = await page.evaluate(async () => {
        const { open, commitOf, draft, uuid, takeOperations } = globalThis.storeRealm;
        const store = open();
        const drafts = Array.from({ length: 200 }, (_, n) =>
          draft({ id: uuid(n), target: { type: 'id', id: `w${n}` } }),
        );
        await store.commit(drafts.map((row) => commitOf([row], [], { durability: 'strict' })));
        takeOperations();
        const rows = await store.readLane('ann', 'ready', { limit: 64 });
        const change = (changes: object) => (row: (typeof rows)[number]) =>
          commitOf([{ ...row, ...changes }], [row], { bodies: [], reason: 'claim' });
        const written = (results: Awaited<ReturnType<typeof store.commit>>) =>
          results.flatMap((result) => (result.type === 'committed' ? result.rows : []));
        const claimed = written(await store.commit(rows.map(change({ state: 'sending', doubt: true }))));
        const deferred = written(await store.commit(claimed.map(change({ state: 'queued', deferredAt: 1 }))));
        const rebased = await store.commit(
          deferred.map((row) =>
            commitOf([{ ...row, id: uuid(row.seq % 100_000), expectedRevision: 2 }], [row], {
              remove: [row.id],
            }),
          ),
        );
        await store.ownerFacts('ann');
        const operations = takeOperations();
        return { rows: rows.length, rebased: written(rebased).length, operations };
      });
      expect(seen).toMatchObject({ rows: 64, rebased: 64 });
      expect(seen.operations.filter(({ store }) => store === 'bodies')).toEqual([]);
      expect(seen.operations.filter(({ name }) => name === 'count' || name === 'clear')).toEqual([]);
      const wide = seen.operations.filter(({ name, hasRange }) => name.startsWith('getAll') && !hasRange);
      expect(wide).toEqual([]);
      const read = seen.operations.filter(({ store, name }) => store === 'rows' && name === 'getAll');
      // One page of the lane, each row of the three commits by its key, and the new ids of the rebase.
      expect(read).toHaveLength(1 + 3 * 64 + 64);
    });

    it('[S3] what is read does not grow with the queue', async () => {
      const counts = await page.evaluate(async () => {
        const { open, commitOf, draft, uuid, takeOperations } = globalThis.storeRealm;
        const counted: number[] = [];
        for (const size of [100, 2_000]) {
          const store = open({ name: `of-${size}` });
          const drafts = Array.from({ length: size }, (_, n) =>
            draft({ id: uuid(n), target: { type: 'id', id: `w${n}` } }),
          );
          await store.commit(drafts.map((row) => commitOf([row], [], { bodies: [] })));
          store.close();
          takeOperations();
          const again = open({ name: `of-${size}` });
          await again.ownerFacts('ann');
          const page1 = await again.readLane('ann', 'ready', { limit: 64 });
          await again.commit([commitOf([draft({ id: uuid(9_999), target: { type: 'id', id: 'new' } })])]);
          const operations = takeOperations();
          counted.push(page1.length, operations.length);
        }
        return counted;
      });
      const [firstPage, operations, secondPage, sameOperations] = counts;
      expect([firstPage, secondPage]).toEqual([64, 64]);
      expect(sameOperations).toBe(operations);
    });
  });
});

await runSuiteInBrowser({ name: 'in Chromium', entry: 'e2e/store-suite.ts' });
