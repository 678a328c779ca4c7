import { afterEach, describe, expect, it } from 'vitest';
import { snapshotName } from '../../client/read-snapshot.ts';
import type { LiveView, ViewSnapshot } from '../../client/view-snapshot.ts';
import { OutboxUnavailableError, SignedOutError } from '../../shared/errors.ts';
import { defineOutbox, record } from '../../shared/family.ts';
import { createMemoryRowStore } from '../../sw/storage/memory-row-store.ts';
import { createMemoryLedger } from '../../sw/testing/memory-ledger.ts';
import { createLineWorld } from '../support/line-world.ts';

const definition = defineOutbox({ workout: record() });

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function setUp() {
  const ledger = createMemoryLedger();
  const world = await createLineWorld(definition, { ledger });
  ends.push(world.end);
  const viewOnce = (view: LiveView, condition: (view: ViewSnapshot) => boolean): Promise<ViewSnapshot> =>
    world.run(
      new Promise((resolve) => {
        const look = (): void => {
          if (condition(view.getSnapshot())) resolve(view.getSnapshot());
        };
        view.subscribe(look);
        look();
      }),
    );
  /** The database is gone and was made anew; who was signed in is forgotten with it. */
  const lose = () =>
    world.device.replace(createMemoryRowStore({ clock: world.clock, ids: { uuid: world.uuid } }));
  return { world, ledger, viewOnce, lose };
}

describe('where the outbox cannot be read', () => {
  it('[S15] the rows are the ledger’s, sending and editing refuse, and nothing is written', async () => {
    const { world, ledger, viewOnce } = await setUp();
    world.server.reachable = false;
    const { outbox } = await world.open();
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    await world.clock.advance(2_000);
    const before = JSON.stringify(await ledger.entries(undefined, 9));

    world.device.isBroken = true;
    world.worker.stop();
    const next = await world.open();
    const view = await viewOnce(next.outbox.view, ({ isReady }) => isReady);
    expect(view).toMatchObject({ owner: 'ann', storage: { mode: 'read_only' }, rows: [{ id: saved.id }] });
    expect(view.counts).toMatchObject({ queued: 1 });
    const calls: readonly (() => Promise<unknown>)[] = [
      () => next.outbox.workout.create({ kg: 1 }),
      () => next.outbox.cancel(saved.id),
      () => next.outbox.flush(),
      () => next.outbox.signIn('bob'),
    ];
    for (const call of calls) {
      await expect(world.run(call())).rejects.toBeInstanceOf(OutboxUnavailableError);
    }
    await world.clock.advance(2_000);
    expect(JSON.stringify(await ledger.entries(undefined, 9))).toBe(before);
  });

  it('[S15] where the ledger cannot be read either they are those of the page’s snapshot', async () => {
    const { world, ledger, viewOnce } = await setUp();
    world.server.reachable = false;
    const { outbox, realm } = await world.open();
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    await world.clock.advance(2_000);
    // Loaded in real time, which a moved clock does not wait for.
    await import('../../client/snapshot-rows.ts');
    const text = realm.localStorage.getItem(snapshotName(world.name, 'ann'));

    world.device.isBroken = true;
    ledger.isHanging = true;
    world.worker.stop();
    const view = await viewOnce(outbox.view, ({ storage }) => storage.mode === 'read_only');
    expect(view.rows).toMatchObject([{ id: saved.id, state: 'queued' }]);
    expect(realm.localStorage.getItem(snapshotName(world.name, 'ann'))).toBe(text);
  });

  it('[S15] where there is no witness at all the page says so', async () => {
    const { world, ledger, viewOnce } = await setUp();
    world.device.isBroken = true;
    ledger.isHanging = true;
    const { outbox } = await world.open();
    const view = await viewOnce(outbox.view, ({ storage }) => storage.mode !== 'ok');
    expect(view).toMatchObject({ owner: 'ann', isReady: false, rows: [], storage: { mode: 'no_database' } });
  });

  it('[S15] storage that stops answering while a page connects fails nothing for the owner who is active', async () => {
    const { world, viewOnce } = await setUp();
    (await world.open()).close();
    const breaking = {
      postMessage(message: unknown, transfer: Transferable[]) {
        if (JSON.stringify(message).includes('"signIn"')) world.device.isBroken = true;
        world.worker.postMessage(message, transfer);
      },
      addEventListener: () => undefined,
    };
    const worker = { active: breaking, waiting: null, installing: null };
    await expect(world.open({ worker, owner: 'bob' })).rejects.toBeInstanceOf(OutboxUnavailableError);
    world.device.isBroken = false;
    const { outbox } = await world.open({ worker });
    await viewOnce(outbox.view, ({ owner, storage }) => owner === 'ann' && storage.mode === 'read_only');
    world.device.isBroken = false;
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    expect(await world.run(saved.settled)).toMatchObject({ type: 'uploaded' });
    expect(await viewOnce(outbox.view, ({ storage }) => storage.mode === 'ok')).toMatchObject({ rows: [] });
  });

  it('[S15] once it can be read again the page signs in by itself and goes on', async () => {
    const { world, viewOnce } = await setUp();
    world.device.isBroken = true;
    const { outbox } = await world.open();
    await viewOnce(outbox.view, ({ storage }) => storage.mode === 'read_only');
    world.device.isBroken = false;
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    expect(await world.run(saved.settled)).toMatchObject({ type: 'uploaded' });
    expect(await viewOnce(outbox.view, ({ storage }) => storage.mode === 'ok')).toMatchObject({ rows: [] });
  });
});

