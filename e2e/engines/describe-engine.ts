/**
 * What holds in every engine, whichever triggers it has: a stored command is carried out once, and nothing of it is
 * left. Here no engine has Background Sync, by itself or by refusal, so each way back is a trigger of another kind (W20).
 */
import { describe, expect, it } from 'vitest';
import { type EngineWorld, engineWorld } from './engine-world.ts';
import type { Engine } from './engines.ts';
import type { Visit } from './visit.ts';

/** The engine's own wait is ten minutes, so that no timer does what a trigger is asked to do. */
const PATIENT = '/sw.js?firstMs=600000';
/** No attempt gives up before its browser ends the worker, and where its lock lived on, its lease would end in time. */
const LONG_LEASE = '/sw.js?leaseMs=30000';
/** Some of these start a browser of their own in the middle, which takes most of a minute on a busy machine. */
const LIMIT_MS = 180_000;
const SECOND = 2;
const ROUNDS = 4;

export function describeEngine(engine: Engine): void {
  const { name, missing } = engine;
  if (missing !== undefined) console.warn(`${name} is not tested here. ${missing}`);
  describe.skipIf(missing !== undefined)(`the outbox in ${name}`, { timeout: LIMIT_MS }, () => {
    const world = engineWorld(engine);
    describeTriggers(world, engine);
    describeHosts(world, engine);
    describeLimits(world, engine);
  });
}

/** Nothing waits, nothing is stored, and the server carried out these, each once. */
async function expectAtRest(world: EngineWorld, visit: Visit, ids: readonly string[]): Promise<void> {
  await visit.whenView({ isReady: true, rows: [] });
  expect(await visit.left()).toEqual({ rows: 0, bodies: 0 });
  await world.expectApplied(ids);
}

