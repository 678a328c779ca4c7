import { expect, it } from 'vitest';
import { OutboxUnavailableError } from '../../../shared/errors.ts';
import { defineOutbox, record } from '../../../shared/family.ts';
import type { SnapshotOffer } from '../../../shared/snapshot.ts';
import type { Engine } from '../../../sw/engine.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createTestWorld, testCommand } from '../../../sw/testing/create-test-world.ts';
import { createMemoryLedger } from '../../../sw/testing/memory-ledger.ts';

const definition = defineOutbox({ workout: record() });

async function setUp(options: { readonly canAsk?: boolean } = {}) {
  const ledger = createMemoryLedger();
  const world = createTestWorld({ definition, ledger, ...options });
  const { engine, kill } = await world.start();
  await engine.signIn('ann');
  /** The outbox's database is gone; the browser makes a new one. Who is signed in is forgotten with it. */
  const lose = async () => {
    kill();
    const store = createMemoryRowStore({ clock: world.clock, ids: { uuid: world.uuid } });
    const host = await world.start(store);
    await host.engine.signIn('ann');
    return { engine: host.engine, store };
  };
  const enqueue = async (to: Engine, n: number) => {
    const { row } = await to.enqueue(testCommand(world, { body: { kg: n } }));
    if (row === undefined) throw new Error('nothing waits');
    return row;
  };
  const mirrored = () => world.clock.advance(1_000);
  const snapshot = async (of: Engine): Promise<SnapshotOffer> => {
    const page = await of.readSnapshot('ann', undefined);
    return { type: 'snapshot', at: world.clock.now(), ...page };
  };
  const rows = async (of: Engine) => (await of.rows('ann', { limit: 99 })).rows;
  const effects = () => world.server.applied.map(({ id }) => id);
  return { world, ledger, engine, lose, enqueue, mirrored, snapshot, rows, effects };
}

it('[T10, S33] rows stored, database lost: restored as agreed, and all of them drain once', async () => {
  const { world, engine, lose, enqueue, mirrored, snapshot, rows, effects } = await setUp();
  const saved = [await enqueue(engine, 1), await enqueue(engine, 2), await enqueue(engine, 3)];
  await mirrored();
  const offer = await snapshot(engine);
  const { engine: next } = await lose();
  await next.offerSnapshot('ann', offer);
  expect((await rows(next)).map(({ id, recovery }) => [id, recovery?.proof])).toEqual(
    saved.map(({ id }) => [id, 'agreed']),
  );
  const result = await world.run(next.flush('ann', 'flush'));
  expect(result.remaining).toEqual({ queued: 0, sending: 0, held: 0, blocked: 0 });
  expect(effects()).toEqual(saved.map(({ id }) => id));
});

it('[T11, S20] drained, an old snapshot offered, database lost: nothing comes back', async () => {
  const { world, engine, lose, enqueue, mirrored, snapshot, rows, effects } = await setUp();
  await enqueue(engine, 1);
  await mirrored();
  const old = await snapshot(engine);
  await world.run(engine.flush('ann', 'flush'));
  const { engine: next } = await lose();
  await next.offerSnapshot('ann', old);
  expect(await rows(next)).toEqual([]);
  await world.run(next.flush('ann', 'flush'));
  expect(effects()).toHaveLength(1);
});

it('[S31, A66] what came back is not sent before the snapshot was seen or the server answered', async () => {
  const { world, engine, lose, enqueue, mirrored, rows, effects } = await setUp({ canAsk: false });
  await enqueue(engine, 1);
  await mirrored();
  const { engine: next } = await lose();
  await world.run(next.flush('ann', 'sync'));
  expect(await rows(next)).toHaveLength(1);
  expect(effects()).toEqual([]);
  await next.offerSnapshot('ann', { type: 'none' });
  await world.run(next.flush('ann', 'connect'));
  expect(effects()).toHaveLength(1);
});

it('[S37] with no page at all the server is asked: a receipt ends the row, a definite "none" frees it', async () => {
  const { world, engine, lose, enqueue, mirrored, rows, effects } = await setUp();
  const accepted = await enqueue(engine, 1);
  await world.run(engine.flush('ann', 'flush'));
  const lag = await enqueue(engine, 2);
  await mirrored();
  expect(effects()).toEqual([accepted.id]);
  const { engine: next } = await lose();
  for (let i = 0; i < 3; i++) {
    await world.run(next.flush('ann', 'sync'));
    await world.clock.advance(15_000);
  }
  expect(await rows(next)).toEqual([]);
  expect(effects()).toEqual([accepted.id, lag.id]);
});

it('[S37, S20] a row whose acceptance the ledger had not seen ends by its receipt, as recovered', async () => {
  const { world, ledger, engine, lose, enqueue, mirrored, rows, effects } = await setUp();
  const { id } = await enqueue(engine, 1);
  await mirrored();
  ledger.isHanging = true;
  await world.run(engine.flush('ann', 'flush'));
  expect(effects()).toEqual([id]);
  ledger.isHanging = false;
  const { engine: next } = await lose();
  const flushed = await world.run(next.flush('ann', 'sync'));
  expect(await rows(next)).toEqual([]);
  expect(flushed.outcomes).toMatchObject([{ type: 'committed', recovered: true, row: { id } }]);
  expect(effects()).toEqual([id]);
});

it('[S22, S31] a person who saves waits for a ledger that hangs only briefly', async () => {
  const { world, ledger, lose, enqueue } = await setUp();
  ledger.isHanging = true;
  const { engine: next } = await lose();
  const saving = enqueue(next, 1);
  await world.clock.advance(500);
  expect((await saving).state).toBe('queued');
});

