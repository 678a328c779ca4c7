/** What a worker goes through in a long life, in real Chromium: stopped, killed, called for the last time, full of rows. */
import type { Page } from 'puppeteer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestPglite } from '../tests/support/test-pglite.ts';
import * as claims from './claims/page-calls.ts';
import { serveClaims } from './claims/serve-claims.ts';
import { storedRows } from './claims/stored.ts';
import { type LineApp, serveLine } from './line/line-app.ts';
import { connect, create, flush, settled, viewOnce } from './line/line-calls.ts';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

const STANDING_TAG = 'workbox-background-sync:holdfast';

/** Two attempts, a second apart, and the second is the last chance. */
const SHORT_SYNC = [
  '--force-fieldtrials=BackgroundSync/Test',
  `--force-fieldtrial-params=BackgroundSync.Test:${[
    'initial_retry_delay_sec/1',
    'retry_delay_factor/1',
    'max_sync_attempts/2',
    'max_sync_attempts_with_notification_permission/2',
    'min_recovery_time_sec/1',
    'max_sync_event_duration_sec/60',
  ].join('/')}`,
];

const pause = (page: Page) => page.evaluate(() => globalThis.line.outbox.pause());
const resume = (page: Page) => page.evaluate(() => globalThis.line.outbox.resume());

