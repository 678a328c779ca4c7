import { describe, expect, it } from 'vitest';
import type { CredentialsOffer } from '../../../sw/dispatch/credentials.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';

const headers = (token: string): CredentialsOffer => ({ type: 'headers', headers: { authorization: token } });

describe('credentials', () => {
  it('[D5] signed out stops the owner’s flush by one fact; rows not tried stay and count as held', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 1_000; i++) await world.put(`t${i}`);
    world.server.latencyMs = 10;
    const stop = world.server.always({ type: 'unauthorized' });
    const result = await world.flush();
    expect(result).toMatchObject({ stoppedBy: 'auth', remaining: { queued: 0, held: 1_000 } });
    expect(world.server.requests).toHaveLength(6);
    const states = (await world.rows()).map(({ state }) => state);
    expect(states.filter((state) => state === 'held')).toHaveLength(6);
    expect(states.filter((state) => state === 'queued')).toHaveLength(994);
    expect(await world.engine.waiting('ann')).toMatchObject({ queued: 0, held: 1_000 });
    stop();
    expect((await world.flush()).outcomes).toHaveLength(1_000);
    expect(world.server.applied).toHaveLength(1_000);
  });

  it('[D5, C13] a release keeps fence, evidence and doubt', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.next([{ type: 'reset' }, { type: 'unauthorized' }]);
    await world.flush();
    await world.flush();
    expect(await world.row(row.id)).toMatchObject({ state: 'held', doubt: true, claim: { fence: 2 } });
    world.server.next({ type: 'reset' });
    await world.flush();
    expect(await world.row(row.id)).toMatchObject({
      state: 'queued',
      doubt: true,
      claim: { fence: 3 },
      evidence: { attemptCount: 3 },
    });
  });

  it('[D5, W31] none to offer: nothing is sent, everything shows as held until there are some', async () => {
    const world = await dispatchWorld();
    world.credentials = { offer: async () => ({ type: 'none' }) };
    await world.put('a');
    expect(await world.flush()).toMatchObject({ stoppedBy: 'auth', remaining: { held: 1, queued: 0 } });
    await world.flush();
    expect(world.server.requests).toHaveLength(0);
    world.credentials = { offer: async () => headers('t1') };
    expect((await world.flush()).outcomes).toHaveLength(1);
    expect(world.server.requests[0]?.headers).toEqual({ authorization: 't1' });
  });

  it('[D5] the change stream shows rows as held, and as queued again', async () => {
    const world = await dispatchWorld();
    const counts: string[] = [];
    world.engine.onChange((change) => counts.push(`${change.counts.queued}/${change.counts.held}`));
    await world.put('a');
    await world.put('b');
    world.credentials = { offer: async () => ({ type: 'none' }) };
    await world.flush();
    world.credentials = { offer: async () => headers('t1') };
    await world.flush();
    expect(counts).toEqual(expect.arrayContaining(['2/0', '0/2']));
    expect(counts.at(-1)).toBe('0/0');
  });

  it('[W30] of another account hold the rows; those of this account do not', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    let account = 'bob';
    world.credentials = { offer: async () => ({ type: 'headers', headers: {}, account }) };
    expect((await world.flush()).stoppedBy).toBe('auth');
    expect(world.server.requests).toHaveLength(0);
    account = 'ann';
    expect((await world.flush()).outcomes).toHaveLength(1);
  });

  it.each([
    ['that never come', () => new Promise<never>(() => undefined)],
    ['that throw', () => Promise.reject(new Error('no'))],
    ['that make no sense', async () => JSON.parse('"nonsense"')],
  ])('[D4] %s stop the flush, and nobody is taken for signed out', async (_, offer) => {
    const world = await dispatchWorld();
    await world.put('a');
    // An app in plain JavaScript may answer anything.
    world.credentials = { offer };
    const startedAt = world.clock.now();
    expect(await world.flush()).toMatchObject({
      stoppedBy: 'credentials',
      remaining: { queued: 1, held: 0 },
    });
    expect(world.clock.now() - startedAt).toBeLessThanOrEqual(8_000);
    expect(world.engine.progress('ann').wakeAt).toBeGreaterThan(world.clock.now());
    world.credentials = { offer: async () => headers('t1') };
    expect((await world.flush()).outcomes).toHaveLength(1);
  });

  it('[D5, C13, W31, A48] six refusals of one old token ask for a new one once, and leave under the same ids', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 50;
    world.server.requireHeaders = { authorization: 'new' };
    const rows = [];
    for (let i = 0; i < 6; i++) rows.push(await world.put(`t${i}`));
    const asked: boolean[] = [];
    world.credentials = {
      offer: async (_, refused) => {
        asked.push(refused);
        if (!refused) return headers('old');
        await new Promise<void>((resolve) => world.clock.after(1_000, resolve));
        return headers('new');
      },
    };
    const result = await world.flush();
    expect(asked).toEqual([false, true]);
    expect(result.stoppedBy).toBeUndefined();
    expect(world.server.requests).toHaveLength(12);
    expect(new Set(world.sent())).toEqual(new Set(rows.map(({ id }) => id)));
    expect(world.server.applied).toHaveLength(6);
  });

  it('[D5, D48, A48] refused with the new token too: held, no loop, one signal', async () => {
    const world = await dispatchWorld();
    world.server.requireHeaders = { authorization: 'never' };
    for (let i = 0; i < 6; i++) await world.put(`t${i}`);
    let made = 0;
    world.credentials = { offer: async () => headers(`t${made++}`) };
    const result = await world.flush();
    expect(result).toMatchObject({ stoppedBy: 'auth', remaining: { held: 6 } });
    expect(world.server.requests.length).toBeLessThanOrEqual(12);
    expect(world.reported).toEqual([{ type: 'stopped', owner: 'ann', by: 'auth' }]);
    await world.clock.advance(600_000);
    expect(world.server.requests.length).toBeLessThanOrEqual(12);
  });

  it('[W31, D5] while the session has ended a trigger costs one refused request, and all leave once it is back', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 100; i++) await world.put(`t${i}`);
    world.server.latencyMs = 10;
    const stop = world.server.always({ type: 'unauthorized' });
    // With cookies nobody but the server can say that it has ended.
    await world.flush();
    for (const cause of ['visible', 'online', 'connect', 'timer', 'sync'] as const) {
      const before = world.server.requests.length;
      expect(await world.run(world.engine.flush('ann', cause))).toMatchObject({ stoppedBy: 'auth' });
      expect(world.server.requests.length - before).toBe(1);
    }
    stop();
    expect((await world.flush()).outcomes).toHaveLength(100);
    expect(world.server.mostOpen).toBe(6);
  });

  it('[D5] the same headers again are not tried again in the flush that saw them refused', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.server.always({ type: 'unauthorized' });
    world.credentials = { offer: async () => headers('t1') };
    await world.flush();
    expect(world.server.requests).toHaveLength(1);
  });
});

