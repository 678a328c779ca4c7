/**
 * Pages, a worker and the real engine over memory: the engine's test world behind a fake registration, so that a test
 * drives `connectOutbox` as an app does, and stops the worker as a browser does.
 */
import { type ConnectOptions, connectOutbox } from '../../client/connect-outbox.ts';
import type { Outbox } from '../../client/outbox.ts';
import type { PageRealm } from '../../client/page-realm.ts';
import type { Families, OutboxDefinition } from '../../shared/family.ts';
import { channelName } from '../../shared/protocol.ts';
import { createBroadcaster } from '../../sw/host/broadcaster.ts';
import { createWorkerApi, NOTHING_HANDED_OVER } from '../../sw/host/worker-api.ts';
import type { Ledger } from '../../sw/mirror/ledger.ts';
import { createTestWorld, type TestHost, type TestWorld } from '../../sw/testing/create-test-world.ts';
import { createFakeRealm, type FakeRealm } from './fake-realm.ts';
import { createUnsteadyStore, type UnsteadyStore } from './unsteady-store.ts';
import { createFakeWorker, type FakeWorker } from './worker-line.ts';

export interface Page<F extends Families> {
  readonly outbox: Outbox<F>;
  readonly realm: FakeRealm;
  /** As a tab closes: it hears and says nothing any more. */
  close(): void;
}

export interface LineWorld<F extends Families> extends TestWorld {
  readonly worker: FakeWorker;
  /** The outbox's. */
  readonly name: string;
  /** What the workers' hosts have of the store. */
  readonly device: UnsteadyStore;
  /** Ids of the enqueues and causes of the triggers that reached a worker, over all its starts. */
  readonly enqueues: readonly string[];
  readonly causes: readonly string[];
  open(options?: Partial<ConnectOptions<F>>, parts?: Partial<PageRealm['navigator']>): Promise<Page<F>>;
  end(): void;
}

let worlds = 0;

export async function createLineWorld<F extends Families>(
  definition: OutboxDefinition<F>,
  { ledger }: { readonly ledger?: Ledger } = {},
): Promise<LineWorld<F>> {
  const world = createTestWorld({ definition, ledger });
  const store = createUnsteadyStore(world.store);
  const name = `line-${++worlds}`;
  const channels: BroadcastChannel[] = [];
  const pages: Page<F>[] = [];
  const stored = new Map<string, string>();
  const enqueues: string[] = [];
  const causes: string[] = [];
  let running: TestHost | undefined;
  // A worker starts without waiting, so the host of the next start is there before it is needed.
  let next = await world.start(store);

  const worker = createFakeWorker((_, isRunning) => {
    running?.kill();
    const host = next;
    running = host;
    void world.start(store).then((started) => {
      next = started;
    });
    const { engine } = host;
    const channel = new BroadcastChannel(channelName(name));
    channels.push(channel);
    const broadcaster = createBroadcaster({
      channel: { postMessage: (message) => isRunning() && channel.postMessage(message) },
      timers: world.clock,
    });
    engine.onChange(broadcaster.change);
    engine.onProgress(broadcaster.progress);
    engine.onStorage(() => broadcaster.tell({ type: 'storage' }));
    broadcaster.tell({ type: 'host', host: engine.host });
    const api = createWorkerApi({
      engine,
      clock: world.clock,
      timers: world.clock,
      facts: async () => ({
        protocol: 1,
        release: 'r1',
        host: engine.host,
        kind: 'worker',
        triggers: { sync: 'armed', periodicSync: false },
      }),
      ring: (cause) => engine.flushActive(cause),
      start: (cause) =>
        engine.flushActive(cause).then(
          () => undefined,
          () => undefined,
        ),
      ownerChanged: (active, discarded) => broadcaster.tell({ type: 'active', active, discarded }),
      credentials: NOTHING_HANDED_OVER,
      areCopies: true,
    });
    const enqueue: typeof api.enqueue = (...args) => {
      enqueues.push(args[0].id);
      return api.enqueue(...args);
    };
    const trigger: typeof api.trigger = (cause) => {
      causes.push(cause);
      return api.trigger(cause);
    };
    return { ...api, enqueue, trigger };
  });

  const active = {
    postMessage: worker.postMessage,
    addEventListener: () => undefined,
  };
  return Object.assign(world, {
    worker,
    name,
    device: store,
    enqueues,
    causes,
    async open(options: Partial<ConnectOptions<F>> = {}, parts: Partial<PageRealm['navigator']> = {}) {
      const realm = createFakeRealm(world.clock, { locks: worker.locks, ...parts }, stored);
      const outbox = await world.run(
        connectOutbox(definition, {
          worker: { active, waiting: null, installing: null },
          owner: 'ann',
          name,
          realm,
          ...options,
        }),
      );
      // In real time: until the page's second part has been loaded, a moved clock has nothing to move.
      await outbox.settled('nobody').catch(() => undefined);
      const page = { outbox, realm, close: () => outbox.close() };
      pages.push(page);
      return page;
    },
    end() {
      for (const page of pages) page.close();
      for (const channel of channels) channel.close();
      worker.close();
    },
  });
}