describe('the life of a worker', () => {
  let app: LineApp;
  let chromium: Chromium;

  beforeEach(async () => {
    app = await serveLine();
  });
  afterEach(async () => {
    await chromium.close();
    await app.stop();
  });

  const tags = (page: Page) =>
    page.evaluate(async () => {
      const registration = (await navigator.serviceWorker.ready) as ServiceWorkerRegistration & {
        readonly sync: { getTags(): Promise<readonly string[]> };
      };
      return await registration.sync.getTags();
    });

  it('[W21] after the last chance, which the browser forgets, the next page that opens asks it to come back', async () => {
    chromium = await launchChromium({ args: SHORT_SYNC });
    const page = await chromium.openPage(app.origin);
    await connect(page);
    app.refuseWith(503);
    const id = await create(page, 60);
    await expect.poll(() => tags(page), { timeout: 30_000 }).toContain(STANDING_TAG);
    await page.close();
    // A page of the app that has no outbox: it only looks.
    const looking = await chromium.openPage(`${app.origin}/index.html`);
    await expect.poll(() => tags(looking), { timeout: 30_000 }).toEqual([]);
    await connect(looking);
    await expect.poll(() => tags(looking), { timeout: 30_000 }).toContain(STANDING_TAG);
    app.refuseWith(undefined);
    await looking.close();
    await app.whenApplied(1);
    expect(app.applied).toMatchObject([{ id }]);
  });

  it('[W21, W3] that the event fires here is known after the worker was stopped, and after the browser was killed', async () => {
    chromium = await launchChromium();
    const page = await chromium.openPage(app.origin);
    await connect(page);
    await settled(page, await create(page, 60));
    await viewOnce(page, ({ triggers }) => triggers.sync === 'proven');
    const atOnce = (of: Page) => of.evaluate(() => globalThis.line.outbox.view.getSnapshot().triggers.sync);
    const control = await openServiceWorkerControl(page);
    await control.stop();
    const second = await chromium.openPage(app.origin);
    await connect(second);
    expect(await atOnce(second)).toBe('proven');
    await chromium.kill();
    chromium = await chromium.relaunch();
    const third = await chromium.openPage(app.origin);
    await connect(third);
    expect(await atOnce(third)).toBe('proven');
  });

  it('[T30, W12, W18] 10,000 rows, the browser killed in the middle of their drain: each is applied once', async () => {
    chromium = await launchChromium();
    const count = 10_000;
    let page = await chromium.openPage(app.origin);
    await connect(page);
    await pause(page);
    await page.evaluate(async (wanted) => {
      const { workout } = globalThis.line.outbox;
      for (let done = 0; done < wanted; done += 250) {
        await Promise.all(Array.from({ length: 250 }, (_, i) => workout.create({ kg: done + i })));
      }
    }, count);
    const view = await viewOnce(page, ({ rows }) => rows.length === 10_000);
    expect(view.counts).toMatchObject({ queued: count });
    await resume(page);
    await app.whenApplied(count / 4);
    await chromium.kill();
    expect(app.applied.length).toBeLessThan(count);
    chromium = await chromium.relaunch();
    page = await chromium.openPage(app.origin);
    await connect(page);
    await app.whenApplied(count);
    await viewOnce(page, ({ isReady, rows, counts }) => isReady && rows.length + counts.sending === 0);
    expect(await readDatabase(page, 'holdfast')).toMatchObject({ rows: [], bodies: [] });
    expect(new Set(app.applied.map(({ id }) => id)).size).toBe(count);
    const kilograms = app.applied.map(({ body }) => (body as { readonly kg: number }).kg);
    expect(kilograms.sort((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));
  }, 240_000);

  it('[W3, S3] a worker starts with the same reads and transactions at 0, 100 and 100,000 rows', async () => {
    await app.stop();
    app = await serveLine({ entries: { page: 'e2e/life/page.ts', worker: 'e2e/life/counting-worker.ts' } });
    chromium = await launchChromium();
    let page = await chromium.openPage(app.origin);
    await connect(page);
    await pause(page);
    const starts = [];
    for (const more of [0, 100, 99_900]) {
      await page.evaluate((rows) => globalThis.life.seed(rows), more);
      await (await openServiceWorkerControl(page)).stop();
      await page.close();
      page = await chromium.openPage(app.origin);
      // The worker's first answer; then its own first flush, which this one takes in, and everything beside it.
      await connect(page);
      const first = await page.evaluate(() => globalThis.life.counts());
      expect((await flush(page)).remaining.queued).toBe(
        starts.length === 0 ? 0 : starts.length === 1 ? 100 : 100_000,
      );
      const after = await page.evaluate(() => globalThis.life.counts());
      starts.push({ first, after });
    }
    console.log(JSON.stringify(starts, null, 1));
    const [none, some, many] = starts;
    expect(many?.first).toEqual(some?.first);
    expect(many?.first).toEqual(none?.first);
    expect(many?.after).toMatchObject({ rowsRead: none?.after.rowsRead, bodiesRead: 0, fullReads: 0 });
  }, 240_000);
});

describe('an event’s time', () => {
  it('[W4, C8] a sync event sends nothing new past its time, gives back what it had claimed, and asks for the next', async () => {
    const database = await openTestPglite();
    const chromium = await launchChromium();
    const app = await serveClaims(database, { leaseMs: 600_000, concurrency: 3 });
    const page = await chromium.openPage(app.url);
    await app.signIn(page);
    await claims.connect(page, 'worker');
    await page.setOfflineMode(true);
    const ids = [];
    for (let n = 0; n < 9; n++) ids.push(await claims.create(page, n));
    expect(await claims.flush(page)).toMatchObject({ stoppedBy: 'network', remaining: { queued: 9 } });
    // From here on no page has an outbox: whatever is sent is the event's doing.
    const looking = await chromium.openPage(app.url);
    const control = await openServiceWorkerControl(looking);
    await page.close();
    await control.stop();
    await claims.watchDrains(looking);
    app.hold();
    await control.sync(STANDING_TAG);
    const first = [await app.next(), await app.next(), await app.next()];
    await claims.setClock(looking, 160_000 + 1);
    await Promise.all(first.map((request) => request.answer()));
    await claims.whenDrained(looking);
    const left = await storedRows(looking);
    expect(left.map(({ state, doubt, evidence }) => [state, doubt, evidence.attemptCount])).toEqual(
      Array.from({ length: 6 }, () => ['queued', false, 0]),
    );
    expect(left.map(({ id }) => app.sent(id))).toEqual([0, 0, 0, 0, 0, 0]);
    // The next event takes up what is left.
    await app.letGo();
    await control.sync(STANDING_TAG);
    await expect.poll(() => storedRows(looking), { timeout: 30_000 }).toEqual([]);
    expect(ids.map(app.sent)).toEqual(ids.map(() => 1));
    await chromium.close();
    await app.close();
    await database.close();
  });
});
