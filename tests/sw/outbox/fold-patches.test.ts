import { describe, expect, it, test } from 'vitest';
import { BodyTooLargeError, InvalidBodyError } from '../../../shared/errors.ts';
import { record } from '../../../shared/family.ts';
import type { Target } from '../../../shared/key.ts';
import { CONDITIONS, outboxFixture } from '../../support/outbox-fixture.ts';

const note = { family: 'note' } as const;
const C1: Target = { type: 'pending', origin: 'c1' };

describe('families whose bodies are patches', () => {
  it('[R36, R15] a later patch folds over earlier clean ones, under an id of its own', async () => {
    const { enqueue, rows, body, store } = await outboxFixture();
    await enqueue({ ...note, id: 'u1', body: { weight: 80, note: 'a' }, expectedRevision: 3, tags: ['x'] });
    const { action, removed, row } = await enqueue({
      ...note,
      id: 'u2',
      body: { note: 'b' },
      expectedRevision: 4,
      tags: ['y'],
    });
    expect([action, removed]).toEqual(['queued', ['u1']]);
    expect(await rows()).toEqual([row]);
    expect(await body(row)).toEqual({ weight: 80, note: 'b' });
    // The revision of the first: what came between must not be overwritten unseen.
    expect(row).toMatchObject({ expectedRevision: 3, tags: ['x', 'y'], replaces: ['u1', 'u2'] });
    expect(['u1', 'u2']).not.toContain(row?.id);
    expect(await store.findEnds(['u1', 'u2'])).toMatchObject([
      { end: 'merged', by: row?.id },
      { end: 'merged', by: row?.id },
    ]);
  });

  it('[R9, R36] the repeat of a folded command answers the row that holds it', async () => {
    const { enqueue, rows } = await outboxFixture();
    await enqueue({ ...note, id: 'u1', body: { a: 1 } });
    const second = await enqueue({ ...note, id: 'u2', body: { b: 1 } });
    const before = await rows();
    for (const id of ['u1', 'u2']) {
      const again = await enqueue({ ...note, id, body: id === 'u1' ? { a: 1 } : { b: 1 } });
      expect(again).toEqual({ action: 'existing', row: second.row, removed: [] });
    }
    expect(await rows()).toEqual(before);
  });

  it('[R36, R29] intents of a creation fold as well', async () => {
    const { enqueue, change, body, clock } = await outboxFixture();
    await enqueue({ ...note, id: 'c1', kind: 'create' });
    await change('c1', CONDITIONS['in flight'](clock.now()));
    await enqueue({ ...note, id: 'u1', target: C1, body: { a: 1, b: 1 } });
    const { action, row } = await enqueue({ ...note, id: 'u2', target: C1, body: { b: 2 } });
    expect([action, row?.successorOf]).toEqual(['intent', 'c1']);
    expect(await body(row)).toEqual({ a: 1, b: 2 });
  });

  it('[R36] a refused patch stays blocked behind which a later row is of unknown result', async () => {
    const { enqueue, change, rows, body, clock } = await outboxFixture();
    await enqueue({ ...note, id: 'u1', body: { note: 'old' } });
    await change('u1', CONDITIONS['blocked doubtful'](clock.now()));
    await enqueue({ ...note, id: 'u2', body: { note: 'new' } });
    await change('u2', CONDITIONS['in flight'](clock.now()));
    const refused = await change('u1', { doubt: false });
    const { row, removed } = await enqueue({ ...note, id: 'u3', body: { weight: 80 } });
    expect([removed, row?.successorOf]).toEqual([[], 'u2']);
    expect(await body(row)).toEqual({ weight: 80 });
    expect((await rows())[0]).toEqual(refused);
  });

  it('[R36] the same where a delete comes behind them', async () => {
    const { enqueue, change, rows, clock } = await outboxFixture();
    await enqueue({ ...note, id: 'u1' });
    await change('u1', CONDITIONS['blocked doubtful'](clock.now()));
    await enqueue({ ...note, id: 'u2' });
    await change('u2', CONDITIONS['in flight'](clock.now()));
    await change('u1', { doubt: false });
    await enqueue({ ...note, id: 'd1', kind: 'delete' });
    expect((await rows()).map(({ id }) => id)).toEqual(['u1', 'u2', 'd1']);
  });

  it('[R36, C33] a refused patch that a later one has overtaken is not folded over it', async () => {
    const { enqueue, change, rows, body } = await outboxFixture();
    await enqueue({ ...note, id: 'u1', body: { note: 'old' } });
    await change('u1', { ...CONDITIONS['blocked refused'](0), overtakenBy: 'gone' });
    const { row } = await enqueue({ ...note, id: 'u2', body: { weight: 80 } });
    expect(await body(row)).toEqual({ weight: 80 });
    expect((await rows()).map(({ id }) => id)).toEqual(['u1', 'u2']);
  });

  test.each(['missing', 'unreadable'] as const)(
    '[R3, R36] a row whose body is %s is not folded: it stays, and its fate is its own',
    async (how) => {
      const { enqueue, store, rows, body } = await outboxFixture();
      await enqueue({ ...note, id: 'u1', body: { a: 1 } });
      store.spoilBody('u1', how);
      const { row } = await enqueue({ ...note, id: 'u2', body: { b: 1 } });
      expect(row?.successorOf).toBe('u1');
      expect(await body(row)).toEqual({ b: 1 });
      expect(await rows()).toHaveLength(2);
    },
  );

  it('[R3, R17] a creation whose body cannot be read is left alone, and its edit is an intent', async () => {
    const { enqueue, store, rows } = await outboxFixture();
    await enqueue({ ...note, id: 'c1', kind: 'create' });
    store.spoilBody('c1', 'missing');
    expect((await enqueue({ ...note, id: 'u1', target: C1 })).action).toBe('intent');
    expect(await rows()).toHaveLength(2);
  });

  test.each([
    {
      how: 'throws',
      merge: () => {
        throw new Error('no');
      },
    },
    { how: 'answers nothing', merge: () => undefined },
    { how: 'answers a promise', merge: () => Promise.resolve({}) },
    { how: 'answers what cannot be stored', merge: () => ({ f() {} }) },
  ])('[R46, R36] a merge that $how refuses the command, and nothing changes', async ({ merge }) => {
    const family = { ...record(), merge };
    const { enqueue, everything } = await outboxFixture({ families: { note: family } });
    await enqueue({ ...note, id: 'u1' });
    const before = await everything();
    await expect(enqueue({ ...note, id: 'u2' })).rejects.toThrow(InvalidBodyError);
    expect(await everything()).toEqual(before);
  });

  it('[R46] a merge that grows beyond the size limit refuses the command', async () => {
    const merge = (one: unknown, other: unknown) => [one, other];
    const family = { ...record({ maxBodyBytes: 100 }), merge };
    const { enqueue, rows } = await outboxFixture({ families: { note: family } });
    await enqueue({ ...note, id: 'u1', body: 'x'.repeat(60) });
    await expect(enqueue({ ...note, id: 'u2', body: 'y'.repeat(60) })).rejects.toThrow(BodyTooLargeError);
    expect((await rows()).map(({ id }) => id)).toEqual(['u1']);
  });

  it('[R36, A26] a field that is set to undefined is set: the fold does not bring the old value back', async () => {
    const { enqueue, body } = await outboxFixture();
    await enqueue({ ...note, id: 'u1', body: { note: 'x' } });
    const { row } = await enqueue({ ...note, id: 'u2', body: { note: undefined } });
    expect(await body(row)).toStrictEqual({ note: undefined });
  });

  it('[R1, A72] a merge that changes its arguments changes nothing that is stored', async () => {
    const seen: unknown[] = [];
    const merge = (earlier: unknown, later: unknown) => {
      seen.push(structuredClone([earlier, later]));
      return Object.assign(earlier as object, later, Object.assign(later as object, { spoiled: true }));
    };
    const { enqueue, change, store, outbox, body } = await outboxFixture({
      families: { note: { ...record(), merge } },
    });
    await enqueue({ ...note, id: 'u1', body: { a: 1 } });
    const first = store.holdNext('enqueue');
    const given = { b: 1 };
    const folding = outbox.enqueue({
      id: 'u2',
      owner: 'ann',
      kind: 'update',
      target: { type: 'id', id: 'w1' },
      ...note,
      body: given,
    });
    await first.reached;
    const second = store.holdNext('enqueue');
    first.release();
    await second.reached;
    await change('u1', { noticed: true });
    second.release();
    const { row } = await folding;
    expect(given).toEqual({ b: 1 });
    expect(seen).toHaveLength(2);
    // Planned and folded more than once, from the same two bodies each time.
    for (const pair of seen) expect(pair).toEqual([{ a: 1 }, { b: 1 }]);
    expect(await body(row)).toEqual({ a: 1, b: 1, spoiled: true });
  });
});
