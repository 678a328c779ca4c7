/** Photos of 10 MB through the whole line, in Chromium: stored once, sent as they are, whole again after trouble. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type Device, openDevice, SQUAT } from './support/outbox-app/device.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';
import { type MemoryByKind, processMemory } from './support/process-memory.ts';
import type { CdpSession } from './support/raw-cdp.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';
import { openSlowLink, type SlowLink } from './support/slow-link.ts';

const MB = 1024 * 1024;
const PHOTO = 10 * MB;
/** What the store keeps to be given up when the device is full (S17). */
const RESERVE = 4 * MB;

let app: OutboxAppServer;
let link: SlowLink;
let chromium: Chromium;
let device: Device;

beforeAll(async () => {
  const sources = { worker: 'e2e/encryption/worker.ts', beside: 'e2e/recovery/witnesses.ts' };
  app = await serveOutboxApp(sources);
  link = await openSlowLink(app.url);
});
beforeEach(async () => {
  app.server.faults.start();
  link.speed(Number.POSITIVE_INFINITY);
  await app.reset();
  // A profile on the disk, as a person has: one in memory would keep the photos themselves in it.
  chromium = await launchChromium();
  const first = await chromium.openPage('about:blank');
  device = await openDevice(chromium, { ...app, url: link.url }, { page: first });
});
afterEach(() => chromium.close());
afterAll(async () => {
  await link.close();
  await app.close();
});

interface Attached {
  readonly id: string;
  readonly hash: string;
  /** How long saving took. */
  readonly ms: number;
}

/** Photos under a workout, made and saved here one after the other. */
const attach = (workout: string, seeds: readonly number[], size = PHOTO): Promise<readonly Attached[]> =>
  device.page.evaluate(
    async (origin, from, length) => {
      const { outbox } = globalThis.outboxApp;
      const saved: Attached[] = [];
      const bytes = new Uint8Array(length);
      for (const seed of from) {
        // What cannot be compressed, one block of it over and over, told apart by the seed.
        const block = crypto.getRandomValues(new Uint8Array(65_536));
        for (let at = 0; at < length; at += block.length) bytes.set(block.subarray(0, length - at), at);
        bytes[0] = seed;
        const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
        const picture = new File([bytes], `${seed}.jpg`, { type: 'image/jpeg' });
        const start = performance.now();
        const under = { under: { workout: { type: 'pending' as const, origin } } };
        const { id } = await outbox.photo.create({ picture }, under);
        saved.push({ id, ms: performance.now() - start, hash: [...hash].join() });
      }
      return saved;
    },
    workout,
    seeds,
    size,
  );

interface Items {
  readonly items: readonly { readonly id: string }[];
}

/** Hashes of all photos that the server has. */
async function photosOfServer(): Promise<readonly string[]> {
  const read = async (path: string) => (await (await app.ask('ada', 'GET', path)).json()) as Items;
  const hashes: string[] = [];
  for (const workout of (await read('/api/workouts')).items)
    for (const { id } of (await read(`/api/workouts/${workout.id}/photos`)).items) {
      const answer = await app.ask('ada', 'GET', `/api/photos/${id}`);
      const hash = await crypto.subtle.digest('SHA-256', await answer.arrayBuffer());
      hashes.push([...new Uint8Array(hash)].join());
    }
  return hashes.toSorted();
}

const hashesOf = (photos: readonly Attached[]) => photos.map(({ hash }) => hash).toSorted();
/** Those that arrived as a whole. */
const photoRequests = () => app.server.requests().filter(({ kind }) => kind === 'photo.create');
const timesApplied = async () => (await app.server.statistics()).applied.map(({ count }) => count);

/** Sizes of the files that IndexedDB keeps Blobs in, on the disk. */
async function blobFiles(): Promise<readonly number[]> {
  const folder = join(chromium.userDataDir, 'Default', 'IndexedDB');
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const blobs = names.filter((name) => name.includes('.blob'));
  const sizes = await Promise.all(
    blobs.map(async (name) => {
      const found = await stat(join(folder, name));
      return found.isFile() ? found.size : 0;
    }),
  );
  return sizes.filter((size) => size > 0);
}

/** The worker's memory in MB, buffers included: at the beginning, and at most. */
interface Watched {
  readonly idleMb: number;
  readonly peakMb: number;
}

