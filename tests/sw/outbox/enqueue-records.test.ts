import { describe, expect, it } from 'vitest';
import { NoSuchTargetError, TargetDeletedError } from '../../../shared/errors.ts';
import type { Target } from '../../../shared/key.ts';
import { CONDITIONS, outboxFixture } from '../../support/outbox-fixture.ts';

const C1: Target = { type: 'pending', origin: 'c1' };

describe('records with a server id', () => {
  it('[R8, R1] stores one row with the place, the identity and the content of its command', async () => {
    const { enqueue, rows, body, clock } = await outboxFixture();
    const { action, row } = await enqueue({
      body: { v: 1 },
      expectedRevision: 3,
      tags: ['2026-11-30'],
      urgent: true,
      expiresAt: 5,
    });
    expect(action).toBe('queued');
    expect(await rows()).toEqual([row]);
    expect(row).toMatchObject({
      format: 1,
      id: 'u1',
      origin: 'u1',
      owner: 'ann',
      family: 'workout',
      kind: 'update',
      target: { type: 'id', id: 'w1' },
      savedAt: clock.now(),
      expectedRevision: 3,
      tags: ['2026-11-30'],
      urgent: true,
      expiresAt: 5,
      state: 'queued',
      doubt: false,
      version: 1,
    });
    expect(await body(row)).toEqual({ v: 1 });
  });

  it('[R8, R10] a create is its own pending target, and its repeat answers the stored row', async () => {
    const { enqueue, rows } = await outboxFixture();
    const first = await enqueue({ id: 'c1', kind: 'create', sourceRef: 'form 7' });
    expect(first.row).toMatchObject({ id: 'c1', origin: 'c1', target: C1, sourceRef: 'form 7' });
    const again = await enqueue({ id: 'c1', kind: 'create', sourceRef: 'form 7' });
    expect(again).toEqual({ action: 'existing', row: first.row, removed: [] });
    expect(await rows()).toHaveLength(1);
  });

  it('[R11] a create under a used id with other content is refused, and nothing changes', async () => {
    const { enqueue, everything } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create', body: { v: 1 } });
    const before = await everything();
    await expect(enqueue({ id: 'c1', kind: 'create', body: { v: 2 } })).rejects.toMatchObject({
      code: 'identity_conflict',
    });
    expect(await everything()).toEqual(before);
  });

  it('[R12] an update behind a delete that may still be applied is refused, and nothing changes', async () => {
    const { enqueue, everything } = await outboxFixture();
    await enqueue({ id: 'd1', kind: 'delete' });
    const before = await everything();
    await expect(enqueue({ id: 'u1' })).rejects.toThrow(TargetDeletedError);
    expect(await everything()).toEqual(before);
  });

  it('[R13] an update behind a refused delete leaves it and goes on', async () => {
    const { enqueue, change, rows } = await outboxFixture();
    await enqueue({ id: 'd1', kind: 'delete' });
    await change('d1', CONDITIONS['blocked refused'](0));
    const { action, row } = await enqueue({ id: 'u1' });
    expect([action, row?.successorOf]).toEqual(['queued', undefined]);
    expect((await rows()).map(({ id }) => id)).toEqual(['d1', 'u1']);
  });

  it('[R14] of several rows of unknown result the latest is the one to wait for', async () => {
    const { enqueue, change, rows, clock } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await change('u1', CONDITIONS['blocked doubtful'](clock.now()));
    await enqueue({ id: 'u2' });
    await change('u2', CONDITIONS['in flight'](clock.now()));
    const { row } = await enqueue({ id: 'u3' });
    expect(row?.successorOf).toBe('u2');
    expect((await rows()).map(({ id, successorOf }) => [id, successorOf])).toEqual([
      ['u1', undefined],
      ['u2', 'u1'],
      ['u3', 'u2'],
    ]);
  });

  it('[R15] the last of quick edits is the one that stays, and what it replaced is told', async () => {
    const { enqueue, rows, body, store } = await outboxFixture();
    for (const id of ['a', 'b', 'c']) await enqueue({ id, body: { title: id }, tags: [id] });
    const [row, ...others] = await rows();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ id: 'c', origin: 'c', tags: ['c'], replaces: ['a', 'b'] });
    expect(await body(row)).toEqual({ title: 'c' });
    expect(await store.findEnds(['a', 'b'])).toMatchObject([
      { end: 'replaced', by: 'b' },
      { end: 'replaced', by: 'c' },
    ]);
    expect(await store.readBodies(['a', 'b'])).toEqual([{ type: 'missing' }, { type: 'missing' }]);
  });

  it('[R15, A54] of edits made while the first is on its way, the first and the last are left', async () => {
    const { enqueue, change, rows, clock } = await outboxFixture();
    await enqueue({ id: 'a', expectedRevision: 1 });
    await change('a', CONDITIONS['in flight'](clock.now()));
    for (const id of ['b', 'c', 'd', 'e']) await enqueue({ id, expectedRevision: 1 });
    expect((await rows()).map(({ id, successorOf }) => [id, successorOf])).toEqual([
      ['a', undefined],
      ['e', 'a'],
    ]);
  });

  it('[R14, A57] an edit never changes what is on its way, and commits between read and claim are judged again', async () => {
    const { enqueue, change, row, body, store, clock, outbox } = await outboxFixture();
    await enqueue({ id: 'u1', body: { v: 1 } });
    const hold = store.holdNext('enqueue');
    const second = outbox.enqueue({
      id: 'u2',
      owner: 'ann',
      family: 'workout',
      kind: 'update',
      target: { type: 'id', id: 'w1' },
      body: { v: 2 },
    });
    await hold.reached;
    // The claim lands first: what the edit was planned against is no longer so.
    await change('u1', CONDITIONS['in flight'](clock.now()));
    const before = await row('u1');
    hold.release();
    expect((await second).row).toMatchObject({ id: 'u2', successorOf: 'u1' });
    expect(await row('u1')).toEqual(before);
    expect(await body(before)).toEqual({ v: 1 });
  });

  it('[R19] a delete waits for an update of unknown result', async () => {
    const { enqueue, change, clock } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await change('u1', CONDITIONS['lease expired'](clock.now()));
    const { row } = await enqueue({ id: 'd1', kind: 'delete' });
    expect(row).toMatchObject({ kind: 'delete', successorOf: 'u1' });
    expect(row).not.toHaveProperty('bodyId');
  });

  it('[R20, R21] a delete takes the place of clean updates, and a second one returns it', async () => {
    const { enqueue, rows, store } = await outboxFixture();
    await enqueue({ id: 'u1' });
    const first = await enqueue({ id: 'd1', kind: 'delete' });
    expect(first).toMatchObject({ action: 'queued', removed: ['u1'] });
    const second = await enqueue({ id: 'd2', kind: 'delete' });
    expect(second).toEqual({ action: 'existing', row: first.row, removed: [] });
    expect(await rows()).toEqual([first.row]);
    // R9: its repeat does not act anew, also when the row has gone meanwhile.
    expect(await store.findEnds(['d2'])).toMatchObject([{ end: 'merged', by: 'd1' }]);
  });

  it('[R21] a delete with a later row behind it is kept, and that row is judged', async () => {
    const { enqueue, change, rows } = await outboxFixture();
    await enqueue({ id: 'd1', kind: 'delete' });
    await change('d1', CONDITIONS['blocked refused'](0));
    await enqueue({ id: 'u1' });
    await change('d1', { state: 'queued' });
    const { action, row } = await enqueue({ id: 'd2', kind: 'delete' });
    expect([action, row?.successorOf]).toEqual(['queued', 'd1']);
    expect((await rows()).map(({ id }) => id)).toEqual(['d1', 'd2']);
  });

  it('[R22] a delete behind a refused one is another try', async () => {
    const { enqueue, change, rows } = await outboxFixture();
    await enqueue({ id: 'd1', kind: 'delete' });
    await change('d1', CONDITIONS['blocked refused'](0));
    expect(await enqueue({ id: 'd2', kind: 'delete' })).toMatchObject({ action: 'queued', removed: ['d1'] });
    expect((await rows()).map(({ id }) => id)).toEqual(['d2']);
  });

  it('[R7] a row with a noted receipt is of unknown result, whatever its doubt says', async () => {
    const { enqueue, change, rows } = await outboxFixture();
    const { row } = await enqueue({ id: 'u1' });
    await change('u1', {
      doubt: false,
      receipt: {
        id: 'u1',
        requestHash: row?.requestHash ?? '',
        kind: 'workout.update',
        target: 'w1',
        revision: 2,
        generation: 1,
        committedAt: 0,
      },
    });
    expect((await enqueue({ id: 'u2' })).row?.successorOf).toBe('u1');
    expect(await rows()).toHaveLength(2);
  });
});

