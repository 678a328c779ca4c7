/** The live view in React, with a long queue. */
import type { Page } from 'puppeteer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCommandServer } from './line/command-server.ts';
import { buildFixture } from './support/build-fixture.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type AppServer, serveApp } from './support/serve-app.ts';

const ROWS = 10_000;

describe('React over the live view', () => {
  let app: AppServer;
  let chromium: Chromium;
  let page: Page;

  beforeAll(async () => {
    const [worker, script] = await Promise.all([
      buildFixture({ entry: { file: 'e2e/react/worker.ts' } }),
      buildFixture({ entry: { file: 'e2e/react/page.ts' } }),
    ]);
    const { route } = createCommandServer();
    app = await serveApp({
      files: new Map([
        [
          '/index.html',
          '<!doctype html><meta charset="utf-8"><title>react</title><body><script src="/page.js"></script>',
        ],
        ['/page.js', script],
        ['/sw.js', worker],
      ]),
      route,
    });
    chromium = await launchChromium();
    page = await chromium.openPage(app.origin);
    await page.evaluate(async (count) => {
      await globalThis.reactPage.connect();
      await globalThis.reactPage.outbox.pause();
      await globalThis.reactPage.seed(count);
    }, ROWS);
    await page.reload();
    await page.evaluate(async () => {
      await globalThis.reactPage.connect();
      await globalThis.reactPage.mount();
    });
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });
  const facts = () => page.evaluate(() => globalThis.reactPage.facts());

  it('[W18] shows 10,000 rows in one render of each part', async () => {
    expect(await facts()).toMatchObject({
      renders: { head: 1, list: 1, foot: 1 },
      rowRenders: ROWS,
      tears: 0,
      shown: { rows: ROWS, head: `${ROWS} ${ROWS}`, foot: `${ROWS} ${ROWS}` },
    });
  });

  it('[W18] renders once per publication while rows drain, untorn, and only rows that changed', async () => {
    await page.evaluate(async (atMost) => {
      const { outbox, untilRows } = globalThis.reactPage;
      await outbox.resume();
      await untilRows(atMost);
      await outbox.pause();
      // What was under way has ended by then.
      await outbox.flush();
    }, ROWS - 300);
    const { published, renders, rowRenders, tears, shown, rows } = await facts();
    expect(published).toBeGreaterThan(2);
    const each = published + 1;
    expect(renders).toEqual({ head: each, list: each, foot: each });
    expect(tears).toBe(0);
    expect(shown.rows).toBe(rows);
    expect(shown.head).toBe(shown.foot);
    // A row is shown waiting and being sent; then it is gone.
    expect(rowRenders - ROWS).toBeLessThan(3 * (ROWS - rows) + 600);
  });
});
