/**
 * What an app's worker file calls (W1): one function, with the definition and what sending needs. It adds its
 * listeners synchronously and leaves everything else of the worker to the app.
 */
import type { Families, OutboxDefinition } from '../shared/family.ts';
import { channelName } from '../shared/protocol.ts';
import type { Credentials } from './dispatch/credentials.ts';
import { createBroadcaster } from './host/broadcaster.ts';
import { createPageCredentials } from './host/page-credentials.ts';
import { createServiceWorkerHost, type ServiceWorkerHost } from './host/service-worker-host.ts';
import { kvSyncRecord } from './host/sync-record.ts';
import { workboxDoorbell } from './host/workbox-doorbell.ts';
import { type OutboxSetup, startEngine } from './start-engine.ts';

declare const self: ServiceWorkerGlobalScope;

export interface StartOptions<F extends Families> extends Omit<OutboxSetup<F>, 'credentials'> {
  /**
   * `cookies` (default): the browser adds them. `pages`: the `credentials` of `connectOutbox` are asked, and rows are
   * held while no page is open. Or a port of your own (W31).
   */
  readonly credentials?: 'cookies' | 'pages' | Credentials | undefined;
}

/** @throws InvalidOptionError */
export function startOutbox<F extends Families>(
  definition: OutboxDefinition<F>,
  { credentials = 'cookies', ...setup }: StartOptions<F>,
): ServiceWorkerHost {
  const { name = 'holdfast' } = setup;
  const pages = createPageCredentials({
    after: (ms, callback) => environment.timers.after(ms, callback),
    hasPages: async () =>
      (await self.clients.matchAll({ type: 'window', includeUncontrolled: true })).length > 0,
    ask: (owner, refused) => broadcaster.tell({ type: 'credentials', owner, refused }),
  });
  const ports = { cookies: undefined, pages };
  const { engine, environment } = startEngine(definition, {
    ...setup,
    credentials: typeof credentials === 'string' ? ports[credentials] : credentials,
  });
  const { clock, timers, ids } = environment;
  const channel = new BroadcastChannel(channelName(name));
  const isFull = () => engine.storage().reserveGone;
  const broadcaster = createBroadcaster({ channel, timers, isFull });
  return createServiceWorkerHost({
    name,
    realm: self,
    engine,
    clock,
    timers,
    ids,
    broadcaster,
    makeDoorbell: workboxDoorbell,
    record: kvSyncRecord(name, indexedDB),
    credentials: pages,
  });
}
