import { describe, expect, it } from 'vitest';
import type { Broadcast } from '../../../shared/protocol.ts';
import type { Engine } from '../../../sw/engine.ts';
import { createBroadcaster } from '../../../sw/host/broadcaster.ts';
import { createServiceWorkerHost, type WorkerEvents } from '../../../sw/host/service-worker-host.ts';
import type { SyncRecord } from '../../../sw/host/sync-record.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { createFakeEngine, NO_COUNTS } from '../../support/fake-engine.ts';

type Listeners = { readonly [Type in keyof WorkerEvents]: ((event: WorkerEvents[Type]) => void)[] };

const ORIGIN = 'https://app.test';

const NO_RECORD: SyncRecord = { read: async () => undefined, write: async () => undefined };

interface Given {
  readonly hasSync?: boolean;
  readonly hangs?: boolean;
  readonly record?: SyncRecord;
  readonly state?: string;
}

function worker(
  overrides: Partial<Engine> = {},
  { hasSync = true, hangs = false, record = NO_RECORD, state }: Given = {},
) {
  const clock = createManualClock();
  const engine = createFakeEngine(overrides);
  const registered: string[] = [];
  const told: Broadcast[] = [];
  const given: [owner: string, credentials: unknown][] = [];
  let isNews = true;
  const listeners: Listeners = { message: [], sync: [], periodicsync: [], activate: [] };
  const register = async (tag: string): Promise<void> => {
    registered.push(tag);
    if (hangs) await new Promise(() => undefined);
  };
  let onSync = async (): Promise<void> => undefined;
  const host = createServiceWorkerHost({
    name: 'holdfast',
    realm: {
      location: { origin: ORIGIN },
      ...(state !== undefined && { serviceWorker: { state } }),
      navigator: { onLine: true },
      registration: {
        scope: `${ORIGIN}/`,
        sync: hasSync ? { register, getTags: async () => registered } : undefined,
      },
      addEventListener: (type, listener) => listeners[type].push(listener),
    },
    engine,
    clock,
    timers: clock,
    ids: { uuid: () => 'u1', random: () => 0 },
    broadcaster: createBroadcaster({
      channel: { postMessage: (message) => told.push(...message) },
      timers: clock,
    }),
    makeDoorbell(name, given) {
      onSync = given;
      return { registerSync: () => register(`workbox-background-sync:${name}`) };
    },
    record,
    credentials: {
      give(owner, credentials) {
        given.push([owner, credentials]);
        return isNews;
      },
      forget: (owner) => given.push([owner, 'forgotten']),
    },
  });
  const listened = Object.entries(listeners).map(([type, all]) => [type, all.length]);

  /** Posts a call as a page does; answers what the port brought and how long the event was kept alive. */
  const post = (name: string, ...args: unknown[]) => {
    const posted: unknown[] = [];
    let isAlive = false;
    const message = {
      id: 'm',
      type: 'APPLY',
      path: [name],
      argumentList: args.map((value) => ({ type: 'RAW', value })),
    };
    for (const listener of listeners.message) {
      listener({
        data: { holdfast: 'call', protocol: 1, message },
        origin: ORIGIN,
        ports: [{ postMessage: (value) => posted.push(value) }],
        waitUntil(promise) {
          isAlive = true;
          promise.then(
            () => {
              isAlive = false;
            },
            () => {
              isAlive = false;
            },
          );
        },
      });
    }
    return { posted, isAlive: () => isAlive };
  };
  const causes = () => engine.asked.filter(([name]) => name === 'flushActive').map(([, cause]) => cause);
  return {
    clock,
    engine,
    host,
    told,
    given,
    giveNothingNew() {
      isNews = false;
    },
    registered,
    listened,
    post,
    causes,
    ring: () => onSync(),
    activate: () => {
      for (const listener of listeners.activate) listener({});
    },
    period: (tag: string) => {
      const waits: Promise<unknown>[] = [];
      for (const listener of listeners.periodicsync)
        listener({ tag, waitUntil: (promise) => waits.push(promise) });
      return waits.length;
    },
  };
}

const command = { id: 'i1', owner: 'ann', family: 'workout', kind: 'create' };

