/** What survives when storage does not, in Chromium: lost and damaged databases, two witnesses, a device that is full. */
import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { StorageView } from '../client/view-snapshot.ts';
import type { Row } from '../shared/row.ts';
import type { Snapshot, SnapshotRow } from '../shared/snapshot.ts';
import { STEPS } from './recovery/trouble.ts';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type Device, openDevice } from './support/outbox-app/device.ts';
import type { ConnectTo } from './support/outbox-app/page.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

let app: OutboxAppServer;
let chromium: Chromium;
let device: Device;

beforeAll(async () => {
  const sources = { worker: 'e2e/recovery/worker.ts', beside: 'e2e/recovery/witnesses.ts' };
  [app, chromium] = await Promise.all([serveOutboxApp(sources), launchChromium()]);
});
beforeEach(async () => {
  app.server.faults.start();
  [device] = await Promise.all([openDevice(chromium, app), app.reset()]);
});
afterEach(() => device.close());
afterAll(async () => {
  await chromium.close();
  await app.close();
});

/** The connection is gone: what is saved waits. */
const cutOff = (): void => app.server.faults.stop();
const reconnect = (): void => app.server.faults.start();

async function saveAll(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await device.create({ weightKg: n }));
  return ids;
}

const whenWitnessed = (ids: readonly string[], owner = 'ada'): Promise<void> =>
  device.page.evaluate((of, all) => globalThis.witnesses.whenWitnessed(of, all), owner, ids);

const lose = (): Promise<void> => device.page.evaluate(() => globalThis.witnesses.lose());

/** The session stands, also where the server is out of reach. */
const connect = (to: ConnectTo = {}): Promise<unknown> =>
  device.page.evaluate((options) => globalThis.outboxApp.connect(options), { owner: 'ada', ...to });

/** As a person who comes back: the page anew. */
async function comeBack(to: ConnectTo = {}): Promise<void> {
  await device.page.reload();
  await connect(to);
}

interface ShownRow {
  readonly id: string;
  readonly state: string;
  readonly proof: string | undefined;
  readonly source: string | undefined;
}

async function shown(count: number): Promise<readonly ShownRow[]> {
  const { rows } = await device.whenView({ isReady: true, rows: Array.from({ length: count }, () => ({})) });
  return rows.map(({ id, state, recovery }) => ({
    id,
    state,
    proof: recovery?.proof,
    source: recovery?.source,
  }));
}

/** The server has carried these out, each once, and nothing else. */
async function expectCarriedOut(ids: readonly string[]): Promise<void> {
  const { applied } = await app.server.statistics();
  expect(applied.map(({ id, count }) => `${id} ${count}`).sort()).toEqual(ids.map((id) => `${id} 1`).sort());
}

async function drained(): Promise<void> {
  await device.flush();
  await device.whenView({ isReady: true, rows: [] });
}

const snapshotOf = (owner = 'ada'): Promise<Snapshot | undefined> =>
  device.page.evaluate((of) => globalThis.witnesses.snapshot(of), owner);

const putSnapshot = (snapshot: Snapshot | undefined, owner = 'ada'): Promise<void> =>
  device.page.evaluate((of, text) => globalThis.witnesses.putSnapshot(of, text as Snapshot), owner, snapshot);

const idOf = ({ row }: SnapshotRow): string => String(row['id']);

/** Stops it, and lets go of the page that would start it again. */
async function stopWorker(): Promise<void> {
  await device.page.reload();
  const control = await openServiceWorkerControl(device.page);
  await control.stop();
  await control.close();
}

