/**
 * Runs a suite of `tests/suites/` inside Chromium: bundles an entry that describes it over a real browser's
 * IndexedDB, and gives each of its tests to Vitest as a test of its own.
 */
import { fileURLToPath } from 'node:url';
import { afterAll, describe, it } from 'vitest';
import { buildFixture } from './build-fixture.ts';
import { launchChromium } from './launch-chromium.ts';
import { serveApp } from './serve-app.ts';
import type { BrowserSuite } from './vitest-in-browser.ts';

declare global {
  var holdfastSuite: BrowserSuite;
}

const SHIM = fileURLToPath(new URL('./vitest-in-browser.ts', import.meta.url));

export interface SuiteInBrowser {
  /** Prefix of the titles, e.g. `in Chromium`. */
  readonly name: string;
  /** Path below the repository's root of a module that calls the suite's `describe…` function. */
  readonly entry: string;
}

/** Await at the top of an e2e file: titles must be known before Vitest starts. */
export async function runSuiteInBrowser({ name, entry }: SuiteInBrowser): Promise<void> {
  const code = await buildFixture({
    entry: { file: entry },
    plugins: [
      {
        name: 'vitest-in-browser',
        setup(build) {
          build.onResolve({ filter: /^vitest$/ }, () => ({ path: SHIM }));
        },
      },
    ],
  });
  const app = await serveApp({
    files: new Map([
      ['/index.html', '<!doctype html><meta charset="utf-8"><script src="/suite.js"></script>'],
      ['/suite.js', code],
    ]),
  });
  const chromium = await launchChromium();
  const page = await chromium.browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) =>
    errors.push(error instanceof Error ? (error.stack ?? error.message) : String(error)),
  );
  await page.goto(app.origin);
  if (errors.length > 0) throw new Error(`${entry} failed to load: ${errors.join('; ')}`);
  const titles = await page.evaluate(() => globalThis.holdfastSuite.titles());
  if (titles.length === 0) throw new Error(`${entry} describes no tests`);

  describe(name, () => {
    titles.forEach((title, index) => {
      it(title, async () => {
        const failure = await page.evaluate((i) => globalThis.holdfastSuite.run(i), index);
        if (failure !== undefined) throw new Error(failure);
      });
    });

    afterAll(async () => {
      try {
        await page.evaluate(() => globalThis.holdfastSuite.end());
      } finally {
        await chromium.close();
        await app.stop();
      }
    });
  });
}
