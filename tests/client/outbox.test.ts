import * as v from 'valibot';
import { afterEach, describe, expect, it } from 'vitest';
import { snapshotName } from '../../client/read-snapshot.ts';
import type { LiveView, ViewSnapshot } from '../../client/view-snapshot.ts';
import { InvalidOptionError } from '../../shared/errors.ts';
import { defineOutbox, document, record } from '../../shared/family.ts';
import { createLineWorld, type LineWorld } from '../support/line-world.ts';

const fields = { kg: v.number(), note: v.optional(v.string()) };
const definition = defineOutbox({
  workout: record({ create: v.object(fields), update: v.partial(v.object(fields)) }),
  plan: document({ put: v.object({ title: v.string() }) }),
});

const worlds: LineWorld<typeof definition.families>[] = [];
afterEach(() => {
  for (const world of worlds.splice(0)) world.end();
});

async function start() {
  // Loaded when needed, which takes real time that no clock here knows of.
  await import('../../client/add-words.ts');
  const world = await createLineWorld(definition);
  worlds.push(world);
  return world;
}

/** Moves time until the view satisfies `condition`. */
function viewOnce(
  world: LineWorld<typeof definition.families>,
  view: LiveView,
  condition: (view: ViewSnapshot) => boolean,
): Promise<ViewSnapshot> {
  return world.run(
    new Promise((resolve) => {
      const look = (): void => {
        if (condition(view.getSnapshot())) resolve(view.getSnapshot());
      };
      view.subscribe(look);
      look();
    }),
  );
}

