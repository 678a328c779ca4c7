/** A queue that workbox filled in Chromium, taken over by the release that comes after. */
import type { Page } from 'puppeteer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LineApp, serveLine } from './line/line-app.ts';
import { buildFixture } from './support/build-fixture.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';

describe('a queue of workbox, in Chromium', () => {
  let app: LineApp;
  let chromium: Chromium;

  beforeEach(async () => {
    const [before, page] = await Promise.all([
      buildFixture({ entry: { file: 'e2e/adopt/worker-before.ts' } }),
      buildFixture({ entry: { file: 'e2e/adopt/page.ts' } }),
    ]);
    app = await serveLine();
    const after = app.files.get('/sw.js') ?? '';
    app.files.set('/page.js', page);
    app.files.set('/sw.js', before);
    chromium = await launchChromium();
    const first = await chromium.openPage(app.origin);
    await first.evaluate(async () => {
      const controlled = new Promise((resolve) => {
        navigator.serviceWorker.oncontrollerchange = resolve;
      });
      await navigator.serviceWorker.register('/sw.js');
      await controlled;
    });
    app.cut(true);
    await first.evaluate(async () => {
      const send = (method: string, path: string, json: unknown): Promise<Response> =>
        fetch(path, { method, body: JSON.stringify(json), headers: { 'content-type': 'application/json' } });
      for (let kg = 1; kg <= 20; kg++) await send('POST', '/api/workouts', { kg });
      await send('PUT', '/api/plans/monday', { title: 'Legs' });
      await send('POST', '/api/chat', { text: 'hello' });
    });
    app.cut(false);
    await first.close();
    app.files.set('/sw.js', after);
  });
  afterEach(async () => {
    await chromium.close();
    await app.stop();
  });

  async function openAfter(): Promise<Page> {
    const page = await chromium.openPage(app.origin);
    await page.evaluate(() => globalThis.adopting.connect());
    return page;
  }
  const queueNames = (page: Page): Promise<readonly string[]> =>
    page.evaluate(
      () =>
        new Promise<readonly string[]>((resolve, reject) => {
          const opening = indexedDB.open('workbox-background-sync');
          opening.onerror = () => reject(opening.error);
          opening.onsuccess = () => {
            const reading = opening.result.transaction('requests').objectStore('requests').getAll();
            reading.onsuccess = () => {
              opening.result.close();
              resolve(reading.result.map(({ queueName }) => queueName));
            };
          };
        }),
    );
  const drain = async (page: Page): Promise<void> => {
    await page.evaluate(() => globalThis.adopting.flush());
  };

  function expectEachOnce(): void {
    const weights = app.applied.flatMap(({ body }) => (body as { readonly kg?: number }).kg ?? []);
    expect([...weights].sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    expect(app.applied.filter(({ kind }) => kind === 'plan.put')).toMatchObject([
      { target: 'monday', body: { title: 'Legs' } },
    ]);
    expect(app.applied).toHaveLength(21);
  }

  it('[W53] reaches the server once, and what is not of this outbox stays with workbox', async () => {
    const page = await openAfter();
    const report = await page.evaluate(() => globalThis.adopting.adopt());
    expect(report.adopted).toHaveLength(21);
    expect(report.left).toMatchObject([{ method: 'POST', why: 'Another service' }]);
    await drain(page);
    expectEachOnce();
    expect(await queueNames(page)).toEqual(['uploads']);
    expect(await page.evaluate(() => globalThis.adopting.adopt())).toMatchObject({ adopted: [] });
  });

  it('[W53] reaches the server once, also where the browser is killed in the middle of it', async () => {
    const page = await openAfter();
    const release = app.hold();
    const arrived = app.nextCommand();
    page.evaluate(() => globalThis.adopting.adopt()).catch(() => undefined);
    await arrived;
    await chromium.kill();
    release();
    chromium = await chromium.relaunch();
    const again = await openAfter();
    await again.evaluate(() => globalThis.adopting.adopt());
    await drain(again);
    expectEachOnce();
    expect(await queueNames(again)).toEqual(['uploads']);
  });

  it('[W53] is taken over by one of two pages that both try', async () => {
    const [one, other] = [await openAfter(), await openAfter()];
    const reports = await Promise.all(
      [one, other].map((page) => page.evaluate(() => globalThis.adopting.adopt())),
    );
    expect(reports.flatMap(({ adopted }) => adopted)).toHaveLength(21);
    await drain(one);
    expectEachOnce();
  });
});
