/** Bodies encrypted at rest, in Chromium: what is on the disk, what comes back, and what never does (W63). */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type Device, openDevice } from './support/outbox-app/device.ts';
import type { ConnectTo } from './support/outbox-app/page.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';
import { readPlaces, tracesIn } from './support/outbox-app/traces.ts';

const ENCRYPTED = { worker: '/encrypted.sw.js' };
const IN_PAGE = { worker: 'page', isEncrypted: true };

let app: OutboxAppServer;
let chromium: Chromium;
let device: Device;

beforeAll(async () => {
  const sources = { worker: 'e2e/encryption/worker.ts', beside: 'e2e/recovery/witnesses.ts' };
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

const cutOff = (): void => app.server.faults.stop();
const reconnect = (): void => app.server.faults.start();
const unlikely = (): string => crypto.randomUUID().replaceAll('-', '');

const connect = (to: ConnectTo): Promise<unknown> =>
  device.page.evaluate((options) => globalThis.outboxApp.connect(options), { owner: 'ada', ...to });

const whenWitnessed = (ids: readonly string[]): Promise<void> =>
  device.page.evaluate((all) => globalThis.witnesses.whenWitnessed('ada', all), ids);

/** Ids of the keys: in the outbox's database, in the ledger's. */
async function keys(): Promise<{ readonly stored: number; readonly kept: number }> {
  const stored = await device.page.evaluate(async () => {
    const request = indexedDB.open('holdfast');
    const database = await new Promise<IDBDatabase>((resolve) => {
      request.onsuccess = () => resolve(request.result);
    });
    const found = database
      .transaction('meta')
      .objectStore('meta')
      .getAllKeys(IDBKeyRange.bound(['body_key'], ['body_key', []]));
    return await new Promise<number>((resolve) => {
      found.onsuccess = () => {
        database.close();
        resolve(found.result.length);
      };
    });
  });
  const kept = await device.page.evaluate(async () => (await globalThis.witnesses.ledger.keys()).length);
  return { stored, kept };
}

/** Files below `folder` that hold `text`, as bytes of one or of two to a character. */
async function filesWith(folder: string, text: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const content = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0));
    if (content.includes(text) || content.includes(Buffer.from(text, 'utf16le')))
      found.push(join(entry.parentPath, entry.name).slice(folder.length + 1));
  }
  return found;
}

/** A session on a profile that is written to disk; answers where its note was found after the browser had ended. */
async function traceOnDisk(
  to: ConnectTo,
): Promise<{ readonly note: readonly string[]; readonly id: readonly string[] }> {
  const own = await launchChromium();
  try {
    const [page] = await own.browser.pages();
    if (!page) throw new Error('no page');
    const kept = await openDevice(own, app, { page });
    await kept.signIn('ada', to);
    cutOff();
    const note = unlikely();
    const id = await kept.create({ note });
    await kept.page.evaluate((all) => globalThis.witnesses.whenWitnessed('ada', all), [id]);
    await own.exit();
    return { note: await filesWith(own.userDataDir, note), id: await filesWith(own.userDataDir, id) };
  } finally {
    await own.close();
  }
}

describe('on the device', () => {
  it('[W63] the files of the browser hold no text of a body; without encryption they do', async () => {
    const plain = await traceOnDisk({});
    expect(plain.note.filter((file) => file.includes('IndexedDB'))).not.toEqual([]);
    reconnect();
    const encrypted = await traceOnDisk(ENCRYPTED);
    expect(encrypted.note).toEqual([]);
    // The row itself was there to be found.
    expect(encrypted.id.filter((file) => file.includes('IndexedDB'))).not.toEqual([]);
  });

  it('[W63] nor does any storage of the origin, through saving, a refusal, an export and an upload', async () => {
    await device.signIn('ada', ENCRYPTED);
    const [sent, refused, waiting] = [unlikely(), unlikely(), unlikely()];
    expect(await device.settled(await device.create({ note: sent }))).toMatchObject({ type: 'uploaded' });
    await device.settled(await device.create({ note: refused, weightKg: 4_000 }));
    cutOff();
    await device.whenHeard(await device.create({ note: waiting }), 'deferred');
    await whenWitnessed((await device.view()).rows.map(({ id }) => id));
    const places = await readPlaces(device.page);
    expect(tracesIn(places, waiting)).toEqual(['export']);
    expect(tracesIn(places, refused)).toEqual(['export']);
    expect(tracesIn(places, sent)).toEqual([]);
    expect((await app.server.statistics()).applied).toHaveLength(1);
  });

  it('[W63] the worker and an engine in a page share the keys', async () => {
    await device.signIn('ada', ENCRYPTED);
    cutOff();
    const note = unlikely();
    const id = await device.create({ note });
    await device.page.evaluate(async () => {
      for (const registration of await navigator.serviceWorker.getRegistrations())
        await registration.unregister();
    });
    await device.page.reload();
    expect(await connect(IN_PAGE)).toBe('page');
    const [body] = await device.page.evaluate((of) => globalThis.outboxApp.outbox.bodies([of]), id);
    expect(body?.body).toMatchObject({ note });
    reconnect();
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    expect(await keys()).toEqual({ stored: 1, kept: 1 });
  });
});

