/** Photos of 10 MB through the whole line, in Chromium: stored once, sent as they are, whole again after trouble. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type Device, openDevice } from './support/outbox-app/device.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

const MB = 1024 * 1024;
const PHOTO = 10 * MB;

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

/** A photo under a workout, both saved here. Answers its id, its hash, and how long saving took. */
const attach = (workout: string, seed: number, size = PHOTO) =>
  device.page.evaluate(
    async (origin, from, length) => {
      const { outbox } = globalThis.outboxApp;
      const bytes = new Uint8Array(length);
      // What cannot be compressed, one block of it over and over, told apart by the seed.
      const block = crypto.getRandomValues(new Uint8Array(65_536));
      for (let at = 0; at < length; at += block.length) bytes.set(block.subarray(0, length - at), at);
      bytes[0] = from;
      const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
      const picture = new File([bytes], `${from}.jpg`, { type: 'image/jpeg' });
      const start = performance.now();
      const { id } = await outbox.photo.create(
        { picture },
        { under: { workout: { type: 'pending', origin } } },
      );
      return { id, ms: performance.now() - start, hash: [...hash].join() };
    },
    workout,
    seed,
    size,
  );

/** Hashes of what the server has under the one workout that it has. */
async function photosOfServer(): Promise<readonly string[]> {
  const list = (await (await app.ask('ada', 'GET', '/api/workouts')).json()) as {
    readonly items: readonly { readonly id: string }[];
  };
  const path = `/api/workouts/${list.items[0]?.id}/photos`;
  const { items } = (await (await app.ask('ada', 'GET', path)).json()) as typeof list;
  return Promise.all(
    items.map(async ({ id }) => {
      const answer = await app.ask('ada', 'GET', `/api/photos/${id}`);
      const hash = await crypto.subtle.digest('SHA-256', await answer.arrayBuffer());
      return [...new Uint8Array(hash)].join();
    }),
  );
}

/** Resident memory of the browser's processes in MB, the largest and all of them; 0 where the system does not tell. */
function residentMb(): { readonly largest: number; readonly all: number } {
  const sizes = readdirSync('/proc').flatMap((pid) => {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(chromium.userDataDir)) return [];
      const [, kb = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      return Number(kb) / 1024;
    } catch {
      return [];
    }
  });
  return { largest: Math.max(0, ...sizes), all: sizes.reduce((sum, size) => sum + size, 0) };
}

describe('photos of 10 MB', () => {
  it('[S2, W60] ten of them under a workout made offline: stored once, in no message and no snapshot, and all arrive', async () => {
    await device.signIn('ada');
    app.server.faults.stop();
    const workout = await device.create();
    const session = await (await chromium.connectCdp()).attachServiceWorker(app.url);
    await session.send('Runtime.enable');
    // The longest time in which nothing else ran in the worker, so far.
    await session.evaluate(`globalThis.held = 0, globalThis.last = performance.now(), globalThis.beat = setInterval(() => {
      const now = performance.now(); held = Math.max(held, now - last - 5); last = now;
    }, 5), true`);
    const before = residentMb();
    const saved = [];
    for (let seed = 1; seed <= 10; seed++) saved.push(await attach(workout, seed));
    const heldMs = Number(await session.evaluate('clearInterval(beat), held'));
    const places = await device.page.evaluate(() => ({
      snapshot: JSON.stringify({ ...localStorage }).length,
      messages: globalThis.outboxApp.messages.join('').length,
    }));
    expect(places.snapshot).toBeLessThan(MB);
    expect(places.messages).toBeLessThan(MB);
    const stored = await device.page.evaluate(async () => (await navigator.storage.estimate()).usage ?? 0);
    expect(stored).toBeLessThan(10 * PHOTO * 1.3 + 16 * MB);
    await session.send('HeapProfiler.collectGarbage');
    const heap = async () => {
      const { usedSize, backingStorageSize } = (await session.send('Runtime.getHeapUsage')) as {
        readonly usedSize: number;
        readonly backingStorageSize?: number;
      };
      return (usedSize + (backingStorageSize ?? 0)) / MB;
    };
    const idleMb = await heap();
    let peakMb = 0;
    let isDone = false;
    const watching = (async () => {
      while (!isDone) {
        peakMb = Math.max(peakMb, await heap());
        // Looking without a pause would take the time from what is looked at.
        await setTimeout(50);
      }
    })();
    watching.catch(() => undefined);
    app.server.faults.start();
    const start = performance.now();
    void device.flush();
    try {
      for (const { id } of saved) expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    } finally {
      isDone = true;
    }
    await watching;
    const after = residentMb();
    console.log(
      `10 photos of 10 MB: saved in ${saved.map(({ ms }) => Math.round(ms)).join(', ')} ms, the worker held for ${heldMs.toFixed(0)} ms at most, sent in ${Math.round(performance.now() - start)} ms; worker heap ${idleMb.toFixed(1)} MB idle, ${peakMb.toFixed(1)} MB at most; processes ${before.all.toFixed(0)} MB before, ${after.all.toFixed(0)} MB after, the largest ${after.largest.toFixed(0)} MB`,
    );
    expect((await photosOfServer()).toSorted()).toEqual(saved.map(({ hash }) => hash).toSorted());
    expect((await app.server.statistics()).applied.every(({ count }) => count === 1)).toBe(true);
    // Not one of them was ever in the worker's memory as a whole.
    expect(peakMb - idleMb).toBeLessThan(64);
    await session.detach();
  }, 240_000);

  it('[V1, D20] the worker killed in the middle of one: the whole photo again, and stored once', async () => {
    await device.signIn('ada');
    const workout = await device.create();
    app.server.faults.set([{ fault: { type: 'drop_answer' }, count: 1, match: { family: 'photo' } }]);
    const { id, hash } = await attach(workout, 5, 2 * MB);
    await device.whenView({ rows: [{ id, state: 'sending' }] });
    await expect.poll(async () => (await app.server.statistics()).applied.length).toBe(2);
    await device.page.reload();
    const control = await openServiceWorkerControl(device.page);
    await control.stop();
    await control.close();
    await device.signIn('ada');
    void device.flush();
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    expect(await photosOfServer()).toEqual([hash]);
    const { applied } = await app.server.statistics();
    expect(applied.map(({ count }) => count)).toEqual([1, 1]);
  }, 150_000);

  it('[V2, D20] an answer that is lost: the whole photo again, and applied once', async () => {
    await device.signIn('ada');
    const workout = await device.create();
    app.server.faults.set([{ fault: { type: 'reset_after' }, count: 1, match: { family: 'photo' } }]);
    const { id, hash } = await attach(workout, 7, 2 * MB);
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    expect(await photosOfServer()).toEqual([hash]);
    const { applied } = await app.server.statistics();
    expect(applied.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('[W63] encrypted, they arrive as they were', async () => {
    await device.signIn('ada', { worker: '/encrypted.sw.js' });
    app.server.faults.stop();
    const workout = await device.create();
    const { id, hash } = await attach(workout, 9, 3 * MB + 17);
    app.server.faults.start();
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    expect(await photosOfServer()).toEqual([hash]);
  });
});