/** What is in use in the worker while `run` runs: what nobody refers to any more is cleared away before each look. */
async function watchWorker(run: () => Promise<unknown>): Promise<Watched> {
  const session: CdpSession = await (await chromium.connectCdp()).attachServiceWorker(link.url);
  const used = async (): Promise<number> => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = (await session.send('Runtime.getHeapUsage')) as {
      readonly usedSize: number;
      readonly backingStorageSize?: number;
    };
    return (usedSize + backingStorageSize) / MB;
  };
  const idleMb = await used();
  let peakMb = idleMb;
  let isDone = false;
  const watching = (async () => {
    while (!isDone) {
      peakMb = Math.max(peakMb, await used());
      // Looking without a pause would take the time from what is looked at.
      await wait(100);
    }
  })();
  try {
    await run();
  } finally {
    isDone = true;
    await watching;
  }
  await session.detach();
  return { idleMb, peakMb };
}

/** The longest time in which the worker ran nothing else while `run` ran, in ms. */
async function heldWhile(run: () => Promise<unknown>): Promise<number> {
  const session: CdpSession = await (await chromium.connectCdp()).attachServiceWorker(link.url);
  await session.send('Runtime.enable');
  await session.evaluate(`globalThis.held = 0, globalThis.last = performance.now(), globalThis.beat = setInterval(() => {
    const now = performance.now(); held = Math.max(held, now - last - 5); last = now;
  }, 5), true`);
  await run();
  const heldMs = Number(await session.evaluate('clearInterval(beat), held'));
  await session.detach();
  return heldMs;
}

const mb = (sizes: MemoryByKind): string =>
  [...sizes]
    .toSorted(([, a], [, b]) => b - a)
    .filter(([kind]) => /^(browser|renderer|network|storage)/.test(kind))
    .map(([kind, size]) => `${kind} ${size.toFixed(0)}`)
    .join(', ');
const rounded = ({ idleMb, peakMb }: Watched): string =>
  `worker ${idleMb.toFixed(1)} MB idle, ${peakMb.toFixed(1)} MB at most`;

const EITHER = [
  { bodies: 'as they are', worker: '/sw.js' },
  { bodies: 'encrypted', worker: '/encrypted.sw.js' },
];

