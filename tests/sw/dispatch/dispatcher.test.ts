import { describe, expect, it } from 'vitest';
import type { FlushResult } from '../../../shared/outcome.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';

describe('a flush', () => {
  it('[D1, D40] sends what is stored and says what became of it', async () => {
    const world = await dispatchWorld();
    const rows = [await world.put('a'), await world.put('b'), await world.put('c')];
    const result = await world.flush();
    expect(result.outcomes.map(({ type }) => type)).toEqual(['committed', 'committed', 'committed']);
    expect(result).toMatchObject({
      owner: 'ann',
      remaining: { queued: 0, sending: 0, held: 0, blocked: 0 },
    });
    expect(result.stoppedBy).toBeUndefined();
    expect(world.sent()).toEqual(rows.map(({ id }) => id));
    expect(await world.rows()).toEqual([]);
  });

  it('[D1] sends the stored body, not the object that was handed over', async () => {
    const world = await dispatchWorld();
    const body = { kg: 60 };
    const stored = world.put('a', { body });
    body.kg = 999;
    await stored;
    await world.flush();
    expect(world.server.requests[0]?.body).toEqual({ kg: 60 });
  });

  it('[D1] after a restart sends the same bytes under the same id and hash', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a', { body: { kg: 60 } });
    world.server.next({ type: 'hang' });
    void world.engine.flush('ann', 'flush');
    await world.clock.settle();
    world.host.kill();
    const { engine } = await world.start();
    await world.run(engine.flush('ann', 'flush'));
    const [first, second] = world.server.requests;
    expect(second).toMatchObject({ id: row.id, requestHash: first?.requestHash, body: { kg: 60 } });
    expect(world.server.applied).toHaveLength(1);
  });

  it('[D2, A01] four triggers in ten ms make one flush and one more, one request per id', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 200;
    for (const target of ['a', 'b', 'c']) await world.put(target);
    let flushes = 0;
    let wasRunning = false;
    world.engine.onProgress(({ running }) => {
      if (running && !wasRunning) flushes++;
      wasRunning = running;
    });
    const { engine } = world;
    const ends: Promise<FlushResult>[] = [engine.flush('ann', 'sync')];
    await world.clock.advance(3);
    ends.push(engine.flush('ann', 'online'));
    await world.clock.advance(3);
    ends.push(engine.flush('ann', 'flush'));
    await world.clock.advance(3);
    await world.put('d');
    ends.push(engine.flush('ann', 'enqueue'));
    const results = await world.run(Promise.all(ends));
    expect(results.map(({ remaining }) => remaining.queued)).toEqual([0, 0, 0, 0]);
    expect(flushes).toBe(2);
    expect(new Set(world.sent()).size).toBe(4);
    expect(world.server.requests).toHaveLength(4);
    expect(world.server.mostOpenOfKey).toBe(1);
  });

  it('[D2] takes in a row that is stored while it runs, before the request in flight has ended', async () => {
    const world = await dispatchWorld();
    world.server.next({ type: 'delay', ms: 5_000 });
    await world.put('a');
    const first = world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    const late = await world.put('b');
    void world.engine.flush('ann', 'enqueue');
    await world.clock.advance(10);
    expect(world.sent()).toContain(late.id);
    expect(world.server.open).toBe(1);
    expect((await world.run(first)).outcomes).toHaveLength(2);
  });

  // Each row of the table stores and triggers once more just before the n-th store call that follows the last answer.
  it.each(Array.from({ length: 24 }, (_, place) => place))(
    '[D2, A05] a row stored at await %i of the end phase is sent by exactly one more flush',
    async (place) => {
      const world = await dispatchWorld();
      await world.put('a');
      let calls = -1;
      const late: Promise<FlushResult>[] = [];
      const trigger = async () => {
        await world.put('b');
        late.push(engine.flush('ann', 'enqueue'));
      };
      const watched = new Proxy(world.store, {
        get(target, name, receiver) {
          const value: unknown = Reflect.get(target, name, receiver);
          if (typeof value !== 'function') return value;
          return async (...args: unknown[]) => {
            if (world.server.requests.length > 0 && world.server.open === 0) calls++;
            if (calls === place && late.length === 0) {
              calls = Number.NEGATIVE_INFINITY;
              await trigger();
            }
            return Reflect.apply(value, target, args);
          };
        },
      });
      const { engine } = await world.start(watched);
      const runs: boolean[] = [];
      engine.onProgress(({ running }) => {
        if (running !== runs.at(-1)) runs.push(running);
      });
      await world.run(engine.flush('ann', 'enqueue'));
      if (late.length === 0) await trigger();
      await world.run(Promise.all(late));
      expect(world.server.applied).toHaveLength(2);
      expect(runs.filter(Boolean).length).toBeLessThanOrEqual(2);
      expect(await world.rows()).toEqual([]);
    },
  );
});

describe('progress', () => {
  it('[W18] counts what a drain has done of what there was, and starts again from nought', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 20; i++) await world.put(`t${i}`);
    const seen: string[] = [];
    world.engine.onProgress(({ done, total, running }) => seen.push(`${done}/${total}/${running}`));
    world.server.latencyMs = 10;
    await world.flush();
    expect(seen[0]).toBe('0/20/true');
    expect(seen).toContain('6/20/true');
    expect(world.engine.progress('ann')).toEqual({ owner: 'ann', running: false, done: 0, total: 0 });
  });
});
