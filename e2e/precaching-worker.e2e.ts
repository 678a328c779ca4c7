/** Holdfast beside what a worker does already: both apps of examples/precaching-worker, as they are, in real Chromium. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'puppeteer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildBundled, buildClassicExample } from '../examples/precaching-worker/build.mjs';
import { type CommandServer, createCommandServer } from './line/command-server.ts';
import { awaitedLater } from './support/awaited-later.ts';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type AppServer, serveApp } from './support/serve-app.ts';

/** Counts what the worker listens to, and tells it a page that asks. */
const LISTENER_COUNT = `{
  const heard = {};
  const { addEventListener } = self;
  self.addEventListener = (type, ...rest) => {
    heard[type] = (heard[type] ?? 0) + 1;
    addEventListener.call(self, type, ...rest);
  };
  addEventListener.call(self, 'message', ({ data, ports: [port] }) => data === 'LISTENERS' && port.postMessage(heard));
}
`;

const VARIANTS = [
  { is: 'an ES module made by a bundler', build: buildBundled },
  { is: 'a classic script with importScripts', build: buildClassicExample },
];

describe.each(VARIANTS)('a precaching worker that is $is', ({ build }) => {
  let folder: string;
  let server: CommandServer;
  let app: AppServer;
  let chromium: Chromium;
  let page: Page;

  async function deploy(version: string): Promise<void> {
    await build(folder, version);
    const place = join(folder, 'sw.js');
    await writeFile(place, LISTENER_COUNT + (await readFile(place, 'utf8')));
  }
  const status = (text: string) =>
    page.waitForFunction((wanted) => document.querySelector('output')?.value === wanted, {}, text);
  const save = async (text: string): Promise<void> => {
    await page.type('input', text);
    await page.click('form button');
    // Emptied when the note is stored.
    await page.waitForFunction(() => document.querySelector('input')?.value === '');
  };
  const version = () => page.evaluate(async () => (await fetch('/version')).text());
  const waiting = async () => (await readDatabase(page, 'holdfast'))?.['rows'] ?? [];

  beforeAll(async () => {
    chromium = await launchChromium();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdfast-precaching-'));
    server = createCommandServer();
    app = await serveApp({ folder, route: server.route });
    await deploy('1');
    page = await chromium.openPage(app.origin);
    await status('0 waiting');
    // The first visit has no controller, and so no shell from the cache.
    await page.reload();
    await status('0 waiting');
  });
  afterEach(async () => {
    await page.close();
    await app.stop();
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(() => chromium.close());

  it('[W1, W22] opens without a network, stores what is saved then, and sends it on the way back', async () => {
    await app.stop();
    await page.setOfflineMode(true);
    await page.reload();
    await status('0 waiting');
    await save('Milk');
    await status('1 waiting');
    await page.reload();
    await status('1 waiting');
    expect(await waiting()).toHaveLength(1);
    // The app's own `fetch` listener goes on answering.
    expect(await version()).toBe('1');
    await app.start();
    expect(server.applied).toEqual([]);
    await page.setOfflineMode(false);
    await server.whenApplied(1);
    await status('0 waiting');
    expect(server.applied).toMatchObject([{ kind: 'note.create', body: { text: 'Milk' } }]);
    expect(await waiting()).toEqual([]);
  });

  it('[W1] adds no fetch listener to the router’s and the app’s, and answers no message of theirs', async () => {
    const listeners = await page.evaluate(async () => {
      const { port1, port2 } = new MessageChannel();
      const answered = new Promise<Readonly<Record<string, number>>>((resolve) => {
        port1.onmessage = ({ data }: MessageEvent<Readonly<Record<string, number>>>) => resolve(data);
      });
      navigator.serviceWorker.controller?.postMessage('LISTENERS', [port2]);
      return await answered;
    });
    expect(listeners).toMatchObject({ fetch: 2, sync: 2 });
    expect(await version()).toBe('1');
  });

  it('[W1, W2] hands over to the next version when the page says so, and what waited leaves from there', async () => {
    await page.setOfflineMode(true);
    await save('Bread');
    await status('1 waiting');
    await deploy('2');
    await page.evaluate(async () => {
      const registration = await navigator.serviceWorker.ready;
      await registration.update();
    });
    await page.waitForSelector('button.update:not([hidden])');
    expect(await version()).toBe('1');
    const changed = awaitedLater(
      page.evaluate(
        () =>
          new Promise<void>((resolve) =>
            navigator.serviceWorker.addEventListener('controllerchange', () => resolve(), { once: true }),
          ),
      ),
    );
    await page.click('button.update');
    await changed;
    expect(await version()).toBe('2');
    await page.setOfflineMode(false);
    await server.whenApplied(1);
    await save('Butter');
    await server.whenApplied(2);
    await status('0 waiting');
    expect(server.applied.map(({ body }) => body)).toEqual([{ text: 'Bread' }, { text: 'Butter' }]);
    expect(server.applied.map(({ id }) => server.sent(id))).toEqual([1, 1]);
  });
});
