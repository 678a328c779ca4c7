/** A worker that is called for the last time, that has more rows than it can send in one event, and that starts full. */
import type { Page } from 'puppeteer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTestPglite } from '../tests/support/test-pglite.ts';
import * as claims from './claims/page-calls.ts';
import { serveClaims } from './claims/serve-claims.ts';
import { storedRows, whenQuiet } from './claims/stored.ts';
import { type LineApp, serveLine } from './line/line-app.ts';
import { connect, create, flush, settled, viewOnce } from './line/line-calls.ts';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

const STANDING_TAG = 'workbox-background-sync:holdfast';

/** Two attempts, five seconds apart, and the second is the last chance. */
const SHORT_SYNC = [
  '--force-fieldtrials=BackgroundSync/Test',
  `--force-fieldtrial-params=BackgroundSync.Test:${[
    'initial_retry_delay_sec/5',
    'retry_delay_factor/1',
    'max_sync_attempts/2',
    'max_sync_attempts_with_notification_permission/2',
    'min_recovery_time_sec/1',
    'max_sync_event_duration_sec/60',
  ].join('/')}`,
];

const pause = (page: Page) => page.evaluate(() => globalThis.line.outbox.pause());
const resume = (page: Page) => page.evaluate(() => globalThis.line.outbox.resume());
const seed = (page: Page, count: number) => page.evaluate((rows) => globalThis.life.seed(rows), count);

const tags = (page: Page) =>
  page.evaluate(async () => {
    const registration = (await navigator.serviceWorker.ready) as ServiceWorkerRegistration & {
      readonly sync: { getTags(): Promise<readonly string[]> };
    };
    return await registration.sync.getTags();
  });

describe('a worker with much to do', () => {
  let app: LineApp;
  let chromium: Chromium;

  beforeEach(async () => {
    app = await serveLine({ entries: { page: 'e2e/life/page.ts', worker: 'e2e/life/counting-worker.ts' } });
  });
  afterEach(async () => {
    await chromium.close();
    await app.stop();
  });

  it('[W21] after the last chance, which the browser forgets, the next page that opens asks it to come back', async () => {
    chromium = await launchChromium({ args: SHORT_SYNC });
    const page = await chromium.openPage(app.origin);
    await connect(page);
    app.refuseWith(503);
    const id = await create(page, 60);
    // The first of its attempts has come; with this page goes the last one that would ask for more.
    await viewOnce(page, ({ triggers }) => triggers.sync === 'proven');
    await page.close();
    // A page of the app that has no outbox: it only looks.
    const looking = await chromium.openPage(app.origin);
    await expect.poll(() => tags(looking), { timeout: 30_000 }).toEqual([]);

    await connect(looking);
    await expect.poll(() => tags(looking), { timeout: 30_000 }).toContain(STANDING_TAG);
    await looking.close();
    const applied = app.nextApplied();
    app.refuseWith(undefined);
    await applied;
    const later = await chromium.openPage(app.origin);
    await connect(later);
    expect(await settled(later, id)).toMatchObject({ type: 'uploaded', id });
    expect(app.applied).toHaveLength(1);
  });

  it('[T30, W3, W18] 10,000 rows, the browser killed in the middle of their drain: each is applied once', async () => {
    chromium = await launchChromium();
    const count = 10_000;
    let page = await chromium.openPage(app.origin);
    await connect(page);
    await pause(page);
    await seed(page, count);
    await page.reload();
    await connect(page);
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
  }, 300_000);

  it('[W3, S3] a worker starts with as few records at 0, 100 and 20,000 rows', async () => {
    chromium = await launchChromium();
    const page = await chromium.openPage(app.origin);
    await connect(page);
    await settled(page, await create(page, 60));
    // From here on the ledger knows this owner; what it does not know at all would be compared.
    await whenQuiet(page);
    await pause(page);
    await page.close();
    const looking = await chromium.openPage(app.origin);
    const control = await openServiceWorkerControl(looking);
    let seeded = 0;
    for (const rows of [0, 100, 20_000]) {
      await seed(looking, rows - seeded);
      seeded = rows;
      await control.stop();
      await claims.watchDrains(looking);
      await control.sync(STANDING_TAG);
      await claims.whenDrained(looking);
      const counts = await looking.evaluate(() => globalThis.life.counts());
      expect(counts, `with ${rows} rows`).toMatchObject({ rowsRead: 0, bodiesRead: 0, fullReads: 0 });
      expect(counts.recordsRead, `with ${rows} rows`).toBeLessThan(100);
    }
    await connect(looking);
    expect((await flush(looking)).remaining).toMatchObject({ queued: seeded });
  }, 240_000);
});

describe('an event’s time', () => {
  it('[W4, C8] a sync event sends nothing new past its time, gives back what it had claimed, and the next goes on', async () => {
    const database = await openTestPglite();
    const chromium = await launchChromium();
    const app = await serveClaims(database, { leaseMs: 600_000, concurrency: 3 });
    const page = await chromium.openPage(app.url);
    await app.signIn(page);
    await claims.connect(page, 'worker');
    await claims.pause(page);
    const ids = [];
    for (let n = 0; n < 9; n++) ids.push(await claims.create(page, n));
    app.hold();
    await claims.resume(page);
    for (let n = 0; n < 3; n++) await app.next();
    // From here on no page has an outbox, and whoever was sending is gone: what is sent is the event's doing.
    const looking = await chromium.openPage(app.url);
    const control = await openServiceWorkerControl(looking);
    await page.close();
    await control.stop();

    await control.sync(STANDING_TAG);
    const open = [await app.next(), await app.next(), await app.next()];
    await claims.whenStarted(looking);
    // The first answer says how long answers take; now as many are claimed ahead as will start in time (C7).
    await open.shift()?.answer();
    open.push(await app.next());
    await expect
      .poll(async () => (await storedRows(looking)).map(({ state }) => state))
      .toEqual(Array.from({ length: 8 }, () => 'sending'));
    await claims.watchDrains(looking);
    await claims.setClock(looking, 160_001);
    await Promise.all(open.map((request) => request.answer()));
    await claims.whenDrained(looking);
    const left = await storedRows(looking);
    expect(left.map(({ id }) => id)).toEqual(ids.slice(4));
    expect(left.map(({ state, doubt, evidence }) => [state, doubt, evidence.attemptCount])).toEqual(
      left.map(() => ['queued', false, 0]),
    );
    expect(left.map(({ id }) => app.sent(id))).toEqual(left.map(() => 0));

    await app.letGo();
    await control.sync(STANDING_TAG);
    await expect.poll(() => storedRows(looking), { timeout: 30_000 }).toEqual([]);
    expect(ids.slice(3).map(app.sent)).toEqual(ids.slice(3).map(() => 1));
    expect(await app.effects()).toEqual(Object.fromEntries(ids.map((id) => [id, 1])));
    await chromium.close();
    await app.close();
    await database.close();
  });
});