describe('photos of 10 MB', () => {
  it.each([
    { bodies: 'as they are', worker: '/sw.js', count: 10 },
    { bodies: 'encrypted', worker: '/encrypted.sw.js', count: 4 },
  ])(
    '[S2, W60, W63] $count of them, $bodies: stored once, in nothing else, and each is sent once',
    async ({ bodies, worker, count }) => {
      await device.signIn('ada', { worker });
      app.server.faults.stop();
      const workout = await device.create();
      const memory = processMemory(chromium.userDataDir);
      const before = memory.now();
      const photos: Attached[] = [];
      const saving = await watchWorker(async () => {
        photos.push(
          ...(await attach(
            workout,
            Array.from({ length: count }, (_, place) => place + 1),
          )),
        );
      });
      const savedPeak = memory.peak();

      const { bodies: stored = [], ...others } = (await readDatabase(device.page, 'holdfast')) ?? {};
      expect(JSON.stringify(stored).match(/"\$blob":(\d+)/g)).toHaveLength(count);
      const blobs = [...JSON.stringify(others).matchAll(/"\$blob":(\d+)/g)].map(([, size]) => Number(size));
      expect(blobs.every((size) => size <= RESERVE)).toBe(true);
      expect(blobs.length).toBeLessThan(2);
      const largest = Math.max(
        ...[...JSON.stringify([stored, others]).matchAll(/"\$bytes":(\d+)/g)].map(([, size]) => Number(size)),
      );
      expect(largest).toBeLessThan(4_096);
      const texts = await device.page.evaluate(async () => ({
        snapshot: JSON.stringify({ ...localStorage }).length,
        messages: globalThis.outboxApp.messages.join('').length,
        ledger: JSON.stringify(await globalThis.witnesses.entries()).length,
      }));
      for (const length of [JSON.stringify(others).length, ...Object.values(texts)])
        expect(length).toBeLessThan(100_000);
      const files = await blobFiles();
      const onDisk = files.reduce((sum, size) => sum + size, 0);
      expect(onDisk).toBeGreaterThanOrEqual(count * PHOTO);
      expect(onDisk).toBeLessThanOrEqual(count * (PHOTO + 4_096) + RESERVE);

      memory.forgetPeak();
      const idle = memory.now();
      app.server.faults.start();
      const start = performance.now();
      let acceptedMs = 0;
      const sending = await watchWorker(async () => {
        void device.flush();
        await device.uploaded(workout);
        acceptedMs = performance.now() - start;
        for (const { id } of photos) expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
      });
      console.log(
        [
          `${count} photos of 10 MB, ${bodies}; saved in ${photos.map(({ ms }) => ms.toFixed(0)).join(', ')} ms, ${rounded(saving)}`,
          `what they are under accepted after ${acceptedMs.toFixed(0)} ms, all sent in ${(performance.now() - start).toFixed(0)} ms, ${rounded(sending)}`,
          `MB by process: before ${mb(before)}; saving, at most ${mb(savedPeak)}; before sending ${mb(idle)}; sending, at most ${mb(memory.peak())}`,
        ].join('\n'),
      );
      expect(await photosOfServer()).toEqual(hashesOf(photos));
      expect(await timesApplied()).toEqual(Array.from({ length: count + 1 }, () => 1));
      expect(photoRequests()).toHaveLength(count);
      // Not one of them was ever in the worker's memory as a whole, let alone all.
      expect(saving.peakMb - saving.idleMb).toBeLessThan(PHOTO / MB);
      expect(sending.peakMb - sending.idleMb).toBeLessThan(PHOTO / MB);
    },
    120_000,
  );

  it.each(EITHER)(
    '[R4, W12] while one is hashed and stored, $bodies, other saves go by',
    async ({ bodies, worker }) => {
      await device.signIn('ada', { worker });
      app.server.faults.stop();
      const workout = await device.create();
      await attach(workout, [1], MB);
      const order: string[] = [];
      let savedMs = 0;
      const heldMs = await heldWhile(async () => {
        const seen = await device.page.evaluate(
          async (origin, length, body) => {
            const { outbox } = globalThis.outboxApp;
            const picture = new File([new Uint8Array(length)], 'empty.jpg', { type: 'image/jpeg' });
            const ends: string[] = [];
            const start = performance.now();
            const under = { under: { workout: { type: 'pending' as const, origin } } };
            const photo = outbox.photo.create({ picture }, under).then(() => {
              ends.push('photo');
              return performance.now() - start;
            });
            for (let n = 0; n < 3; n++) {
              await outbox.workout.create(body);
              ends.push('workout');
            }
            return { ms: await photo, ends };
          },
          workout,
          PHOTO,
          SQUAT,
        );
        order.push(...seen.ends);
        savedMs = seen.ms;
      });
      console.log(
        `A photo of 10 MB, ${bodies}: saved in ${savedMs.toFixed(0)} ms, the worker held for ${heldMs.toFixed(0)} ms at most`,
      );
      expect(order).toEqual(['workout', 'workout', 'workout', 'photo']);
    },
    60_000,
  );

  it('[V1, C6] the worker killed in the middle of one: the whole photo again, and applied once', async () => {
    await device.signIn('ada');
    const workout = await device.create();
    await device.uploaded(workout);
    const before = link.carried();
    link.speed(2 * MB);
    const [photo] = await attach(workout, [5]);
    if (!photo) throw new Error('No photo was saved');
    await expect.poll(() => link.carried() - before, { timeout: 20_000 }).toBeGreaterThan(2 * MB);
    const control = await openServiceWorkerControl(device.page);
    await control.stop();
    await control.close();
    expect(photoRequests()).toEqual([]);
    expect(link.carried() - before).toBeLessThan(PHOTO);
    link.speed(Number.POSITIVE_INFINITY);
    const again = link.carried();
    void device.flush();
    expect(await device.settled(photo.id)).toMatchObject({ type: 'uploaded' });
    expect(link.carried() - again).toBeGreaterThan(PHOTO);
    expect(await photosOfServer()).toEqual([photo.hash]);
    expect(await timesApplied()).toEqual([1, 1]);
  }, 60_000);

  it('[C5, C31] over a link that needs longer for each than its family`s lease: each is sent once, and small ones go by', async () => {
    await device.signIn('ada');
    app.server.faults.stop();
    const workout = await device.create();
    const photos = await attach(workout, [1, 2]);
    // 12.5 s for each of them, where the lease of the family alone has 10.
    link.speed(0.8 * MB);
    app.server.faults.start();
    void device.flush();
    await device.uploaded(workout);
    const others: string[] = [];
    for (let n = 0; n < 3; n++) others.push(await device.create({ exercise: `Row ${n}` }));
    for (const id of others) await device.uploaded(id);
    expect(photoRequests()).toEqual([]);
    for (const { id } of photos) expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    expect(photoRequests()).toMatchObject([{ status: 201 }, { status: 201 }]);
    expect(await photosOfServer()).toEqual(hashesOf(photos));
  }, 60_000);

  it.each(EITHER)(
    '[V2, D20, W63] an answer that is lost, $bodies: the whole photo again, and applied once',
    async ({ worker }) => {
      await device.signIn('ada', { worker });
      const workout = await device.create();
      app.server.faults.set([{ fault: { type: 'reset_after' }, count: 1, match: { family: 'photo' } }]);
      const photos = await attach(workout, [7], 3 * MB + 17);
      for (const { id } of photos) expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
      expect(await photosOfServer()).toEqual(hashesOf(photos));
      expect(await timesApplied()).toEqual([1, 1]);
    },
  );
});
