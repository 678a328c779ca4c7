/** The line between page and worker, in a real browser: what only lifetimes, kills and a real registration show. */
import type { Page } from 'puppeteer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LineApp, serveLine } from './line/line-app.ts';
import { connect, create, flush, settled, viewOnce } from './line/line-calls.ts';
import { awaitedLater } from './support/awaited-later.ts';
import { type Chromium, FAST_SYNC_FLAGS, launchChromium } from './support/launch-chromium.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

describe('the line, in Chromium', () => {
  let app: LineApp;
  let chromium: Chromium;
  let page: Page;

  beforeAll(async () => {
    chromium = await launchChromium();
  });
  beforeEach(async () => {
    app = await serveLine();
    page = await chromium.openPage(app.origin);
  });
  afterEach(async () => {
    if (!page.isClosed()) await page.close();
    await app.stop();
  });
  afterAll(() => chromium.close());

  it('[W13] a first visit, which no worker controls, saves and sends', async () => {
    expect(await connect(page)).toBe('worker');
    const id = await create(page, 60);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded', id, receipt: { target: 'srv-1' } });
    expect(await page.evaluate(() => navigator.serviceWorker.controller)).toBeNull();
    expect(app.applied).toEqual([{ id, kind: 'workout.create', target: 'srv-1', body: { kg: 60 } }]);
  });

  it('[W13, A36] after a forced reload, which leaves the page without a controller, it goes on', async () => {
    await connect(page);
    await page.reload();
    expect(await page.evaluate(() => navigator.serviceWorker.controller !== null)).toBe(true);
    const session = await page.createCDPSession();
    const loaded = page.waitForNavigation();
    await session.send('Page.reload', { ignoreCache: true });
    await loaded;
    expect(await page.evaluate(() => navigator.serviceWorker.controller)).toBeNull();
    await connect(page);
    const release = app.hold();
    const id = await create(page, 60);
    const view = await viewOnce(page, ({ rows }) => rows.length === 1);
    expect(view).toMatchObject({ owner: 'ann', host: 'worker', rows: [{ id, family: 'workout' }] });
    release();
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded' });
  });

  it('[W12, A34] a tab that closes in flight leaves its command to the worker, which finishes', async () => {
    await connect(page);
    const release = app.hold();
    const arrived = app.nextCommand();
    const id = await create(page, 60);
    await arrived;
    await page.close();
    release();
    page = await chromium.openPage(app.origin);
    await connect(page);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded', id });
    expect([app.sent(id), app.applied.length]).toEqual([1, 1]);
  });

  it('[C46, W2, W3] a worker stopped in flight is followed by one that finishes; the server applies once', async () => {
    await connect(page);
    const control = await openServiceWorkerControl(page);
    const release = app.hold();
    const arrived = app.nextCommand();
    const id = await create(page, 60);
    await arrived;
    await control.stop();
    release();
    await flush(page);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded', receipt: { id, replayed: true } });
    expect([app.sent(id), app.applied.length]).toEqual([2, 1]);
  });

  it('[A76, W10, W11] a worker stopped in the middle of an enqueue: the call is repeated at once, one row', async () => {
    await connect(page);
    const control = await openServiceWorkerControl(page);
    const open = app.shutGate();
    const waiting = app.nextRequest(({ path }) => path === '/gate');
    const call = awaitedLater(
      page.evaluate(async () => {
        const startedAt = performance.now();
        const handle = await globalThis.line.outbox.gated.create({ kg: 60 });
        return { id: handle.id, action: handle.action, ms: performance.now() - startedAt };
      }),
    );
    await waiting;
    const again = app.nextRequest(({ path }) => path === '/gate');
    await control.stop();
    await again;
    open();
    const { id, action, ms } = await call;
    expect(action).toBe('queued');
    expect(ms).toBeLessThan(5_000);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded' });
    expect(app.applied).toHaveLength(1);
  });

  it('[A35, W10, W18] a stopped worker: calls settle, and the view shows what another tab added meanwhile', async () => {
    app.refuseWith(503);
    await connect(page);
    await viewOnce(page, ({ isReady }) => isReady);
    const other = await chromium.openPage(app.origin);
    await connect(other);
    const control = await openServiceWorkerControl(page);
    await control.stop();
    const [first, second] = await Promise.all([create(page, 1), create(other, 2)]);
    const view = await viewOnce(page, ({ rows }) => rows.length === 2);
    expect(view.rows.map(({ id }) => id).sort()).toEqual([first, second].sort());
    await other.close();
  });

  it('[W18, D41] two tabs see one drain, each outcome once', async () => {
    await connect(page);
    const other = await chromium.openPage(app.origin);
    await connect(other);
    const release = app.hold();
    const id = await create(page, 60);
    await viewOnce(other, ({ rows }) => rows[0]?.state === 'sending');
    const ends = [settled(page, id), settled(other, id)];
    release();
    expect(await Promise.all(ends)).toEqual([
      expect.objectContaining({ type: 'uploaded', id }),
      expect.objectContaining({ type: 'uploaded', id }),
    ]);
    await viewOnce(other, ({ rows, counts }) => rows.length === 0 && counts.sending === 0);
    expect(app.applied).toHaveLength(1);
    await other.close();
  });

  it('[W17, C21] a change to what is still being created waits for its id, and says so to the handle', async () => {
    await connect(page);
    const release = app.hold();
    const arrived = app.nextCommand();
    const open = app.shutGate();
    const ends = awaitedLater(
      page.evaluate(async () => {
        const { workout } = globalThis.line.outbox;
        const created = await workout.create({ kg: 60 });
        // Until the creation has left.
        await fetch('/gate');
        const changed = await workout.update(created.target, { note: 'hard' });
        return { action: changed.action, ends: await Promise.all([created.settled, changed.settled]) };
      }),
    );
    await arrived;
    open();
    await viewOnce(page, ({ rows }) => rows.length === 2);
    release();
    const { action, ends: settledEnds } = await ends;
    expect(action).toBe('intent');
    expect(settledEnds).toMatchObject([
      { type: 'uploaded', receipt: { target: 'srv-1', revision: 1 } },
      { type: 'uploaded', receipt: { target: 'srv-1', revision: 2 } },
    ]);
  });

  it('[W40] where the worker cannot be registered the page runs the engine, over the same database', async () => {
    expect(await connect(page, { worker: '/missing.js' })).toBe('page');
    app.refuseWith(503);
    const id = await create(page, 60);
    const tab = await chromium.openPage(app.origin);
    // A worker that appears later shares the outbox.
    expect(await connect(tab)).toBe('worker');
    await viewOnce(tab, ({ rows }) => rows.length === 1);
    app.refuseWith(undefined);
    await Promise.all([flush(page), flush(tab)]);
    expect(await settled(tab, id)).toMatchObject({ type: 'uploaded', id });
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded', id });
    expect(app.applied).toHaveLength(1);
    await tab.close();
  });

  it('[W30, D43] another tab that signs another owner in takes the first one’s rows off the screen, not away', async () => {
    app.refuseWith(503);
    await connect(page);
    const id = await create(page, 60);
    await viewOnce(page, ({ rows }) => rows.length === 1);
    const other = await chromium.openPage(app.origin);
    await connect(other, { owner: 'bob' });
    const view = await viewOnce(page, ({ owner }) => owner === undefined);
    expect(view.rows).toEqual([]);
    expect(await viewOnce(other, ({ isReady }) => isReady)).toMatchObject({ owner: 'bob', rows: [] });
    await connect(other, { owner: 'ann' });
    expect(await viewOnce(page, ({ rows }) => rows.length === 1)).toMatchObject({ rows: [{ id }] });
    await other.close();
  });
});

