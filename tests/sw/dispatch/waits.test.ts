import { describe, expect, it, test } from 'vitest';
import { FACTS } from '../../../sw/outbox/row-store.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';

describe('a failure in passing', () => {
  it('[D3] without any answer stops new sends; attempts in flight finish', async () => {
    const world = await dispatchWorld({ concurrency: 2 });
    const [, lost] = [await world.put('a'), await world.put('b'), await world.put('c')];
    world.server.next({ type: 'delay', ms: 500 }, ({ target }) => target.type === 'id' && target.id === 'a');
    world.server.next({ type: 'reset' }, ({ id }) => id === lost?.id);
    const result = await world.flush();
    expect(result.stoppedBy).toBe('network');
    expect(result.outcomes.map(({ type }) => type)).toEqual(['deferred', 'committed']);
    expect(world.server.requests).toHaveLength(2);
  });

  it('[D3] of three keys in a row stops the flush, of two it does not', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    for (const target of ['a', 'b', 'c', 'd']) await world.put(target);
    world.server.next([
      { type: 'status', status: 500 },
      { type: 'status', status: 502 },
    ]);
    const twice = await world.flush();
    expect(twice.stoppedBy).toBeUndefined();
    expect(twice.outcomes.map(({ type }) => type)).toEqual([
      'deferred',
      'deferred',
      'committed',
      'committed',
    ]);

    for (const target of ['e', 'f', 'g']) await world.put(target);
    world.server.always({ type: 'status', status: 504 });
    const thrice = await world.flush();
    expect(thrice.stoppedBy).toBe('failures');
    expect(thrice.outcomes).toHaveLength(3);
  });

  it.each([
    { fault: { type: 'status', status: 503 }, by: 'failures' },
    { fault: { type: 'reset' }, by: 'network' },
  ] as const)(
    '[D3, W20, W22] of a long queue asks to be woken later with every flush in vain ($by)',
    async ({ fault, by }) => {
      const world = await dispatchWorld();
      for (let n = 0; n < 100; n++) await world.put(`t${n}`);
      world.server.always(fault);
      const end = world.clock.now() + 60_000;
      // An open page's timer, which does as it is told.
      while (world.clock.now() < end) {
        const { stoppedBy } = await world.run(world.engine.flush('ann', 'timer'));
        if (stoppedBy !== undefined) expect(stoppedBy).toBe(by);
        const { wakeAt = end } = world.engine.progress('ann');
        await world.clock.advance(Math.max(wakeAt - world.clock.now(), 250));
      }
      // Six at once, five times; by the rows' own waits alone it would be all hundred.
      expect(world.server.requests.length).toBeLessThan(40);
    },
  );

  it('[D3] rests its key by a wait that survives a restart and that flush(), sync and online override', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.always({ type: 'status', status: 500 });
    await world.flush();
    const { notBefore } = await world.row(row.id);
    expect(notBefore).toMatchObject({ by: 'engine' });
    expect((notBefore?.at ?? 0) - world.clock.now()).toBeGreaterThanOrEqual(2_000);
    const { engine } = await world.start();
    for (const cause of ['enqueue', 'visible', 'connect', 'start', 'timer'] as const)
      await world.run(engine.flush('ann', cause));
    expect(world.server.requests).toHaveLength(1);
    for (const cause of ['flush', 'sync', 'online'] as const) await world.run(engine.flush('ann', cause));
    expect(world.server.requests).toHaveLength(4);
    await world.clock.advance(300_000);
    await world.run(engine.flush('ann', 'timer'));
    expect(world.server.requests).toHaveLength(5);
  });

  it('[D3] a time named on another status rests that key only', async () => {
    const world = await dispatchWorld();
    const slow = await world.put('a');
    world.server.next({ type: 'status', status: 409, code: 'in_progress', retryAfter: '60' });
    await world.put('b');
    const result = await world.flush();
    expect(result.stoppedBy).toBeUndefined();
    expect(await world.row(slow.id)).toMatchObject({
      doubt: true,
      notBefore: { at: world.clock.now() + 60_000, by: 'server' },
    });
    await world.flush();
    expect(world.server.requestsOf(slow.id)).toHaveLength(1);
  });

  it('[D3, D40] tells when to wake next: the earliest wait of what is left', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    await world.put('b');
    world.server.next([
      { type: 'status', status: 409, code: 'in_progress', retryAfter: '60' },
      { type: 'status', status: 409, code: 'in_progress', retryAfter: '30' },
    ]);
    const { engine, clock } = world;
    const startedAt = clock.now();
    await world.flush();
    expect(engine.progress('ann').wakeAt).toBe(startedAt + 30_000);
    await clock.advance(30_000);
    await world.run(engine.flush('ann', 'timer'));
    expect(world.server.applied).toHaveLength(1);
    expect(engine.progress('ann').wakeAt).toBe(startedAt + 60_000);
  });
});

