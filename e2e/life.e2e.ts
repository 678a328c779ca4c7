/** What a browser is known to do here outlives its workers and itself. */
import type { Page } from 'puppeteer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LineApp, serveLine } from './line/line-app.ts';
import { connect, create, settled, viewOnce } from './line/line-calls.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

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
});