describe('owners', () => {
  const store = (world: Awaited<ReturnType<typeof dispatchWorld>>, owner: string, target: string) =>
    world.enqueue({ owner, target: { type: 'id', id: target } });

  it('[C17, W30, A46] after a switch the other’s rows wait for their owner, also in a flush without a page', async () => {
    const world = await dispatchWorld();
    world.credentials = { offer: async (owner) => headers(owner) };
    world.isOnline = false;
    for (const target of ['a', 'b', 'c']) await store(world, 'ann', target);
    await world.flush();
    await world.engine.signOut('ann', 'keep');
    await world.engine.signIn('bob');
    await store(world, 'bob', 'd');
    world.isOnline = true;
    const engine = await world.restart();
    const synced = await world.run(engine.flushActive('sync'));
    expect(synced).toMatchObject({ owner: 'bob', outcomes: [{ type: 'committed' }] });
    expect((await world.flush('ann')).stoppedBy).toBe('owner');
    expect(world.server.requests.map(({ owner, headers: sent }) => [owner, sent['authorization']])).toEqual([
      ['bob', 'bob'],
    ]);
    await engine.signIn('ann');
    await world.flush();
    expect(world.server.applied).toHaveLength(4);
    expect(world.server.requests.every(({ owner, headers: sent }) => sent['authorization'] === owner)).toBe(
      true,
    );
  });

  it('[W30] a claim of an owner who is no longer active does not commit', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    const held = world.store.holdNext('claim');
    const flush = world.engine.flush('ann', 'flush');
    await held.reached;
    await world.store.writeFacts([{ name: ['active_owner'], value: 'bob' }], 'strict');
    held.release();
    expect((await world.run(flush)).stoppedBy).toBe('owner');
    expect(world.server.requests).toHaveLength(0);
  });

  it('[W30] what was claimed ahead is not sent after another host has signed the owner out', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 300;
    for (let i = 0; i < 40; i++) await world.put(`t${i}`);
    const other = await world.start();
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(700);
    const out = other.engine.signOut('ann', 'keep');
    await world.clock.settle();
    const asOfSignOut = world.server.requests.length;
    await world.run(out);
    expect(world.server.open).toBe(0);
    const after = world.server.requests.length;
    expect(after - asOfSignOut).toBeLessThanOrEqual(6);
    await world.clock.advance(60_000);
    expect(world.server.requests).toHaveLength(after);
  });

  it('[W30, W32, A47] signing out states what waits and resolves when the open attempt has ended', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 500;
    await world.put('a');
    await world.put('b');
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(100);
    const out = world.engine.signOut('ann', 'keep');
    const racing = world.put('c').then(
      () => 'stored',
      (error: Error) => error.name,
    );
    expect(await world.run(out)).toMatchObject({ waiting: { sending: 2, queued: 0, held: 0, blocked: 0 } });
    expect(world.server.open).toBe(0);
    expect(['stored', 'SignedOutError']).toContain(await racing);
    await flush;
    const sent = world.server.requests.length;
    await world.run(world.engine.flush('ann', 'online'));
    expect(world.server.requests).toHaveLength(sent);
  });

  it('[W30] an attempt that does not end is cut when its owner signs out, and stays in doubt', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.next({ type: 'hang' });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(100);
    const startedAt = world.clock.now();
    await world.run(world.engine.signOut('ann', 'keep'));
    expect(world.clock.now() - startedAt).toBeLessThanOrEqual(2_000);
    expect(world.server.open).toBe(0);
    expect(await world.row(row.id)).toMatchObject({ state: 'queued', doubt: true });
    expect((await world.row(row.id)).notBefore).toBeUndefined();
  });

  it('[W32, A47] discard removes that owner’s rows alone, and says so in its journal', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 130; i++) await store(world, 'ann', `t${i}`);
    await world.engine.signIn('bob');
    await store(world, 'bob', 'x');
    await world.engine.signIn('ann');
    expect(await world.run(world.engine.signOut('ann', 'discard'))).toMatchObject({
      waiting: { queued: 130 },
    });
    expect(await world.rows('ann')).toEqual([]);
    expect(await world.rows('bob')).toHaveLength(1);
    const { entries } = await world.engine.journal('ann', undefined, 1_000);
    expect(entries.filter(({ outcome }) => outcome.type === 'discarded')).toHaveLength(130);
  });

  it.each([{ active: 'bob' }, { active: undefined }])(
    '[W16, W32] an owner who is not signed in is not discarded ($active is); nothing of it goes',
    async ({ active }) => {
      const world = await dispatchWorld();
      await world.put('a');
      await world.run(world.engine.signOut('ann', 'keep'));
      if (active !== undefined) await world.run(world.engine.signIn(active));
      const refusal = world.engine.signOut('ann', 'discard').catch((error: unknown) => error);
      expect(await world.run(refusal)).toMatchObject({ code: 'signed_out', data: { owner: 'ann' } });
      expect(await world.rows()).toHaveLength(1);
      expect(await world.engine.activeOwner()).toBe(active);
      expect(await world.engine.discarded()).toEqual([]);
    },
  );

  it('[W16, W30] a late sign-out of the owner before leaves the one who is signed in alone', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    await world.run(world.engine.signOut('ann', 'keep'));
    // A page that had no answer asks again.
    expect(await world.run(world.engine.signOut('ann', 'keep'))).toMatchObject({ waiting: { queued: 1 } });
    await world.run(world.engine.signIn('bob'));
    const refusal = world.engine.signOut('ann', 'keep').catch((error: unknown) => error);
    expect(await world.run(refusal)).toMatchObject({ code: 'signed_out' });
    expect(await world.engine.activeOwner()).toBe('bob');
  });

  /** Killed with the first page of 64 gone. */
  const killedInDiscard = async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 130; i++) await world.put(`t${i}`);
    const held = world.store.holdNext('discard_owner');
    void world.engine.signOut('ann', 'discard').catch(() => undefined);
    await world.run(held.reached);
    held.release();
    const again = world.store.holdNext('discard_owner');
    await world.run(again.reached);
    const engine = await world.restart();
    again.release();
    expect((await world.rows()).length).toBeGreaterThan(0);
    return { world, engine };
  };

  it.each([{ next: 'bob' }, { next: undefined }])(
    '[W32, W11] the repeat of a discard whose host was killed goes on with it ($next is signed in by then)',
    async ({ next }) => {
      const { world, engine } = await killedInDiscard();
      if (next !== undefined) await world.run(engine.signIn(next));
      await world.run(engine.signOut('ann', 'discard'));
      expect(await world.rows()).toEqual([]);
      expect(await engine.activeOwner()).toBe(next);
    },
  );

  it.each([{ active: 'bob' }, { active: undefined }])(
    '[W32, W3] without a repeat the next host finishes what the person said ($active is signed in)',
    async ({ active }) => {
      const { world, engine } = await killedInDiscard();
      if (active !== undefined) await world.run(engine.signIn(active));
      await world.run(engine.flushActive('start'));
      await world.clock.advance(1_000);
      expect(await world.rows()).toEqual([]);
      expect(await engine.discarded()).toEqual(['ann']);
    },
  );

  it('[W32] signing in again finds nothing of what was discarded, and what is saved then stays', async () => {
    const { world, engine } = await killedInDiscard();
    await world.run(engine.signIn('ann'));
    expect(await world.rows()).toEqual([]);
    expect(await engine.discarded()).toEqual([]);
    await world.put('new');
    await world.run(world.restart().then((next) => next.signIn('ann')));
    expect(await world.rows()).toHaveLength(1);
  });

  it('[W32] a host that is still discarding does not touch what the owner saves after signing in again', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    const other = await world.start();
    const held = world.store.holdNext('discard_owner');
    const out = other.engine.signOut('ann', 'discard');
    await world.run(held.reached);
    await world.run(world.engine.signIn('ann'));
    expect(await world.rows()).toEqual([]);
    const { id } = await world.put('a');
    held.release();
    await world.run(out);
    expect((await world.rows()).map((row) => row.id)).toEqual([id]);
  });

  it('[W32] flush first reports what left and what did not', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    const bad = await world.put('b');
    world.server.always({ type: 'status', status: 500 }, ({ id }) => id === bad.id);
    const out = await world.run(world.engine.signOut('ann', 'flush'));
    expect(out).toMatchObject({
      waiting: { queued: 2 },
      flushed: { outcomes: [{ type: 'committed' }, { type: 'deferred' }], remaining: { queued: 1 } },
    });
    expect(await world.engine.activeOwner()).toBeUndefined();
  });

  it('[C17, D3, W30, A68] owners with the same targets share nothing: rows, waits, sign-out, explanations', async () => {
    const world = await dispatchWorld();
    const ofAnn = [];
    for (let i = 0; i < 10; i++) {
      await world.engine.signIn('ann');
      ofAnn.push(await store(world, 'ann', `t${i}`));
      await world.engine.signIn('bob');
      await store(world, 'bob', `t${i}`);
    }
    await world.engine.signIn('ann');
    world.server.next([{ type: 'unauthorized' }, { type: 'status', status: 500 }]);
    await world.flush('ann');
    const ownOfAnn = world.server.requests.length;
    await world.engine.signIn('bob');
    const { engine } = world;
    expect((await engine.rows('bob', { limit: 100 })).rows).toHaveLength(10);
    expect((await engine.rows('bob', { limit: 100 })).rows.every(({ owner }) => owner === 'bob')).toBe(true);
    expect(await engine.waiting('bob')).toMatchObject({ queued: 10, held: 0 });
    expect(await engine.settled('bob', ofAnn[0]?.id ?? '')).toMatchObject({ type: 'not_found' });
    expect(await engine.explain('bob', ofAnn[0]?.id ?? '')).toBeUndefined();
    expect(
      await engine.bodies(
        'bob',
        ofAnn.map(({ id }) => id),
      ),
    ).toEqual([]);
    const result = await world.flush('bob');
    expect(result.outcomes).toHaveLength(10);
    expect(world.server.requests.slice(ownOfAnn).every(({ owner }) => owner === 'bob')).toBe(true);
    await engine.signIn('ann');
    await world.flush('ann');
    expect(world.server.applied).toHaveLength(20);
  });
});
