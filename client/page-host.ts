/**
 * The same engine in the page, where no worker can be had (W40): over the same database and claims, so that several
 * tabs, and a worker that appears later, share one outbox. Loaded on demand; the only door from `client/` to `sw/`.
 */
import type { Families, OutboxDefinition } from '../shared/family.ts';
import { channelName, PROTOCOL, RELEASE } from '../shared/protocol.ts';
import { createBroadcaster } from '../sw/host/broadcaster.ts';
import { createWorkerApi, NOTHING_HANDED_OVER } from '../sw/host/worker-api.ts';
import { type OutboxSetup, startEngine } from '../sw/start-engine.ts';
import type { HostLink } from './worker-link.ts';

export type PageHostSetup<F extends Families = Families> = OutboxSetup<F>;

export function createPageHost<F extends Families>(
  definition: OutboxDefinition<F>,
  name: string,
  setup: PageHostSetup<F>,
): HostLink {
  const { engine, environment } = startEngine(definition, { ...setup, name });
  const { clock, timers } = environment;
  const channel = new BroadcastChannel(channelName(name));
  const isFull = () => engine.storage().reserveGone;
  const broadcaster = createBroadcaster({ channel, timers, isFull });
  const { tell } = broadcaster;
  engine.onChange(broadcaster.change);
  engine.onProgress(broadcaster.progress);
  engine.onStorage(() => tell({ type: 'storage' }));
  void engine.locked.then(() => tell({ type: 'host', host: engine.host }));
  const api = createWorkerApi({
    engine,
    clock,
    timers,
    facts: async () => ({
      protocol: PROTOCOL,
      release: RELEASE,
      host: engine.host,
      kind: 'page',
      triggers: { sync: 'missing', periodicSync: false },
    }),
    ring: (cause) => engine.flushActive(cause),
    start: (cause) =>
      engine.flushActive(cause).then(
        () => undefined,
        () => undefined,
      ),
    ownerChanged: (active, discarded) => tell({ type: 'active', active, discarded }),
    credentials: NOTHING_HANDED_OVER,
  });
  return {
    // Nothing lies between: the engine's own limits end every call, and a page that ends takes its calls with it.
    call: (use) => use(api),
  };
}