describe('the Service Worker host', () => {
  it('[W1, W2] adds its listeners synchronously and owns no fetch, install or claim', () => {
    const { listened } = worker();
    // A listener of another type would have found no place to go.
    expect(listened).toEqual([
      ['message', 1],
      ['sync', 1],
      ['periodicsync', 1],
      ['activate', 1],
    ]);
  });

  it('[W1] keeps the worker alive for its own messages only', async () => {
    const { clock, post } = worker();
    const foreign = post('nonsense');
    await clock.advance(0);
    expect(foreign.posted.at(-1)).toMatchObject({ name: 'throw' });
    expect(foreign.isAlive()).toBe(false);
  });

  it('[W4, W10] keeps the worker alive until a call is answered and the flush it caused has ended', async () => {
    let end = (): void => undefined;
    const { clock, post } = worker({
      flushActive: () =>
        new Promise((resolve) => {
          end = () => resolve({ owner: 'ann', outcomes: [], remaining: NO_COUNTS });
        }),
    });
    const call = post('enqueue', command, 1_000);
    await clock.advance(0);
    expect(call.posted.at(-1)).toMatchObject({ type: 'RAW', value: { action: 'queued' } });
    expect(call.isAlive()).toBe(true);
    // A page that keeps a long drain going by fresh messages: each event lives as long as the flush.
    const next = post('hello', { protocol: 1, release: 'r' });
    await clock.advance(0);
    expect(next.posted).toHaveLength(2);
    expect(next.isAlive()).toBe(true);
    end();
    await clock.advance(0);
    expect([call.isAlive(), next.isAlive()]).toEqual([false, false]);
  });

  it.each([
    { hasSync: true, seconds: 280 },
    { hasSync: false, seconds: 45 },
  ])(
    '[W4] starts no new sends past $seconds s of a message’s event (sync: $hasSync)',
    async ({ hasSync, seconds }) => {
      const { clock, engine, post } = worker({}, { hasSync });
      post('enqueue', command, 1_000);
      await clock.advance(0);
      const flush = engine.asked.find(([name]) => name === 'flushActive');
      expect(flush).toEqual(['flushActive', 'enqueue', { until: clock.now() + seconds * 1_000 }]);
    },
  );

  it('[W4] starts no new sends past 160 s of a sync event', async () => {
    const { clock, engine, ring } = worker();
    const startedAt = clock.now();
    await clock.until(ring());
    const flush = engine.asked.find(([name]) => name === 'flushActive');
    expect(flush).toEqual(['flushActive', 'sync', { until: startedAt + 160_000 }]);
  });

  it('[W4] a start, which no event carries, keeps nothing going for longer than a worker lives without one', async () => {
    const { activate, clock, engine, period } = worker();
    await clock.advance(1_000);
    await clock.advance(0);
    activate();
    await clock.advance(0);
    period('holdfast');
    await clock.advance(0);
    const flushes = engine.asked.filter(([name]) => name === 'flushActive');
    const lives = (ms: number) => ({ until: clock.now() + ms });
    expect(flushes).toEqual([
      ['flushActive', 'start', lives(20_000)],
      ['flushActive', 'start', lives(20_000)],
      ['flushActive', 'periodic', lives(160_000)],
    ]);
  });

  it('[W31, W32] forgets what pages handed over for an account that signs out or makes room for another', async () => {
    const { clock, post, given } = worker();
    const headers = { authorization: 'Bearer t' };
    post('giveCredentials', 'ann', { headers });
    post('signIn', 'ann');
    await clock.settle();
    expect(given).toEqual([['ann', { headers }]]);
    post('signIn', 'bob');
    await clock.settle();
    expect(given.slice(1)).toEqual([['ann', 'forgotten']]);
    post('signOut', 'bob', 'keep');
    await clock.settle();
    expect(given.slice(2)).toEqual([['bob', 'forgotten']]);
  });

  it('[W31, W16] keeps nothing that a page hands over for an account that is not signed in', async () => {
    const { clock, post, given, causes } = worker();
    post('signIn', 'bob');
    await clock.settle();
    const before = [given.length, causes().length];
    post('giveCredentials', 'ann', { headers: { authorization: 'Bearer late' } });
    await clock.settle();
    expect([given.length, causes().length]).toEqual(before);
  });

  it('[W31, W22] what pages hand over starts a flush only where it is news, so that an answer never asks again', async () => {
    const { clock, post, causes, giveNothingNew } = worker();
    giveNothingNew();
    post('giveCredentials', 'ann', undefined);
    post('giveCredentials', 'ann', { headers: {} });
    await clock.settle();
    expect(causes()).toEqual([]);
  });

  it('[W20] every trigger ends in a flush of the active owner', async () => {
    const { clock, post, causes, activate, host, period } = worker();
    await clock.advance(1_000);
    activate();
    post('enqueue', command, 1_000);
    post('signIn', 'ann');
    post('retry', 'ann', 'i1', {});
    post('recover', 'ann', 'i1');
    post('resume', 'ann');
    post('flush', 'ann');
    post('giveCredentials', 'ann', { headers: {} });
    for (const cause of ['online', 'visible', 'connect', 'timer']) post('trigger', cause);
    expect(period('other')).toBe(0);
    expect(period('holdfast')).toBe(1);
    await clock.until(host.nudge());
    await clock.advance(0);
    expect(causes().sort()).toEqual(
      [
        'start',
        'start',
        'enqueue',
        'sign_in',
        'person',
        'person',
        'person',
        'flush',
        'sign_in',
        'online',
        'visible',
        'connect',
        'timer',
        'periodic',
        'nudge',
      ].sort(),
    );
  });

  it('[W21] arms Background Sync with the command, before the flush that may be killed', async () => {
    const order: string[] = [];
    const { clock, post, registered } = worker({
      flushActive: () => {
        order.push(`flush after ${registered.length} registrations`);
        return new Promise(() => undefined);
      },
    });
    post('enqueue', command, 1_000);
    await clock.advance(0);
    expect(registered).toEqual(['workbox-background-sync:holdfast']);
    expect(order).toEqual(['flush after 1 registrations']);
  });

  it('[W20, D2] the first of many saves starts a flush at once, and those that follow closely share the next', async () => {
    const { clock, post, causes } = worker();
    post('enqueue', command, 1_000);
    await clock.advance(0);
    expect(causes()).toEqual(['enqueue']);
    const calls = [];
    for (let save = 0; save < 4; save++) {
      calls.push(post('enqueue', command, 1_000));
      await clock.advance(10);
    }
    expect(causes()).toEqual(['enqueue']);
    expect(calls.map(({ isAlive }) => isAlive())).toEqual([true, true, true, true]);
    await clock.advance(50);
    expect(causes()).toEqual(['enqueue', 'enqueue']);
    expect(calls.some(({ isAlive }) => isAlive())).toBe(false);
  });

  it('[W20] saves that never pause put a flush off for a fifth of a second, and no longer', async () => {
    const { clock, post, causes } = worker();
    for (let ms = 0; ms < 400; ms += 10) {
      post('enqueue', command, 1_000);
      await clock.advance(10);
    }
    expect(causes()).toHaveLength(2);
  });

  it('[W4] a thousand saves at once hold their events by one flush', async () => {
    const { clock, engine, post, causes } = worker();
    const calls = Array.from({ length: 1_000 }, () => post('enqueue', command, 1_000));
    await clock.advance(0);
    expect(engine.asked.filter(([name]) => name === 'enqueue')).toHaveLength(1_000);
    expect(causes()).toEqual(['enqueue']);
    expect(calls.some(({ isAlive }) => isAlive())).toBe(false);
  });

  it('[W21] a registration that hangs keeps no row', async () => {
    const { clock, post, causes } = worker({}, { hangs: true });
    post('enqueue', command, 1_000);
    await clock.advance(249);
    expect(causes()).toEqual([]);
    await clock.advance(1);
    expect(causes()).toEqual(['enqueue']);
  });

  it('[W20, W21] arms whenever rows remain after a flush, and not when none do', async () => {
    let queued = 0;
    const { clock, post, registered } = worker({
      flushActive: async () => ({ owner: 'ann', outcomes: [], remaining: { ...NO_COUNTS, queued: 1 } }),
      waiting: async () => ({ ...NO_COUNTS, queued }),
    });
    post('trigger', 'visible');
    await clock.advance(0);
    // W21: what is left waits for a person.
    expect(registered).toEqual([]);
    queued = 1;
    post('trigger', 'visible');
    await clock.advance(0);
    expect(registered).toEqual(['workbox-background-sync:holdfast']);
  });

  it('[W20, D40] arms also where nobody can say what remains', async () => {
    const { clock, post, registered } = worker({
      flushActive: async () => ({ owner: 'ann', outcomes: [], remaining: NO_COUNTS, isUncounted: true }),
    });
    post('trigger', 'visible');
    await clock.advance(0);
    expect(registered).toEqual(['workbox-background-sync:holdfast']);
  });

  it.each([
    { counts: { queued: 2 }, rejects: true },
    { counts: { sending: 1 }, rejects: true },
    { counts: { held: 3, blocked: 4 }, rejects: false },
    { counts: {}, rejects: false },
  ])('[W21] a sync event with $counts left rejects: $rejects', async ({ counts, rejects }) => {
    const { clock, ring } = worker({ waiting: async () => ({ ...NO_COUNTS, ...counts }) });
    const result = await clock.until(
      ring().then(
        () => false,
        (error: unknown) => error instanceof Error && 'code' in error && error.code === 'rows_remain',
      ),
    );
    expect(result).toBe(rejects);
  });

  it('[W21, W30] with nobody signed in a sync event has nothing to come back for', async () => {
    const { clock, engine, ring } = worker();
    engine.owner = undefined;
    await expect(clock.until(ring())).resolves.toBeUndefined();
  });

  it('[W20, G4] a flush that fails leaves no unhandled rejection and the call is answered', async () => {
    const { clock, post, host } = worker({ flushActive: () => Promise.reject(new Error('no store')) });
    const call = post('enqueue', command, 1_000);
    await clock.until(host.nudge());
    await clock.advance(0);
    expect(call.posted.at(-1)).toMatchObject({ value: { action: 'queued' } });
    expect(call.isAlive()).toBe(false);
  });

  it('[W4, W11] a long flush answers in time that it runs, and a repeat joins it', async () => {
    const ends: (() => void)[] = [];
    const asked: string[] = [];
    const { clock, post } = worker({
      flushActive: (cause) => {
        asked.push(cause);
        return new Promise((resolve) => {
          ends.push(() => resolve({ owner: 'ann', outcomes: [], remaining: NO_COUNTS }));
        });
      },
    });
    const first = post('flush', 'ann');
    await clock.advance(10_000);
    expect(first.posted.at(-1)).toMatchObject({ value: { type: 'running' } });
    const second = post('flush', 'ann');
    await clock.advance(0);
    for (const end of ends) end();
    await clock.advance(0);
    expect(second.posted.at(-1)).toMatchObject({ value: { type: 'ended', result: { owner: 'ann' } } });
    expect(asked.filter((cause) => cause === 'flush')).toHaveLength(1);
  });

  it('[D2, W11] another call of flush is answered by a flush of its own, the repeat of one by the same', async () => {
    const ends: (() => void)[] = [];
    const { clock, post } = worker({
      flushActive: (cause) =>
        new Promise((resolve) => {
          const remaining = { ...NO_COUNTS, queued: ends.length + 1 };
          if (cause === 'flush') ends.push(() => resolve({ owner: 'ann', outcomes: [], remaining }));
          else resolve(undefined);
        }),
    });
    const answer = ({ posted }: ReturnType<typeof post>) => posted.at(-1);
    const ended = (queued: number) => ({ value: { type: 'ended', result: { remaining: { queued } } } });
    const first = post('flush', 'ann', 'one');
    // A row is stored, and somebody asks for it to be sent.
    const second = post('flush', 'ann', 'two');
    await clock.advance(10_000);
    expect([answer(first), answer(second)]).toMatchObject([
      { value: { type: 'running' } },
      { value: { type: 'running' } },
    ]);
    ends[0]?.();
    await clock.advance(0);
    // It ended while nobody asked.
    const again = [post('flush', 'ann', 'one'), post('flush', 'ann', 'two')] as const;
    await clock.advance(0);
    expect(answer(again[0])).toMatchObject(ended(1));
    for (const end of ends) end();
    await clock.advance(0);
    expect(answer(again[1])).toMatchObject(ended(2));
    expect(ends).toHaveLength(2);
  });

  it('[D43, W16] a flush that found another owner active answers the one who asked nothing of it', async () => {
    const { clock, post } = worker({
      flushActive: async () => ({ owner: 'bob', outcomes: [], remaining: { ...NO_COUNTS, queued: 3 } }),
    });
    const { posted } = post('flush', 'ann');
    await clock.advance(0);
    expect(posted.at(-1)).toMatchObject({ name: 'throw' });
    expect(JSON.stringify(posted)).not.toContain('bob');
  });

  it('[W18, W30, W32] tells pages who is active, and whose rows were discarded', async () => {
    const { clock, post, told } = worker();
    post('signIn', 'ann');
    await clock.advance(0);
    post('signIn', 'bob');
    await clock.advance(0);
    post('signOut', 'bob', 'discard');
    await clock.advance(0);
    expect(told.filter(({ type }) => type === 'active')).toEqual([
      { type: 'active', active: 'bob', discarded: undefined },
      { type: 'active', active: undefined, discarded: 'bob' },
    ]);
  });

  it('[W21, W18] tells a page that connects whether a sync event ever came, and keeps it waiting for nothing', async () => {
    const hello = async (read: SyncRecord['read']) => {
      const { clock, post } = worker({}, { record: { ...NO_RECORD, read } });
      const { posted } = post('hello', { protocol: 1, release: 'r' });
      await clock.advance(250);
      return posted.at(-1);
    };
    const sync = (state: string) => ({ value: { triggers: { sync: state } } });
    expect(await hello(async () => 1)).toMatchObject(sync('proven'));
    expect(await hello(async () => undefined)).toMatchObject(sync('idle'));
    expect(await hello(() => Promise.reject(new Error('no storage')))).toMatchObject(sync('idle'));
    expect(await hello(() => new Promise(() => undefined))).toMatchObject(sync('idle'));
  });

  it('[W3, W18] a started host announces itself, and tells the changes of its engine', async () => {
    const { clock, engine, told } = worker();
    await clock.advance(0);
    engine.emitChange({ removed: ['i1'] });
    engine.emitProgress({ running: true, done: 0, total: 2 });
    await clock.advance(16);
    expect(told.map(({ type }) => type)).toEqual(['host', 'change', 'progress']);
    expect(told[0]).toEqual({ type: 'host', host: engine.host });
  });

  it('[W18, W2] an event lives until what it changed has been told: an update ends the worker right after it', async () => {
    const { clock, engine, post, told } = worker();
    await clock.settle();
    const call = post('flush', 'ann');
    engine.emitChange({ removed: ['i1'] });
    await clock.settle();
    expect([call.isAlive(), told.some(({ type }) => type === 'change')]).toEqual([true, false]);
    await clock.advance(16);
    expect([call.isAlive(), told.some(({ type }) => type === 'change')]).toEqual([false, true]);
  });

  it('[W18, W21] so does a sync event', async () => {
    const { clock, engine, ring, told } = worker({
      async flushActive() {
        engine.emitChange({ removed: ['i1'] });
        return { owner: 'ann', outcomes: [], remaining: NO_COUNTS };
      },
      waiting: async () => ({ ...NO_COUNTS, queued: 1 }),
    });
    await clock.settle();
    let isOver = false;
    ring().catch(() => {
      isOver = true;
    });
    await clock.settle();
    expect([isOver, told.some(({ type }) => type === 'change')]).toEqual([false, false]);
    await clock.advance(16);
    expect([isOver, told.some(({ type }) => type === 'change')]).toEqual([true, true]);
  });

  it.each([
    { state: 'parsed', hosts: 0 },
    { state: 'installing', hosts: 0 },
    { state: 'activating', hosts: 0 },
    { state: 'activated', hosts: 1 },
    { state: undefined, hosts: 1 },
  ])('[W2] a worker that starts as $state announces itself $hosts times before `activate`', async (given) => {
    const { activate, clock, engine, told } = worker(
      {},
      given.state === undefined ? {} : { state: given.state },
    );
    const hosts = () => told.filter(({ type }) => type === 'host');
    await clock.settle();
    expect(hosts()).toHaveLength(given.hosts);
    activate();
    await clock.settle();
    expect(hosts().at(-1)).toEqual({ type: 'host', host: engine.host });
    expect(hosts()).toHaveLength(given.hosts + 1);
  });

  it('[W2, W18] announces itself again when it becomes the active one, since the one before is gone then', async () => {
    const { activate, clock, engine, told } = worker();
    await clock.settle();
    activate();
    await clock.settle();
    expect(told.filter(({ type }) => type === 'host')).toEqual([
      { type: 'host', host: engine.host },
      { type: 'host', host: engine.host },
    ]);
  });
});
