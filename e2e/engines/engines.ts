/** The engines, and what was measured of each: what one has not got is asserted, not passed over. */
import type { Triggers } from '../../shared/protocol.ts';
import type { EngineBrowser, LastingBrowser } from '../support/engine.ts';
import { missingEngine } from '../support/find-browser.ts';
import { type Chromium, launchChromium } from '../support/launch-chromium.ts';
import { launchFirefox } from '../support/launch-firefox.ts';
import { launchMiniBrowser } from '../support/launch-mini-browser.ts';
import { launchWebKit } from '../support/launch-webkit.ts';
import { puppeteerTab } from '../support/puppeteer-tab.ts';
import { openServiceWorkerControl } from '../support/service-worker-control.ts';

export interface Engine {
  readonly name: string;
  /** Why it cannot run here, in one line. */
  readonly missing: string | undefined;
  launch(): Promise<EngineBrowser>;
  /** With workers that are ended soon after the last tab is closed, where that takes longer than a test may. */
  launchHasty(): Promise<EngineBrowser>;
  /** Its pages act by themselves (`beside.ts`), since not every engine has a driver that keeps the profile. */
  launchLasting(): Promise<LastingBrowser>;
  /** Its driver switches a page's network off and on. */
  readonly switchesNetwork: boolean;
  /** Whether a page that is left is kept in memory each time, with nothing waiting and nobody else there. */
  readonly keepsPages: 'always' | 'at times';
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

/** Background Sync is refused, as a person can refuse it, and pages that are left may stay in memory. */
async function launchWithoutSync(): Promise<Chromium> {
  const chromium = await launchChromium({ keepPages: true });
  await refuseSync(chromium);
  return chromium;
}

async function refuseSync({ browser }: Chromium): Promise<void> {
  const session = await browser.target().createCDPSession();
  await session.send('Browser.setPermission', {
    permission: { name: 'background-sync' },
    setting: 'denied',
  });
}

function chromiumBrowser(chromium: Chromium, version: string): EngineBrowser {
  return {
    version,
    async openTab(url) {
      const page = await chromium.openPage(url);
      return {
        ...puppeteerTab(page),
        async periodicSync(tag) {
          const control = await openServiceWorkerControl(page);
          await control.periodicSync(tag);
          await control.close();
        },
      };
    },
    close: chromium.close,
  };
}

async function launchForTabs(): Promise<EngineBrowser> {
  const chromium = await launchWithoutSync();
  return chromiumBrowser(chromium, await chromium.browser.version());
}

/** A worker with an event under way has five minutes: DevTools stop it as the browser does. */
async function launchStopping(): Promise<EngineBrowser> {
  const chromium = await launchWithoutSync();
  const [blank] = await chromium.browser.pages();
  const session = await blank?.createCDPSession();
  await session?.send('ServiceWorker.enable');
  const browser = chromiumBrowser(chromium, await chromium.browser.version());
  return {
    ...browser,
    async openTab(url) {
      const tab = await browser.openTab(url);
      return {
        ...tab,
        async close() {
          await tab.close();
          await session?.send('ServiceWorker.stopAllWorkers');
        },
      };
    },
  };
}

function lasting(chromium: Chromium): LastingBrowser {
  return {
    async open(url) {
      await chromium.openPage(url);
    },
    kill: chromium.kill,
    async relaunch() {
      const next = await chromium.relaunch();
      await refuseSync(next);
      return lasting(next);
    },
    close: chromium.close,
  };
}

/** Without its Background Sync, which suites of its own judge: here the other triggers have to do without. */
export const chromium: Engine = {
  name: 'Chromium',
  missing: undefined,
  launch: launchForTabs,
  launchHasty: launchStopping,
  launchLasting: async () => lasting(await launchWithoutSync()),
  switchesNetwork: true,
  keepsPages: 'always',
  sync: 'refused',
  has: {
    SyncManager: true,
    PeriodicSyncManager: true,
    storageBuckets: true,
    storage: true,
    setAppBadge: true,
    locks: true,
    BroadcastChannel: true,
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
  keepsPages: 'at times',
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
  keepsPages: 'always',
  sync: 'missing',
  has: { ...NEITHER, storage: false },
};
