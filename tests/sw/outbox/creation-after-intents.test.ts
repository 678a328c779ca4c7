import { expect, it } from 'vitest';
import { defineOutbox, record } from '../../../shared/family.ts';
import { createTestWorld, testCommand } from '../../../sw/testing/create-test-world.ts';

it('[R8, R28, C30] a creation that arrives after its intents leaves before them', async () => {
  const world = createTestWorld({ definition: defineOutbox({ workout: record() }) });
  const { engine } = await world.start();
  await engine.signIn('ann');
  const create = testCommand(world, { body: { kg: 60 } });
  const target = { type: 'pending', origin: create.id } as const;
  await engine.enqueue(testCommand(world, { kind: 'update', target, body: { kg: 80 } }));
  await engine.enqueue(create);
  await world.run(engine.flush('ann', 'flush'));
  await world.run(engine.flush('ann', 'flush'));
  expect(world.server.applied.map(({ kind, body }) => [kind, body])).toEqual([
    ['create', { kg: 60 }],
    ['update', { kg: 80 }],
  ]);
});
