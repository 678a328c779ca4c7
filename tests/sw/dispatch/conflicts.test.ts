import { describe, expect, it } from 'vitest';
import type { FamilyPorts } from '../../../sw/dispatch/family-ports.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';

/** A record `r` at revision 1 on the server. */
async function conflictWorld(ports: FamilyPorts = {}) {
  const world = await dispatchWorld({ ports: { workout: ports } });
  world.server.change('ann', 'workout', 'r', { kg: 60 });
  const update = (body: unknown, expectedRevision = 1) =>
    world.enqueue({
      family: 'workout',
      kind: 'update',
      target: { type: 'id', id: 'r' },
      body,
      expectedRevision,
    });
  return { world, update, current: () => world.server.resource('ann', 'workout', 'r') };
}

describe('a revision conflict', () => {
  it('[D30, D31, C51] is stored as a resend in its place before it is sent, and what waited leaves after it', async () => {
    const { world, update, current } = await conflictWorld();
    world.server.change('ann', 'workout', 'r', { kg: 61 });
    world.server.latencyMs = 50;
    const first = await update({ kg: 70 });
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(10);
    const second = await update({ kg: 80 });
    const result = await world.run(flush);
    await world.flush();
    expect(result.outcomes[0]).toMatchObject({ type: 'superseded', row: { id: first.id } });
    expect(result.outcomes[1]).toMatchObject({
      type: 'committed',
      resolvedConflict: true,
      row: { seq: first.seq },
    });
    const [sent, resent] = world.server.requests;
    expect(resent).toMatchObject({ expectedRevision: 2, body: { kg: 70 }, attempt: 1 });
    expect(resent?.id).not.toBe(sent?.id);
    expect(resent?.requestHash).not.toBe(sent?.requestHash);
    expect(current()).toMatchObject({ body: { kg: 80 } });
    expect(await world.engine.settled('ann', first.id)).toMatchObject({ type: 'uploaded', via: [first.id] });
    expect(await world.engine.settled('ann', second.id)).toMatchObject({ type: 'uploaded' });
    expect(await world.rows()).toEqual([]);
  });

  it('[D31, D47] killed after the resend was stored: the new id is sent once, the old one never again', async () => {
    const { world, update } = await conflictWorld();
    world.server.change('ann', 'workout', 'r', { kg: 61 });
    await update({ kg: 70 });
    const held = world.store.holdNext('resend');
    void world.engine.flush('ann', 'flush');
    await held.reached;
    held.release();
    await world.clock.settle(1);
    const engine = await world.restart();
    await world.run(engine.flush('ann', 'start'));
    expect(world.server.applied).toHaveLength(1);
    expect(await world.rows()).toEqual([]);
  });

  it('[D30] the resolver’s new body is sent; what it does to its arguments reaches no row', async () => {
    const { world, update, current } = await conflictWorld({
      async resolveConflict({ body, expected, actual, readCurrent }) {
        const mine = body as { kg: number };
        const theirs = (await readCurrent())?.body as { note: string };
        const merged = { kg: mine.kg, note: theirs.note, expected, actual };
        mine.kg = -1;
        return { type: 'body', body: merged };
      },
    });
    world.server.change('ann', 'workout', 'r', { kg: 61, note: 'theirs' });
    await update({ kg: 70 });
    await world.flush();
    expect(current()?.body).toEqual({ kg: 70, note: 'theirs', expected: 1, actual: 2 });
  });

  it('[D30, D33] dropped: the server’s version wins, and a summary is kept', async () => {
    const { world, update, current } = await conflictWorld({ resolveConflict: () => ({ type: 'drop' }) });
    world.server.change('ann', 'workout', 'r', { kg: 61 });
    const row = await update({ kg: 70 });
    expect((await world.flush()).outcomes).toMatchObject([{ type: 'dropped', reason: 'resolver' }]);
    expect(current()?.body).toEqual({ kg: 61 });
    expect(await world.engine.settled('ann', row.id)).toMatchObject({ type: 'dropped' });
    expect(await world.engine.conflicts('ann')).toMatchObject([
      { originalId: row.id, expected: 1, actual: 2, answer: 'drop' },
    ]);
  });

  it('[D30] blocked: a person decides, nothing is lost', async () => {
    const { world, update } = await conflictWorld({ resolveConflict: () => ({ type: 'block' }) });
    world.server.change('ann', 'workout', 'r', { kg: 61 });
    const row = await update({ kg: 70 });
    expect((await world.flush()).outcomes).toMatchObject([{ type: 'blocked', code: 'conflict' }]);
    expect(await world.row(row.id)).toMatchObject({ state: 'blocked', doubt: false });
  });

  it.each([
    ['throws', () => Promise.reject(new Error('no'))],
    ['never answers', () => new Promise<never>(() => undefined)],
    ['answers nonsense', () => JSON.parse('{"type":"what"}')],
    ['gives a body that cannot be stored', () => ({ type: 'body' as const, body: { at: () => 1 } })],
  ])(
    '[D4, D32] a resolver that %s leaves the row waiting with its own content',
    async (_, resolveConflict) => {
      const { world, update } = await conflictWorld({ resolveConflict });
      world.server.change('ann', 'workout', 'r', { kg: 61 });
      const row = await update({ kg: 70 });
      await world.put('other');
      const result = await world.flush();
      expect(result.stoppedBy).toBeUndefined();
      expect(result.outcomes.map(({ type }) => type).sort()).toEqual(['committed', 'deferred']);
      expect(await world.row(row.id)).toMatchObject({ id: row.id, state: 'queued', doubt: false });
    },
  );

  it('[D30, D32, R6, A53] a storm: three resends per flush, then the line waits, and other keys go on', async () => {
    const { world, update } = await conflictWorld();
    let actual = 10;
    const storm = () => ({ type: 'conflict', actual: actual++ }) as const;
    const row = await update({ kg: 70 });
    for (let flush = 1; flush <= 3; flush++) {
      const stops = Array.from({ length: 4 }, storm);
      world.server.next(stops, ({ family }) => family === 'workout');
      const other = await world.put(`b${flush}`);
      const result = await world.flush();
      expect(result.stoppedBy).toBeUndefined();
      expect(result.outcomes.filter(({ type }) => type === 'superseded')).toHaveLength(3);
      expect(result.outcomes).toContainEqual(
        expect.objectContaining({
          type: 'deferred',
          failure: expect.objectContaining({ code: 'conflict_storm' }),
        }),
      );
      expect(world.server.requestsOf(other.id)).toHaveLength(1);
      const [waiting] = await world.rows();
      expect(waiting).toMatchObject({ state: 'queued', seq: row.seq, origin: row.origin });
      expect(await world.engine.bodies('ann', [waiting?.id ?? ''])).toMatchObject([{ body: { kg: 70 } }]);
    }
    expect(new Set(world.sent()).size).toBe(3 * 3 + 1 + 3);
    expect((await world.engine.conflicts('ann')).length).toBeLessThanOrEqual(50);
  });

  it('[D34, C19, R15, A54] of five quick edits two leave, rebased without a conflict', async () => {
    const resolved: unknown[] = [];
    const { world, update, current } = await conflictWorld({
      resolveConflict: (conflict) => {
        resolved.push(conflict);
        return { type: 'resend' };
      },
    });
    world.server.next({ type: 'delay', ms: 10_000 - 1 });
    const edits = [await update({ title: 'A' })];
    const flush = world.engine.flush('ann', 'flush');
    for (const title of ['B', 'C', 'D', 'E']) {
      await world.clock.advance(1_000);
      edits.push(await update({ title }));
    }
    await world.run(flush);
    await world.flush();
    expect(world.server.requests.map(({ body }) => body)).toEqual([{ title: 'A' }, { title: 'E' }]);
    expect(world.server.requests.map(({ expectedRevision }) => expectedRevision)).toEqual([1, 2]);
    expect(current()?.body).toEqual({ title: 'E' });
    expect(resolved).toEqual([]);
    for (const { id } of edits.slice(1))
      expect(await world.engine.settled('ann', id)).toMatchObject({
        type: 'uploaded',
        receipt: { revision: 3 },
      });
  });
});

describe('a batch', () => {
  it('[V7] sends several commands at once, each with its own answer and its own end', async () => {
    const world = await dispatchWorld();
    const batches: number[] = [];
    const { sender } = world.server;
    const batched = await dispatchWorld({
      sender: {
        send: sender.send,
        batchLimit: (family) => (family === 'plan' ? 5 : 1),
        sendBatch: async (requests, signal) => {
          batches.push(requests.length);
          return Promise.all(requests.map((request) => sender.send(request, signal)));
        },
      },
    });
    const bad = await batched.put('t0');
    world.server.next({ type: 'status', status: 422 }, ({ id }) => id === bad.id);
    for (let i = 1; i < 40; i++) await batched.put(`t${i}`);
    const result = await batched.flush();
    expect(result.outcomes.filter(({ type }) => type === 'committed')).toHaveLength(39);
    expect(result.outcomes.filter(({ type }) => type === 'blocked')).toMatchObject([{ row: { id: bad.id } }]);
    expect(Math.max(...batches)).toBe(5);
    expect(new Set(world.sent()).size).toBe(40);
  });
});