describe('a sender that rests', () => {
  it('[D3, C8, A10] after a 429 nothing of its owner leaves before the time named, on any host', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 50;
    for (let i = 0; i < 40; i++) await world.put(`t${i}`);
    // Some answers first, so that rows are claimed ahead when the server has had enough.
    await world.put('limited');
    const other = await world.start();
    const t0 = world.clock.now();
    world.server.next(
      { type: 'status', status: 429, retryAfter: '120' },
      ({ id }) => world.sent().indexOf(id) >= 12,
    );
    const result = await world.flush();
    expect(result.stoppedBy).toBe('rest');
    const limitedAt = world.clock.now() - 50;
    const before = world.server.requests.length;
    expect(before).toBeLessThanOrEqual(12 + 6 + 6);
    const limited = (await world.rows()).filter(({ evidence }) => evidence.attemptCount > 0);
    expect(limited).toHaveLength(1);
    expect(limited[0]).toMatchObject({ state: 'queued', doubt: false });
    expect((await world.rows()).every(({ state, doubt }) => state === 'queued' && doubt === false)).toBe(
      true,
    );
    await world.put('late');
    for (const [at, cause] of [
      [10_000, 'enqueue'],
      [30_000, 'online'],
      [60_000, 'visible'],
      [90_000, 'sync'],
      [119_000, 'flush'],
    ] as const) {
      await world.clock.advance(limitedAt + at - world.clock.now());
      for (const { engine } of [world, other]) {
        const rested = await world.run(engine.flush('ann', cause));
        expect(rested.stoppedBy).toBe('rest');
        expect(engine.progress('ann').wakeAt).toBeLessThanOrEqual(limitedAt + 121_000);
      }
    }
    expect(world.server.requests).toHaveLength(before);
    await world.clock.advance(t0 + 130_000 - world.clock.now());
    await world.run(other.engine.flush('ann', 'timer'));
    expect(world.server.applied).toHaveLength(42);
    expect(world.server.requestsOf(limited[0]?.id ?? '')).toHaveLength(2);
  });

  it('[D3] a 503 with a time rests everyone, a 429 its owner alone', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.server.next({ type: 'status', status: 429, retryAfter: '120' });
    await world.flush();
    await world.engine.signIn('bob');
    await world.enqueue({ owner: 'bob', target: { type: 'id', id: 'b' } });
    world.server.next({ type: 'status', status: 503, retryAfter: '60' });
    expect((await world.flush('bob')).stoppedBy).toBe('rest');
    expect(world.server.requests).toHaveLength(2);
    await world.engine.signIn('carl');
    await world.enqueue({ owner: 'carl', target: { type: 'id', id: 'c' } });
    expect((await world.flush('carl')).stoppedBy).toBe('rest');
    await world.clock.advance(60_000);
    expect((await world.flush('carl')).outcomes).toHaveLength(1);
  });

  it('[D3] a 429 without a time rests its owner by the engine’s own wait', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    await world.put('b');
    world.server.always({ type: 'status', status: 429 });
    await world.flush();
    expect((await world.run(world.engine.flush('ann', 'enqueue'))).stoppedBy).toBe('rest');
    expect(world.server.requests).toHaveLength(2);
    await world.flush();
    expect(world.server.requests.length).toBeGreaterThan(2);
  });

  test.each(['2147484', '99999999999', 'Infinity', 'Wed, 03 Jan 2035 00:00:00 GMT'])(
    '[D3, C4, A11] a Retry-After of %s is a finite wait of at most an hour, and never a loop',
    async (retryAfter) => {
      const world = await dispatchWorld({ startAt: 1_700_000_000_000 });
      const row = await world.put('a');
      world.server.always({ type: 'status', status: 503, retryAfter });
      await world.flush();
      const { notBefore } = await world.row(row.id);
      expect(Number.isFinite(notBefore?.at)).toBe(true);
      expect((notBefore?.at ?? 0) - world.clock.now()).toBeLessThanOrEqual(3_600_000);
      const { wakeAt } = world.engine.progress('ann');
      expect(wakeAt).toBeGreaterThan(world.clock.now() + 1_000);
      if (retryAfter === 'Infinity') {
        // Not readable: the engine's own wait, which grows.
        for (let i = 0; i < 10; i++) {
          await world.clock.advance((world.engine.progress('ann').wakeAt ?? 0) - world.clock.now());
          await world.run(world.engine.flush('ann', 'timer'));
        }
        expect(world.server.requests.length).toBeLessThanOrEqual(11);
        expect((world.engine.progress('ann').wakeAt ?? 0) - world.clock.now()).toBeGreaterThan(60_000);
        return;
      }
      for (let i = 0; i < 6; i++) {
        await world.clock.advance(10_000);
        await world.flush();
      }
      expect(world.server.requests).toHaveLength(1);
    },
  );

  it('[C4, D3, A21] a wait that a clock set back has put a day ahead is not believed', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.server.next({ type: 'status', status: 429, retryAfter: '60' });
    await world.flush();
    world.clock.jump(-86_400_000);
    await world.run(world.engine.flush('ann', 'online'));
    expect(world.server.applied).toHaveLength(1);
  });

  it('[D3] waits for the longer of two rests', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    const now = world.clock.now();
    await world.store.writeFacts(
      [
        { name: FACTS.restAll, value: { at: now + 10_000 } },
        { name: FACTS.restOwner('ann'), value: { at: now + 20_000, by: 'server' } },
      ],
      'relaxed',
    );
    expect((await world.flush()).stoppedBy).toBe('rest');
    expect(world.engine.progress('ann').wakeAt).toBe(now + 20_000);
  });
});

