/**
 * Two hosts over one store and one server, on a clock that moves in small steps with everything ready run in
 * between, so that a fake database is never overtaken by time. Host `a` and `b` are there from the beginning.
 */
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import type { Enqueued } from '../../shared/answers.ts';
import type { CommandInput } from '../../shared/command.ts';
import { defineOutbox, document, record } from '../../shared/family.ts';
import type { FlushResult } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import type { Commit, RowStore } from '../../sw/outbox/row-store.ts';
import { createIdbRowStore } from '../../sw/storage/idb-row-store.ts';
import {
  createTestWorld,
  type TestHost,
  type TestWorld,
  type TestWorldOptions,
} from '../../sw/testing/create-test-world.ts';

export const STORES = ['memory', 'IndexedDB'] as const;
export type StoreName = (typeof STORES)[number];
/** A store of the test's own, on the world's clock. */
export type OpenStore = (world: TestWorld) => RowStore;

export const LEASE = 10_000;
const OWNER = 'ann';
const STEP_MS = 50;

export interface TwoHosts {
  readonly world: TestWorld;
  readonly store: RowStore;
  readonly a: TestHost;
  readonly b: TestHost;
  start(store?: RowStore): Promise<TestHost>;
  /** Lets everything that is ready run, without moving time. */
  settle(): Promise<void>;
  /** Moves time by `ms`. */
  pass(ms: number): Promise<void>;
  /** Moves time until `promise` has settled. */
  run<T>(promise: Promise<T>): Promise<T>;
  flush(host: TestHost, owner?: string): Promise<FlushResult>;
  /** Begins a flush, and comes back when `requests` requests have reached the server in all. */
  begin(host: TestHost, requests: number): Promise<{ readonly ended: Promise<FlushResult> }>;
  enqueue(over: Partial<CommandInput>, host?: TestHost): Promise<Enqueued>;
  rows(owner?: string): Promise<readonly Row[]>;
  /** Id and type of what the journal tells, in order. */
  told(owner?: string): Promise<readonly string[]>;
  /** Writes rows as another release or an earlier life left them. */
  plant(part: Partial<Commit> & Pick<Commit, 'write'>): Promise<readonly Row[]>;
}

export async function twoHosts(
  name: StoreName | OpenStore = 'memory',
  options: Partial<TestWorldOptions> = {},
): Promise<TwoHosts> {
  const definition = defineOutbox({ workout: record(), plan: document() });
  const world = createTestWorld({ definition, ...options });
  const { clock, server } = world;
  const open = typeof name === 'function' ? name : openFake;
  const store = name === 'memory' ? world.store : open(world);
  const turns = name === 'memory' ? 4 : 40;
  const settle = () => clock.settle(turns);

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) {
      await clock.advance(Math.min(left, STEP_MS));
      await settle();
    }
  }
  async function run<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const done = () => {
      isSettled = true;
    };
    promise.then(done, done);
    await settle();
    for (let steps = 0; !isSettled; steps++) {
      if (steps > 4_000) throw new Error('The promise has not settled in 200 s');
      await pass(STEP_MS);
    }
    return promise;
  }

  const start = (given: RowStore = store) => run(world.start(given));
  const a = await start();
  const b = await start();
  await run(a.engine.signIn(OWNER));

  return {
    world,
    store,
    a,
    b,
    start,
    settle,
    pass,
    run,
    flush: (host, owner = OWNER) => run(host.engine.flush(owner, 'flush')),
    async begin(host, requests) {
      const ended = host.engine.flush(OWNER, 'flush');
      // Whoever is killed never hears the end, and nobody waits for it then.
      ended.catch(() => undefined);
      for (let tries = 0; server.requests.length < requests; tries++) {
        if (tries > 200) throw new Error(`${server.requests.length} of ${requests} requests arrived`);
        await settle();
      }
      return { ended };
    },
    enqueue: (over, host = a) =>
      run(
        host.engine.enqueue({
          id: world.uuid(),
          owner: OWNER,
          family: 'workout',
          kind: 'update',
          body: { at: clock.now() },
          ...over,
        }),
      ),
    rows: (owner = OWNER) => run(store.index(owner, { limit: 100 })),
    async told(owner = OWNER) {
      const { entries } = await run(store.readJournal(owner, undefined, 100));
      return entries.map(({ outcome }) => `${outcome.row.id} ${outcome.type}`);
    },
    async plant(part) {
      const keys = part.write.map(({ owner, family, target }) => ({ owner, family, target }));
      const expected = (await run(store.readKeys(keys))).flat();
      const [result] = await run(
        store.commit([
          {
            owner: OWNER,
            reason: 'recover',
            keys,
            expected,
            remove: [],
            outcomes: [],
            durability: 'strict',
            ...part,
          },
        ]),
      );
      if (result?.type !== 'committed') throw new Error(JSON.stringify(result));
      return result.rows;
    },
  };
}

function openFake({ clock, uuid }: TestWorld): RowStore {
  const indexedDB = new IDBFactory();
  // The store's own limits stand still: the fake works in macrotasks, and no hand moves those.
  const timers = { after: () => () => undefined };
  return createIdbRowStore(
    { indexedDB, keyRange: IDBKeyRange, clock, timers, ids: { uuid } },
    { name: 'holdfast' },
  );
}
