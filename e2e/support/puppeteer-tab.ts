/** A tab of a browser that Puppeteer drives. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Page } from 'puppeteer';
import type { EngineTab } from './engine.ts';

const POLL_MS = 15;

export function puppeteerTab(page: Page): EngineTab {
  return {
    async run<Args extends readonly unknown[], T>(
      work: (...args: Args) => T | Promise<T>,
      ...args: Args
    ): Promise<Awaited<T>> {
      // What the page answers is what the function's type says: the same function runs there.
      return (await page.evaluate(`(${String(work)})(...${JSON.stringify(args)})`)) as Awaited<T>;
    },
    async goto(url) {
      await page.goto(url);
    },
    async back() {
      // Not `goBack`, which waits for a load: a page that was kept is not loaded.
      const left = page.url();
      await page.evaluate('void setTimeout(() => history.back(), 0)');
      while ((await page.evaluate('location.href').catch(() => left)) === left) await wait(POLL_MS);
    },
    show: () => page.bringToFront(),
    async hide() {
      const [first] = await page.browser().pages();
      await first?.bringToFront();
    },
    setOffline: (isOff) => page.setOfflineMode(isOff),
    close: () => page.close(),
  };
}
