/**
 * What the workout log relies on, tested as an app would: its own definition, the real engine over memory, a server that
 * does what a test says. No browser, no waiting, milliseconds each.
 */
import { blockedReason } from 'holdfast/shared';
import { createTestEngine, testCommand } from 'holdfast/testing';
import { expect, it } from 'vitest';
import { definition } from '../definition/outbox.ts';

const squat = { date: '2026-12-01', exercise: 'Squat', weightKg: 100, sets: 5, reps: 5 };

async function start() {
  const app = await createTestEngine({ definition, owner: 'ada' });
  const { engine, world } = app;
  return {
    ...app,
    log: (body: object = squat) =>
      engine.enqueue(testCommand(world, { owner: 'ada', family: 'workout', kind: 'create', body })),
    edit: (origin: string, body: object) =>
      engine.enqueue(
        testCommand(world, {
          owner: 'ada',
          family: 'workout',
          kind: 'update',
          target: { type: 'pending', origin },
          body,
        }),
      ),
    plan: (date: string, title: string) =>
      engine.enqueue(
        testCommand(world, {
          owner: 'ada',
          family: 'plan',
          kind: 'put',
          target: { type: 'id', id: date },
          body: { title },
        }),
      ),
    flush: () => world.run(engine.flush('ada', 'flush')),
    waiting: async () => (await engine.rows('ada', { limit: 50 })).rows,
  };
}

it('[W52, R36] a workout that is logged and put right in the cellar leaves as one', async () => {
  const { world, log, edit, flush } = await start();
  world.isOnline = false;
  const saved = await log();
  await edit(saved.row?.origin ?? '', { weightKg: 110, note: 'heavy' });
  await flush();
  expect(world.server.requests).toEqual([]);
  world.isOnline = true;
  await flush();
  expect(world.server.applied).toMatchObject([
    { kind: 'create', body: { ...squat, weightKg: 110, note: 'heavy' } },
  ]);
});

it('[W52, R10] of three plans for a day the last one leaves', async () => {
  const { world, plan, flush } = await start();
  world.isOnline = false;
  for (const title of ['Legs', 'Pull', 'Rest']) await plan('2026-12-01', title);
  world.isOnline = true;
  await flush();
  expect(world.server.applied).toMatchObject([{ target: '2026-12-01', body: { title: 'Rest' } }]);
});

it('[W52, C21] a workout that is deleted before it left is never heard of', async () => {
  const { engine, world, log, flush, waiting } = await start();
  world.isOnline = false;
  const saved = await log();
  const target = { type: 'pending', origin: saved.row?.origin ?? '' } as const;
  await engine.enqueue(
    testCommand(world, { owner: 'ada', family: 'workout', kind: 'delete', target, body: undefined }),
  );
  world.isOnline = true;
  await flush();
  expect(world.server.requests).toEqual([]);
  expect(await waiting()).toEqual([]);
});

it('[W52, D20] a workout whose answer is lost is logged once', async () => {
  const { world, log, flush, engine } = await start();
  const saved = await log();
  world.server.next({ type: 'drop_answer' });
  await flush();
  await flush();
  expect(world.server.applied).toHaveLength(1);
  expect(await engine.settled('ada', saved.row?.id ?? '')).toMatchObject({ type: 'uploaded' });
});

it('[W52, R34] what the server refuses stays with a sentence, and leaves once it is put right', async () => {
  const { engine, world, log, flush, waiting } = await start();
  const saved = await log({ ...squat, weightKg: -1 });
  world.server.next({ type: 'status', status: 422, code: 'invalid' });
  await flush();
  const [refused] = await waiting();
  expect(refused).toMatchObject({ state: 'blocked', blockedCode: 'rejected' });
  expect(blockedReason(refused?.blockedCode ?? '').sentence).toContain('did not accept');
  await engine.recover('ada', saved.row?.id ?? '', { body: squat });
  await flush();
  expect(world.server.applied).toMatchObject([{ body: squat }]);
});

it('[W52, W3] a worker that is killed while it sends is followed by one that sends once', async () => {
  const { engine, world, host, log } = await start();
  await log();
  world.server.next({ type: 'hang' });
  const flushing = engine.flush('ada', 'flush');
  await world.clock.advance(100);
  expect(world.server.open).toBe(1);
  host.kill();
  void flushing;
  const next = await world.start();
  await world.run(next.engine.flush('ada', 'start'));
  expect(world.server.applied).toHaveLength(1);
  expect((await next.engine.rows('ada', { limit: 10 })).rows).toEqual([]);
});

it('[W52, W30] what Ada logged waits for Ada while Grace is signed in', async () => {
  const { engine, world, log } = await start();
  world.isOnline = false;
  await log();
  await world.run(engine.signOut('ada', 'keep'));
  await world.run(engine.signIn('grace'));
  world.isOnline = true;
  await world.run(engine.flush('grace', 'flush'));
  expect(world.server.requests).toEqual([]);
  expect((await engine.rows('grace', { limit: 10 })).rows).toEqual([]);
  await world.run(engine.signOut('grace', 'keep'));
  await world.run(engine.signIn('ada'));
  await world.run(engine.flush('ada', 'flush'));
  expect(world.server.applied).toMatchObject([{ owner: 'ada', body: squat }]);
});

it('[W52, R46] what the form lets through by mistake is refused before it is stored', async () => {
  const { log, waiting } = await start();
  await expect(log({ ...squat, date: 'yesterday' })).rejects.toMatchObject({ code: 'invalid_body' });
  expect(await waiting()).toEqual([]);
});