describe('a database that is lost', () => {
  it('[T10, S33] rows stored, database deleted, reopened: restored as agreed, and all of them drain', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(3);
    await whenWitnessed(ids);
    await lose();
    await comeBack();
    expect(await shown(3)).toMatchObject(ids.map((id) => ({ id, proof: 'agreed', source: 'ledger' })));
    reconnect();
    await drained();
    await expectCarriedOut(ids);
  });

  it('[T10, S31] under an open page: the next command finds everything back and goes behind it', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    await lose();
    const next = await device.create({ weightKg: 99 });
    expect(await shown(3)).toMatchObject([
      { id: ids[0], proof: 'agreed' },
      { id: ids[1], proof: 'agreed' },
      { id: next, proof: undefined },
    ]);
    reconnect();
    await drained();
    await expectCarriedOut([...ids, next]);
  });

  it('[T11, S32] drained, an old snapshot written over the new, database deleted: nothing is restored', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    const old = await snapshotOf();
    reconnect();
    await drained();
    await whenWitnessed([]);
    await putSnapshot(old);
    await lose();
    await comeBack();
    expect(await shown(0)).toEqual([]);
    await drained();
    await expectCarriedOut(ids);
    const tombstones = await device.page.evaluate(
      (all) => Promise.all(all.map((id) => globalThis.witnesses.tombstone(id))),
      ids,
    );
    expect(tombstones).toMatchObject([{ reason: 'uploaded' }, { reason: 'uploaded' }]);
  });

  it('[T14, S34, S36] only what both witnesses agree on is sent; the rest waits, blocked, for the server’s word', async () => {
    await device.signIn('ada');
    // Never attempted: so the server's "none" counts at once (R34).
    await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
    const ids = await saveAll(4);
    const [agreed = '', alsoAgreed = '', ledgerOnly = '', snapshotOnly = ''] = ids;
    await whenWitnessed(ids);
    const snapshot = await snapshotOf();
    await stopWorker();
    await device.page.evaluate(async (id) => {
      const { ledger } = globalThis.witnesses;
      await ledger.write({ forget: [{ owner: 'ada', id }] });
      await ledger.keepUnreadable([{ place: '["ada",1]', value: { format: 99 } }]);
    }, snapshotOnly);
    await lose();
    await putSnapshot(
      snapshot && { ...snapshot, rows: snapshot.rows.filter((row) => idOf(row) !== ledgerOnly) },
    );
    app.server.faults.set([{ fault: { type: 'status', status: 503 }, match: { path: '/api/receipts' } }]);
    await comeBack();
    expect(await shown(2)).toEqual([
      { id: ledgerOnly, state: 'blocked', proof: 'unverified', source: 'ledger' },
      { id: snapshotOnly, state: 'blocked', proof: 'unverified', source: 'snapshot' },
    ]);
    await expectCarriedOut([agreed, alsoAgreed]);
    expect(await device.explain(ledgerOnly)).toMatchObject({
      row: { blockedCode: 'recovery_receipt_unknown' },
    });
    const kept = await device.page.evaluate(() => globalThis.witnesses.ledger.unreadable(9));
    expect(kept).toMatchObject([{ value: { format: 99 } }]);
    // S37: asked at last, the server says that it has neither.
    app.server.faults.clear();
    await drained();
    await expectCarriedOut(ids);
  });

  it('[T17, S35] a snapshot and no ledger at all: restored as the only copy there was, its source named', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    await lose();
    await device.page.evaluate(() => globalThis.witnesses.loseLedger());
    await comeBack();
    expect(await shown(2)).toMatchObject(ids.map((id) => ({ id, proof: 'mirrored', source: 'snapshot' })));
    reconnect();
    await drained();
    await expectCarriedOut(ids);
  });

  it('[T18, S39] a snapshot older than the ledger’s entry proves nothing against it', async () => {
    await device.signIn('ada');
    cutOff();
    const [first = ''] = await saveAll(1);
    await whenWitnessed([first]);
    const old = await snapshotOf();
    const second = await device.create();
    await whenWitnessed([first, second]);
    await putSnapshot(old);
    await lose();
    await comeBack();
    expect(await shown(2)).toMatchObject([
      { id: first, proof: 'agreed' },
      { id: second, proof: 'mirrored' },
    ]);
    reconnect();
    await drained();
    await expectCarriedOut([first, second]);
  });

  it('[T18, S31] two owners, one with a snapshot: each waits for its own', async () => {
    await device.signIn('ada');
    cutOff();
    const ofAda = await saveAll(1);
    await whenWitnessed(ofAda);
    reconnect();
    await device.changeCookie('grace');
    await device.page.evaluate(() => globalThis.outboxApp.outbox.signIn('grace'));
    cutOff();
    const ofGrace = await saveAll(1);
    await whenWitnessed(ofGrace, 'grace');
    await device.page.evaluate(() => localStorage.removeItem('["holdfast","holdfast","snapshot","ada"]'));
    await lose();
    reconnect();
    await comeBack({ owner: 'grace' });
    await drained();
    await expectCarriedOut(ofGrace);
    // Nobody has said yet whether there is a snapshot of ada's.
    const stored = await readDatabase(device.page, 'holdfast');
    const rows = (stored?.['rows'] ?? []).map((record): Row => Object(record).row);
    expect(rows).toMatchObject([{ id: ofAda[0], owner: 'ada', recovery: { proof: 'unverified' } }]);
    await device.changeCookie('ada');
    await comeBack();
    await drained();
    await expectCarriedOut([...ofGrace, ...ofAda]);
  });

  it('[T18, S31] with no page open the worker brings back what the ledger has, and sends none of it', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    const control = await openServiceWorkerControl(device.page);
    await control.stop();
    await lose();
    reconnect();
    await device.page.goto('about:blank');
    await control.sync('holdfast');
    await device.page.goto(app.url);
    await device.page.waitForFunction(
      async (count) => {
        const known = await indexedDB.databases();
        if (!known.some(({ name }) => name === 'holdfast')) return false;
        const database = await new Promise<IDBDatabase>((resolve) => {
          const request = indexedDB.open('holdfast');
          request.onsuccess = () => resolve(request.result);
        });
        const rows = await new Promise<unknown[]>((resolve) => {
          const request = database.transaction('rows').objectStore('rows').getAll();
          request.onsuccess = () => resolve(request.result);
        });
        database.close();
        return rows.length === count;
      },
      { polling: 50 },
      ids.length,
    );
    await expectCarriedOut([]);
    await device.signIn('ada');
    await drained();
    await expectCarriedOut(ids);
    await control.close();
  });

  it.each(STEPS)('[T18, S31] a worker ended in the middle of %s: all back, nothing twice', async (step) => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    await stopWorker();
    await lose();
    const script = `/sw.js?rows=${ids.length}&hold=${encodeURIComponent(step)}`;
    await device.page.evaluate((to) => globalThis.witnesses.register(to), script);
    connect({ worker: script }).catch(() => undefined);
    await device.page.evaluate(() => globalThis.witnesses.whenHeld());
    await stopWorker();
    await device.page.evaluate(() => globalThis.witnesses.register('/sw.js'));
    reconnect();
    await connect();
    await drained();
    await expectCarriedOut(ids);
  });
});

