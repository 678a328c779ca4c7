import { describe, expect, it } from 'vitest';
import type { Row } from '../../../shared/row.ts';
import { keyOf } from '../../../shared/row.ts';
import { problemAnswer } from '../../../sw/testing/scripted-fault.ts';
import { type DispatchWorld, dispatchWorld } from '../../support/dispatch-world.ts';

/** Changes a stored row as a host or a recovery would have left it. */
async function change(world: DispatchWorld, row: Row, changes: Partial<Row>): Promise<void> {
  const [expected = []] = await world.store.readKeys([keyOf(row)]);
  const stored = expected.find(({ id }) => id === row.id);
  if (!stored) throw new Error(`There is no row ${row.id}`);
  await world.store.commit([
    {
      owner: row.owner,
      reason: 'recover',
      keys: [keyOf(row)],
      expected,
      write: [{ ...stored, ...changes }],
      remove: [],
      outcomes: [],
      durability: 'relaxed',
    },
  ]);
}

const LEASE_MS = 10_000;

describe('a row that nothing proves', () => {
  const unproven = async (canAsk = true) => {
    const world = await dispatchWorld({ canAsk });
    const row = await world.put('w', { body: { v: 1 } });
    world.server.next({ type: 'no_receipt' });
    expect((await world.flush()).outcomes).toMatchObject([{ type: 'unknown' }]);
    return { world, row };
  };

  it('[R34, C31] is asked for a lease after its attempt, and accepted by its receipt without another request', async () => {
    const { world, row } = await unproven();
    await world.flush();
    expect(world.server.lookups).toEqual([]);
    await world.clock.advance(LEASE_MS);
    const result = await world.flush();
    expect(result.outcomes).toMatchObject([{ type: 'committed', receipt: { replayed: true } }]);
    expect(world.server.lookups).toEqual([row.id]);
    expect(world.server.requests).toHaveLength(1);
    expect(await world.rows()).toEqual([]);
  });

  it('[C31, R31] keeps its successor back until the server has said that it has it or not', async () => {
    const { world } = await unproven();
    const later = await world.put('w', { body: { v: 2 } });
    expect(later.successorOf).toBeDefined();
    world.server.reachable = false;
    await world.clock.advance(LEASE_MS);
    await world.flush();
    expect(world.server.requests).toHaveLength(1);
    world.server.reachable = true;
    await world.flush();
    expect(world.server.requests.map(({ body }) => body)).toEqual([{ v: 1 }, { v: 2 }]);
    expect(await world.rows()).toEqual([]);
  });

  it('[C31, C33] is stepped over and marked after a definite none', async () => {
    const world = await dispatchWorld();
    const row = await world.put('w', { body: { v: 1 } });
    world.server.next({
      type: 'answer',
      answer: {
        type: 'response',
        status: 200,
        ok: true,
        redirected: false,
        secure: true,
        contentType: 'application/json',
        json: {},
        retryAfter: undefined,
        etag: undefined,
        date: undefined,
      },
    });
    await world.flush();
    await world.put('w', { body: { v: 2 } });
    await world.clock.advance(LEASE_MS);
    await world.flush();
    expect(world.server.applied.map(({ body }) => body)).toEqual([{ v: 2 }]);
    expect(await world.row(row.id)).toMatchObject({
      state: 'blocked',
      doubt: false,
      overtakenBy: expect.any(String),
    });
  });

  it('[C31] without a way to ask is stepped over, still in doubt', async () => {
    const { world, row } = await unproven(false);
    await world.put('w', { body: { v: 2 } });
    await world.clock.advance(LEASE_MS);
    await world.flush();
    expect(world.server.requests).toHaveLength(2);
    expect(await world.row(row.id)).toMatchObject({ state: 'blocked', doubt: true });
  });

  it('[D3, R34] whose answer changed nothing is asked again with the engine’s wait, not by every trigger', async () => {
    const world = await dispatchWorld();
    const row = await world.put('w');
    world.server.next({ type: 'status', status: 422, code: 'idempotency_key_reused' });
    await world.flush();
    await change(world, row, { blockedCode: 'ledger_expired' });
    await world.clock.advance(LEASE_MS);
    for (const cause of ['enqueue', 'visible', 'connect', 'timer'] as const)
      await world.run(world.engine.flush('ann', cause));
    expect(world.server.lookups).toHaveLength(1);
  });
});