function describeTriggers(world: EngineWorld, engine: Engine): void {
  it('[W12, W17] a creation, its change and a plan are stored, sent in order, and gone', async () => {
    const visit = await world.visit();
    expect(await visit.connect()).toBe('worker');
    const created = await visit.create(60);
    const end = await visit.settled(created);
    expect(end).toMatchObject({ type: 'uploaded', id: created });
    const target = end.type === 'uploaded' ? end.receipt.target : '';
    const updated = await visit.update(target, 80);
    expect(await visit.settled(updated)).toMatchObject({ type: 'uploaded', receipt: { revision: SECOND } });
    const planned = await visit.plan('2026-12-01', 'Legs');
    expect(await visit.settled(planned)).toMatchObject({ type: 'uploaded' });
    await expectAtRest(world, visit, [created, updated, planned]);
  });

  // Elsewhere a link is pulled, in a suite of its own.
  if (engine.switchesNetwork)
    it('[W20, W22] away from the network and back: what was stored meanwhile leaves at once', async () => {
      const visit = await world.visit();
      await visit.connect(PATIENT);
      await world.wire.cut();
      const ids = [await visit.create(60), await visit.create(70)];
      expect(await visit.settled(ids[0] ?? '', false)).toMatchObject({ type: 'deferred' });
      await visit.tab.setOffline?.(true);
      await visit.whenView({ progress: { running: false }, rows: [{}, {}], connection: 'offline' });
      await world.wire.mend();
      await visit.tab.setOffline?.(false);
      for (const id of ids) expect(await visit.settled(id)).toMatchObject({ type: 'uploaded' });
      expect(await visit.posted()).toContain('online');
      await expectAtRest(world, visit, ids);
    });

  it('[W20, D3] a connection that breaks in flight: the page’s timer asks again when the wait is over', async () => {
    const visit = await world.visit();
    await visit.connect();
    const release = world.hold('after');
    const id = await visit.create(60);
    await world.arrival();
    await world.wire.cut();
    await visit.whenView({ progress: { running: false }, rows: [{ state: 'queued' }] });
    release();
    await world.wire.mend();
    expect(await visit.settled(id)).toMatchObject({ type: 'uploaded', receipt: { id, replayed: true } });
    expect(await visit.posted()).toContain('timer');
    await expectAtRest(world, visit, [id]);
  });

  it('[W20, C6] a tab that is looked at again takes over what a closed one was sending', async () => {
    const behind = await world.visit();
    await behind.connect();
    await behind.tab.hide();
    const { id, host, release } = await leaveInFlight(world);
    await behind.whenGone(host);
    // A browser that closes one tab may show another.
    await behind.tab.hide();
    const again = world.arrival();
    await behind.tab.show();
    await again;
    expect(await behind.posted()).toContain('visible');
    release();
    expect(await behind.settled(id)).toMatchObject({ type: 'uploaded', id });
    await expectAtRest(world, behind, [id]);
  });

  if (engine.has.PeriodicSyncManager)
    it('[W20, C6] `periodicsync` takes over what a closed tab was sending, while nobody looks', async () => {
      const behind = await world.visit();
      await behind.connect();
      await behind.whenView({ isReady: true });
      // In front before the other one closes, so that it sees nothing happen.
      const { id, host, release } = await leaveInFlight(world, behind.tab.show);
      await behind.whenGone(host);
      const before = await behind.posted();
      const again = world.arrival();
      await behind.tab.periodicSync?.('holdfast');
      await again;
      expect(await behind.posted()).toEqual(before);
      release();
      expect(await behind.settled(id)).toMatchObject({ type: 'uploaded', id });
      await expectAtRest(world, behind, [id]);
    });

  it('[W20, W18] a page that was left and comes back, out of the browser’s memory or loaded anew, goes on', async () => {
    const visit = await world.visit();
    // A message to a page in memory ends it, and a worker that has just started has something to say.
    for (let round = 0; round < ROUNDS && !(await wasKept(visit)); round++) {
      await visit.tab.goto(world.wire.url);
      await visit.connect();
      await visit.whenView({ isReady: true });
      await visit.tab.goto(`${world.wire.url}/?elsewhere`);
      await visit.tab.back();
    }
    const isKept = await wasKept(visit);
    if (engine.keepsPages === 'always') expect(isKept).toBe(true);
    if (isKept) expect(await visit.posted()).toContain('visible');
    else {
      // Loaded anew: it connects, which is a trigger too.
      await visit.tab.goto(world.wire.url);
      await visit.connect();
    }
    const id = await visit.create(60);
    expect(await visit.settled(id)).toMatchObject({ type: 'uploaded', id });
    await expectAtRest(world, visit, [id]);
  });

  it('[W20, C6] a page that connects takes over what a closed one was sending', async () => {
    const { id, release } = await leaveInFlight(world);
    const again = world.arrival();
    const visit = await world.visit();
    expect(await visit.connect()).toBe('worker');
    await again;
    release();
    expect(await visit.settled(id)).toMatchObject({ type: 'uploaded', id });
    expect(await visit.posted()).toContain('connect');
    await expectAtRest(world, visit, [id]);
  });

  it('[W20, W1] a worker that starts sends what is there, before any page has said a word', async () => {
    const { id, release } = await leaveInFlight(world);
    const again = world.arrival();
    const visit = await world.visit();
    await visit.tab.run(async () => {
      await navigator.serviceWorker.register('/sw.js');
    });
    await again;
    expect(await visit.posted()).toEqual([]);
    release();
    await visit.connect();
    expect(await visit.settled(id)).toMatchObject({ type: 'uploaded', id });
    await expectAtRest(world, visit, [id]);
  });

  it('[W20, C5] a frozen page keeps its lock, and its row no longer than its lease', async () => {
    const frozen = await world.visit();
    expect(await frozen.connect('page')).toBe('page');
    const begin = world.shut('/api/freeze');
    const end = world.shut('/api/frozen');
    // A driver has no word with a frozen page, nor would it come back from one before the lease is over: so the page
    // is told by the server, and the other one is in front before.
    await frozen.tab.run(() => {
      void fetch('/api/freeze').then(() => {
        const request = new XMLHttpRequest();
        // Nothing of this page runs until it is answered.
        request.open('GET', '/api/frozen', false);
        request.send();
      });
    });
    const visit = await world.visit();
    await visit.connect();
    const release = world.hold('before');
    const id = await frozen.create(60);
    await world.arrival();
    begin.open();
    await end.reached;
    const again = world.arrival();
    expect(await visit.flush()).toMatchObject({ remaining: { sending: 1 } });
    await again;
    expect(await visit.hosts()).toHaveLength(2);
    expect(await visit.posted()).toContain('timer');
    release();
    expect(await visit.settled(id)).toMatchObject({ type: 'uploaded', id });
    end.open();
    await expectAtRest(world, visit, [id]);
  });
}