describe('without a connection', () => {
  it('[W22, D3, A12] known offline makes no request, and failures of the network never block a row', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.isOnline = false;
    for (let i = 0; i < 5; i++) {
      const result = await world.flush();
      expect(result.stoppedBy).toBe('network');
    }
    expect(world.server.requests).toHaveLength(0);
    expect((await world.row(row.id)).evidence.attemptCount).toBe(0);
    world.isOnline = true;
    const back = world.server.always({ type: 'reset' });
    for (let i = 0; i < 5; i++) await world.flush();
    expect(world.server.requests).toHaveLength(5);
    expect(await world.row(row.id)).toMatchObject({ state: 'queued', doubt: true });
    back();
    expect((await world.flush()).outcomes.map(({ type }) => type)).toEqual(['committed']);
  });

  it('[W22, W3] known offline wakes the worker seldom, and with nothing to send not at all', async () => {
    const world = await dispatchWorld();
    const { clock, engine } = world;
    world.isOnline = false;
    await world.run(engine.flush('ann', 'connect'));
    expect(engine.progress('ann').wakeAt).toBeUndefined();
    await world.put('a');
    await world.run(engine.flush('ann', 'enqueue'));
    let wakes = 0;
    const end = clock.now() + 600_000;
    // An open page's timer, which does as it is told.
    for (let at = engine.progress('ann').wakeAt; at !== undefined && at < end; wakes++) {
      await clock.advance(at - clock.now());
      await world.run(engine.flush('ann', 'timer'));
      at = engine.progress('ann').wakeAt;
    }
    expect(wakes).toBeLessThan(10);
    expect(world.server.requests).toHaveLength(0);
  });

  it('[D2, W20, W22, A64] a flapping network costs few requests and leaves nothing paused', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.server.next([{ type: 'reset' }, { type: 'reset' }, { type: 'reset' }]);
    const ends: Promise<unknown>[] = [];
    for (let i = 0; i < 20; i++) {
      world.isOnline = i % 2 === 1;
      ends.push(world.engine.flush('ann', 'online'));
      await world.clock.advance(100);
    }
    await world.run(Promise.all(ends));
    expect(world.server.requests.length).toBeLessThanOrEqual(20);
    expect(world.server.mostOpenOfKey).toBe(1);
    expect(world.server.applied).toHaveLength(1);
    await world.put('b');
    await world.run(world.engine.pause('ann'));
    expect((await world.flush()).stoppedBy).toBe('paused');
    await world.engine.resume('ann');
    expect((await world.flush()).outcomes).toHaveLength(1);
    expect(world.server.applied).toHaveLength(2);
  });

  it('[D3, D40, W21, A49] a server that goes away in the middle: counts, the same id again, ten applied', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    for (let i = 0; i < 10; i++) await world.put(`t${i}`);
    let served = 0;
    const stop = world.server.always({ type: 'drop_answer' }, () => ++served > 4);
    const cut = await world.flush();
    stop();
    expect(cut).toMatchObject({ stoppedBy: 'network', remaining: { queued: 6 } });
    const open = world.sent().at(-1) ?? '';
    world.server.reachable = false;
    expect((await world.flush()).stoppedBy).toBe('network');
    world.server.reachable = true;
    const busy = world.server.always({ type: 'status', status: 503 });
    expect((await world.flush()).stoppedBy).toBe('failures');
    busy();
    await world.clock.advance(3_000);
    await world.flush();
    expect(world.server.applied).toHaveLength(10);
    expect(world.server.requestsOf(open).length).toBeGreaterThan(1);
    expect(await world.rows()).toEqual([]);
  });
});

