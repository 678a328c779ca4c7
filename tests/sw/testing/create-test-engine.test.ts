import { expect, it } from 'vitest';
import { createTestEngine, testCommand } from '../../../sw/testing/index.ts';
import { definition } from '../../support/dispatch-world.ts';

it('[W52] the example of the docs: an answer that is lost, one change at the server', async () => {
  const { engine, world, host } = await createTestEngine({ definition, owner: 'ann' });
  const saved = await engine.enqueue(
    testCommand(world, { family: 'workout', kind: 'create', body: { kg: 60 } }),
  );
  world.server.next({ type: 'drop_answer' });
  await world.run(engine.flush('ann', 'flush'));
  expect(world.server.applied).toHaveLength(1);
  expect(await engine.settled('ann', saved.row?.id ?? '')).toMatchObject({ type: 'waiting' });
  host.kill();
  const next = await world.start();
  await world.run(next.engine.flush('ann', 'online'));
  expect(await next.engine.settled('ann', saved.row?.id ?? '')).toMatchObject({
    type: 'uploaded',
    receipt: { replayed: true },
  });
  expect(world.server.applied).toHaveLength(1);
});

it('[W52] two runs of the same test see the same ids, times and requests', async () => {
  const run = async () => {
    const { engine, world } = await createTestEngine({ definition });
    for (let i = 0; i < 3; i++) await engine.enqueue(testCommand(world, { body: { i } }));
    world.server.next({ type: 'status', status: 500 });
    await world.run(engine.flush('ann', 'flush'));
    return { requests: world.server.requests, rows: await world.store.index('ann', { limit: 10 }) };
  };
  expect(await run()).toEqual(await run());
});
