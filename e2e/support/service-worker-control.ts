/** Stops, wakes and cuts off service workers from outside, through DevTools. */
import type { Page } from 'puppeteer';
import type { RawCdp } from './raw-cdp.ts';

export type RunningStatus = 'stopped' | 'starting' | 'running' | 'stopping';

export interface WorkerVersion {
  readonly versionId: string;
  readonly registrationId: string;
  readonly scriptURL: string;
  readonly runningStatus: RunningStatus;
  readonly status: string;
}

interface WorkerRegistration {
  readonly registrationId: string;
  readonly scopeURL: string;
  readonly isDeleted: boolean;
}

export interface ServiceWorkerControl {
  /** Stops every worker of this origin at once, as the browser does, and resolves when they have been stopped. */
  stop(): Promise<void>;
  /** Fires a `sync` event, whatever is registered; starts a stopped worker. */
  sync(tag: string, options?: { readonly lastChance?: boolean }): Promise<void>;
  periodicSync(tag: string): Promise<void>;
  versions(): readonly WorkerVersion[];
  /** The newest version that is not redundant. */
  status(): RunningStatus | undefined;
  waitForStatus(status: RunningStatus): Promise<void>;
  readonly errors: readonly string[];
  close(): Promise<void>;
}

const WAIT_LIMIT_MS = 10_000;

export async function openServiceWorkerControl(page: Page): Promise<ServiceWorkerControl> {
  const session = await page.createCDPSession();
  const origin = new URL(page.url()).origin;
  const versions = new Map<string, WorkerVersion>();
  const registrations = new Map<string, WorkerRegistration>();
  const errors: string[] = [];
  /** Versions that were seen stopped since this was emptied. A call may have started them again at once. */
  const stopped = new Set<string>();
  const waiting = new Set<() => void>();

  session.on('ServiceWorker.workerRegistrationUpdated', (event) => {
    for (const registration of event.registrations) {
      registrations.set(registration.registrationId, registration);
    }
    for (const check of waiting) check();
  });
  session.on('ServiceWorker.workerVersionUpdated', (event) => {
    for (const version of event.versions) {
      versions.set(version.versionId, version);
      if (version.runningStatus === 'stopped') stopped.add(version.versionId);
    }
    for (const check of waiting) check();
  });
  session.on('ServiceWorker.workerErrorReported', (event) => {
    errors.push(event.errorMessage.errorMessage);
  });
  await session.send('ServiceWorker.enable');

  const own = (): readonly WorkerVersion[] =>
    [...versions.values()].filter((v) => v.scriptURL.startsWith(origin) && v.status !== 'redundant');

  function until(condition: () => boolean, what: string): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(check);
        reject(new Error(`${what}: not within ${WAIT_LIMIT_MS} ms; ${JSON.stringify(own())}`));
      }, WAIT_LIMIT_MS);
      const check = (): void => {
        if (!condition()) return;
        clearTimeout(timer);
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
    });
  }

  const living = (): readonly WorkerRegistration[] =>
    [...registrations.values()].filter((r) => !r.isDeleted && r.scopeURL.startsWith(origin));

  // What is registered is told by events after `enable`; before that nothing here would be true.
  const count = await page.evaluate(async () =>
    'serviceWorker' in navigator ? (await navigator.serviceWorker.getRegistrations()).length : 0,
  );
  await until(() => living().length >= count && (count === 0 || own().length > 0), 'Registrations told');

  function registrationId(): string {
    const last = living().at(-1);
    if (last === undefined) throw new Error(`No service worker is registered under ${origin}`);
    return last.registrationId;
  }

  return {
    errors,
    async stop() {
      const running = own().filter((v) => v.runningStatus !== 'stopped');
      stopped.clear();
      await session.send('ServiceWorker.stopAllWorkers');
      await until(() => running.every((v) => stopped.has(v.versionId)), 'All workers stopped');
    },
    async sync(tag, syncOptions) {
      const lastChance = syncOptions?.lastChance ?? false;
      await session.send('ServiceWorker.dispatchSyncEvent', {
        origin,
        registrationId: registrationId(),
        tag,
        lastChance,
      });
    },
    async periodicSync(tag) {
      await session.send('ServiceWorker.dispatchPeriodicSyncEvent', {
        origin,
        registrationId: registrationId(),
        tag,
      });
    },
    versions: own,
    status: () => own().at(-1)?.runningStatus,
    waitForStatus: (status) => until(() => own().at(-1)?.runningStatus === status, `Worker ${status}`),
    close: () => session.detach(),
  };
}

export interface WorkerOffline {
  /** Always lift before the worker is stopped: stopped while offline, no `sync` event reaches it until relaunch. */
  lift(): Promise<void>;
}

/**
 * Cuts the worker's own network: its `fetch` rejects, `navigator.onLine` is false, `sync` is held back. Offline
 * emulation on a page does not reach its worker.
 */
export async function setWorkerOffline(cdp: RawCdp, urlPrefix: string): Promise<WorkerOffline> {
  const session = await cdp.attachServiceWorker(urlPrefix);
  const rest = { latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', { offline: true, ...rest });
  return {
    async lift() {
      await session.send('Network.emulateNetworkConditions', { offline: false, ...rest });
      await session.detach();
    },
  };
}
