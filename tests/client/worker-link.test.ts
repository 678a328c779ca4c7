import { afterEach, describe, expect, it } from 'vitest';
import { createWorkerLink, type HostLink } from '../../client/worker-link.ts';
import type { Enqueued } from '../../shared/answers.ts';
import type { CommandInput } from '../../shared/command.ts';
import { EnqueueUnknownError, IdentityConflictError, NoHostError } from '../../shared/errors.ts';
import type { WorkerApi } from '../../shared/protocol.ts';
import { createWorkerApi, NOTHING_HANDED_OVER } from '../../sw/host/worker-api.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { createFakeEngine } from '../support/fake-engine.ts';
import { createFakeLocks } from '../support/fake-locks.ts';
import { createFakeRealm } from '../support/fake-realm.ts';
import { createFakeWorker, type FakeWorker, type FakeWorkerOptions } from '../support/worker-line.ts';

const closing: FakeWorker[] = [];
afterEach(() => {
  for (const worker of closing.splice(0)) worker.close();
});

const command = (id: string): CommandInput => ({
  id,
  owner: 'ann',
  family: 'workout',
  kind: 'create',
  body: {},
});

function line(
  change: (api: WorkerApi, host: string, isRunning: () => boolean) => Partial<WorkerApi> = () => ({}),
  options?: FakeWorkerOptions,
) {
  const clock = createManualClock();
  const engine = createFakeEngine();
  const worker = createFakeWorker((host, isRunning) => {
    const api = createWorkerApi({
      engine,
      clock,
      timers: clock,
      facts: async () => ({
        protocol: 1,
        release: 'r1',
        host,
        kind: 'worker',
        triggers: { sync: 'idle', periodicSync: false },
      }),
      ring: (cause) => engine.flushActive(cause),
      start: async () => undefined,
      ownerChanged: () => undefined,
      credentials: NOTHING_HANDED_OVER,
      areCopies: true,
    });
    return { ...api, ...change(api, host, isRunning) };
  }, options);
  closing.push(worker);
  const realm = createFakeRealm(clock, { locks: worker.locks });
  const link = createWorkerLink({ findWorker: async () => worker, realm });
  return { clock, engine, worker, link };
}

const enqueue = (link: HostLink, id: string, deadlineMs?: number): Promise<Enqueued> =>
  link.call((api) => api.enqueue(command(id), 10_000), {
    deadlineMs,
    unanswered: () => new EnqueueUnknownError('unknown', { id }),
  });

const never = <T>(): Promise<T> => new Promise(() => undefined);