it('[S30, S31] while the ledger has not answered nothing of it is compared, and so nothing is buried', async () => {
  const { world, ledger, engine, lose, enqueue, mirrored } = await setUp();
  const { id } = await enqueue(engine, 1);
  await mirrored();
  ledger.isHanging = true;
  const { engine: next } = await lose();
  await expect(world.run(next.compareWitness())).rejects.toBeInstanceOf(OutboxUnavailableError);
  ledger.isHanging = false;
  expect(await ledger.findTombstones([id])).toEqual([undefined]);
  await world.clock.advance(60_000);
  await world.run(next.compareWitness());
  expect((await next.rows('ann', { limit: 9 })).rows).toMatchObject([{ id }]);
});

it('[S15] the ledger’s rows are read in pages, without those it knows to be gone', async () => {
  const { ledger, engine, enqueue, mirrored } = await setUp();
  const saved = [await enqueue(engine, 1), await enqueue(engine, 2), await enqueue(engine, 3)];
  await mirrored();
  const [first, second, third] = saved.map(({ id }) => id);
  await ledger.markPending([
    { id: second ?? '', tombstone: { owner: 'ann', generation: 0, at: 1, reason: 'uploaded' } },
  ]);
  const page = await engine.witnessRows('ann', { limit: 1 });
  expect(page).toMatchObject({ rows: [{ id: first }], counts: { queued: 2 } });
  const next = await engine.witnessRows('ann', { after: saved[0]?.seq, limit: 1 });
  expect(next?.rows).toMatchObject([{ id: third }]);
  expect(await engine.witnessRows('bob', { limit: 9 })).toMatchObject({ rows: [] });
});

it('[W32] discarding an owner clears its ledger; only tombstones stay', async () => {
  const { ledger, engine, lose, enqueue, mirrored, rows } = await setUp();
  const { id } = await enqueue(engine, 1);
  await mirrored();
  expect(await ledger.entries(undefined, 9)).toHaveLength(1);
  await engine.signOut('ann', 'discard');
  expect(await ledger.entries(undefined, 9)).toEqual([]);
  await mirrored();
  expect(await ledger.findTombstones([id])).toMatchObject([{ reason: 'deleted' }]);
  const { engine: next } = await lose();
  expect(await rows(next)).toEqual([]);
});

it('[S31] a ledger that hung is asked again by the same host, and what it has comes back', async () => {
  const { world, ledger, engine, lose, enqueue, mirrored, snapshot, rows, effects } = await setUp({
    canAsk: false,
  });
  const saved = await enqueue(engine, 1);
  await mirrored();
  const offer = await snapshot(engine);
  ledger.isHanging = true;
  const { engine: next } = await lose();
  await world.run(next.flush('ann', 'start'));
  expect(await world.run(next.offerSnapshot('ann', offer))).toEqual({ restored: 0 });
  expect(await rows(next)).toEqual([]);
  ledger.isHanging = false;
  await world.clock.advance(30_000);
  await world.run(next.flush('ann', 'timer'));
  expect((await rows(next)).map(({ id }) => id)).toEqual([saved.id]);
  // The snapshot was not used up meanwhile: it still vouches for the row.
  expect(await next.awaitsSnapshot('ann')).toBe(true);
  await next.offerSnapshot('ann', offer);
  await world.run(next.flush('ann', 'connect'));
  expect(effects()).toEqual([saved.id]);
});

it('[S31, C4] a clock set back does not keep what a ledger holds from coming back', async () => {
  const { world, ledger, engine, lose, enqueue, mirrored, rows } = await setUp({ canAsk: false });
  const saved = await enqueue(engine, 1);
  await mirrored();
  ledger.isHanging = true;
  const { engine: next } = await lose();
  await world.run(next.flush('ann', 'start'));
  ledger.isHanging = false;
  world.clock.jump(-86_400_000);
  await world.run(next.flush('ann', 'timer'));
  expect((await rows(next)).map(({ id }) => id)).toEqual([saved.id]);
});

it('[S22, W32] a ledger that hangs does not hold up signing out with discard', async () => {
  const { world, ledger, engine, enqueue, mirrored, rows } = await setUp();
  await enqueue(engine, 1);
  await mirrored();
  ledger.isHanging = true;
  expect(await world.run(engine.signOut('ann', 'discard'))).toMatchObject({ waiting: { queued: 1 } });
  expect(await rows(engine)).toEqual([]);
  ledger.isHanging = false;
  await world.clock.advance(60_000);
  await world.run(engine.flush('ann', 'flush'));
  expect(await ledger.entries(undefined, 9)).toEqual([]);
});

it('[S31, R8, C30] a creation that comes back takes a place before intents that were saved since', async () => {
  const { world, ledger, engine, lose, mirrored, rows } = await setUp({ canAsk: false });
  const create = testCommand(world, { body: { kg: 60 } });
  await engine.enqueue(create);
  await mirrored();
  // The clock is set back: numbers of the next database begin before those of the one that is lost.
  world.clock.jump(-86_400_000);
  ledger.isHanging = true;
  const { engine: next } = await lose();
  await world.run(next.flush('ann', 'start'));
  const target = { type: 'pending', origin: create.id } as const;
  await world.run(next.enqueue(testCommand(world, { kind: 'update', target, body: { kg: 80 } })));
  ledger.isHanging = false;
  await world.clock.advance(30_000);
  await world.run(next.flush('ann', 'timer'));
  expect((await rows(next)).map(({ kind }) => kind)).toEqual(['create', 'update']);
  await next.offerSnapshot('ann', { type: 'none' });
  await world.run(next.flush('ann', 'connect'));
  await world.run(next.flush('ann', 'flush'));
  expect(world.server.applied.map(({ kind, body }) => [kind, body])).toEqual([
    ['create', { kg: 60 }],
    ['update', { kg: 80 }],
  ]);
});
