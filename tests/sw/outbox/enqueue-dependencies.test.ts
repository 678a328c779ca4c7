import { describe, expect, it } from 'vitest';
import type { CommandInput } from '../../../shared/command.ts';
import { InvalidCommandError, NoSuchTargetError } from '../../../shared/errors.ts';
import type { Target } from '../../../shared/key.ts';
import { laneOf } from '../../../sw/outbox/standing.ts';
import { CONDITIONS, type OutboxFixture, outboxFixture } from '../../support/outbox-fixture.ts';

const C1: Target = { type: 'pending', origin: 'c1' };
const at = (id: string): Target => ({ type: 'id', id });

/** A parent creation c1, and a child x1 that waits for it. */
async function family(): Promise<
  OutboxFixture & { readonly child: (input: Partial<CommandInput>) => ReturnType<OutboxFixture['enqueue']> }
> {
  const fixture = await outboxFixture();
  await fixture.enqueue({ id: 'c1', kind: 'create' });
  const child = (input: Partial<CommandInput>) =>
    fixture.enqueue({ kind: 'create', family: 'note', ...input });
  await child({ id: 'x1', after: ['c1'] });
  return { ...fixture, child };
}

describe('commands that wait for other rows', () => {
  it('[W60, R1] are stored as waiting, and the row they wait for knows it', async () => {
    const { enqueue, rows, row } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    const { action, row: child } = await enqueue({
      id: 'x1',
      kind: 'create',
      family: 'note',
      after: ['c1', 'c1'],
    });
    expect(action).toBe('intent');
    expect(child?.after).toEqual(['c1']);
    expect(child && laneOf(child)).toBe('waiting');
    expect(await row('c1')).toMatchObject({ awaited: true, version: 2 });
    expect(await rows()).toHaveLength(2);
    const again = await enqueue({ id: 'x1', kind: 'create', family: 'note', after: ['c1', 'c1'] });
    expect(again).toEqual({ action: 'existing', row: child, removed: [] });
  });

  it("[W60] are refused where what they name is unknown, or another owner's", async () => {
    const { enqueue, everything } = await outboxFixture();
    const before = await everything();
    const error = await enqueue({ after: ['nobody'] }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(InvalidCommandError);
    expect((error as InvalidCommandError).data).toEqual({ path: 'after', origin: 'nobody' });
    expect(await everything()).toEqual(before);
  });

  it('[W60] are refused where what they name was given up', async () => {
    const { enqueue, outbox } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await outbox.cancel('ann', 'c1');
    await expect(enqueue({ id: 'u1', after: ['c1'] })).rejects.toThrow(NoSuchTargetError);
  });

  it('[W60, C23] on what was accepted before are left to the next flush, which reads it from the journal', async () => {
    const { enqueue, accept, clock } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await accept('c1');
    const { row } = await enqueue({ id: 'x1', kind: 'create', family: 'note', after: ['c1'] });
    expect(row).toMatchObject({ after: ['c1'], orphanedAt: clock.now() });
    expect(row && laneOf(row)).toBe('asking');
  });

  it('[W60, R42] see a parent that goes at the same moment', async () => {
    const { enqueue, accept, store, clock, outbox } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    const hold = store.holdNext('enqueue');
    const storing = outbox.enqueue({
      id: 'x1',
      owner: 'ann',
      family: 'note',
      kind: 'create',
      body: {},
      after: ['c1'],
    });
    await hold.reached;
    await accept('c1');
    hold.release();
    expect((await storing).row).toMatchObject({ orphanedAt: clock.now() });
  });

  it('[R6, W60] follow the row that took over: the name of a replaced row leads to it', async () => {
    const { enqueue } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await enqueue({ id: 'u2' });
    const { row } = await enqueue({ id: 'x1', target: at('w2'), after: ['u1'] });
    expect(row?.after).toEqual(['u2']);
  });

  it("[R6] wait for whatever replaces an awaited row: it continues that row's line", async () => {
    const { enqueue, row, store } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await enqueue({ id: 'x1', target: at('w2'), after: ['u1'] });
    const before = await row('x1');
    const { row: later } = await enqueue({ id: 'u2' });
    expect(later).toMatchObject({ id: 'u2', origin: 'u1', awaited: true });
    expect(await row('x1')).toEqual(before);
    expect((await store.findWaiting('u1')).map(({ id }) => id)).toEqual(['x1']);
    // A delete takes over as well (R20).
    const { row: removal } = await enqueue({ id: 'd1', kind: 'delete' });
    expect(removal).toMatchObject({ id: 'd1', origin: 'u1', awaited: true });
  });

  it('[R6] where two awaited rows become one, both are followed: the dependant of the other line is moved', async () => {
    const { enqueue, change, rows, store, clock } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await enqueue({ id: 'x1', target: at('w2'), after: ['u1'] });
    await change('u1', CONDITIONS['deferred in doubt'](clock.now()));
    await enqueue({ id: 'u2' });
    await enqueue({ id: 'x2', target: at('w3'), after: ['u2'] });
    await change('u1', { doubt: false });
    const { row } = await enqueue({ id: 'u3' });
    expect(row).toMatchObject({ origin: 'u2', awaited: true, replaces: ['u1', 'u2'] });
    const stored = await rows();
    expect(stored.map(({ after }) => after)).toEqual([['u2'], ['u2'], undefined]);
    const moved = stored.find(({ target }) => target.type === 'id' && target.id === 'w2');
    expect(moved?.id).not.toBe('x1');
    expect(moved).toMatchObject({ origin: 'x1', replaces: ['x1'] });
    expect(await store.findEnds(['x1'])).toMatchObject([{ end: 'replaced', by: moved?.id }]);
  });

  it('[R6, C31] a line that a kept row waits for is not continued behind it', async () => {
    const { enqueue, change, rows, clock } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await enqueue({ id: 'x1', target: at('w2'), after: ['u1'] });
    await change('u1', CONDITIONS['blocked doubtful'](clock.now()));
    await enqueue({ id: 'u2' });
    await change('u2', CONDITIONS['in flight'](clock.now()));
    await change('u1', { doubt: false });
    const { row } = await enqueue({ id: 'u3' });
    expect(row).toMatchObject({ origin: 'u3', successorOf: 'u2', awaited: true });
    expect((await rows()).map(({ after }) => after)).toEqual([['u3'], undefined, undefined]);
  });

  it('[R16, R17, W60] an edit that waits for others does not make its creation wait: it is an intent', async () => {
    const { enqueue, row } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await enqueue({ id: 'c2', kind: 'create', family: 'note' });
    expect((await enqueue({ id: 'u1', target: C1, after: ['c2'] })).action).toBe('intent');
    expect(await row('c1')).not.toHaveProperty('after');
    // Nor may a later edit overtake it by joining the creation.
    expect((await enqueue({ id: 'u2', target: C1 })).action).toBe('intent');
  });

  it('[W60] never wait for themselves: what a command waits for is not replaced by it', async () => {
    const { enqueue, rows } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await enqueue({ id: 'x1', target: at('w2'), after: ['u1'] });
    const { row, removed } = await enqueue({ id: 'u2', after: ['x1'] });
    expect(removed).toEqual([]);
    expect(row).toMatchObject({ successorOf: 'u1', after: ['x1'] });
    expect(await rows()).toHaveLength(3);
  });

  it('[R36, W60] a fold waits for everything that its parts wait for', async () => {
    const { enqueue } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await enqueue({ id: 'c2', kind: 'create' });
    const note = { family: 'note', target: at('n1') } as const;
    await enqueue({ ...note, id: 'u1', after: ['c1'] });
    const { row, action } = await enqueue({ ...note, id: 'u2', after: ['c2'] });
    expect([action, row?.after]).toEqual(['intent', ['c1', 'c2']]);
  });
});

describe('what goes with a row', () => {
  it('[W60, R23, R35] cancelling a parent takes along what cannot be sent without it, and says so', async () => {
    const { outbox, child, rows, store } = await family();
    await child({ id: 'x2', after: ['x1'] });
    const answer = await outbox.cancel('ann', 'c1');
    expect(answer).toEqual({ type: 'cancelled', removed: ['c1', 'x1', 'x2'] });
    expect(await rows()).toEqual([]);
    expect(await store.findEnds(['x1', 'x2'])).toMatchObject([{ end: 'cancelled' }, { end: 'cancelled' }]);
  });

  it('[W60, R23] so does deleting it before it left', async () => {
    const { enqueue, rows } = await family();
    const { action, removed } = await enqueue({ id: 'd1', kind: 'delete', target: C1 });
    expect([action, removed]).toEqual(['dropped', ['c1', 'x1']]);
    expect(await rows()).toEqual([]);
  });

  it('[W60, R34] and discarding it, with rows beside the dependants left alone', async () => {
    const { outbox, child, change, rows } = await family();
    await child({ id: 'u9', kind: 'update', target: at('n9'), after: ['c1'] });
    await child({ id: 'y1' });
    await change('c1', CONDITIONS['blocked refused'](0));
    expect((await outbox.discard('ann', 'c1')).removed).toEqual(['c1', 'x1', 'u9']);
    expect((await rows()).map(({ id }) => id)).toEqual(['y1']);
  });

  it('[W60, R42] a dependant that arrives at that very moment goes along', async () => {
    const { outbox, child, rows, store } = await family();
    const hold = store.holdNext('person');
    const cancelling = outbox.cancel('ann', 'c1');
    await hold.reached;
    await child({ id: 'x2', after: ['c1'] });
    hold.release();
    expect(await cancelling).toEqual({ type: 'cancelled', removed: ['c1', 'x1', 'x2'] });
    expect(await rows()).toEqual([]);
  });

  it('[R34, R6] retrying a refused parent keeps what waits for it', async () => {
    const { outbox, change, row } = await family();
    await change('c1', CONDITIONS['blocked refused'](0));
    const before = await row('x1');
    const { row: again } = await outbox.retry('ann', 'c1');
    expect(again).toMatchObject({ origin: 'c1', awaited: true });
    expect(await row('x1')).toEqual(before);
  });
});

it('[R6, R27] a row that a command of an accepted creation replaces does not come back as what waits for another', async () => {
  const { enqueue, rows, accept } = await outboxFixture();
  await enqueue({ id: 'c1', kind: 'create' });
  await accept('c1');
  const target = { type: 'id', id: 'server-1' } as const;
  await enqueue({ id: 'u1', target });
  await enqueue({ id: 'u2', target, after: ['u1'] });
  await enqueue({ id: 'd1', target: { type: 'id', id: 'w2' }, after: ['u2'] });
  await enqueue({ id: 'u3', target: { type: 'pending', origin: 'c1' } });
  const all = await rows();
  for (const row of all) expect(row.after ?? []).not.toContain(row.origin);
  const origins = all.map(({ origin }) => origin);
  expect(new Set(origins).size).toBe(origins.length);
});