describe('a call over the line', () => {
  it('[W10] is answered on a port of its own, and the host says who it is first', async () => {
    const { clock, link, worker } = line();
    const facts = await clock.until(link.call((api) => api.hello({ protocol: 1, release: 'r1' })));
    expect(facts).toMatchObject({ host: 'worker-1', activeOwner: 'ann' });
    expect(worker.told).toEqual([
      { holdfast: 'has', protocol: 1, release: 'r1', host: 'worker-1', locked: true },
      expect.objectContaining({ type: 'RAW' }),
    ]);
    expect(worker.received).toHaveLength(1);
  });

  it('[W15] rejects with the typed error of the host', async () => {
    const { clock, link } = line(() => ({
      enqueue: async () => {
        throw new IdentityConflictError('another content', { id: 'i1' });
      },
    }));
    const failure = await clock.until(enqueue(link, 'i1').catch((error: unknown) => error));
    expect(failure).toBeInstanceOf(IdentityConflictError);
    expect(failure).toMatchObject({ code: 'identity_conflict', data: { id: 'i1' } });
  });

  it.each([
    { at: 'before it stored anything', stores: false },
    { at: 'after it stored the row, before its answer', stores: true },
  ])(
    '[W10, W11, A34] is repeated at once when the worker is stopped $at and stores one row',
    async ({ stores }) => {
      const { clock, engine, link, worker } = line((api, host) => ({
        async enqueue(input, ms) {
          if (host !== 'worker-1') return api.enqueue(input, ms);
          if (stores) await api.enqueue(input, ms);
          return never();
        },
      }));
      const call = enqueue(link, 'i1');
      await clock.settle(10);
      await clock.advance(150);
      worker.stop();
      await clock.settle(10);
      const answer = await call;
      expect(clock.now()).toBe(createManualClock().now() + 150);
      expect(worker.starts).toBe(2);
      expect(answer.action).toBe(stores ? 'existing' : 'queued');
      expect([...engine.stored.keys()]).toEqual(['i1']);
    },
  );

  it('[W11] is posted again when the worker crashed before it looked at the message', async () => {
    const { clock, engine, link, worker } = line();
    worker.loseNext(1);
    const answer = await clock.until(enqueue(link, 'i1'));
    expect(answer.action).toBe('queued');
    expect(engine.stored.size).toBe(1);
  });

  it('[W11] keeps waiting for a slow host that has told its id, without repeating', async () => {
    const { clock, link, worker } = line((api) => ({
      enqueue: (input, ms) =>
        new Promise((resolve) => clock.after(9_000, () => resolve(api.enqueue(input, ms)))),
    }));
    await clock.until(enqueue(link, 'i1'));
    expect(worker.received).toHaveLength(1);
  });

  it('[W11] an enqueue past its deadline says that it does not know, and the answer that comes later changes nothing', async () => {
    let release: () => void = () => undefined;
    const { clock, link } = line((api) => ({
      enqueue: (input, ms) =>
        new Promise((resolve) => {
          release = () => resolve(api.enqueue(input, ms));
        }),
    }));
    const failure = enqueue(link, 'i1', 5_000).catch((error: unknown) => error);
    await clock.advance(4_999);
    const state = await Promise.race([failure, Promise.resolve('pending')]);
    expect(state).toBe('pending');
    await clock.advance(1);
    expect(await failure).toMatchObject({ code: 'enqueue_unknown', data: { id: 'i1' } });
    release();
    await clock.settle(10);
    expect(clock.pendingTimers).toBe(0);
  });

  it('[W11, W13] where no worker is found in time nothing was stored, and the error says so', async () => {
    const clock = createManualClock();
    const link = createWorkerLink({ findWorker: () => never(), realm: createFakeRealm(clock) });
    const failure = enqueue(link, 'i1').catch((error: unknown) => error);
    await clock.advance(15_000);
    expect(await failure).toBeInstanceOf(NoHostError);
  });

  it('[W11] without Web Locks the deadline alone ends a call whose worker was stopped', async () => {
    const { clock, link, worker } = line(() => ({ enqueue: () => never() }), { locked: false });
    const failure = enqueue(link, 'i1', 5_000).catch((error: unknown) => error);
    await clock.settle(10);
    worker.stop();
    await clock.advance(4_999);
    expect(worker.received).toHaveLength(1);
    await clock.advance(1);
    expect(await failure).toBeInstanceOf(EnqueueUnknownError);
  });

  it('[W11, G4] a host that tells an id whose lock is free does not send the page into a loop', async () => {
    const clock = createManualClock();
    const engine = createFakeEngine();
    const worker = createFakeWorker(() => createWorkerApiOver(engine, clock, { enqueue: () => never() }), {
      locked: true,
    });
    closing.push(worker);
    // Every lock looks free here.
    const realm = createFakeRealm(clock, { locks: createFakeLocks() });
    const link = createWorkerLink({ findWorker: async () => worker, realm });
    const failure = enqueue(link, 'i1', 10_000).catch((error: unknown) => error);
    await clock.settle(10);
    await clock.advance(200);
    expect(worker.received).toHaveLength(2);
    await clock.advance(10_000);
    expect(await failure).toBeInstanceOf(EnqueueUnknownError);
  });

  it('[W14] a call the host does not know is a typed error at once', async () => {
    const { clock, link } = line();
    // A page of the next release calls what this host has not got.
    const call = link.call((api: WorkerApi & { readonly compact?: () => Promise<void> }) =>
      api.compact ? api.compact() : never<void>(),
    );
    const failure = await clock.until(call.catch((error: unknown) => error));
    expect(failure).toMatchObject({ code: 'unknown_call', data: { call: 'compact' } });
  });

  it.each([
    { host: 1, works: true },
    { host: 2, works: true },
    { host: 0, works: true },
    { host: 3, works: false },
  ])('[W14] a page of protocol 1 and a host of protocol $host: works is $works', async ({ host, works }) => {
    const { clock, link } = line(undefined, { protocol: host });
    const outcome = await clock.until(
      link
        .call((api) => api.hello({ protocol: 1, release: 'r1' }))
        .then(
          () => true,
          (error: unknown) => error,
        ),
    );
    if (works) expect(outcome).toBe(true);
    else expect(outcome).toMatchObject({ code: 'protocol', data: { protocol: 3 } });
  });

  it('[A75, W11] a thousand calls leave no port, timer, lock request or open call behind', async () => {
    const { clock, link, worker } = line();
    const ports = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
    await clock.until(enqueue(link, 'first'));
    await clock.settle(10);
    const before = ports();
    await clock.until(Promise.all(Array.from({ length: 1_000 }, (_, n) => enqueue(link, `i${n}`))));
    await clock.settle(50);
    expect(ports()).toBe(before);
    expect(clock.pendingTimers).toBe(0);
    expect(worker.locks.waitingCount).toBe(0);
    expect(worker.openCount).toBe(0);
    expect(worker.locks.requestCount).toBe(0);
  });

  it('[A75, W10] a call that takes long watches one lock, and no longer once it is answered', async () => {
    let answer = (): void => undefined;
    const { clock, link, worker } = line((api) => ({
      enqueue: (input, ms) =>
        new Promise((resolve) => {
          answer = () => resolve(api.enqueue(input, ms));
        }),
    }));
    const call = enqueue(link, 'i1');
    await clock.settle(10);
    await clock.advance(1_000);
    expect([worker.locks.requestCount, worker.locks.waitingCount]).toEqual([1, 1]);
    answer();
    await call;
    await clock.settle();
    expect(worker.locks.waitingCount).toBe(0);
  });
});

function createWorkerApiOver(
  engine: ReturnType<typeof createFakeEngine>,
  clock: ReturnType<typeof createManualClock>,
  change: Partial<WorkerApi>,
): WorkerApi {
  return {
    ...createWorkerApi({
      engine,
      clock,
      timers: clock,
      facts: async () => ({
        protocol: 1,
        release: 'r1',
        host: 'h',
        kind: 'worker',
        triggers: { sync: 'idle', periodicSync: false },
      }),
      ring: (cause) => engine.flushActive(cause),
      start: async () => undefined,
      ownerChanged: () => undefined,
      credentials: NOTHING_HANDED_OVER,
      areCopies: true,
    }),
    ...change,
  };
}
