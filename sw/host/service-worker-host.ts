/**
 * The only place that knows Service Worker events (W1-W4): adds its listeners synchronously, ties work to the event
 * that started it, and leaves everything else of the worker to the app: no `fetch`, no `skipWaiting`, no claiming.
 */
import type { FlushCause } from '../../shared/answers.ts';
import type { FlushResult } from '../../shared/outcome.ts';
import { PROTOCOL, RELEASE, type Triggers } from '../../shared/protocol.ts';
import type { Engine } from '../engine.ts';
import type { Clock, Ids, Timers } from '../environment.ts';
import {
  createBackgroundSync,
  type MakeDoorbell,
  type SyncEventLike,
  type SyncManagerLike,
} from './background-sync.ts';
import type { Broadcaster } from './broadcaster.ts';
import { createMessageEndpoint, type IncomingMessage } from './message-endpoint.ts';
import type { SyncRecord } from './sync-record.ts';
import { createWorkerApi, type HandedOver } from './worker-api.ts';

export interface ExtendableEventLike {
  waitUntil(promise: Promise<unknown>): void;
}

export interface WorkerEvents {
  readonly message: IncomingMessage & ExtendableEventLike;
  readonly sync: SyncEventLike;
  readonly periodicsync: Pick<SyncEventLike, 'tag' | 'waitUntil'>;
  readonly activate: unknown;
}

/** What is used of `self`. */
export interface WorkerRealm {
  readonly location: { readonly origin: string };
  /** This worker as its pages see it, where the browser tells. */
  readonly serviceWorker?: { readonly state: string } | undefined;
  readonly navigator: {
    readonly onLine: boolean;
    readonly permissions?:
      | { query(of: { readonly name: string }): Promise<{ readonly state: string }> }
      | undefined;
  };
  readonly registration: {
    readonly scope: string;
    readonly sync?: SyncManagerLike | undefined;
    readonly periodicSync?:
      | { register(tag: string, options: { readonly minInterval: number }): Promise<void> }
      | undefined;
  };
  addEventListener<Type extends keyof WorkerEvents>(
    type: Type,
    listener: (event: WorkerEvents[Type]) => void,
  ): void;
}

export interface ServiceWorkerHostDeps {
  readonly name: string;
  readonly realm: WorkerRealm;
  readonly engine: Engine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly broadcaster: Broadcaster;
  readonly makeDoorbell: MakeDoorbell;
  readonly record: SyncRecord;
  readonly credentials: HandedOver;
}

export interface ServiceWorkerHost {
  /** A cheap trigger for a `push` or `fetch` listener of the app: pass the promise to its `waitUntil`. */
  nudge(): Promise<void>;
}

/** A worker that was started for something else lets that go first. */
const START_DELAY_MS = 1_000;
const ARM_LIMIT_MS = 250;
/** A page that connects is not kept waiting by a fact for the eye. */
const RECALL_LIMIT_MS = 250;
/** A save this soon after the one before belongs to a run of them, and so does a flush: the next save goes first. */
const RUN_MS = 50;
/** A run is over when no save came for this long, and is not waited for longer than so many times it. */
const PAUSE_MS = 25;
const MOST_PAUSES = 8;
const PERIOD_MS = 12 * 3_600_000;

/** Without an event a worker is stopped after half a minute, in every browser: less one attempt. */
const IDLE_MS = 20_000;
/**
 * For how long an event may start new sends: the browser's limit less one attempt. Chromium, the one with Background
 * Sync, gives a message 300 s and a sync event 180 s; Firefox gives 60 s.
 */
const lifetimes = (hasSync: boolean): { readonly messageMs: number; readonly syncMs: number } =>
  hasSync ? { messageMs: 280_000, syncMs: 160_000 } : { messageMs: 45_000, syncMs: 45_000 };

