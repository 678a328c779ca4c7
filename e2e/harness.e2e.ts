/** The browser harness itself: what the other suites take for granted. */
import type { Page } from 'puppeteer';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildFixture } from './support/build-fixture.ts';
import { listDatabases, readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { runSuiteInBrowser } from './support/run-suite-in-browser.ts';
import { type AppServer, serveApp } from './support/serve-app.ts';
import { openServiceWorkerControl, setWorkerOffline } from './support/service-worker-control.ts';

const WORKER = `
  const boot = crypto.randomUUID();
  self.addEventListener('install', () => self.skipWaiting());
  self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener('message', (event) => {
    const port = event.ports[0];
    event.waitUntil((async () => {
      const fetched = event.data === 'fetch' ? await fetch('/api/hit').then((r) => r.status, () => 'failed') : undefined;
      port.postMessage({ boot, fetched, onLine: navigator.onLine });
    })());
  });
  self.addEventListener('sync', (event) => event.waitUntil(fetch('/api/sync?tag=' + event.tag)));
`;

const PAGE = `<!doctype html><meta charset="utf-8"><title>harness</title>`;

interface Pong {
  readonly boot: string;
  readonly fetched: number | 'failed' | undefined;
  readonly onLine: boolean;
}

async function ping(page: Page, message: 'ping' | 'fetch' = 'ping'): Promise<Pong> {
  return await page.evaluate(async (text) => {
    const registration = await navigator.serviceWorker.ready;
    const channel = new MessageChannel();
    const answer = new Promise<Pong>((resolve) => {
      channel.port1.onmessage = (event) => resolve(event.data);
    });
    registration.active?.postMessage(text, [channel.port2]);
    return await answer;
  }, message);
}

async function register(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.register('/sw.js');
    await navigator.serviceWorker.ready;
  });
}

describe('the browser harness', () => {
  let app: AppServer;
  let chromium: Chromium;
  let page: Page;

  beforeAll(async () => {
    const worker = await buildFixture({ entry: { source: WORKER } });
    app = await serveApp({
      files: new Map([
        ['/index.html', PAGE],
        ['/sw.js', worker],
      ]),
      route(_request, response, url) {
        if (!url.pathname.startsWith('/api/')) return false;
        response.writeHead(204).end();
        return true;
      },
    });
    chromium = await launchChromium();
  });
  beforeEach(async () => {
    page = await chromium.openPage(app.origin);
    await register(page);
  });
  afterAll(async () => {
    await chromium.close();
    await app.stop();
  });

  it('stops a worker, and the next message starts it anew', async () => {
    const control = await openServiceWorkerControl(page);
    const before = await ping(page);
    await control.stop();
    expect(control.status()).toBe('stopped');
    const after = await ping(page);
    expect(after.boot).not.toBe(before.boot);
    expect(control.errors).toEqual([]);
    await control.close();
  });

  it('fires a sync event at a stopped worker', async () => {
    const control = await openServiceWorkerControl(page);
    await control.stop();
    const arrived = app.nextRequest((request) => request.path === '/api/sync?tag=harness');
    await control.sync('harness');
    expect(await arrived).toMatchObject({ method: 'GET' });
    // The request may be here before the news of the worker's state is.
    await control.waitForStatus('running');
    await control.close();
  });

  it('cuts a worker off from the network and lets it go on', async () => {
    const cdp = await chromium.connectCdp();
    await ping(page);
    const offline = await setWorkerOffline(cdp, app.origin);
    expect(await ping(page, 'fetch')).toMatchObject({ fetched: 'failed', onLine: false });
    await offline.lift();
    expect(await ping(page, 'fetch')).toMatchObject({ fetched: 204, onLine: true });
    cdp.close();
  });

  it('refuses connections while the server is stopped, and listens again on the same port', async () => {
    await ping(page);
    await app.stop();
    expect(await ping(page, 'fetch')).toMatchObject({ fetched: 'failed', onLine: true });
    await app.start();
    expect(await ping(page, 'fetch')).toMatchObject({ fetched: 204 });
  });

  it('kills the browser and finds the same profile after relaunch', async () => {
    await page.evaluate(async () => {
      await new Promise<void>((resolve, reject) => {
        const open = indexedDB.open('kept', 1);
        open.onupgradeneeded = () => open.result.createObjectStore('rows', { keyPath: 'id' });
        open.onsuccess = () => {
          const transaction = open.result.transaction('rows', 'readwrite', { durability: 'strict' });
          transaction.objectStore('rows').put({ id: 1, blob: new Blob(['four']) });
          transaction.oncomplete = () => resolve();
          transaction.onabort = () => reject(transaction.error);
        };
      });
    });
    const before = await ping(page);
    await chromium.kill();
    chromium = await chromium.relaunch();
    page = await chromium.openPage(app.origin);
    expect(await listDatabases(page)).toContain('kept');
    expect(await readDatabase(page, 'kept')).toEqual({ rows: [{ id: 1, blob: { $blob: 4 } }] });
    expect(await readDatabase(page, 'never made')).toBeUndefined();
    const after = await ping(page);
    expect(after.boot).not.toBe(before.boot);
  });
});

await runSuiteInBrowser({ name: 'in Chromium', entry: 'e2e/harness-suite.ts' });
