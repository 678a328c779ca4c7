/** The engines beside Chromium, and what was measured of each: what one has not got is asserted, not passed over. */
import type { EngineBrowser, LastingBrowser } from '../support/engine.ts';
import { missingEngine } from '../support/find-browser.ts';
import { launchFirefox } from '../support/launch-firefox.ts';
import { launchMiniBrowser } from '../support/launch-mini-browser.ts';
import { launchWebKit } from '../support/launch-webkit.ts';

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
  has: { ...NEITHER, storage: false },
};
