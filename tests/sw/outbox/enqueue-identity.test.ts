import { describe, expect, it, test } from 'vitest';
import { CancelledError, IdentityConflictError } from '../../../shared/errors.ts';
import type { Target } from '../../../shared/key.ts';
import { followId, settledOf } from '../../../sw/outbox/follow-id.ts';
import { CONDITIONS, outboxFixture } from '../../support/outbox-fixture.ts';

describe('repeats', () => {
  it('[R9] of a stored id answer its row, whatever has happened to it', async () => {
    const { enqueue, change, clock, everything } = await outboxFixture();
    await enqueue({ id: 'u1' });
    const row = await change('u1', CONDITIONS['in flight'](clock.now()));
    const before = await everything();
    expect(await enqueue({ id: 'u1' })).toEqual({ action: 'existing', row, removed: [] });
    expect(await everything()).toEqual(before);
  });

  it('[R9] of an accepted id answer the receipt', async () => {
    const { enqueue, accept, rows } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await accept('u1', { revision: 7 });
    const again = await enqueue({ id: 'u1' });
    expect(again).toMatchObject({
      action: 'existing',
      row: undefined,
      settled: { type: 'uploaded', id: 'u1', receipt: { revision: 7 } },
    });
    expect(await rows()).toEqual([]);
  });

  it('[R9] of a replaced id answer the row that took over, and the ids on the way there', async () => {
    const { enqueue, store, accept } = await outboxFixture();
    for (const id of ['a', 'b', 'c']) await enqueue({ id });
    expect((await enqueue({ id: 'a' })).row?.id).toBe('c');
    expect(await followId(store, 'ann', 'a')).toMatchObject({ type: 'row', via: ['a', 'b'] });
    expect(await settledOf(store, 'ann', 'a')).toEqual({ type: 'waiting', id: 'c', via: ['a', 'b'] });
    await accept('c');
    expect(await settledOf(store, 'ann', 'a')).toMatchObject({
      type: 'uploaded',
      id: 'c',
      via: ['a', 'b'],
    });
  });

  it.each([
    { condition: 'held without doubt', type: 'held' },
    { condition: 'in flight', type: 'waiting' },
    { condition: 'deferred without doubt', type: 'waiting' },
    { condition: 'blocked refused', type: 'blocked' },
  ] as const)(
    '[D42, W17] a caller who asks again about a row that is $condition hears $type',
    async (the) => {
      const { enqueue, store, change, clock } = await outboxFixture();
      await enqueue({ id: 'u1' });
      await change('u1', CONDITIONS[the.condition](clock.now()));
      expect(await settledOf(store, 'ann', 'u1')).toMatchObject({ type: the.type, id: 'u1' });
    },
  );

  it('[R9] are answered before the table is asked: also where it would refuse them now', async () => {
    const { enqueue, accept } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await accept('u1');
    await enqueue({ id: 'd1', kind: 'delete' });
    expect((await enqueue({ id: 'u1' })).settled?.type).toBe('uploaded');
    await enqueue({ id: 'u2', target: { type: 'id', id: 'w2' } });
    await expect(enqueue({ id: 'u2' })).rejects.toThrow(IdentityConflictError);
  });

  test.each([
    { what: 'other content', input: { body: { v: 'other' } } },
    { what: 'another revision', input: { expectedRevision: 9 } },
    { what: 'another target', input: { target: { type: 'id', id: 'w2' } as Target } },
    { what: 'another family', input: { family: 'note' } },
    { what: 'another kind', input: { kind: 'delete', body: undefined } as const },
  ])('[R9, T8] under $what are refused, and nothing changes', async ({ input }) => {
    const { enqueue, accept, everything } = await outboxFixture();
    await enqueue({ id: 'u1' });
    const stored = await everything();
    await expect(enqueue({ id: 'u1', ...input })).rejects.toThrow(IdentityConflictError);
    expect(await everything()).toEqual(stored);
    await accept('u1');
    const ended = await everything();
    await expect(enqueue({ id: 'u1', ...input })).rejects.toThrow(IdentityConflictError);
    expect(await everything()).toEqual(ended);
  });

  it('[R9] of an id that was cancelled before it arrived are refused', async () => {
    const { enqueue, outbox, rows } = await outboxFixture();
    expect(await outbox.cancel('ann', 'u1')).toEqual({ type: 'unknown_id' });
    await expect(enqueue({ id: 'u1' })).rejects.toThrow(CancelledError);
    expect(await rows()).toEqual([]);
    expect(await outbox.cancel('ann', 'u1')).toEqual({ type: 'unknown_id' });
  });

  it('[R9] of an id that was cancelled as a row say so', async () => {
    const { enqueue, outbox } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await outbox.cancel('ann', 'u1');
    expect((await enqueue({ id: 'u1' })).settled).toEqual({ type: 'cancelled', id: 'u1' });
  });

  it('[R10] of a creation whose id has changed are answered, also once the old id is forgotten', async () => {
    const { enqueue, store, clock, rows } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create', body: { v: 1 } });
    const { row } = await enqueue({ id: 'u1', target: { type: 'pending', origin: 'c1' } });
    await clock.advance(8 * 24 * 3_600_000);
    await store.trim('ann', clock.now());
    expect(await store.findEnds(['c1'])).toEqual([undefined]);
    expect(await enqueue({ id: 'c1', kind: 'create', body: { v: 1 } })).toEqual({
      action: 'existing',
      row,
      removed: [],
    });
    expect(await rows()).toHaveLength(1);
  });
});

describe('what an id has come to', () => {
  it('[R9, D42] is not found where nobody knows it, and to other owners', async () => {
    const { enqueue, store } = await outboxFixture();
    await enqueue({ id: 'u1' });
    expect(await settledOf(store, 'bob', 'u1')).toEqual({ type: 'not_found', id: 'u1' });
    expect(await settledOf(store, 'ann', 'u9')).toEqual({ type: 'not_found', id: 'u9' });
  });

  it('[D42] is unknown for a doubtful receipt, and blocked for the rest', async () => {
    const { enqueue, change, store } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await change('u1', CONDITIONS['blocked doubtful'](0));
    expect(await settledOf(store, 'ann', 'u1')).toEqual({
      type: 'unknown',
      id: 'u1',
      rejection: { code: 'receipt_missing' },
    });
    await change('u1', CONDITIONS['blocked refused'](0));
    expect(await settledOf(store, 'ann', 'u1')).toEqual({ type: 'blocked', id: 'u1', code: 'rejected' });
  });
});
