/** Photos through the whole line, in Chromium: sent as they are, whole again after a lost answer. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type Device, openDevice } from './support/outbox-app/device.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';

const MB = 1024 * 1024;

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
const attach = (workout: string, seed: number, size: number) =>
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

describe('photos', () => {
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