/** `false` also while a page that was not kept is being loaded. */
const wasKept = (visit: Visit): Promise<boolean> =>
  visit.tab.run(() => 'beside' in globalThis && globalThis.beside.wasKept);

/** A page is host itself, sends, and is closed before the answer comes: its row is left in flight, its lock is free. */
async function leaveInFlight(
  world: EngineWorld,
  beforeItCloses?: (() => Promise<void>) | undefined,
): Promise<{ readonly id: string; readonly host: readonly string[]; readonly release: () => void }> {
  const front = await world.visit();
  const others = await front.hosts();
  expect(await front.connect('page')).toBe('page');
  const host = (await front.hosts()).filter((name) => !others.includes(name));
  const release = world.hold('before');
  const id = await front.create(60);
  await world.arrival();
  await beforeItCloses?.();
  await front.tab.close();
  return { id, host, release };
}

function describeHosts(world: EngineWorld, engine: Engine): void {
  it('[W12, W4] a tab that closes in flight leaves its row to the worker, which finishes', async () => {
    const visit = await world.visit();
    await visit.connect();
    const release = world.hold('before');
    const id = await visit.create(60);
    await world.arrival();
    await visit.tab.close();
    release();
    const later = await world.visit();
    await later.connect();
    expect(await later.settled(id)).toMatchObject({ type: 'uploaded', id });
    expect(world.sent(id)).toBe(1);
    await expectAtRest(world, later, [id]);
  });

  it('[W3, C46] a worker that its browser ends in flight, after the last tab: the next start finishes', async () => {
    const hasty = await engine.launchHasty();
    try {
      const visit = await world.visit('/', hasty);
      await visit.connect(LONG_LEASE);
      const before = await visit.hosts();
      const release = world.hold('after');
      const id = await visit.create(60);
      await world.arrival();
      const dropped = world.wire.whenDropped(id);
      await visit.tab.close();
      await dropped;
      release();
      const later = await world.visit('/', hasty);
      await later.connect(LONG_LEASE);
      const end = await later.settled(id);
      expect(end).toMatchObject({ type: 'uploaded', receipt: { id, replayed: true } });
      await later.whenGone(before);
      expect(world.sent(id)).toBe(SECOND);
      await expectAtRest(world, later, [id]);
    } finally {
      await hasty.close();
    }
  });

  it('[W12, W3] a browser that is killed with a row waiting sends it when it is started again', async () => {
    const mend = world.refuse();
    let browser = await engine.launchLasting();
    try {
      await browser.open(`${world.wire.url}/?then=store`);
      const said = await world.told();
      expect(said).toEqual({ stored: expect.any(String) });
      const id = await world.arrival();
      expect(said).toEqual({ stored: id });
      await browser.kill();
      mend();
      browser = await browser.relaunch();
      await browser.open(`${world.wire.url}/?then=rest`);
      expect(await world.told()).toEqual({
        counts: { queued: 0, sending: 0, held: 0, blocked: 0 },
        left: { rows: 0, bodies: 0 },
        host: 'worker',
      });
      await world.expectApplied([id]);
    } finally {
      await browser.close();
    }
  });

  it('[W18, D41] two tabs see one queue: each row, each end, and the same rest', async () => {
    const one = await world.visit();
    const two = await world.visit();
    await one.connect();
    await two.connect();
    const release = world.hold('before');
    const id = await one.create(60);
    await world.arrival();
    const [seen, seenBeside] = await Promise.all(
      [one, two].map((visit) => visit.whenView({ rows: [{ id, state: 'sending' }] })),
    );
    expect(seenBeside?.rows).toEqual(seen?.rows);
    const other = await two.create(70);
    await one.whenView({ rows: [{ id }, { id: other }] });
    release();
    for (const visit of [one, two])
      for (const of of [id, other]) expect(await visit.settled(of)).toMatchObject({ type: 'uploaded' });
    await one.whenView({ rows: [], progress: { running: false } });
    await expectAtRest(world, two, [id, other]);
  });

  it.each([
    { when: 'where the app asks for it', worker: 'page' },
    { when: 'where the worker cannot be registered', worker: '/missing.js' },
  ])('[W40] a page is the host $when, and a worker that comes later shares its queue', async ({ worker }) => {
    const alone = await world.visit();
    expect(await alone.connect(worker)).toBe('page');
    const created = await alone.create(60);
    expect(await alone.settled(created)).toMatchObject({ type: 'uploaded' });
    const mend = world.refuse();
    const waiting = await alone.create(70);
    expect(await alone.settled(waiting, false)).toMatchObject({ type: 'deferred' });
    const beside = await world.visit();
    expect(await beside.connect()).toBe('worker');
    await beside.whenView({ rows: [{ id: waiting }] });
    mend();
    await Promise.all([alone.flush(), beside.flush()]);
    for (const visit of [alone, beside])
      expect(await visit.settled(waiting)).toMatchObject({ type: 'uploaded', id: waiting });
    await alone.whenView({ rows: [] });
    await expectAtRest(world, beside, [created, waiting]);
  });
}

