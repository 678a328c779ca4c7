/** A queue of the real library, over a fake IndexedDB, moved into the real engine. */
import 'fake-indexeddb/auto';
import { IDBFactory } from 'fake-indexeddb';
import * as v from 'valibot';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  type AdoptedCommand,
  type AdoptionReport,
  type AdoptOptions,
  adoptWorkboxQueue,
} from '../../client/adopt-workbox-queue.ts';
import { createHandle } from '../../client/handle.ts';
import type { OutboxMethods } from '../../client/outbox.ts';
import { createFamilyMethods } from '../../client/typed-api.ts';
import { SignedOutError } from '../../shared/errors.ts';
import { defineOutbox, document, record } from '../../shared/family.ts';
import { createTestEngine, type TestEngine } from '../../sw/testing/index.ts';

const definition = defineOutbox({
  workout: record({
    create: v.object({ kg: v.number() }),
    update: v.object({ note: v.string() }),
  }),
  plan: document({ put: v.object({ title: v.string() }) }),
});
type Families = typeof definition.families;

const QUEUE = 'uploads';
const ORIGIN = 'https://app.example';

class Killed extends Error {}

/** Counts what could be the last thing a page does; at `killAt` it is. */
function createLife(killAt = Number.POSITIVE_INFINITY) {
  let steps = 0;
  return () => {
    steps += 1;
    if (steps >= killAt) throw new Killed(`at step ${killAt}`);
  };
}
type Step = () => void;

function outboxOf({ engine }: TestEngine, step: Step): Pick<OutboxMethods<Families>, 'family'> {
  return {
    family: (name) =>
      createFamilyMethods(name, { crypto }, async (command) => {
        step();
        const enqueued = await engine.enqueue({ ...command, owner: 'ann' });
        // Stored, and the answer never came.
        step();
        return createHandle(command, enqueued, () => new Promise(() => undefined));
      }),
  } as Pick<OutboxMethods<Families>, 'family'>;
}

const mapRequest: AdoptOptions<Families>['map'] = async (request) => {
  const { pathname } = new URL(request.url);
  const [, , family, id = ''] = pathname.split('/');
  if (family === 'telemetry') return { drop: 'Nobody reads it' };
  if (family === 'chat') return { leave: 'Still sent by workbox' };
  if (request.method === 'PATCH')
    return { family: 'workout', kind: 'update', target: id, body: await request.json() };
  if (request.method === 'DELETE') return { family: 'workout', kind: 'delete', target: id };
  if (request.method === 'PUT')
    return { family: 'plan', kind: 'put', target: id, body: await request.json() };
  if (family === 'workouts') return { family: 'workout', kind: 'create', body: await request.json() };
  return undefined;
};

interface Stored {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
}

const FILLED: readonly Stored[] = [
  { method: 'POST', path: '/api/workouts', json: { kg: 60 } },
  { method: 'POST', path: '/api/workouts', json: { kg: 60 } },
  { method: 'POST', path: '/api/telemetry', json: {} },
  { method: 'POST', path: '/api/chat', json: { text: 'hello' } },
  { method: 'PATCH', path: '/api/workouts/s1', json: { note: 'first' } },
  { method: 'PUT', path: '/api/plans/monday', json: { title: 'Legs' } },
  { method: 'DELETE', path: '/api/workouts/s2' },
];