describe('a mirror out of line with the outbox', () => {
  async function whenTombstone(id: string, reason: string): Promise<void> {
    await device.page.waitForFunction(
      async (of, wanted) => (await globalThis.witnesses.tombstone(of))?.reason === wanted,
      { polling: 50 },
      id,
      reason,
    );
  }

  it('[T12, S30] no rows and a stale mirror: nothing is restored, orphans get `repair`, the snapshot comes in line', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(1);
    await whenWitnessed(ids);
    const [entries, old] = [
      await device.page.evaluate(() => globalThis.witnesses.entries()),
      await snapshotOf(),
    ];
    reconnect();
    await drained();
    await whenWitnessed([]);
    const orphan = '00000000-0000-4000-8000-00000000000a';
    await device.page.evaluate(
      async (all, id) => {
        const [one] = all;
        if (!one) throw new Error('Nothing was mirrored');
        const content = { ...one.content, id, row: { ...one.content.row, id } };
        await globalThis.witnesses.ledger.forgetOwner('ada');
        await globalThis.witnesses.ledger.write({ contents: [content] });
      },
      entries,
      orphan,
    );
    await putSnapshot(old);
    await stopWorker();
    await connect();
    await drained();
    await whenTombstone(orphan, 'repair');
    expect(await device.page.evaluate(() => globalThis.witnesses.entries())).toEqual([]);
    await whenWitnessed([]);
    await expectCarriedOut(ids);
  });

  it('[T13, S30] a mirror-only row and differing attempt data: repaired to the outbox, only whose rows drain', async () => {
    await device.signIn('ada');
    // No attempts, so that attempt data stands still.
    await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    const stray = '00000000-0000-4000-8000-00000000000b';
    await stopWorker();
    await device.page.evaluate(async (id) => {
      const { ledger, entries } = globalThis.witnesses;
      const [one, other] = await entries();
      if (!one || !other?.attempt) throw new Error('Nothing was mirrored');
      await ledger.forgetOwner('ada');
      await ledger.write({
        contents: [one.content, other.content, { ...one.content, id, row: { ...one.content.row, id } }],
        attempts: [{ ...other.attempt, fingerprint: 'other', data: { state: 'blocked', version: 1 } }],
      });
    }, stray);
    await connect();
    await device.flush();
    await whenTombstone(stray, 'repair');
    const entries = await device.page.evaluate(() => globalThis.witnesses.entries());
    expect(entries.map(({ content }) => content.id).sort()).toEqual(ids.toSorted());
    for (const { attempt } of entries) expect(attempt?.data).toMatchObject({ state: 'queued', version: 1 });
    await device.page.evaluate(() => globalThis.outboxApp.outbox.resume());
    await drained();
    await expectCarriedOut(ids);
  });

  it('[T15, S22] a ledger without room: rows stand, what it lacks is listed, the drain is normal', async () => {
    await device.page.evaluate(() => globalThis.witnesses.shrinkLedger());
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(3);
    await device.flush();
    await device.whenView({ storage: { mode: 'ok', mirrorSetAside: true }, rows: [{}, {}, {}] });
    const listed = await device.page.evaluate(() => globalThis.witnesses.unmirrored());
    expect(listed.toSorted()).toEqual(ids.toSorted());
    reconnect();
    await drained();
    await expectCarriedOut(ids);
  });

  it('[T16, S21] three transient failures: attempt data only is written again, the snapshot once per flush', async () => {
    await device.signIn('ada');
    const fault = { type: 'status', status: 503 } as const;
    app.server.faults.set([{ fault, match: { family: 'workout' } }]);
    const ids = await saveAll(1);
    await whenWitnessed(ids);
    const [first] = await device.page.evaluate(() => globalThis.witnesses.entries());
    const written = await device.page.evaluate(() => globalThis.witnesses.snapshotWrites('ada'));
    for (let n = 0; n < 3; n++) {
      await device.flush();
      await device.page.evaluate(() => globalThis.witnesses.whenMirrored());
    }
    await device.page.waitForFunction(
      (before) => globalThis.witnesses.snapshotWrites('ada') > before,
      { polling: 50 },
      written,
    );
    const [last] = await device.page.evaluate(() => globalThis.witnesses.entries());
    expect(last?.content).toEqual(first?.content);
    expect(last?.attempt?.generation).toBeGreaterThan(first?.attempt?.generation ?? 0);
    const more = await device.page.evaluate(() => globalThis.witnesses.snapshotWrites('ada'));
    expect(more - written).toBeLessThanOrEqual(4);
  });
});

