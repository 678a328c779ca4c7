/** What a test calls in a page of this app. */
import { connectOutbox } from '../../client/connect-outbox.ts';
import type { Outbox } from '../../client/outbox.ts';
import type { ViewSnapshot } from '../../client/view-snapshot.ts';
import { setClock } from './clock.ts';
import { definition } from './definition.ts';
import { type ReleaseOptions, setupOf } from './sending.ts';

export type ClaimsOutbox = Outbox<typeof definition.families>;

export interface ClaimsPage {
  /** `page`: the engine runs in this page, as `options` say. */
  connect(host: ViewSnapshot['host'], options?: ReleaseOptions): Promise<ViewSnapshot['host']>;
  readonly outbox: ClaimsOutbox;
  /** Sets the clocks of this page and of every worker of its origin, in ms ahead of the real one. */
  setClock(aheadMs: number): Promise<void>;
}

declare global {
  var claims: ClaimsPage;
}

const SCRIPT = '/sw.js';

export function drivePage(): void {
  let connected: ClaimsOutbox | undefined;
  globalThis.claims = {
    async connect(host, options = {}) {
      connected = await connectOutbox(definition, {
        worker: host === 'page' ? 'page' : SCRIPT,
        owner: 'ada',
        fallback: () => setupOf(options),
      });
      return connected.view.getSnapshot().host;
    },
    get outbox() {
      if (!connected) throw new Error('Not connected');
      return connected;
    },
    async setClock(aheadMs) {
      setClock(aheadMs);
      const registration = await navigator.serviceWorker.getRegistration();
      const { active, waiting, installing } = registration ?? {};
      for (const worker of [active, waiting, installing]) {
        if (!worker || worker.state === 'redundant') continue;
        await new Promise((resolve) => {
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = resolve;
          worker.postMessage({ setClock: aheadMs }, [port2]);
        });
      }
    },
  };
}
