/**
 * The same engine in the page, where no worker can be had (W40): over the same database and claims, so that several
 * tabs, and a worker that appears later, share one outbox. Loaded on demand; the only door from `client/` to `sw/`.
 */
import type { FlushCause } from '../shared/answers.ts';
import type { Families, OutboxDefinition } from '../shared/family.ts';
import { type Broadcast, channelName, PROTOCOL, RELEASE } from '../shared/protocol.ts';
import { createBroadcaster } from '../sw/host/broadcaster.ts';
import { createWorkerApi, NOTHING_HANDED_OVER } from '../sw/host/worker-api.ts';
import { type OutboxSetup, startEngine } from '../sw/start-engine.ts';
import { followHosts } from './follow-hosts.ts';
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
  const start = (cause: FlushCause): Promise<void> =>
    engine.flushActive(cause).then(
      () => undefined,
      () => undefined,
    );
  // C6: what another host was sending when it ended is taken over within a moment.
  const follow = followHosts(
    () => navigator.locks,
    engine.host,
    () => void start('timer'),
  );
  channel.onmessage = ({ data }: MessageEvent<readonly Broadcast[]>) => {
    for (const message of data) if (message.type === 'host') follow(message.host);
  };
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
    start,
    ownerChanged: (active, discarded) => tell({ type: 'active', active, discarded }),
    credentials: NOTHING_HANDED_OVER,
    areCopies: false,
  });
  return {
    // Nothing lies between: the engine's own limits end every call, and a page that ends takes its calls with it.
    call: (use) => use(api),
  };
}