describe('an outbox that cannot be opened', () => {
  it('[S15] the ledger’s rows are shown, read-only; everything else refuses, and nothing is written', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    const before = await device.page.evaluate(() => globalThis.witnesses.entries());
    await stopWorker();
    const script = '/sw.js?broken=holdfast';
    await device.page.evaluate((to) => globalThis.witnesses.register(to), script);
    reconnect();
    await connect({ worker: script });
    expect(await device.whenView({ isReady: true, storage: { mode: 'read_only' } })).toMatchObject({
      owner: 'ada',
      rows: ids.map((id) => ({ id, family: 'workout' })),
      counts: { queued: 2 },
    });
    const codes = await device.page.evaluate(async (id) => {
      const { outbox } = globalThis.outboxApp;
      const body = { date: '2026-11-30', exercise: 'Squat', weightKg: 1 };
      const calls = [outbox.workout.create(body), outbox.cancel(id), outbox.retry(id), outbox.flush()];
      return (await Promise.allSettled<unknown>(calls)).map(
        (end) => end.status === 'rejected' && end.reason.code,
      );
    }, ids[0] ?? '');
    expect(codes).toEqual(codes.map(() => 'outbox_unavailable'));
    expect(await device.page.evaluate(() => globalThis.witnesses.entries())).toEqual(before);
    // A release whose browser opens it again.
    await stopWorker();
    await device.page.evaluate(() => globalThis.witnesses.register('/sw.js'));
    await connect();
    await drained();
    await expectCarriedOut(ids);
  });

  it('[S15] nor the ledger: this page’s own snapshot is shown', async () => {
    await device.signIn('ada');
    cutOff();
    const ids = await saveAll(2);
    await whenWitnessed(ids);
    const before = await snapshotOf();
    await stopWorker();
    const script = '/sw.js?broken=holdfast&broken=holdfast-ledger';
    await device.page.evaluate((to) => globalThis.witnesses.register(to), script);
    await connect({ worker: script });
    const view = await device.whenView({ isReady: true, storage: { mode: 'read_only' }, rows: [{}, {}] });
    expect(view.rows.map(({ id }) => id)).toEqual(ids);
    expect(await snapshotOf()).toEqual(before);
  });
});

