/** What the suites of claims ask of their pages. */
import type { Page } from 'puppeteer';
import type { ViewSnapshot } from '../../client/view-snapshot.ts';
import type { FlushResult, Settled } from '../../shared/outcome.ts';
import { type Broadcast, channelName, hostLockName } from '../../shared/protocol.ts';
import { openServiceWorkerControl } from '../support/service-worker-control.ts';
import type { ReleaseOptions } from './sending.ts';

export type Host = ViewSnapshot['host'];

/** A workout as the reference server takes it. */
export const BODY = { date: '2026-11-30', exercise: 'Squat', weightKg: 60 };

/** Answers which host it got. */
export const connect = (page: Page, host: Host, options: ReleaseOptions = {}): Promise<Host> =>
  page.evaluate((which, given) => globalThis.claims.connect(which, given), host, options);

export const create = (page: Page, weightKg = 60): Promise<string> =>
  page.evaluate(async (body) => (await globalThis.claims.outbox.workout.create(body)).id, {
    ...BODY,
    weightKg,
  });
export const flush = (page: Page): Promise<FlushResult> =>
  page.evaluate(() => globalThis.claims.outbox.flush());
export const pause = (page: Page): Promise<void> => page.evaluate(() => globalThis.claims.outbox.pause());
export const resume = (page: Page): Promise<void> => page.evaluate(() => globalThis.claims.outbox.resume());
export const settled = (page: Page, id: string): Promise<Settled> =>
  page.evaluate((of) => globalThis.claims.outbox.settled(of, { final: true }), id);
export const setClock = (page: Page, aheadMs: number): Promise<void> =>
  page.evaluate((ms) => globalThis.claims.setClock(ms), aheadMs);

export const update = (page: Page, workout: string, weightKg: number, revision?: number) =>
  page.evaluate(
    async (target, patch, options) => {
      const handle = await globalThis.claims.outbox.workout.update(target, patch, options);
      const { id, origin, action, removed, row } = handle;
      return { id, origin, action, removed, row };
    },
    workout,
    { weightKg },
    { revision },
  );
export const lockIsHeld = (page: Page, host: string | undefined): Promise<boolean> =>
  page.evaluate(
    async (name) => {
      const { held = [] } = await navigator.locks.query();
      return held.some((lock) => lock.name === name);
    },
    hostLockName(host ?? ''),
  );

/** Resolves when nobody holds it; the browser frees it a moment after its realm has ended. */
export const lockIsFree = (page: Page, host: string | undefined): Promise<void> =>
  page.evaluate((name) => navigator.locks.request(name, () => undefined), hostLockName(host ?? ''));

/** Resolves when the live view shows so many rows in flight. */
export const sendingOnce = (page: Page, count: number): Promise<void> =>
  page.evaluate(
    (wanted) =>
      new Promise<void>((resolve) => {
        const { view } = globalThis.claims.outbox;
        const look = (): void => {
          if (view.getSnapshot().counts.sending === wanted) resolve();
        };
        view.subscribe(look);
        look();
      }),
    count,
  );

/** Fetches the worker's script anew, and resolves when the new worker has been installed. */
export async function updateWorker(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready;
    const found = new Promise<ServiceWorker>((resolve) => {
      registration.onupdatefound = () => registration.installing && resolve(registration.installing);
    });
    await registration.update();
    const worker = await found;
    const reached = (...states: readonly ServiceWorkerState[]): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (states.includes(worker.state)) resolve();
        };
        worker.addEventListener('statechange', look);
        look();
      });
    globalThis.claimsActivated = reached('activated');
    await reached('installed', 'activating', 'activated');
  });
}

/**
 * Makes the new worker the active one: Chromium waits for a moment at which the old one has nothing to do, up to five
 * minutes, unless it is stopped; and a page that calls it may have started it again.
 */
export async function activateNew(page: Page): Promise<void> {
  const control = await openServiceWorkerControl(page);
  for (let isActive = false; !isActive; ) {
    await control.stop();
    isActive = await page.evaluate(() =>
      Promise.race([
        globalThis.claimsActivated.then(() => true),
        new Promise<false>((resolve) => setTimeout(resolve, 500, false)),
      ]),
    );
  }
  await control.close();
}

/** Resolves when a worker that has just been started has done what it does at its start, a second later, by itself. */
export const whenStarted = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    const { active } = await navigator.serviceWorker.ready;
    await new Promise<void>((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve();
      active?.postMessage('AFTER_START', [port2]);
    });
  });

/** From now on the page listens for the end of a drain, whichever host's. */
export async function watchDrains(page: Page): Promise<void> {
  await page.evaluate((name) => {
    const channel = new BroadcastChannel(name);
    globalThis.claimsDrained = new Promise((resolve) => {
      channel.onmessage = ({ data }: MessageEvent<readonly Broadcast[]>) => {
        if (data.some((message) => message.type === 'progress' && !message.running)) resolve();
      };
    });
  }, channelName('holdfast'));
}

export const whenDrained = (page: Page): Promise<void> => page.evaluate(() => globalThis.claimsDrained);

/** Hosts that announce themselves to this page are written down from now on. */
export async function watchHosts(page: Page): Promise<void> {
  await page.evaluate((name) => {
    const hosts: string[] = [];
    globalThis.claimsHosts = hosts;
    new BroadcastChannel(name).onmessage = ({ data }: MessageEvent<readonly Broadcast[]>) => {
      for (const message of data) if (message.type === 'host') hosts.push(message.host);
    };
  }, channelName('holdfast'));
}

export const heardHosts = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => globalThis.claimsHosts);

declare global {
  var claimsHosts: readonly string[];
  var claimsActivated: Promise<void>;
  var claimsDrained: Promise<void>;
}