describe('the outbox as an app holds it', () => {
  it('[W17] stores, sends and tells the end', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const saved = await world.run(outbox.workout.create({ kg: 60 }, { tags: ['2026-11-30'] }));
    expect(saved).toMatchObject({
      action: 'queued',
      removed: [],
      target: { type: 'pending', origin: saved.id },
    });
    expect(saved.row).toMatchObject({ id: saved.id, owner: 'ann', tags: ['2026-11-30'] });
    const end = await world.run(saved.settled);
    expect(end).toMatchObject({ type: 'uploaded', receipt: { id: saved.id, target: 'srv-1', revision: 1 } });
    expect(world.server.applied).toMatchObject([{ kind: 'create', body: { kg: 60 } }]);
  });

  it('[W17, C21] a handle’s target goes on being the record, whether or not it has a server id yet', async () => {
    const world = await start();
    const { outbox } = await world.open();
    world.server.reachable = false;
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    await world.clock.advance(100);
    const changed = await world.run(outbox.workout.update(saved.target, { note: 'hard' }));
    world.server.reachable = true;
    await world.run(outbox.flush());
    const end = await world.run(outbox.settled(changed.id, { final: true }));
    expect(end).toMatchObject({ type: 'uploaded', receipt: { target: 'srv-1' } });
    expect(world.server.applied.map(({ kind }) => kind)).toEqual(['create', 'update']);
  });

  it('[W17] documents are put and removed by the id the page chose', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const put = await world.run(outbox.plan.put('2026-11-30', { title: 'legs' }));
    await world.run(put.settled);
    const removed = await world.run(outbox.plan.remove('2026-11-30'));
    await world.run(removed.settled);
    expect(world.server.applied).toMatchObject([
      { family: 'plan', kind: 'put', target: '2026-11-30', body: { title: 'legs' } },
      { family: 'plan', kind: 'remove', target: '2026-11-30' },
    ]);
  });

  it('[W17] a family cannot be named like something an outbox has', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const families = Object.keys(definition.families);
    const taken = Object.keys(outbox).filter((name) => !families.includes(name));
    expect(taken.length).toBeGreaterThan(10);
    for (const name of [...taken, 'then']) {
      expect(() => defineOutbox({ [name]: record() })).toThrow(InvalidOptionError);
    }
    expect(() => defineOutbox({ constructor: record(), 'a|b': record() })).not.toThrow();
  });

  it('[W17] every family is reachable by its name', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const put = await world.run(outbox.family('plan').put('a', { title: 'b' }));
    expect(put.row).toMatchObject({ family: 'plan', kind: 'put' });
  });

  it('[R9, W11] a repeat with the same id answers what became of the first', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const id = world.uuid();
    const first = await world.run(outbox.workout.create({ kg: 60 }, { id }));
    await world.run(first.settled);
    const again = await world.run(outbox.workout.create({ kg: 60 }, { id }));
    expect(await world.run(again.settled)).toMatchObject({ type: 'uploaded', receipt: { target: 'srv-1' } });
    expect(world.server.requests).toHaveLength(1);
    const other = await world.run(outbox.workout.create({ kg: 61 }, { id }).catch((error: unknown) => error));
    expect(other).toMatchObject({ name: 'IdentityConflictError', code: 'identity_conflict' });
  });

  it('[A72] what the caller does to the object afterwards is another matter', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const body = { kg: 60, note: 'easy' };
    const saving = outbox.workout.create(body);
    body.kg = 200;
    const saved = await world.run(saving);
    await world.run(saved.settled);
    expect(world.server.applied).toMatchObject([{ body: { kg: 60, note: 'easy' } }]);
  });

  it.each([
    { what: 'a function', body: { kg: 60, note: { list: [1, () => 1] } }, path: 'body.note.list[1]' },
    { what: 'a symbol', body: { kg: Symbol('x') }, path: 'body.kg' },
    { what: 'a framework’s proxy', body: new Proxy({ kg: 60 }, {}), path: 'body' },
    { what: 'a weak map', body: { kg: 60, note: new WeakMap() }, path: 'body.note' },
  ])(
    '[A25, R46, W15] $what is refused in the page with its path, and nothing is stored',
    async ({ body, path }) => {
      const world = await start();
      const { outbox } = await world.open();
      const methods: { create(body: unknown): Promise<unknown> } = outbox.family('workout');
      // No time passes: the host is never asked.
      const failure = await methods.create(body).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'unencodable_body', data: { path } });
      const saved = await world.run(outbox.workout.create({ kg: 1 }));
      expect(world.enqueues).toEqual([saved.id]);
      expect(saved.action).toBe('queued');
    },
  );

  it('[R46, W15] a body the validator refuses rejects with its own issues', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const methods: { create(body: unknown): Promise<unknown> } = outbox.family('workout');
    const failure = await world.run(methods.create({ kg: 'sixty' }).catch((error: unknown) => error));
    expect(failure).toMatchObject({ code: 'invalid_body' });
  });

  it('[A34, A35, W10] a worker that is stopped between two calls is started by the next', async () => {
    const world = await start();
    const { outbox } = await world.open();
    world.worker.stop();
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    expect(world.worker.starts).toBe(2);
    expect(await world.run(saved.settled)).toMatchObject({ type: 'uploaded' });
  });

  it('[W17, A74] an end that came while no page was open is told to a page opened later, and to two at once', async () => {
    const world = await start();
    const first = await world.open();
    world.server.reachable = false;
    const saved = await world.run(first.outbox.workout.create({ kg: 60 }));
    await world.clock.advance(100);
    first.close();
    world.server.reachable = true;
    const [a, b] = [await world.open(), await world.open()];
    await world.clock.advance(86_400_000);
    const ends = await world.run(
      Promise.all([a.outbox, b.outbox].map((outbox) => outbox.settled(saved.id, { final: true }))),
    );
    expect(ends).toMatchObject(Array(2).fill({ type: 'uploaded', receipt: { id: saved.id } }));
    expect(world.server.applied).toHaveLength(1);
  });

  it('[W18, A35] the view of one page shows what another did, also across a stopped worker', async () => {
    const world = await start();
    world.server.reachable = false;
    const a = await world.open();
    const b = await world.open();
    await viewOnce(world, a.outbox.view, ({ isReady }) => isReady);
    await world.run(b.outbox.workout.create({ kg: 1 }));
    world.worker.stop();
    await world.run(b.outbox.workout.create({ kg: 2 }));
    const view = await viewOnce(world, a.outbox.view, ({ rows }) => rows.length === 2);
    expect(view).toMatchObject({
      owner: 'ann',
      host: 'worker',
      counts: { queued: 2 },
      connection: 'offline',
    });
  });

  it('[A65, C20] the view with pending rows does not jump back at the answer to an older change', async () => {
    const world = await start();
    const { outbox } = await world.open();
    const made = await world.run(outbox.workout.create({ kg: 1 }));
    await world.run(made.settled);
    await viewOnce(world, outbox.view, ({ isReady }) => isReady);
    world.server.latencyMs = 1_000;
    const shown: number[] = [];
    outbox.view.subscribe(() => shown.push(outbox.view.getSnapshot().rows.length));
    await world.run(outbox.workout.update('srv-1', { kg: 2 }, { revision: 1 }));
    await world.clock.advance(100);
    await world.run(outbox.workout.update('srv-1', { kg: 3 }, { revision: 1 }));
    world.server.next(
      { type: 'status', status: 422, code: 'invalid' },
      ({ body }) => (body as { kg: number }).kg === 3,
    );
    const view = await viewOnce(world, outbox.view, ({ counts }) => counts.blocked === 1);
    expect(view.rows).toMatchObject([{ state: 'blocked', blockedCode: 'rejected' }]);
    // While anything waited the newest change was among the rows all the time.
    expect(shown.filter((count) => count === 0)).toEqual([]);
  });

  it('[W18, W22] says when the device is offline, and when it is back', async () => {
    const world = await start();
    const { outbox, realm } = await world.open();
    await viewOnce(world, outbox.view, ({ isReady }) => isReady);
    realm.setOnline(false);
    expect(outbox.view.getSnapshot().connection).toBe('offline');
    realm.setOnline(true);
    expect(outbox.view.getSnapshot().connection).toBe('online');
    await world.clock.settle(10);
    expect(world.causes).toContain('online');
  });

  it('[W32, W30] signing out says what waits and keeps it; signing in again shows and sends it', async () => {
    const world = await start();
    const { outbox } = await world.open();
    world.server.reachable = false;
    await world.run(outbox.workout.create({ kg: 60 }));
    const out = await world.run(outbox.signOut());
    expect(out).toMatchObject({ waiting: { queued: 1 } });
    const refused = await world.run(outbox.workout.create({ kg: 61 }).catch((error: unknown) => error));
    expect(refused).toMatchObject({ code: 'signed_out' });
    expect(outbox.view.getSnapshot().owner).toBeUndefined();
    world.server.reachable = true;
    await world.run(outbox.signIn('ann'));
    await world.run(outbox.flush());
    expect(world.server.applied).toHaveLength(1);
  });

  it('[W32] signing out with a flush first reports what left; with the person’s word it discards', async () => {
    const world = await start();
    const { outbox } = await world.open();
    world.server.reachable = false;
    await world.run(outbox.workout.create({ kg: 60 }));
    await world.clock.advance(100);
    world.server.reachable = true;
    const first = await world.run(outbox.signOut('flush'));
    expect(first).toMatchObject({ waiting: { queued: 0 }, flushed: { outcomes: [{ type: 'committed' }] } });
    await world.run(outbox.signIn('ann'));
    world.server.reachable = false;
    await world.run(outbox.workout.create({ kg: 61 }));
    await world.run(outbox.signOut('discard'));
    await world.run(outbox.signIn('ann'));
    expect(await viewOnce(world, outbox.view, ({ isReady }) => isReady)).toMatchObject({ rows: [] });
  });

  it('[D43, W30] another tab’s owner changes nothing here but that ours is no longer signed in', async () => {
    const world = await start();
    const a = await world.open();
    const b = await world.open({ owner: 'bob' });
    const view = await viewOnce(world, a.outbox.view, ({ owner }) => owner === undefined);
    expect(view.rows).toEqual([]);
    const saved = await world.run(b.outbox.workout.create({ kg: 60 }));
    await world.run(saved.settled);
    expect(a.outbox.view.getSnapshot().owner).toBeUndefined();
    const refused = await world.run(a.outbox.settled(saved.id).catch((error: unknown) => error));
    expect(refused).toMatchObject({ code: 'signed_out' });
  });

  it('[W30, W32, D43] a page that was not told of a sign-out finds out when it is looked at again, and drops all', async () => {
    const world = await start();
    const { outbox, realm } = await world.open();
    world.isOnline = false;
    await world.run(outbox.workout.create({ kg: 60 }));
    await viewOnce(world, outbox.view, ({ rows }) => rows.length === 1);
    await world.clock.advance(2_000);
    expect(realm.localStorage.getItem(snapshotName(world.name, 'ann'))).toContain('"kg":60');
    // By a host that died before it could say so.
    const { engine, kill } = await world.start();
    await world.run(engine.signOut('ann', 'discard'));
    kill();
    realm.fire('pageshow');
    for (let n = 0; n < 20; n++) await world.clock.advance(500);
    expect(outbox.view.getSnapshot()).toMatchObject({ owner: undefined, rows: [] });
    expect(realm.localStorage.getItem(snapshotName(world.name, 'ann'))).toBeNull();
  });

  it.each([{ next: 'bob' }, { next: undefined }])(
    '[W32] the first page that opens after a discard nobody heard of drops the snapshot ($next signs in)',
    async ({ next }) => {
      const world = await start();
      const { outbox, realm } = await world.open();
      world.isOnline = false;
      await world.run(outbox.workout.create({ kg: 60 }));
      await world.clock.advance(2_000);
      outbox.close();
      const { engine, kill } = await world.start();
      await world.run(engine.signOut('ann', 'discard'));
      kill();
      const { localStorage } = realm;
      expect(localStorage.getItem(snapshotName(world.name, 'ann'))).toContain('"kg":60');
      await world.open({ owner: next });
      await world.clock.advance(500);
      expect(localStorage.getItem(snapshotName(world.name, 'ann'))).toBeNull();
    },
  );

  it('[D5, D42] who waits for a row that was never tried hears that it is held', async () => {
    const world = await start();
    const { outbox } = await world.open();
    world.credentials = { offer: async () => ({ type: 'none' }) };
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    let end: unknown;
    void saved.settled.then((settled) => {
      end = settled;
    });
    for (let n = 0; n < 20; n++) await world.clock.advance(500);
    expect(end).toEqual({ type: 'held', id: saved.id });
    // A page that was loaded anew hears the same.
    const { engine } = await world.start();
    expect(await engine.settled('ann', saved.id)).toEqual({ type: 'held', id: saved.id });
  });

  it('[W17, R34, R35, W19] what a person may choose', async () => {
    const world = await start();
    const { outbox } = await world.open();
    world.server.next({ type: 'status', status: 422, code: 'invalid' });
    const refused = await world.run(outbox.workout.create({ kg: 60 }));
    expect(await world.run(refused.settled)).toMatchObject({ type: 'blocked', code: 'rejected' });
    expect(await world.run(outbox.explain(refused.id))).toMatchObject({ reason: { type: 'blocked' } });
    expect(await world.run(outbox.bodies([refused.id]))).toEqual([{ id: refused.id, body: { kg: 60 } }]);
    const copy = await world.run(outbox.recover(refused.id, { body: { kg: 50 } }));
    expect(await world.run(copy.settled)).toMatchObject({ type: 'uploaded' });
    expect(await world.run(outbox.settled(refused.id))).toMatchObject({
      type: 'uploaded',
      via: [refused.id],
    });
    world.server.reachable = false;
    await world.run(outbox.pause());
    const withdrawn = await world.run(outbox.workout.create({ kg: 70 }));
    expect(await world.run(outbox.cancel(withdrawn.id))).toMatchObject({ type: 'cancelled' });
    await world.run(outbox.resume());
    expect(await world.run(outbox.export())).toMatchObject({ owner: 'ann', rows: [] });
    expect(world.server.applied).toMatchObject([{ body: { kg: 50 } }]);
  });

  it('[A75] two hundred pages that came and went leave nothing behind', async () => {
    const world = await start();
    const ports = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length;
    const first = await world.open();
    await viewOnce(world, first.outbox.view, ({ isReady }) => isReady);
    await world.clock.advance(60_000);
    const before = ports();
    for (let n = 0; n < 200; n++) {
      const { outbox, realm, close } = await world.open();
      outbox.view.subscribe(() => undefined);
      close();
      await world.clock.advance(20);
      expect(realm.listenerCount).toBe(0);
    }
    await world.clock.advance(60_000);
    await world.clock.settle(50);
    expect([ports(), world.worker.openCount]).toEqual([before, 0]);
  });
});
