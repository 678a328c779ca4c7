/** A connection that is really gone: the browser's network interface is pulled and put back, with no emulation anywhere. */
import type { Page } from 'puppeteer';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LineApp, serveLine } from './line/line-app.ts';
import { connect, create, flush, settled, viewOnce } from './line/line-calls.ts';
import { type Chromium, FAST_SYNC_FLAGS, launchChromium } from './support/launch-chromium.ts';
import { type NetworkNamespace, openNetworkNamespace, whyNoNamespace } from './support/network-namespace.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

const trouble = whyNoNamespace();
if (trouble !== undefined) console.warn(`Suites without a network are skipped here. ${trouble}`);

describe.skipIf(trouble !== undefined)('without a network', () => {
  let app: LineApp;
  let network: NetworkNamespace;
  let chromium: Chromium;
  let page: Page;

  beforeEach(async () => {
    [app, network] = await Promise.all([serveLine(), openNetworkNamespace()]);
    await network.forward(app.port);
    chromium = await launchChromium({ namespace: network, args: FAST_SYNC_FLAGS });
    page = await chromium.openPage(app.origin);
    expect(await connect(page)).toBe('worker');
    await settled(page, await create(page, 1));
  });
  afterEach(async () => {
    await chromium.close();
    await app.stop();
    await network.remove();
  });

  const commands = () => app.requests.filter(({ method }) => method === 'POST').length;
  const pulled = async (): Promise<void> => {
    network.linkDown();
    await viewOnce(page, ({ connection }) => connection === 'offline');
  };
  /** Nothing of the app is open any more. */
  const closePage = async (): Promise<void> => {
    await page.close();
    const urls = (await chromium.browser.pages()).map((one) => one.url());
    expect(urls.filter((url) => url.startsWith(app.origin))).toEqual([]);
  };

  it('[W22, W20] stores without asking for anything, and sends as soon as the network is back', async () => {
    await pulled();
    const ids = [await create(page, 2), await create(page, 3)];
    // The server would answer: loopback is up. Nobody asks it.
    expect(await flush(page)).toMatchObject({ stoppedBy: 'network', remaining: { queued: 2 } });
    expect(commands()).toBe(1);
    network.linkUp();
    expect(await Promise.all(ids.map((id) => settled(page, id)))).toMatchObject([
      { type: 'uploaded' },
      { type: 'uploaded' },
    ]);
    expect(ids.map(app.sent)).toEqual([1, 1]);
  });

  it.each([
    { worker: 'running', isStopped: false },
    { worker: 'stopped', isStopped: true },
  ])(
    '[W20, W21, W22] with every tab closed and the worker $worker, the network’s return is enough',
    async ({ isStopped }) => {
      await pulled();
      const ids = [await create(page, 2), await create(page, 3), await create(page, 4)];
      await flush(page);
      if (isStopped) await (await openServiceWorkerControl(page)).stop();
      await closePage();
      expect(commands()).toBe(1);
      network.linkUp();
      await app.whenApplied(4);
      page = await chromium.openPage(app.origin);
      await connect(page);
      expect(await Promise.all(ids.map((id) => settled(page, id)))).toMatchObject(
        ids.map((id) => ({ type: 'uploaded', id })),
      );
      expect(ids.map(app.sent)).toEqual([1, 1, 1]);
      expect(await viewOnce(page, ({ isReady }) => isReady)).toMatchObject({
        rows: [],
        triggers: { sync: 'proven' },
      });
    },
  );

  it('[W12, W21, W22] killed and launched again without a network, it waits for it, with no page open', async () => {
    await pulled();
    const id = await create(page, 2);
    await flush(page);
    await chromium.kill();
    chromium = await chromium.relaunch();
    network.linkUp();
    await app.whenApplied(2);
    page = await chromium.openPage(app.origin);
    await connect(page);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded', id });
    expect(app.sent(id)).toBe(1);
  });

  it('[W21] a server that is not there yet when the network returns is asked again, with no page open', async () => {
    await pulled();
    const id = await create(page, 2);
    await flush(page);
    await closePage();
    app.refuseWith(503);
    const refused = app.nextCommand();
    network.linkUp();
    await refused;
    const again = app.nextCommand();
    await again;
    app.refuseWith(undefined);
    await app.whenApplied(2);
    page = await chromium.openPage(app.origin);
    await connect(page);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded', id });
    expect(app.applied).toHaveLength(2);
  });
});