function describeLimits(world: EngineWorld, engine: Engine): void {
  it('[W21] what the engine has not got is missing in the view, and nothing breaks by it', async () => {
    const visit = await world.visit();
    const found = await visit.tab.run(() => ({
      SyncManager: 'SyncManager' in globalThis,
      PeriodicSyncManager: 'PeriodicSyncManager' in globalThis,
      storageBuckets: 'storageBuckets' in navigator,
      storage: 'storage' in navigator,
      setAppBadge: 'setAppBadge' in navigator,
      locks: 'locks' in navigator,
      BroadcastChannel: 'BroadcastChannel' in globalThis,
    }));
    expect(found).toEqual(engine.has);
    await visit.connect();
    // With a row there is something to arm for, where there is anything to arm.
    const id = await visit.create(60);
    expect(await visit.settled(id)).toMatchObject({ type: 'uploaded' });
    const { triggers, host } = await visit.whenView({ isReady: true, triggers: { sync: engine.sync } });
    expect({ triggers, host }).toEqual({
      triggers: { sync: engine.sync, periodicSync: false },
      host: 'worker',
    });
  });

  if (engine.has.setAppBadge)
    it('[W51] the browser takes the badge: as many as wait, and none at rest', async () => {
      const visit = await world.visit();
      await visit.connect();
      await visit.whenView({ isReady: true });
      await visit.tab.run(() => globalThis.beside.keepBadge());
      const release = world.hold('before');
      const ids = [await visit.create(60)];
      await visit.whenView({ rows: [{}] });
      ids.push(await visit.create(70));
      await visit.whenView({ rows: [{}, {}] });
      release();
      for (const id of ids) expect(await visit.settled(id)).toMatchObject({ type: 'uploaded' });
      await visit.whenView({ rows: [] });
      const taken = () => visit.tab.run(() => globalThis.beside.badges);
      await expect.poll(async () => (await taken()).at(-1)).toBe(0);
      expect((await taken()).slice(0, 3)).toEqual([0, 1, SECOND]);
      await expectAtRest(world, visit, ids);
    });
}
