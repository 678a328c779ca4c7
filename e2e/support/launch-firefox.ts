/** Firefox through Puppeteer (WebDriver BiDi), with a profile of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import puppeteer from 'puppeteer';
import type { EngineBrowser, LastingBrowser } from './engine.ts';
import { findFirefox } from './find-browser.ts';
import { puppeteerTab } from './puppeteer-tab.ts';

/** Nothing calls out of the machine by itself. */
const QUIET = {
  'app.update.enabled': false,
  'browser.safebrowsing.downloads.remote.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'extensions.getAddons.cache.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
};

export interface FirefoxOptions {
  readonly profile?: string | undefined;
  /** How long an idle worker lives, in ms, and then again as long with an event under way. Default 30 s each. */
  readonly workerIdleMs?: number | undefined;
}

export interface Firefox extends EngineBrowser, LastingBrowser {}

export async function launchFirefox(options: FirefoxOptions = {}): Promise<Firefox> {
  const profile = options.profile ?? (await mkdtemp(join(tmpdir(), 'holdfast-firefox-')));
  const { workerIdleMs } = options;
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: findFirefox(),
    userDataDir: profile,
    headless: true,
    extraPrefsFirefox: {
      ...QUIET,
      ...(workerIdleMs !== undefined && {
        'dom.serviceWorkers.idle_timeout': workerIdleMs,
        'dom.serviceWorkers.idle_extended_timeout': workerIdleMs,
      }),
    },
  });

  const kill = async (): Promise<void> => {
    const child = browser.process();
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGKILL');
    await ended;
  };
  return {
    version: await browser.version(),
    async openTab(url) {
      const page = await browser.newPage();
      await page.goto(url);
      return puppeteerTab(page);
    },
    async open(url) {
      await (await browser.newPage()).goto(url);
    },
    kill,
    relaunch: () => launchFirefox({ ...options, profile }),
    async close() {
      await Promise.race([browser.close().catch(() => undefined), wait(5_000, undefined, { ref: false })]);
      await kill();
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