describe('what Chromium keeps on disk', () => {
  const HOME = 'Default/IndexedDB';
  let home: Device;

  /** Everything the origin's databases are made of, but for other buckets. */
  async function filesOf(): Promise<readonly string[]> {
    const folder = join(chromium.userDataDir, HOME, `http_127.0.0.1_${app.server.port}.indexeddb.leveldb`);
    return (await readdir(folder)).map((name) => join(folder, name));
  }

  const damage = {
    'the manifest overwritten': async () => {
      const files = await filesOf();
      for (const file of files) if (file.includes('MANIFEST')) await writeFile(file, randomBytes(4_096));
    },
    'logs and tables overwritten': async () => {
      for (const file of await filesOf())
        if (/\.(log|ldb)$/.test(file)) await writeFile(file, randomBytes(4_096));
    },
    'the folder deleted': async () => {
      for (const file of await filesOf()) await rm(file, { recursive: true });
    },
  };

  it.each(Object.keys(damage) as (keyof typeof damage)[])(
    '[T18, S31] %s between two launches: all back from both witnesses, and sent once',
    async (what) => {
      await device.close();
      const [blank] = await chromium.browser.pages();
      if (!blank) throw new Error('No page is open');
      home = await openDevice(chromium, app, { page: blank });
      device = home;
      const session = await device.page.createCDPSession();
      await session.send('Storage.clearDataForOrigin', { origin: app.url, storageTypes: 'all' });
      await device.page.reload();
      await device.signIn('ada');
      cutOff();
      const ids = await saveAll(2);
      await whenWitnessed(ids);
      await chromium.kill();
      await damage[what]();
      chromium = await chromium.relaunch();
      const [opened] = await chromium.browser.pages();
      if (!opened) throw new Error('No page is open');
      device = await openDevice(chromium, app, { page: opened });
      reconnect();
      await device.signIn('ada');
      await drained();
      await expectCarriedOut(ids);
    },
  );
});

describe('a device that is full', () => {
  const mode = async (): Promise<StorageView['mode']> => (await device.view()).storage.mode;

  it('[T19, S17] filled to the quota, then drained: to the last row', async () => {
    const session = await device.page.createCDPSession();
    // Before the origin first writes.
    await session.send('Storage.overrideQuotaForOrigin', { origin: app.url, quotaSize: 6_000_000 });
    await device.signIn('ada');
    await device.flush();
    cutOff();
    const saved = await device.page.evaluate(async () => {
      const ids: string[] = [];
      const noise = () =>
        Array.from(crypto.getRandomValues(new Uint8Array(19_000)), (byte) =>
          String.fromCharCode(33 + (byte % 90)),
        ).join('');
      for (;;) {
        try {
          const body = { date: '2026-11-30', exercise: 'Squat', weightKg: ids.length, note: noise() };
          ids.push((await globalThis.outboxApp.outbox.workout.create(body)).id);
        } catch (error) {
          return { ids, code: Object(error).code };
        }
      }
    });
    expect(saved.code).toBe('quota');
    expect(saved.ids.length).toBeGreaterThan(20);
    expect(await mode()).toBe('full');
    reconnect();
    await drained();
    await expectCarriedOut(saved.ids);
    const view = await device.whenView({ storage: { mode: 'ok', reserveGone: false } });
    expect(view.counts).toEqual({ queued: 0, sending: 0, held: 0, blocked: 0 });
    await device.uploaded(await device.create());
  });

  it('[W18, S16] what is used and whether it persists is in the live view; the app asks to persist when it likes', async () => {
    await device.signIn('ada');
    const { storage } = await device.whenView({ storage: { mode: 'ok', mirrorSetAside: false } });
    expect(storage.usage).toBeGreaterThan(0);
    expect(storage.quota).toBeGreaterThan(storage.usage ?? 0);
    expect(storage.isPersisted).toBe(false);
    const said = await device.page.evaluate(() => globalThis.outboxApp.outbox.persist());
    expect((await device.view()).storage.isPersisted).toBe(said);
  });
});