describe('when the outbox’s database is deleted', () => {
  it('[W63, T10] rows come back with their content, read with the key of the other database', async () => {
    await device.signIn('ada', ENCRYPTED);
    cutOff();
    const notes = [unlikely(), unlikely()];
    const ids = [await device.create({ note: notes[0] }), await device.create({ note: notes[1] })];
    await whenWitnessed(ids);
    await device.page.evaluate(() => globalThis.witnesses.lose());
    await device.page.reload();
    await connect(ENCRYPTED);
    await device.whenView({ isReady: true, rows: ids.map((id) => ({ id })) });
    reconnect();
    for (const id of ids) expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    const items = (await (await app.ask('ada', 'GET', '/api/workouts')).json()) as {
      readonly items: readonly { readonly note?: string }[];
    };
    expect(items.items.map(({ note }) => note).sort()).toEqual([...notes].sort());
    expect(await keys()).toEqual({ stored: 1, kept: 1 });
  });
});

describe('signing out', () => {
  it('[W63, W32] with discard destroys the key in both databases', async () => {
    await device.signIn('ada', ENCRYPTED);
    cutOff();
    await whenWitnessed([await device.create({ note: unlikely() })]);
    expect(await keys()).toEqual({ stored: 1, kept: 1 });
    await device.signOut('discard');
    expect(await keys()).toEqual({ stored: 0, kept: 0 });
  });

  it('[W63, W32] keeping what waits keeps the key, and all of it is sent later', async () => {
    await device.signIn('ada', ENCRYPTED);
    cutOff();
    const id = await device.create({ note: unlikely() });
    await device.signOut('keep');
    reconnect();
    await device.signIn('ada', ENCRYPTED);
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
  });
});

describe('a body that cannot be decrypted', () => {
  it('[W63, R3] blocks its row, which stays to be seen; the others are sent', async () => {
    await device.signIn('ada', ENCRYPTED);
    cutOff();
    const bad = await device.create({ note: unlikely() });
    const good = await device.create({ note: unlikely() });
    // No attempt is under way that has read its body already.
    await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
    await device.whenView({ progress: { running: false }, counts: { queued: 2, sending: 0 } });
    // The good one's content under the bad one's name.
    await device.page.evaluate(
      async (from, to) => {
        const request = indexedDB.open('holdfast');
        const database = await new Promise<IDBDatabase>((resolve) => {
          request.onsuccess = () => resolve(request.result);
        });
        const transaction = database.transaction('bodies', 'readwrite');
        const bodies = transaction.objectStore('bodies');
        const read = bodies.get(from);
        read.onsuccess = () => bodies.put(read.result, to);
        await new Promise<void>((resolve) => {
          transaction.oncomplete = () => resolve();
        });
        database.close();
      },
      good,
      bad,
    );
    reconnect();
    await device.page.evaluate(() => globalThis.outboxApp.outbox.resume());
    expect(await device.settled(good)).toMatchObject({ type: 'uploaded' });
    await device.flush();
    const row = { id: bad, state: 'blocked', blockedCode: 'body_unreadable' };
    await device.whenView({ counts: { queued: 0, blocked: 1 }, rows: [row] });
    const { bodies = [] } = (await readDatabase(device.page, 'holdfast')) ?? {};
    expect(bodies).toHaveLength(1);
    expect((await app.server.statistics()).applied).toMatchObject([{ id: good, count: 1 }]);
  });
});