describe('an intent whose creation is not stored', () => {
  const orphan = async (canAsk = true) => {
    const world = await dispatchWorld({ canAsk });
    world.server.latencyMs = 100;
    const creation = await world.enqueue({ family: 'workout', kind: 'create', body: { kg: 60 } });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(50);
    const intent = await world.enqueue({
      family: 'workout',
      kind: 'update',
      target: { type: 'pending', origin: creation.origin },
      body: { kg: 80 },
    });
    return { world, creation, intent };
  };
  /** As after a loss: the creation’s row and everything known of it is gone. */
  const forget = async (world: DispatchWorld, creation: Row) => {
    world.host.kill();
    const [expected = []] = await world.store.readKeys([keyOf(creation)]);
    await world.store.commit([
      {
        owner: 'ann',
        reason: 'recover',
        keys: [keyOf(creation)],
        expected,
        write: [],
        remove: [creation.id],
        outcomes: [],
        durability: 'relaxed',
      },
    ]);
    return world.restart();
  };

  it('[C21, C43] becomes a row on the server’s id in the commit that accepts the creation, and leaves', async () => {
    const { world, creation } = await orphan();
    await world.run(world.engine.flush('ann', 'flush'));
    expect(world.server.applied.map(({ kind, body }) => [kind, body])).toEqual([
      ['create', { kg: 60 }],
      ['update', { kg: 80 }],
    ]);
    expect(
      world.server.requests.every(({ target }) => target.type === 'id' || target.origin === creation.origin),
    ).toBe(true);
    expect(await world.rows()).toEqual([]);
  });

  it('[C23, C50] asks the server by the creation’s id, and leaves with the id that its receipt names', async () => {
    const { world, creation } = await orphan();
    const engine = await forget(world, creation);
    await world.run(engine.flush('ann', 'flush'));
    expect(world.server.lookups).toEqual([creation.id]);
    expect(world.server.applied.map(({ kind }) => kind)).toEqual(['create', 'update']);
    expect(await world.rows()).toEqual([]);
  });

  it('[C23] without an answer stays as it is, and with none to ask is blocked, content intact', async () => {
    const { world, creation, intent } = await orphan();
    const engine = await forget(world, creation);
    world.server.reachable = false;
    await world.run(engine.flush('ann', 'flush'));
    expect((await world.row(intent.id)).state).toBe('queued');

    const deaf = await orphan(false);
    const other = await forget(deaf.world, deaf.creation);
    await deaf.world.run(other.flush('ann', 'flush'));
    expect(await deaf.world.row(deaf.intent.id)).toMatchObject({
      state: 'blocked',
      blockedCode: 'predecessor_receipt_unknown',
    });
    expect(await other.bodies('ann', [deaf.intent.id])).toMatchObject([{ body: { kg: 80 } }]);
  });
});

describe('a row that waits by name for one that is not known any more', () => {
  it('[W60, C23] asks for it in every family, and leaves by whatever receipt the server has', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 100;
    const parent = await world.enqueue({ family: 'workout', kind: 'create', body: { kg: 60 } });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(50);
    await world.put('day', { after: [parent.origin] });
    // As after a loss: its row and everything known of it is gone.
    world.host.kill();
    const expected = [await world.row(parent.id)];
    const nothing = { owner: 'ann', write: [], outcomes: [], durability: 'relaxed' } as const;
    const gone = {
      ...nothing,
      reason: 'recover',
      keys: expected.map(keyOf),
      expected,
      remove: [parent.id],
    } as const;
    await world.store.commit([gone]);
    const engine = await world.restart();
    await world.run(engine.flush('ann', 'flush'));
    expect(world.server.applied.map(({ family }) => family)).toEqual(['workout', 'plan']);
    expect(await world.rows()).toEqual([]);
  });
});

describe('a restored row', () => {
  it('[S37, D42] without proof is settled by its receipt as recovered, or sent after a definite none', async () => {
    const world = await dispatchWorld();
    const [known, unknown] = [await world.put('a'), await world.put('b')];
    world.server.next({ type: 'drop_answer' });
    world.server.next({ type: 'reset' });
    await world.flush();
    await world.clock.advance(LEASE_MS);
    for (const row of [known, unknown])
      await change(world, row, {
        state: 'blocked',
        blockedCode: 'recovery_receipt_unknown',
        blockedAt: world.clock.now(),
        doubt: true,
        recovery: { source: 'snapshot', at: world.clock.now(), generation: 1, proof: 'unverified' },
      });
    const result = await world.flush();
    expect(result.outcomes).toMatchObject([
      { type: 'committed', recovered: true, row: { id: known.id } },
      { type: 'committed', recovered: true, row: { id: unknown.id } },
    ]);
    expect(world.server.requestsOf(known.id)).toHaveLength(1);
    expect(world.server.requestsOf(unknown.id)).toHaveLength(2);
    expect(await world.rows()).toEqual([]);
  });
});

describe('a look-up', () => {
  it('[D4] that never answers is given up after its limit, and the rest of the flush goes on', async () => {
    const world = await dispatchWorld({
      ports: { plan: { findReceipt: () => new Promise(() => undefined) } },
    });
    const row = await world.put('w');
    world.server.next({ type: 'no_receipt' });
    await world.flush();
    await world.clock.advance(LEASE_MS);
    await world.put('other');
    const startedAt = world.clock.now();
    await world.flush();
    expect(world.clock.now() - startedAt).toBeLessThanOrEqual(8_000);
    expect(world.server.applied).toHaveLength(2);
    expect((await world.row(row.id)).state).toBe('blocked');
  });

  it('[D5] that is answered "signed out" holds the owner like any request', async () => {
    const world = await dispatchWorld({
      ports: {
        plan: {
          findReceipt: async () => ({
            type: 'no_answer',
            answer: problemAnswer(401, 'unauthorized'),
          }),
        },
      },
    });
    await world.put('w');
    world.server.next({ type: 'no_receipt' });
    await world.flush();
    await world.clock.advance(LEASE_MS);
    await world.put('other');
    expect(await world.flush()).toMatchObject({ stoppedBy: 'auth', remaining: { held: 1, queued: 0 } });
    expect(world.server.requests).toHaveLength(1);
  });
});
