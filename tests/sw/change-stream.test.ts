import { expect, it } from 'vitest';
import { createChangeStream } from '../../sw/change-stream.ts';
import type { OwnerChange } from '../../sw/engine.ts';
import { createMemoryRowStore } from '../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { commitOf, draft } from '../suites/row-store-suite.ts';

it('[W18, D46] a landed commit of which a store that cannot be read says nothing is told by the next change', async () => {
  const store = createMemoryRowStore({ clock: createManualClock(), ids: { uuid: () => 'epoch' } });
  const changes = createChangeStream(store, () => undefined);
  const heard: OwnerChange[] = [];
  changes.onChange((change) => heard.push(change));
  await store.commit([commitOf([draft({})])]);
  store.failReads(new Error('no answer'));
  await expect(changes.tellUnseen('ann')).resolves.toBeUndefined();
  store.failReads(undefined);
  expect(heard).toEqual([]);
  await changes.tellUnseen('ann');
  expect(heard).toMatchObject([{ owner: 'ann', generation: 1 }]);
});