describe('the line where nothing can be stored', () => {
  it('[A42, S15, W40] connects, says so, and claims nothing to be saved', async () => {
    const app = await serveLine();
    const chromium = await launchChromium();
    const page = await chromium.browser.newPage();
    await page.evaluateOnNewDocument(() => {
      IDBFactory.prototype.open = () => {
        throw new DOMException('A mutation operation was attempted', 'InvalidStateError');
      };
    });
    await page.goto(app.origin);
    expect(await connect(page, { worker: 'page' })).toBe('page');
    const refusal = await page.evaluate(() =>
      globalThis.line.outbox.workout.create({ kg: 60 }).then(
        () => 'stored',
        (error: unknown) => String(error),
      ),
    );
    expect(refusal).toContain('OutboxUnavailableError');
    const view = await viewOnce(page, ({ storage }) => storage.mode === 'no_database');
    expect(view.rows).toEqual([]);
    expect(app.applied).toEqual([]);
    await chromium.close();
    await app.stop();
  });
});

describe('the line under a strict policy', () => {
  it('[W16] evaluates nothing and loads nothing but itself', async () => {
    const app = await serveLine({
      headers: {
        'content-security-policy':
          "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'",
      },
    });
    const chromium = await launchChromium();
    const page = await chromium.openPage(app.origin);
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await connect(page);
    const id = await create(page, 60);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded' });
    expect(complaints.filter((text) => /Content Security Policy/i.test(text))).toEqual([]);
    await chromium.close();
    await app.stop();
  });
});

describe('the line, past the end of the browser', () => {
  it('[W12, W21] killed and relaunched with no page open, it sends by itself', async () => {
    const app = await serveLine();
    let chromium = await launchChromium();
    const page = await chromium.openPage(app.origin);
    await connect(page);
    app.refuseWith(503);
    const arrived = app.nextCommand();
    const id = await create(page, 60);
    await arrived;
    await chromium.kill();
    app.refuseWith(undefined);
    const applied = app.nextApplied();
    chromium = await chromium.relaunch();
    await applied;
    const later = await chromium.openPage(app.origin);
    await connect(later);
    expect(await settled(later, id)).toMatchObject({ type: 'uploaded', id });
    expect(app.applied).toHaveLength(1);
    await chromium.close();
    await app.stop();
  });

  it('[W21, W20] with every tab closed the browser comes back until the server answers', async () => {
    const app = await serveLine();
    const chromium = await launchChromium({ args: FAST_SYNC_FLAGS });
    const page = await chromium.openPage(app.origin);
    await connect(page);
    app.refuseWith(503);
    const arrived = app.nextCommand();
    const id = await create(page, 60);
    await arrived;
    await page.close();
    await app.nextCommand();
    const applied = app.nextApplied();
    app.refuseWith(undefined);
    await applied;
    const later = await chromium.openPage(app.origin);
    await connect(later);
    expect(await settled(later, id)).toMatchObject({ type: 'uploaded', id });
    expect(app.applied).toHaveLength(1);
    await chromium.close();
    await app.stop();
  });
});