describe('creations that are still pending', () => {
  it('[R16, R6] an edit becomes part of a creation that never left, in its place and under a new id', async () => {
    const { enqueue, rows, body, store, clock } = await outboxFixture();
    const { row: first } = await enqueue({
      id: 'c1',
      kind: 'create',
      body: { v: 1 },
      tags: ['mon'],
      sourceRef: 'form 7',
      urgent: true,
      expiresAt: 9e15,
    });
    await clock.advance(1_000);
    const { action, row, removed } = await enqueue({ id: 'u1', target: C1, body: { v: 2 }, tags: ['tue'] });
    expect([action, removed]).toEqual(['merged', ['c1']]);
    expect(row).toMatchObject({
      kind: 'create',
      origin: 'c1',
      target: C1,
      seq: first?.seq,
      savedAt: first?.savedAt,
      sourceRef: 'form 7',
      urgent: true,
      expiresAt: 9e15,
      tags: ['mon', 'tue'],
      replaces: ['c1', 'u1'],
    });
    expect(row?.id).not.toBe('c1');
    expect(row?.requestHash).not.toBe(first?.requestHash);
    expect(await rows()).toEqual([row]);
    expect(await body(row)).toEqual({ v: 2 });
    expect(await store.findEnds(['c1', 'u1'])).toMatchObject([
      { end: 'merged', by: row?.id },
      { end: 'merged', by: row?.id },
    ]);
  });

  it('[R16, R6] what waits for the creation goes on waiting for it: an edit of the merged one finds it by origin', async () => {
    const { enqueue, rows, body } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create', body: { v: 1 } });
    await enqueue({ id: 'u1', target: C1, body: { v: 2 } });
    const { action, row } = await enqueue({ id: 'u2', target: C1, body: { v: 3 } });
    expect(action).toBe('merged');
    expect(await rows()).toEqual([row]);
    expect(await body(row)).toEqual({ v: 3 });
  });

  it('[R6, R42] the same merge makes the same id again, so that a stale round keeps what it made', async () => {
    const { enqueue, store, outbox, change, rows } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create', body: { v: 1 } });
    const twin = await outboxFixture();
    await twin.enqueue({ id: 'c1', kind: 'create', body: { v: 1 } });
    const expected = await twin.enqueue({ id: 'u1', target: C1, body: { v: 2 } });
    const hold = store.holdNext('enqueue');
    const merging = outbox.enqueue({
      id: 'u1',
      owner: 'ann',
      family: 'workout',
      kind: 'update',
      target: C1,
      body: { v: 2 },
    });
    await hold.reached;
    await change('c1', { noticed: true });
    hold.release();
    const { row } = await merging;
    expect(row).toMatchObject({
      id: expected.row?.id,
      requestHash: expected.row?.requestHash,
      noticed: true,
    });
    expect(await rows()).toEqual([row]);
  });

  it('[R17] an edit of a creation on its way becomes an intent, and the creation is untouched', async () => {
    const { enqueue, change, row, clock } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    const sending = await change('c1', CONDITIONS['in flight'](clock.now()));
    const { action, row: intent } = await enqueue({ id: 'u1', target: C1 });
    expect(action).toBe('intent');
    expect(intent).toMatchObject({ id: 'u1', target: C1, successorOf: 'c1' });
    expect(intent).not.toHaveProperty('orphanedAt');
    expect(await row('c1')).toEqual(sending);
  });

  it('[R18] an edit of a creation that was given up is refused, and nothing changes', async () => {
    const { enqueue, outbox, everything } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await outbox.cancel('ann', 'c1');
    const before = await everything();
    await expect(enqueue({ id: 'u1', target: C1 })).rejects.toThrow(NoSuchTargetError);
    expect(await everything()).toEqual(before);
  });

  it('[R23] a creation that never left goes with its deletion, and so do its intents', async () => {
    const { enqueue, change, rows, store, clock } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await change('c1', CONDITIONS['in flight'](clock.now()));
    await enqueue({ id: 'u1', target: C1 });
    await change('c1', CONDITIONS['held without doubt'](clock.now()));
    const answer = await enqueue({ id: 'd1', kind: 'delete', target: C1 });
    expect(answer).toEqual({ action: 'dropped', row: undefined, removed: ['c1', 'u1'] });
    expect(await rows()).toEqual([]);
    expect(await store.findEnds(['c1', 'u1', 'd1'])).toMatchObject([
      { end: 'dropped' },
      { end: 'dropped' },
      { end: 'dropped' },
    ]);
  });

  it('[R24] a refused creation is given up by its deletion', async () => {
    const { enqueue, change, rows } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await change('c1', CONDITIONS['blocked refused'](0));
    expect((await enqueue({ id: 'd1', kind: 'delete', target: C1 })).action).toBe('dropped');
    expect(await rows()).toEqual([]);
  });

  it('[R25] the deletion of a creation on its way is an intent, and nothing is removed', async () => {
    const { enqueue, change, rows, clock } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await change('c1', CONDITIONS['deferred in doubt'](clock.now()));
    const { action, row } = await enqueue({ id: 'd1', kind: 'delete', target: C1 });
    expect([action, row?.successorOf]).toEqual(['intent', 'c1']);
    expect((await rows()).map(({ id }) => id)).toEqual(['c1', 'd1']);
  });

  it('[R26] the deletion of a creation that was given up finds nothing to do, and says the same when repeated', async () => {
    const { enqueue, outbox, rows } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await outbox.cancel('ann', 'c1');
    expect((await enqueue({ id: 'd1', kind: 'delete', target: C1 })).action).toBe('dropped');
    const again = await enqueue({ id: 'd1', kind: 'delete', target: C1 });
    expect(again.settled).toEqual({ type: 'dropped', id: 'd1' });
    expect(await rows()).toEqual([]);
  });

  it("[R27] an edit of a creation that was accepted goes on at the server's id, under an id that is told", async () => {
    const { enqueue, accept, rows, body, store } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await accept('c1', { target: 'w77', revision: 4 });
    const { action, row } = await enqueue({ id: 'u1', target: C1, body: { v: 2 }, tags: ['t'] });
    expect(action).toBe('queued');
    expect(row).toMatchObject({
      kind: 'update',
      target: { type: 'id', id: 'w77' },
      expectedRevision: 4,
      tags: ['t'],
      replaces: ['u1'],
    });
    expect(await rows()).toEqual([row]);
    expect(await body(row)).toEqual({ v: 2 });
    expect(await store.findEnds(['u1'])).toMatchObject([{ end: 'converted', by: row?.id }]);
    const again = await enqueue({ id: 'u1', target: C1, body: { v: 2 }, tags: ['t'] });
    expect(again).toMatchObject({ action: 'existing', row: { id: row?.id } });
  });

  it('[R27, R15, R12] it meets the table there, as the latest command', async () => {
    const { enqueue, accept, rows } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await accept('c1', { target: 'w77' });
    await enqueue({ id: 'u1', target: { type: 'id', id: 'w77' } });
    expect(await enqueue({ id: 'u2', target: C1 })).toMatchObject({ action: 'queued', removed: ['u1'] });
    expect(await rows()).toHaveLength(1);
    await enqueue({ id: 'd1', kind: 'delete', target: { type: 'id', id: 'w77' } });
    await expect(enqueue({ id: 'u3', target: C1 })).rejects.toThrow(TargetDeletedError);
    const { action, row } = await enqueue({ id: 'd2', kind: 'delete', target: C1 });
    expect([action, row?.id]).toEqual(['existing', 'd1']);
  });

  it('[R27, C22] where it cannot be prepared it is kept and blocked, its content intact', async () => {
    const { enqueue, accept, body } = await outboxFixture({
      prepareSuccessor: () => {
        throw new Error('no');
      },
    });
    await enqueue({ id: 'c1', kind: 'create' });
    await accept('c1');
    const { action, row } = await enqueue({ id: 'u1', target: C1, body: { v: 2 } });
    expect(action).toBe('intent');
    expect(row).toMatchObject({
      id: 'u1',
      state: 'blocked',
      blockedCode: 'successor_unprepared',
      successorOf: 'c1',
      target: C1,
    });
    expect(await body(row)).toEqual({ v: 2 });
  });

  it('[R27, R29] it takes the place of an older intent that could not be prepared, or holds its fields too', async () => {
    for (const family of ['workout', 'note']) {
      let prepares = false;
      const { enqueue, accept, rows, body, store } = await outboxFixture({
        prepareSuccessor: (input) => (prepares ? { target: input.receipt.target } : undefined),
      });
      await enqueue({ id: 'c1', kind: 'create', family });
      await accept('c1', { target: 'w77' });
      await enqueue({ id: 'u1', family, target: C1, body: { a: 1, b: 1 } });
      prepares = true;
      const { row, removed } = await enqueue({ id: 'u2', family, target: C1, body: { b: 2 } });
      expect(removed).toEqual(['u1']);
      expect(row).toMatchObject({ target: { type: 'id', id: 'w77' }, replaces: ['u1', 'u2'] });
      expect(await rows()).toEqual([row]);
      expect(await body(row)).toEqual(family === 'note' ? { a: 1, b: 2 } : { b: 2 });
      const end = family === 'note' ? 'merged' : 'replaced';
      expect(await store.findEnds(['u1', 'u2'])).toMatchObject([
        { end, by: row?.id },
        { end: 'converted', by: row?.id },
      ]);
    }
  });

  it('[R27, C21, A72] what prepares it may give it another body, and cannot change the one it was given', async () => {
    const { enqueue, accept, body } = await outboxFixture({
      prepareSuccessor: ({ intent, receipt }) => {
        Object.assign(intent.body as object, { spoiled: true });
        return { target: receipt.target, body: { made: 'for the server' } };
      },
    });
    await enqueue({ id: 'c1', kind: 'create' });
    await accept('c1');
    const given = { v: 1 };
    const { row } = await enqueue({ id: 'u1', target: C1, body: given });
    expect(given).toEqual({ v: 1 });
    expect(await body(row)).toEqual({ made: 'for the server' });
  });

  it('[R28] an edit of a creation nobody here knows becomes an intent that flushes ask about', async () => {
    const { enqueue, clock } = await outboxFixture();
    const { action, row } = await enqueue({ id: 'u1', target: C1 });
    expect(action).toBe('intent');
    expect(row).toMatchObject({ successorOf: 'c1', orphanedAt: clock.now() });
  });

  it('[R28, R8] a creation that arrives after its intents takes them in', async () => {
    const { enqueue, row } = await outboxFixture();
    await enqueue({ id: 'u1', target: C1 });
    expect((await enqueue({ id: 'c1', kind: 'create' })).action).toBe('queued');
    const intent = await row('u1');
    expect(intent.successorOf).toBe('c1');
    expect(intent).not.toHaveProperty('orphanedAt');
  });

  it('[R28, R5] a creation of another owner or family is as good as unknown', async () => {
    const { enqueue, accept } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await accept('c1');
    expect((await enqueue({ id: 'u1', family: 'note', target: C1 })).action).toBe('intent');
  });

  it('[R29] of the intents of one creation the last update stays, with the tags of all', async () => {
    const { enqueue, change, rows, clock, store } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await change('c1', CONDITIONS['in flight'](clock.now()));
    await enqueue({ id: 'u1', target: C1, tags: ['a'] });
    const { action, removed, row } = await enqueue({ id: 'u2', target: C1, tags: ['b'] });
    expect([action, removed, row?.tags]).toEqual(['intent', ['u1'], ['a', 'b']]);
    expect((await rows()).map(({ id }) => id)).toEqual(['c1', 'u2']);
    expect(await store.findEnds(['u1'])).toMatchObject([{ end: 'replaced', by: 'u2' }]);
  });

  it('[R29, R12, R21] a delete intent replaces updates, refuses later ones, and is returned to later deletes', async () => {
    const { enqueue, change, rows, clock } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await change('c1', CONDITIONS['in flight'](clock.now()));
    await enqueue({ id: 'u1', target: C1 });
    expect(await enqueue({ id: 'd1', kind: 'delete', target: C1 })).toMatchObject({
      action: 'intent',
      removed: ['u1'],
    });
    await expect(enqueue({ id: 'u2', target: C1 })).rejects.toThrow(TargetDeletedError);
    expect(await enqueue({ id: 'd2', kind: 'delete', target: C1 })).toMatchObject({
      action: 'existing',
      row: { id: 'd1' },
    });
    expect((await rows()).map(({ id }) => id)).toEqual(['c1', 'd1']);
  });

  it('[R16, R29] rewriting a creation takes its intents along, the newest edit on top', async () => {
    const { enqueue, change, rows, body, clock, store } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create', family: 'note', body: { a: 1, b: 1, c: 1 } });
    await change('c1', CONDITIONS['in flight'](clock.now()));
    await enqueue({ id: 'u1', family: 'note', target: C1, body: { b: 2, c: 2 } });
    await change('c1', CONDITIONS['blocked refused'](clock.now()));
    const { action, row } = await enqueue({ id: 'u2', family: 'note', target: C1, body: { c: 3 } });
    expect(action).toBe('merged');
    expect(await rows()).toEqual([row]);
    expect(await body(row)).toEqual({ a: 1, b: 2, c: 3 });
    expect(row).toMatchObject({ state: 'queued', replaces: ['u1', 'c1', 'u2'] });
    expect(row).not.toHaveProperty('blockedCode');
    expect(await store.findEnds(['c1', 'u1', 'u2'])).toMatchObject([
      { end: 'merged', by: row?.id },
      { end: 'merged', by: row?.id },
      { end: 'merged', by: row?.id },
    ]);
  });

  it('[R16] two creates with different ids are two records, whatever their sourceRef', async () => {
    const { enqueue, rows } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create', sourceRef: 'same' });
    await enqueue({ id: 'c2', kind: 'create', sourceRef: 'same' });
    expect(await rows()).toHaveLength(2);
  });
});
