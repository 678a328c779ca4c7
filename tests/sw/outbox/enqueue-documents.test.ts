import { expect, it } from 'vitest';
import { CONDITIONS, outboxFixture } from '../../support/outbox-fixture.ts';

const plan = { family: 'plan', target: { type: 'id', id: '2026-11-30' } } as const;

it('[R30] a put takes the place of clean puts and removes', async () => {
  const { enqueue, rows, body } = await outboxFixture();
  await enqueue({ ...plan, id: 'p1', kind: 'put' });
  await enqueue({ ...plan, id: 'r1', kind: 'remove' });
  const { action, removed, row } = await enqueue({ ...plan, id: 'p2', kind: 'put', body: { v: 2 } });
  expect([action, removed]).toEqual(['queued', ['r1']]);
  expect(row?.replaces).toEqual(['p1', 'r1']);
  expect(await rows()).toEqual([row]);
  expect(await body(row)).toEqual({ v: 2 });
});

it('[R31] a put or remove waits for one of unknown result', async () => {
  const { enqueue, change, rows, clock } = await outboxFixture();
  await enqueue({ ...plan, id: 'p1', kind: 'put' });
  await change('p1', CONDITIONS['deferred in doubt'](clock.now()));
  await enqueue({ ...plan, id: 'p2', kind: 'put' });
  await enqueue({ ...plan, id: 'r1', kind: 'remove' });
  expect((await rows()).map(({ id, successorOf }) => [id, successorOf])).toEqual([
    ['p1', undefined],
    ['r1', 'p1'],
  ]);
});

it('[R32, R33] a remove takes the place of clean puts, and a second one returns it', async () => {
  const { enqueue, rows } = await outboxFixture();
  await enqueue({ ...plan, id: 'p1', kind: 'put' });
  const first = await enqueue({ ...plan, id: 'r1', kind: 'remove' });
  expect(first).toMatchObject({ action: 'queued', removed: ['p1'] });
  expect(await enqueue({ ...plan, id: 'r2', kind: 'remove' })).toEqual({
    action: 'existing',
    row: first.row,
    removed: [],
  });
  expect(await rows()).toEqual([first.row]);
});

it('[R33] a remove on its way is returned too, and one with a later put behind it is not', async () => {
  const { enqueue, change, rows, clock } = await outboxFixture();
  await enqueue({ ...plan, id: 'r1', kind: 'remove' });
  await change('r1', CONDITIONS['in flight'](clock.now()));
  expect((await enqueue({ ...plan, id: 'r2', kind: 'remove' })).row?.id).toBe('r1');
  await enqueue({ ...plan, id: 'p1', kind: 'put' });
  expect(await enqueue({ ...plan, id: 'r3', kind: 'remove' })).toMatchObject({
    action: 'queued',
    removed: ['p1'],
    row: { successorOf: 'r1' },
  });
  expect((await rows()).map(({ id }) => id)).toEqual(['r1', 'r3']);
});

it('[R37] a remove behind a refused one is another try', async () => {
  const { enqueue, change, rows } = await outboxFixture();
  await enqueue({ ...plan, id: 'r1', kind: 'remove' });
  await change('r1', CONDITIONS['blocked refused'](0));
  expect(await enqueue({ ...plan, id: 'r2', kind: 'remove' })).toMatchObject({
    action: 'queued',
    removed: ['r1'],
  });
  expect((await rows()).map(({ id }) => id)).toEqual(['r2']);
});
