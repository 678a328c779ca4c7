/** Counters, not clocks: what a drain costs the store, whatever the machine (S2, S3, S40, T40). */
import { describe, expect, it } from 'vitest';
import type { RowStore } from '../../../sw/outbox/row-store.ts';
import { createGroupCommit } from '../../../sw/storage/group-commit.ts';
import { type DispatchWorld, dispatchWorld } from '../../support/dispatch-world.ts';

/** As in a browser: a transaction takes a millisecond, and commits that come meanwhile share the next one. */
function withTransactions(world: DispatchWorld): RowStore {
  const { store, clock } = world;
  const commit = createGroupCommit(async (commits) => {
    await new Promise<void>((resolve) => clock.after(1, resolve));
    return store.commit(commits);
  });
  return { ...store, commit };
}

async function drained(rows: number, latencyMs: number) {
  const world = await dispatchWorld();
  for (let i = 0; i < rows; i++) await world.put(`t${i}`, { body: { text: 'x'.repeat(50) } });
  const { engine } = await world.start(withTransactions(world));
  const { counters } = world.store;
  const before = { ...counters };
  world.server.latencyMs = latencyMs;
  const result = await world.run(engine.flush('ann', 'flush'));
  expect(result.outcomes).toHaveLength(Math.min(rows, 1_000));
  expect(result.remaining).toEqual({ queued: 0, sending: 0, held: 0, blocked: 0 });
  const per = (name: keyof typeof counters) => (counters[name] - before[name]) / rows;
  return {
    mostOpen: world.server.mostOpen,
    transactions: per('transactions'),
    rowsRead: per('rowsRead'),
    bodiesRead: per('bodiesRead'),
    rowsWritten: per('rowsWritten'),
  };
}

describe('a drain of 1,000 rows', () => {
  it.each([0, 1, 5, 50])(
    '[S40, C7, C10] with a server that takes %i ms stays within its budgets',
    async (latencyMs) => {
      const cost = await drained(1_000, latencyMs);
      expect(cost.transactions).toBeLessThanOrEqual(0.5);
      expect(cost.rowsRead).toBeLessThanOrEqual(4);
      expect(cost.bodiesRead).toBeLessThanOrEqual(1.05);
      expect(cost.rowsWritten).toBeLessThanOrEqual(1.05);
      expect(cost.mostOpen).toBe(6);
    },
  );

  it('[S3, S40] costs as much per row at 3,000 rows as at 300', async () => {
    const small = await drained(300, 5);
    const large = await drained(3_000, 5);
    expect(large.rowsRead / small.rowsRead).toBeLessThan(1.1);
    expect(large.transactions / small.transactions).toBeLessThan(1.1);
    expect(large.bodiesRead / small.bodiesRead).toBeLessThan(1.1);
  }, 120_000);
});

describe('what does not grow with the queue', () => {
  const costOf = async (rows: number) => {
    const world = await dispatchWorld();
    for (let i = 0; i < rows; i++) await world.put(`t${i}`);
    const engine = await world.restart();
    const { counters } = world.store;
    const measure = async (step: () => Promise<unknown>) => {
      const before = counters.rowsRead;
      await world.run(step());
      return counters.rowsRead - before;
    };
    world.server.reachable = false;
    return {
      open: await measure(() => engine.waiting('ann')),
      lostFlush: await measure(() => engine.flush('ann', 'start')),
      enqueue: await measure(() => world.put('another')),
      explain: await measure(async () => engine.explain('ann', (await world.rows())[0]?.id ?? '')),
      signOut: await measure(() => engine.signOut('ann', 'keep')),
    };
  };

  it('[S3, W3, W32] a start, a flush without a network, an enqueue, a sign-out', async () => {
    const [few, many] = [await costOf(100), await costOf(2_000)];
    expect(many.open).toBe(few.open);
    expect(many.lostFlush).toBe(few.lostFlush);
    expect(many.enqueue).toBe(few.enqueue);
    expect(many.signOut).toBe(few.signOut);
  }, 120_000);
});

describe('10,000 rows', () => {
  it('[S3, D2, A31] all arrive once while others are stored; bodies in memory stay bounded', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 10_000; i++) await world.enqueue({ family: 'workout', kind: 'create', body: { i } });
    // Bodies that were read and whose request has not ended.
    let inMemory = 0;
    let most = 0;
    const { send } = world.server.sender;
    Object.assign(world.server.sender, {
      send: (...args: Parameters<typeof send>) => send(...args).finally(() => inMemory--),
    });
    const { engine } = await world.start({
      ...world.store,
      readBodies(ids) {
        inMemory += ids.length;
        most = Math.max(most, inMemory);
        return world.store.readBodies(ids);
      },
    });
    world.server.latencyMs = 1;
    const ends: Promise<unknown>[] = [engine.flush('ann', 'flush')];
    for (let i = 0; i < 100; i++) {
      await world.clock.advance(15);
      const stored = engine.enqueue({
        id: world.uuid(),
        owner: 'ann',
        family: 'workout',
        kind: 'create',
        body: { late: i },
      });
      const startedAt = world.clock.now();
      await world.run(stored);
      expect(world.clock.now() - startedAt).toBeLessThanOrEqual(1);
      ends.push(engine.flush('ann', 'enqueue'));
    }
    await world.run(Promise.all(ends));
    expect(world.server.applied).toHaveLength(10_100);
    expect(world.server.requests).toHaveLength(10_100);
    expect(most).toBeLessThanOrEqual(6 + 2 * 128);
  }, 120_000);
});