describe('a database lost under an open page', () => {
  it('[S31] is signed in to anew, the snapshot handed over before the first command, and all drain once', async () => {
    const { world, lose, viewOnce } = await setUp();
    world.server.reachable = false;
    const { outbox } = await world.open();
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    await world.clock.advance(2_000);
    lose();
    const next = await world.run(outbox.workout.create({ kg: 61 }));
    const view = await viewOnce(outbox.view, ({ rows }) => rows.length === 2);
    expect(view.rows).toMatchObject([{ id: saved.id, recovery: { proof: 'agreed' } }, { id: next.id }]);
    world.server.reachable = true;
    await world.run(outbox.flush());
    expect(world.server.applied.map(({ id }) => id)).toEqual([saved.id, next.id]);
  });

  it('[W30, S31] where it is the same database somebody signed out, and the page does not sign in again', async () => {
    const { world } = await setUp();
    const { outbox } = await world.open();
    // As a page that was frozen: it hears nothing of it.
    await world.device.writeFacts([{ name: ['active_owner'], value: undefined }], 'strict');
    await expect(world.run(outbox.workout.create({ kg: 60 }))).rejects.toBeInstanceOf(SignedOutError);
    expect(await world.store.readFact(['active_owner'])).toBeUndefined();
  });
});

describe('the snapshot', () => {
  it('[S20, S21] is kept in line with what the page hears, once per burst', async () => {
    const { world } = await setUp();
    world.server.reachable = false;
    const { outbox, realm } = await world.open();
    const written: string[] = [];
    const { setItem } = realm.localStorage;
    realm.localStorage.setItem = (key, value) => {
      written.push(key);
      setItem(key, value);
    };
    await world.run(Promise.all([1, 2, 3].map((kg) => outbox.workout.create({ kg }))));
    await world.clock.advance(2_000);
    const name = snapshotName(world.name, 'ann');
    expect(JSON.parse(realm.localStorage.getItem(name) ?? '{}').rows).toHaveLength(3);
    world.server.reachable = true;
    await world.run(outbox.flush());
    await world.clock.advance(2_000);
    expect(JSON.parse(realm.localStorage.getItem(name) ?? '{}').rows).toEqual([]);
    expect(new Set(written)).toEqual(new Set([name]));
    expect(written.length).toBeLessThanOrEqual(4);
  });

  it('[W32] goes with the rows that a person discards', async () => {
    const { world } = await setUp();
    world.server.reachable = false;
    const { outbox, realm } = await world.open();
    await world.run(outbox.workout.create({ kg: 60 }));
    await world.clock.advance(2_000);
    expect(realm.localStorage.getItem(snapshotName(world.name, 'ann'))).not.toBeNull();
    await world.run(outbox.signOut('discard'));
    await world.clock.advance(5_000);
    expect(realm.localStorage.getItem(snapshotName(world.name, 'ann'))).toBeNull();
  });
});

describe('what a person may know of it', () => {
  it('[S16, W18] usage, quota, whether it persists, and whether the second copies are written', async () => {
    const { world, ledger, viewOnce } = await setUp();
    const storage = {
      estimate: async () => ({ usage: 7, quota: 1_000 }),
      persisted: async () => false,
      persist: async () => true,
    };
    const { outbox } = await world.open({}, { storage });
    const view = await viewOnce(outbox.view, (now) => now.storage.mirrorSetAside !== undefined);
    expect(view.storage).toEqual({
      mode: 'ok',
      usage: 7,
      quota: 1_000,
      isPersisted: false,
      mirrorSetAside: false,
      reserveGone: false,
    });
    expect(await world.run(outbox.persist())).toBe(true);
    expect(outbox.view.getSnapshot().storage.isPersisted).toBe(true);
    ledger.isHanging = true;
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    await world.run(saved.settled);
    await viewOnce(outbox.view, (now) => now.storage.mirrorSetAside === true);
  });

  it('[S16, W18] what was refused for want of room shows as full until rows have left', async () => {
    const { world, viewOnce } = await setUp();
    world.server.reachable = false;
    const { outbox } = await world.open();
    await viewOnce(outbox.view, ({ isReady }) => isReady);
    await world.run(outbox.workout.create({ kg: 60 }));
    await viewOnce(outbox.view, ({ rows }) => rows.length === 1);
    world.device.isFull = true;
    await expect(world.run(outbox.workout.create({ kg: 61 }))).rejects.toMatchObject({
      code: 'quota',
      data: { usage: 9, quota: 9 },
    });
    await world.run(outbox.flush());
    await world.clock.advance(1_000);
    expect(outbox.view.getSnapshot().storage.mode).toBe('full');
    world.device.isFull = false;
    world.server.reachable = true;
    await world.run(outbox.flush());
    await viewOnce(outbox.view, ({ storage }) => storage.mode === 'ok');
  });

  it('[W18] a browser that cannot be asked to persist has not promised anything', async () => {
    const { world } = await setUp();
    const { outbox } = await world.open();
    expect(await world.run(outbox.persist())).toBe(false);
  });
});
