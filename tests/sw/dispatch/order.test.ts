import { describe, expect, it } from 'vitest';
import { dispatchWorld } from '../../support/dispatch-world.ts';

describe('the order of sending', () => {
  it('[C30, A06] is the order of storing, whatever the clock did, also for hosts side by side', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    const other = await world.start();
    const ids: string[] = [];
    const store = async (target: string, engine = world.engine) => {
      const { row } = await engine.enqueue({
        id: world.uuid(),
        owner: 'ann',
        family: 'plan',
        kind: 'put',
        target: { type: 'id', id: target },
        body: { target },
      });
      ids.push(row?.id ?? '');
    };
    for (const target of ['e', 'd', 'c']) await store(target);
    for (const target of ['b', 'a']) await store(target, other.engine);
    world.clock.jump(-500_000);
    for (const target of ['g', 'f']) await store(target);
    await world.flush();
    expect(world.sent()).toEqual(ids);
    expect(world.server.applied).toHaveLength(7);
  });

  it('[C30, S3] reads on page by page until the lane ends', async () => {
    const world = await dispatchWorld();
    const ids: string[] = [];
    for (let i = 0; i < 200; i++) ids.push((await world.put(`t${i}`)).id);
    await world.flush();
    expect(world.sent()).toEqual(ids);
  });

  it('[C31, C40, A04] rows of one key leave one at a time, in order, and only the last edit waits', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 100;
    world.server.next({ type: 'status', status: 503 });
    await world.put('w', { body: { v: 1 } });
    const first = world.engine.flush('ann', 'flush');
    await world.clock.advance(10);
    await world.put('w', { body: { v: 2 } });
    await world.put('w', { body: { v: 3 } });
    await world.run(first);
    expect(await world.rows()).toHaveLength(2);
    await world.flush();
    expect(world.server.requests.map(({ body }) => body)).toEqual([{ v: 1 }, { v: 1 }, { v: 3 }]);
    expect(world.server.mostOpenOfKey).toBe(1);
    expect(world.server.resource('ann', 'plan', 'w')?.body).toEqual({ v: 3 });
  });

  it('[C31] the next row of a key leaves right after its predecessor is settled, beside slow other keys', async () => {
    const world = await dispatchWorld();
    world.server.next(
      { type: 'delay', ms: 8_000 },
      ({ target }) => target.type === 'id' && target.id === 'slow',
    );
    world.server.latencyMs = 50;
    await world.put('slow');
    await world.put('w', { body: { v: 1 } });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(10);
    await world.put('w', { body: { v: 2 } });
    void world.engine.flush('ann', 'enqueue');
    await world.clock.advance(200);
    expect(world.server.resource('ann', 'plan', 'w')).toMatchObject({ revision: 2, body: { v: 2 } });
    expect(world.server.open).toBe(1);
  });

  it('[C31] rows of different keys are in flight together, up to the concurrency', async () => {
    const world = await dispatchWorld({ concurrency: 4 });
    world.server.latencyMs = 20;
    for (let i = 0; i < 30; i++) await world.put(`t${i}`);
    await world.flush();
    expect(world.server.mostOpen).toBe(4);
  });

  it('[W61] an urgent key goes first, also one that is stored in the middle of a long drain', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    world.server.latencyMs = 100;
    for (let i = 0; i < 150; i++) await world.put(`t${i}`);
    const drain = world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    const urgent = await world.put('urgent', { urgent: true });
    const place = world.sent().length;
    await world.run(drain);
    // Rows that were claimed ahead already leave before it; the rest of the queue does not.
    expect(world.sent().indexOf(urgent.id) - place).toBeLessThan(70);
    expect(world.sent().indexOf(urgent.id)).toBeGreaterThan(0);
  });

  it('[C32, A07] a key that always fails neither holds up others nor leads the next flush', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    const poison = await world.put('a');
    world.server.always({ type: 'status', status: 500 }, ({ id }) => id === poison.id);
    for (const target of ['b', 'c', 'd']) await world.put(target);
    const first = await world.flush();
    expect(first.outcomes.map(({ type }) => type)).toEqual([
      'deferred',
      'committed',
      'committed',
      'committed',
    ]);
    const later = [await world.put('e'), await world.put('f')];
    await world.flush();
    expect(world.sent().slice(4)).toEqual([...later.map(({ id }) => id), poison.id]);
    await world.flush();
    expect(world.server.requestsOf(poison.id)).toHaveLength(3);
    expect((await world.row(poison.id)).seq).toBe(poison.seq);
    const explained = await world.engine.explain('ann', poison.id);
    expect(explained?.row.evidence).toMatchObject({ attemptCount: 3, lastErrorCode: 'http_500' });
    expect(explained?.row.evidence.attempts).toHaveLength(3);
  });

  it('[C32] a lost connection is nobody’s own failure: the order stays', async () => {
    const world = await dispatchWorld({ concurrency: 2 });
    const rows = [await world.put('a'), await world.put('b'), await world.put('c')];
    world.server.reachable = false;
    expect((await world.flush()).stoppedBy).toBe('network');
    world.server.reachable = true;
    await world.flush();
    expect(world.sent()).toEqual(rows.map(({ id }) => id));
  });

  it('[C32, D3, A69] a key that alone gets no answer stops its flush, and the others leave in the next one', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    const row = await world.put('a');
    world.server.always({ type: 'reset' }, ({ id }) => id === row.id);
    for (const target of ['b', 'c', 'd'])
      await world.enqueue({ family: 'plan', target: { type: 'id', id: target } });
    expect((await world.flush()).stoppedBy).toBe('network');
    await world.flush();
    expect(world.server.applied).toHaveLength(3);
    const sent = world.server.requestsOf(row.id).length;
    for (let i = 0; i < 10; i++) {
      await world.clock.advance(30_000);
      await world.flush();
    }
    expect(world.server.requestsOf(row.id)).toHaveLength(sent + 10);
    expect((await world.engine.explain('ann', row.id))?.row.evidence.lastErrorCode).toBe('network');
  });
});