describe('waits across a restart', () => {
  const setUp = async (retryAfter: string | undefined) => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.next({ type: 'status', status: retryAfter ? 429 : 500, retryAfter });
    await world.flush();
    return { world, row, engine: await world.restart() };
  };

  it('[D3, W20, A77] of the server’s hold against sync and enqueue, and a page that connects later sends at once', async () => {
    const { world, engine } = await setUp('60');
    await world.clock.advance(45_000);
    await world.run(engine.flush('ann', 'sync'));
    await world.clock.advance(5_000);
    await world.put('b');
    await world.run(engine.flush('ann', 'enqueue'));
    expect(world.server.requests).toHaveLength(1);
    await world.clock.advance(40_000);
    await world.run(engine.flush('ann', 'connect'));
    expect(world.server.applied).toHaveLength(2);
  });

  it('[D3, W20, A77] of the engine’s own yield to sync, while an enqueue sends the other key alone', async () => {
    const { world, row, engine } = await setUp(undefined);
    const other = await world.put('b');
    await world.run(engine.flush('ann', 'enqueue'));
    expect(world.server.applied.map(({ id }) => id)).toEqual([other.id]);
    await world.run(engine.flush('ann', 'sync'));
    expect(world.server.applied.map(({ id }) => id)).toEqual([other.id, row.id]);
  });

  it('[W20, A77] are told to an open page, whose timer sends at the time named', async () => {
    const { world, engine } = await setUp('60');
    await world.run(engine.flush('ann', 'connect'));
    const { wakeAt = 0 } = engine.progress('ann');
    expect(wakeAt - world.clock.now()).toBe(60_000);
    await world.clock.advance(wakeAt - world.clock.now());
    await world.run(engine.flush('ann', 'timer'));
    expect(world.server.applied).toHaveLength(1);
  });
});
