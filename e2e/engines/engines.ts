/** The engines, and what was measured of each: what one has not got is asserted, not passed over. */
import type { Triggers } from '../../shared/protocol.ts';
import type { EngineBrowser, LastingBrowser } from '../support/engine.ts';
import { missingEngine } from '../support/find-browser.ts';
import { type Chromium, launchChromium } from '../support/launch-chromium.ts';
import { launchFirefox } from '../support/launch-firefox.ts';
import { launchMiniBrowser } from '../support/launch-mini-browser.ts';
import { launchWebKit } from '../support/launch-webkit.ts';
import { puppeteerTab } from '../support/puppeteer-tab.ts';

export interface Engine {
  readonly name: string;
  /** Why it cannot run here, in one line. */
  readonly missing: string | undefined;
  launch(): Promise<EngineBrowser>;
  /** With workers that are ended soon after the last tab is closed; absent where that takes longer than a test may. */
  readonly launchHasty?: (() => Promise<EngineBrowser>) | undefined;
  /** Its pages act by themselves (`beside.ts`), since not every engine has a driver that keeps the profile. */
  launchLasting(): Promise<LastingBrowser>;
  /** Its driver switches a page's network off and on. */
  readonly switchesNetwork: boolean;
  /** What the live view says of Background Sync. */
  readonly sync: Triggers['sync'];
  /** What a page finds. */
  readonly has: {
    readonly SyncManager: boolean;
    readonly PeriodicSyncManager: boolean;
    readonly storageBuckets: boolean;
    readonly storage: boolean;
    readonly setAppBadge: boolean;
    readonly locks: boolean;
    readonly BroadcastChannel: boolean;
  };
}

const NEITHER = {
  SyncManager: false,
  PeriodicSyncManager: false,
  storageBuckets: false,
  setAppBadge: false,
  locks: true,
  BroadcastChannel: true,
} as const;

async function launchWithoutSync(): Promise<EngineBrowser> {
  const chromium = await launchChromium({ keepPages: true });
  const session = await chromium.browser.target().createCDPSession();
  const permission = { name: 'background-sync' };
  await session.send('Browser.setPermission', { permission, setting: 'denied' });
  return {
    version: await chromium.browser.version(),
    openTab: async (url) => puppeteerTab(await chromium.openPage(url)),
    close: chromium.close,
  };
}

/** Without Background Sync, which is judged by suites of its own: here the other triggers have to do without it. */
export const chromium: Engine = {
  name: 'Chromium',
  missing: undefined,
  launch: launchWithoutSync,
  async launchLasting() {
    const lasting = (browser: Chromium): LastingBrowser => ({
      async open(url) {
        await browser.openPage(url);
      },
      kill: browser.kill,
      relaunch: async () => lasting(await browser.relaunch()),
      close: browser.close,
    });
    return lasting(await launchChromium());
  },
  switchesNetwork: true,
  sync: 'refused',
  has: {
    ...NEITHER,
    SyncManager: true,
    PeriodicSyncManager: true,
    storageBuckets: true,
    storage: true,
    setAppBadge: true,
  },
};

export const firefox: Engine = {
  name: 'Firefox',
  get missing() {
    return missingEngine('firefox');
  },
  launch: launchFirefox,
  // Its two limits of 30 s each are settings.
  launchHasty: () => launchFirefox({ workerIdleMs: 1_000 }),
  launchLasting: launchFirefox,
  switchesNetwork: true,
  sync: 'missing',
  has: { ...NEITHER, storage: true },
};

export const webkit: Engine = {
  name: 'WebKitGTK',
  get missing() {
    return missingEngine('webkit');
  },
  launch: launchWebKit,
  launchHasty: launchWebKit,
  // A driver's profile is in memory; without a driver it is on the disk.
  launchLasting: launchMiniBrowser,
  switchesNetwork: false,
  sync: 'missing',
  has: { ...NEITHER, storage: false },
};