describe('a queue that workbox filled', () => {
  let factory: IDBFactory;
  let app: TestEngine;

  async function startAnew(): Promise<void> {
    factory = new IDBFactory();
    vi.stubGlobal('indexedDB', factory);
    app = await createTestEngine({ definition });
    for (const id of ['s1', 's2']) app.world.server.change('ann', 'workout', id, { kg: 1 });
  }
  beforeEach(async () => {
    vi.stubGlobal('self', globalThis);
    await startAnew();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });

  async function openStore(queue = QUEUE) {
    const { QueueStore } = await import('workbox-background-sync/lib/QueueStore.js');
    return new QueueStore(queue);
  }
  async function fill(stored: readonly Stored[], queue = QUEUE): Promise<void> {
    const { StorableRequest } = await import('workbox-background-sync/lib/StorableRequest.js');
    const store = await openStore(queue);
    for (const [place, { method, path, json }] of stored.entries()) {
      const body = json === undefined ? null : JSON.stringify(json);
      const request = await StorableRequest.fromRequest(new Request(ORIGIN + path, { method, body }));
      await store.pushEntry({ requestData: request.toObject(), timestamp: 1_000 + place });
    }
  }
  /** What workbox would find. */
  async function paths(queue = QUEUE): Promise<readonly string[]> {
    const entries = await (await openStore(queue)).getAll();
    return entries.map(({ requestData }) => new URL(requestData.url).pathname);
  }
  async function adopt(
    step: Step = createLife(),
    over: Partial<AdoptOptions<Families>> = {},
  ): Promise<AdoptionReport> {
    const { transaction } = globalThis.IDBDatabase.prototype;
    const spy = vi.spyOn(globalThis.IDBDatabase.prototype, 'transaction').mockImplementation(function (
      this: IDBDatabase,
      ...args
    ) {
      step();
      return transaction.apply(this, args);
    });
    try {
      return await adoptWorkboxQueue(outboxOf(app, step), {
        queue: QUEUE,
        map: mapRequest,
        realm: {
          indexedDB: factory,
          crypto,
          navigator: {},
          Date: { now: () => app.world.clock.now() },
          setTimeout: (callback, ms) => {
            app.world.clock.jump(ms);
            setImmediate(callback);
          },
        },
        ...over,
      });
    } finally {
      spy.mockRestore();
    }
  }
  async function applied(): Promise<readonly unknown[]> {
    await app.world.run(app.engine.flush('ann', 'flush'));
    return app.world.server.applied
      .filter(({ id }) => id !== undefined)
      .map(({ kind, body }) => ({ kind, body }));
  }

  const ALL_APPLIED = expect.arrayContaining([
    { kind: 'create', body: { kg: 60 } },
    { kind: 'update', body: { note: 'first' } },
    { kind: 'put', body: { title: 'Legs' } },
    { kind: 'delete', body: undefined },
  ]);

  it('[W53] is moved in, in its order; what the app leaves stays, and what it drops is gone', async () => {
    await fill(FILLED);
    const report = await adopt();
    expect(report.adopted).toHaveLength(5);
    expect(new Set(report.adopted).size).toBe(5);
    expect(report.dropped).toEqual([
      { method: 'POST', url: `${ORIGIN}/api/telemetry`, savedAt: 1_002, why: 'Nobody reads it' },
    ]);
    expect(report.left).toEqual([
      { method: 'POST', url: `${ORIGIN}/api/chat`, savedAt: 1_003, why: 'Still sent by workbox' },
    ]);
    const { rows } = await app.engine.rows('ann', { limit: 10 });
    expect(rows.map(({ id }) => id)).toEqual(report.adopted);
    expect(await paths()).toEqual(['/api/chat']);
    const done = await applied();
    expect(done).toHaveLength(5);
    expect(done).toEqual(ALL_APPLIED);
  });

  it('[W53] adopts nothing a second time, and answers without a queue', async () => {
    expect(await adopt()).toEqual({ adopted: [], dropped: [], left: [] });
    expect((await factory.databases()).map(({ name }) => name)).toEqual([]);
    await fill(FILLED.slice(0, 1));
    await adopt();
    expect(await adopt()).toEqual({ adopted: [], dropped: [], left: [] });
    expect(await applied()).toEqual([{ kind: 'create', body: { kg: 60 } }]);
  });

  it.each([
    { when: 'while its rows wait', isFlushed: false },
    { when: 'after its rows have left', isFlushed: true },
  ])(
    '[W53] loses and doubles nothing when it is killed at any step, and repeated $when',
    async ({ isFlushed }) => {
      let killAt = 0;
      for (let isThrough = false; !isThrough; ) {
        killAt += 1;
        await startAnew();
        await fill(FILLED);
        // Killed at the same step of the next start too.
        for (let start = 0; start < 2 && !isThrough; start++) {
          isThrough = await adopt(createLife(killAt)).then(
            () => start === 0,
            (error: unknown) => {
              expect(error).toBeInstanceOf(Killed);
              return false;
            },
          );
          if (isFlushed) await applied();
        }
        await adopt();
        const done = await applied();
        expect(done, `killed at step ${killAt}`).toHaveLength(5);
        expect(done).toEqual(ALL_APPLIED);
        expect(await paths()).toEqual(['/api/chat']);
        expect(await paths(`holdfast:${QUEUE}`)).toEqual([]);
      }
      expect(killAt).toBeGreaterThan(20);
    },
  );

  it('[W53] leaves to workbox what that had in its hands when it was set aside', async () => {
    await fill(FILLED.slice(0, 2));
    const store = await openStore();
    const [first] = await store.getAll();
    // It has read the first entry, and deletes it while the adoption waits.
    const report = await adopt(createLife(), {
      realm: {
        indexedDB: factory,
        crypto,
        navigator: {},
        Date: { now: () => 5_000 },
        setTimeout: (callback) => void store.deleteEntry(first?.id ?? 0).then(callback),
      },
    });
    expect(report.adopted).toHaveLength(1);
    expect(await store.shiftEntry()).toBeUndefined();
    expect(await applied()).toHaveLength(1);
  });

  it('[W53] keeps what cannot be mapped or is refused for good in the queue, and says why', async () => {
    await fill([
      { method: 'POST', path: '/api/unknown', json: {} },
      { method: 'PUT', path: '/api/plans/monday' },
      { method: 'POST', path: '/api/workouts', json: { kg: 'sixty' } },
      { method: 'POST', path: '/api/workouts', json: { kg: 61 } },
    ]);
    const { adopted, left } = await adopt();
    expect(adopted).toHaveLength(1);
    expect(left.map(({ why }) => why)).toEqual([
      'No command stands for it',
      expect.stringContaining('SyntaxError'),
      expect.objectContaining({ code: 'invalid_body' }),
    ]);
    expect(await paths()).toEqual(['/api/unknown', '/api/plans/monday', '/api/workouts']);
  });

  it('[W53] stops where commands cannot be stored now, and goes on with the next call', async () => {
    await fill(FILLED.slice(0, 2));
    await app.engine.signOut('ann', 'keep');
    await expect(adopt()).rejects.toBeInstanceOf(SignedOutError);
    await app.engine.signIn('ann');
    expect((await adopt()).adopted).toHaveLength(2);
    expect(await applied()).toHaveLength(2);
  });

  it('[W53] goes by what was stored, where the app maps a request otherwise after a kill', async () => {
    await fill(FILLED.slice(0, 1));
    // open, look, two reads, set aside, two reads, enqueue: the answer is lost.
    await expect(adopt(createLife(8))).rejects.toBeInstanceOf(Killed);
    expect((await app.engine.rows('ann', { limit: 10 })).rows).toHaveLength(1);
    const report = await adopt(createLife(), {
      map: async () => ({ family: 'workout', kind: 'create', body: { kg: 99 } }),
    });
    expect(report.adopted).toHaveLength(1);
    expect(await applied()).toEqual([{ kind: 'create', body: { kg: 60 } }]);
    expect(await paths()).toEqual([]);
  });

  it('[W53] sends under the key that the request had, where the app says so, and never gives up another’s', async () => {
    await fill(FILLED.slice(0, 2));
    const map: AdoptOptions<Families>['map'] = (_request, { savedAt }) => ({
      family: 'workout',
      kind: 'create',
      body: { kg: savedAt },
      id: 'key-of-the-app',
    });
    const { adopted, left } = await adopt(createLife(), { map });
    expect(adopted).toEqual(['key-of-the-app']);
    expect(left).toMatchObject([{ savedAt: 1_001, why: { code: 'identity_conflict' } }]);
    expect(await paths()).toEqual(['/api/workouts']);
  });

  it('[W53] does not touch another queue of the same database', async () => {
    await fill(FILLED.slice(0, 1), 'other');
    expect(await adopt()).toEqual({ adopted: [], dropped: [], left: [] });
    expect(await paths('other')).toEqual(['/api/workouts']);
  });

  it('[W53] takes commands of the definition alone', () => {
    type Command = AdoptedCommand<Families>;
    expectTypeOf<{ family: 'workout'; kind: 'create'; body: { kg: number } }>().toExtend<Command>();
    expectTypeOf<{ family: 'workout'; kind: 'create'; body: { kg: string } }>().not.toExtend<Command>();
    expectTypeOf<{ family: 'plan'; kind: 'create'; body: { title: string } }>().not.toExtend<Command>();
  });
});