export function createServiceWorkerHost(deps: ServiceWorkerHostDeps): ServiceWorkerHost {
  const { name, realm, engine, clock, timers } = deps;
  const { tell, told } = deps.broadcaster;
  const { sync, periodicSync } = realm.registration;
  const { messageMs, syncMs } = lifetimes(sync !== undefined);
  const work = new Set<Promise<unknown>>();
  let isPeriodic = false;

  const triggers = (): Triggers => ({ sync: doorbell.state(), periodicSync: isPeriodic });
  const triggersChanged = (): void => tell({ type: 'triggers', triggers: triggers() });

  const passed = (ms: number): Promise<void> => new Promise((resolve) => timers.after(ms, resolve));
  const keep = <T>(promise: Promise<T>): Promise<T> => {
    const end = (): void => void work.delete(promise);
    work.add(promise);
    promise.then(end, end);
    return promise;
  };
  const ring = async (cause: FlushCause, lifeMs = messageMs): Promise<FlushResult | undefined> => {
    const result = await keep(engine.flushActive(cause, { until: clock.now() + lifeMs }));
    const { owner, remaining, isUncounted } = result ?? {};
    if (isUncounted) void doorbell.arm();
    else if (owner !== undefined && remaining && remaining.queued + remaining.sending > 0)
      void left(owner).then((count) => (count > 0 ? doorbell.arm() : undefined), doorbell.arm);
    return result;
  };
  /** Rows that the browser may be asked to come back for. */
  const left = async (owner: string): Promise<number> => {
    const { queued, sending } = await engine.waiting(owner);
    return queued + sending;
  };
  let saves = 0;
  let savedAt = Number.NEGATIVE_INFINITY;
  let saving: Promise<void> | undefined;

  /** While a person, or an import, saves one thing after the other. */
  const pause = async (): Promise<void> => {
    for (let round = 0, before = -1; round < MOST_PAUSES && before !== saves; round++) {
      before = saves;
      await passed(PAUSE_MS);
    }
  };
  /** For a trigger nobody waits for: when the flush fails, another trigger tries again. */
  const start = (cause: FlushCause, lifeMs = messageMs): Promise<void> => {
    const begin = async (isRun: boolean): Promise<void> => {
      // In a turn of its own: the answer to the call goes first.
      await passed(0);
      // Before the flush: a browser that is killed in the middle of it must come back. One that does not answer must
      // not keep the row.
      if (cause === 'enqueue') {
        await Promise.race([doorbell.arm(), passed(ARM_LIMIT_MS)]);
        if (isRun) await pause();
        saving = undefined;
      }
      await ring(cause, lifeMs);
    };
    if (cause !== 'enqueue') return keep(begin(false).then(told, told));
    const isRun = Math.abs(clock.now() - savedAt) < RUN_MS;
    saves++;
    savedAt = clock.now();
    // A flush that has not begun takes in what was stored meanwhile (D2).
    saving ??= keep(begin(isRun).then(told, told));
    return saving;
  };
  const announce = () => engine.locked.then(() => tell({ type: 'host', host: engine.host }));

  const doorbell = createBackgroundSync({
    name,
    sync,
    isOnline: () => realm.navigator.onLine,
    clock,
    timers,
    ids: deps.ids,
    makeDoorbell: deps.makeDoorbell,
    record: deps.record,
    async isDenied() {
      const found = await realm.navigator.permissions?.query({ name: 'background-sync' });
      return found?.state === 'denied';
    },
    listen: (listener) => realm.addEventListener('sync', listener),
    async flush(isNews) {
      const result = await ring(isNews ? 'sync' : 'nudge', syncMs);
      await told();
      return result ? left(result.owner) : 0;
    },
    changed: triggersChanged,
  });

  const api = createWorkerApi({
    engine,
    clock,
    timers,
    async facts() {
      await Promise.race([doorbell.recall(), passed(RECALL_LIMIT_MS)]);
      const { host } = engine;
      return { protocol: PROTOCOL, release: RELEASE, host, kind: 'worker', triggers: triggers() };
    },
    ring,
    start,
    ownerChanged: (active, discarded) => tell({ type: 'active', active, discarded }),
    credentials: deps.credentials,
    areCopies: true,
  });
  const endpoint = createMessageEndpoint(api, {
    origin: realm.location.origin,
    identity: engine.locked.then((locked) => ({ release: RELEASE, host: engine.host, locked })),
  });

  realm.addEventListener('message', (event) => {
    const answered = endpoint.receive(event);
    // What the call started, or what was running when it came, goes on for as long as this event may.
    if (answered !== undefined) event.waitUntil(answered.then(() => Promise.allSettled(work)).then(told));
  });
  realm.addEventListener('activate', () => {
    // The one before is gone for certain now: what it had not told any more must be read.
    void announce();
    void start('start', IDLE_MS);
  });
  realm.addEventListener('periodicsync', (event) => {
    if (event.tag === name) event.waitUntil(start('periodic', syncMs));
  });
  engine.onChange(deps.broadcaster.change);
  engine.onProgress(deps.broadcaster.progress);
  engine.onStorage(() => tell({ type: 'storage' }));
  // W2: pages that hear of a host call the active worker. While this one is being installed that is the one before, and
  // a call that starts it anew just then keeps Chromium from letting it go.
  if ((realm.serviceWorker?.state ?? 'activated') === 'activated') void announce();
  timers.after(START_DELAY_MS, () => void start('start', IDLE_MS));
  periodicSync?.register(name, { minInterval: PERIOD_MS }).then(
    () => {
      isPeriodic = true;
      triggersChanged();
    },
    // Not granted: it is one trigger of many.
    () => undefined,
  );

  return { nudge: () => start('nudge') };
}
