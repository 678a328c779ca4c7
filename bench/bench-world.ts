/** One Chromium, one server per protocol, and pages on origins of their own, driven through `globalThis.bench`. */
import type { Page } from 'puppeteer';
import { buildFixture } from '../e2e/support/build-fixture.ts';
import { type Chromium, launchChromium } from '../e2e/support/launch-chromium.ts';
import type { CdpSession } from '../e2e/support/raw-cdp.ts';
import {
  openServiceWorkerControl,
  type ServiceWorkerControl,
} from '../e2e/support/service-worker-control.ts';
import { type BenchServer, serveBench } from './bench-server.ts';
import type { OutboxPage } from './page/outbox.ts';
import type { PeersPage } from './page/peers.ts';

type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

/** A page's methods, called from here. */
export interface Remote<Api extends Methods> {
  call<Name extends keyof Api & string>(
    name: Name,
    ...args: Parameters<Api[Name]>
  ): Promise<Awaited<ReturnType<Api[Name]>>>;
  readonly page: Page;
  readonly origin: string;
  readonly workers: ServiceWorkerControl;
  /** DevTools in the running worker. */
  attach(): Promise<CdpSession>;
}

export interface OutboxAt extends Remote<OutboxPage> {
  readonly worker: string;
}

export interface BenchWorld {
  readonly server: BenchServer;
  /** Over HTTP/2, with TLS. */
  readonly secure: BenchServer;
  /** A fresh outbox on an origin of its own, signed in and paused. */
  openOutbox(
    name: string,
    options?: { server?: BenchServer; concurrency?: number; isEncrypted?: boolean },
  ): Promise<OutboxAt>;
  /** The page of the peers, with their worker running. */
  openPeers(name: string, server?: BenchServer): Promise<Remote<PeersPage>>;
  /** Chromium's process, whose children do the work: for measuring processor time. */
  readonly pid: number | undefined;
  close(): Promise<void>;
}

const html = (script: string): string =>
  `<!doctype html><meta charset="utf-8"><title>bench</title><script src="${script}"></script>`;

/** `minify: false` keeps names for profiles. */
export async function openBenchWorld({ minify = true } = {}): Promise<BenchWorld> {
  const source = (file: string) => buildFixture({ entry: { file }, minify });
  const [outboxPage, outboxWorker, peersPage, peersWorker] = await Promise.all(
    ['page/outbox.ts', 'worker/outbox.ts', 'page/peers.ts', 'worker/peers.ts'].map((file) =>
      source(`bench/${file}`),
    ),
  );
  const files = new Map([
    ['/outbox.html', html('/outbox-page.js')],
    ['/peers.html', html('/peers-page.js')],
    ['/outbox-page.js', outboxPage ?? ''],
    ['/outbox.js', outboxWorker ?? ''],
    ['/peers-page.js', peersPage ?? ''],
    ['/peers.js', peersWorker ?? ''],
  ]);
  const server = await serveBench(files, 'http1');
  const secure = await serveBench(files, 'http2');
  const chromium = await launchChromium({ acceptInsecureCerts: true });

  async function open<Api extends Methods>(origin: string, path: string): Promise<Remote<Api>> {
    const page = await chromium.openPage(`${origin}${path}`);
    page.on('pageerror', (error) => console.error(`In the page: ${String(error)}`));
    const workers = await openServiceWorkerControl(page);
    return {
      page,
      origin,
      workers,
      attach: () => attachTo(chromium, origin),
      // The page's own methods, by name: their types are the page's (`Api`).
      call: (name, ...args) =>
        page.evaluate(
          (method, given) =>
            (globalThis as unknown as { bench: Methods }).bench[method]?.(...(given as never[])),
          name,
          args,
        ) as never,
    };
  }

  return {
    server,
    secure,
    pid: chromium.browser.process()?.pid,
    async openOutbox(name, { server: on = server, concurrency = 6, isEncrypted = false } = {}) {
      const remote = await open<OutboxPage>(on.originOf(name), '/outbox.html');
      const worker = `/outbox.js?concurrency=${concurrency}${isEncrypted ? '&encrypted' : ''}`;
      await remote.call('connect', worker);
      await remote.call('pause');
      return { ...remote, worker };
    },
    async openPeers(name, on = server) {
      const remote = await open<PeersPage>(on.originOf(name), '/peers.html');
      await remote.call('register');
      return remote;
    },
    async close() {
      await chromium.close();
      await Promise.all([server.close(), secure.close()]);
    },
  };
}

/** Past this the witnesses have written all they will, and nothing wakes a worker. */
const QUIET_MS = 3_000;

export async function quiet(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
}

/** As the browser does with an idle one. */
export async function stopWorker({ workers }: Pick<OutboxAt, 'workers'>): Promise<void> {
  await quiet();
  // Something may have woken it in the same moment.
  await workers.stop().catch(() => workers.stop());
}

async function attachTo(chromium: Chromium, origin: string): Promise<CdpSession> {
  return await (await chromium.connectCdp()).attachServiceWorker(origin);
}
