import { describe, expect, it, test } from 'vitest';
import {
  IdentityConflictError,
  InvalidBodyError,
  InvalidCommandError,
  OvertakenError,
  UnknownRowError,
  WrongStateError,
} from '../../../shared/errors.ts';
import { record } from '../../../shared/family.ts';
import type { Target } from '../../../shared/key.ts';
import {
  CONDITIONS,
  type Condition,
  type OutboxFixture,
  outboxFixture,
} from '../../support/outbox-fixture.ts';

const C1: Target = { type: 'pending', origin: 'c1' };
const plan = { family: 'plan', kind: 'put' } as const;

async function within(fixture: OutboxFixture, id: string, condition: Condition): Promise<void> {
  await fixture.change(id, CONDITIONS[condition](fixture.clock.now()));
}

describe('cancel', () => {
  test.each(['unsent', 'deferred without doubt', 'held without doubt', 'blocked refused'] as const)(
    '[R35, A73] withdraws a row that is %s, for good',
    async (condition) => {
      const fixture = await outboxFixture();
      const { enqueue, outbox, rows, store } = fixture;
      await enqueue({});
      await within(fixture, 'u1', condition);
      expect(await outbox.cancel('ann', 'u1')).toEqual({ type: 'cancelled', removed: ['u1'] });
      expect(await rows()).toEqual([]);
      const end = condition === 'blocked refused' ? 'discarded' : 'cancelled';
      expect(await store.findEnds(['u1'])).toMatchObject([{ end }]);
      expect(await outbox.cancel('ann', 'u1')).toEqual({ type: 'ended', settled: { type: end, id: 'u1' } });
    },
  );

  test.each([
    { condition: 'in flight', instead: 'wait' },
    { condition: 'in flight without a claim', instead: 'wait' },
    { condition: 'lease expired', instead: 'wait' },
    { condition: 'deferred in doubt', instead: 'wait' },
    { condition: 'held in doubt', instead: 'wait' },
    { condition: 'blocked doubtful', instead: 'discard' },
  ] as const)(
    '[R35, R7, A73] refuses a row that is $condition, and says so',
    async ({ condition, instead }) => {
      const fixture = await outboxFixture();
      const { enqueue, outbox, everything } = fixture;
      await enqueue({});
      await within(fixture, 'u1', condition);
      const before = await everything();
      const error = await outbox.cancel('ann', 'u1').catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(WrongStateError);
      expect((error as WrongStateError).data).toMatchObject({ instead });
      expect(await everything()).toEqual(before);
    },
  );

  it('[R35, A73] takes the intents of a creation along', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, rows } = fixture;
    await enqueue({ id: 'c1', kind: 'create' });
    await within(fixture, 'c1', 'in flight');
    await enqueue({ id: 'u1', target: C1 });
    await within(fixture, 'c1', 'held without doubt');
    expect(await outbox.cancel('ann', 'c1')).toEqual({ type: 'cancelled', removed: ['c1', 'u1'] });
    expect(await rows()).toEqual([]);
  });

  it('[R35] lets a successor go on', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, rows } = fixture;
    await enqueue({ id: 'u1' });
    await within(fixture, 'u1', 'deferred in doubt');
    await enqueue({ id: 'u2' });
    await fixture.change('u1', { doubt: false });
    await outbox.cancel('ann', 'u1');
    expect((await rows()).map(({ id }) => id)).toEqual(['u2']);
  });

  it("[R9, C17, A73] knows nothing of another owner's id, and leaves it as it is", async () => {
    const { enqueue, outbox, everything } = await outboxFixture();
    await enqueue({});
    const before = await everything();
    expect(await outbox.cancel('bob', 'u1')).toEqual({ type: 'unknown_id' });
    expect(await everything()).toEqual(before);
    expect((await enqueue({})).action).toBe('existing');
  });

  it('[R9, A73] says what took over, or how it ended', async () => {
    const { enqueue, outbox, accept } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await enqueue({ id: 'u2' });
    expect(await outbox.cancel('ann', 'u1')).toEqual({ type: 'ended', by: 'u2' });
    await accept('u2');
    expect(await outbox.cancel('ann', 'u2')).toMatchObject({ type: 'ended', settled: { type: 'uploaded' } });
  });

  it('[R42, A73] of a cancel and a claim at once, exactly one wins', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, store, rows } = fixture;
    await enqueue({});
    const hold = store.holdNext('person');
    const cancelling = outbox.cancel('ann', 'u1');
    await hold.reached;
    await within(fixture, 'u1', 'in flight');
    hold.release();
    await expect(cancelling).rejects.toThrow(WrongStateError);
    expect(await rows()).toHaveLength(1);
  });

  it.each([
    { late: 'person', cancelled: { type: 'cancelled', removed: ['u1'] }, enqueued: 'fulfilled' },
    { late: 'enqueue', cancelled: { type: 'unknown_id' }, enqueued: 'rejected' },
  ] as const)(
    '[R9, A73] of a cancel and the enqueue of its id at once, exactly one wins: $late comes late',
    async ({ late, cancelled, enqueued }) => {
      const { enqueue, outbox, store, rows, clock } = await outboxFixture();
      const hold = store.holdNext(late);
      const cancel = () => outbox.cancel('ann', 'u1');
      const [before, behind] = late === 'person' ? [cancel, () => enqueue({})] : [() => enqueue({}), cancel];
      const one = before();
      await hold.reached;
      const other = behind();
      await clock.settle();
      hold.release();
      const ends = await Promise.allSettled(late === 'person' ? [one, other] : [other, one]);
      expect(ends[0]).toEqual({ status: 'fulfilled', value: cancelled });
      expect(ends[1]?.status).toBe(enqueued);
      expect(await rows()).toEqual([]);
    },
  );
});

describe('discard', () => {
  test.each(['blocked refused', 'blocked doubtful'] as const)(
    '[R34, R35] gives up a row that is %s, and repeats safely',
    async (condition) => {
      const fixture = await outboxFixture();
      const { enqueue, outbox, rows, store } = fixture;
      await enqueue({});
      await within(fixture, 'u1', condition);
      expect(await outbox.discard('ann', 'u1')).toEqual({ removed: ['u1'] });
      expect(await outbox.discard('ann', 'u1')).toEqual({ removed: ['u1'] });
      expect(await rows()).toEqual([]);
      expect(await store.findEnds(['u1'])).toMatchObject([{ end: 'discarded' }]);
    },
  );

  test.each(['unsent', 'in flight', 'held without doubt', 'deferred in doubt'] as const)(
    '[R35] of a row that is %s refuses and names cancel',
    async (condition) => {
      const fixture = await outboxFixture();
      const { enqueue, outbox, everything } = fixture;
      await enqueue({});
      await within(fixture, 'u1', condition);
      const before = await everything();
      const error = await outbox.discard('ann', 'u1').catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(WrongStateError);
      expect((error as WrongStateError).data).toMatchObject({ instead: 'cancel' });
      expect(await everything()).toEqual(before);
    },
  );

  it('[R29] of a creation takes its intents along and says so', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, rows, store } = fixture;
    await enqueue({ id: 'c1', kind: 'create' });
    await within(fixture, 'c1', 'in flight');
    await enqueue({ id: 'u1', target: C1 });
    await within(fixture, 'c1', 'blocked doubtful');
    expect(await outbox.discard('ann', 'c1')).toEqual({ removed: ['c1', 'u1'] });
    expect(await rows()).toEqual([]);
    expect(await store.findEnds(['u1'])).toMatchObject([{ end: 'discarded' }]);
  });

  it("[R35, C17] of an id that is unknown, or another owner's, is refused", async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    await within(fixture, 'u1', 'blocked refused');
    await expect(fixture.outbox.discard('bob', 'u1')).rejects.toThrow(UnknownRowError);
    await expect(fixture.outbox.discard('ann', 'u9')).rejects.toThrow(UnknownRowError);
    expect(await fixture.rows()).toHaveLength(1);
  });

  it('[C11, R35] of a row whose receipt is noted waits: the server has it', async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    await fixture.change('u1', { ...CONDITIONS['blocked refused'](0), gone: true });
    await expect(fixture.outbox.discard('ann', 'u1')).rejects.toThrow(WrongStateError);
  });
});

describe('retry', () => {
  it('[R34, R6] of a refused row takes a new id in the old place', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, rows, row, body, store, clock } = fixture;
    await enqueue({ expectedRevision: 3, tags: ['t'] });
    await fixture.change('u1', {
      ...CONDITIONS['blocked refused'](clock.now()),
      evidence: { attemptCount: 4 },
    });
    const before = await row('u1');
    await enqueue({ id: 'u2', target: { type: 'id', id: 'w2' } });
    const answer = await outbox.retry('ann', 'u1');
    expect(answer).toMatchObject({ action: 'queued', removed: ['u1'] });
    const { origin, seq, savedAt, tags, bodyId, requestHash, expectedRevision } = before;
    expect(answer.row).toMatchObject({
      ...{ origin, seq, savedAt, tags, bodyId, requestHash, expectedRevision },
      state: 'queued',
      doubt: false,
      evidence: { attemptCount: 0 },
      noticed: true,
      replaces: ['u1'],
    });
    expect(answer.row?.id).not.toBe('u1');
    for (const gone of ['blockedCode', 'blockedAt', 'claim']) expect(answer.row).not.toHaveProperty(gone);
    expect((await rows()).map(({ id }) => id)).toEqual([answer.row?.id, 'u2']);
    expect(await body(answer.row)).toEqual({ v: 'u1' });
    expect(await store.findEnds(['u1'])).toMatchObject([{ end: 'replaced', by: answer.row?.id }]);
    // W11: the call is safe to repeat.
    expect(await outbox.retry('ann', 'u1')).toEqual({ action: 'existing', row: answer.row, removed: [] });
  });

  it('[R34] of a refused create tells the server of a new source', async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({ id: 'c1', kind: 'create', sourceRef: 'form 7' });
    await within(fixture, 'c1', 'blocked refused');
    const { row } = await fixture.outbox.retry('ann', 'c1');
    expect(row).toMatchObject({ kind: 'create', origin: 'c1', target: C1, sourceRef: row?.id });
    expect(row?.id).not.toBe('c1');
    // R6: what names the creation by its origin finds it.
    expect((await fixture.enqueue({ id: 'u1', target: C1 })).action).toBe('merged');
  });

  it('[R34] of a doubtful row keeps its id and hash, so that the ledger can answer for it', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, rows } = fixture;
    const { row: first } = await enqueue({});
    await fixture.change('u1', {
      ...CONDITIONS['blocked doubtful'](0),
      notBefore: { at: 9e15, by: 'engine' },
      evidence: { attemptCount: 2 },
    });
    const { row } = await outbox.retry('ann', 'u1');
    expect(row).toMatchObject({
      id: 'u1',
      requestHash: first?.requestHash,
      state: 'queued',
      doubt: true,
      evidence: { attemptCount: 2 },
      claim: { fence: 1 },
    });
    for (const gone of ['blockedCode', 'blockedAt', 'notBefore']) expect(row).not.toHaveProperty(gone);
    expect(await rows()).toEqual([row]);
    expect((await outbox.retry('ann', 'u1')).action).toBe('existing');
  });

  it('[R34] of a row that only a "none" has refused keeps its id: the first request may still arrive', async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    await fixture.change('u1', { ...CONDITIONS['blocked refused'](0), lookupNone: true });
    const { row } = await fixture.outbox.retry('ann', 'u1');
    expect(row).toMatchObject({ id: 'u1', state: 'queued', doubt: false });
    // It may come to wait for a person again before it has left.
    await within(fixture, 'u1', 'blocked refused');
    expect((await fixture.outbox.retry('ann', 'u1')).row?.id).toBe('u1');
    // Once it was claimed, and the server itself has refused it, another try is another request.
    await fixture.change('u1', { ...CONDITIONS['blocked refused'](0), lookupNone: undefined });
    expect((await fixture.outbox.retry('ann', 'u1')).row?.id).not.toBe('u1');
  });

  it("[C33] of an overtaken document needs the person's word", async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, everything } = fixture;
    await enqueue({ ...plan, id: 'p1' });
    await fixture.change('p1', { ...CONDITIONS['blocked refused'](0), overtakenBy: 'p2' });
    const before = await everything();
    await expect(outbox.retry('ann', 'p1')).rejects.toThrow(OvertakenError);
    expect(await everything()).toEqual(before);
    const { row } = await outbox.retry('ann', 'p1', { overwrite: true });
    expect(row).not.toHaveProperty('overtakenBy');
  });

  it('[C33, R6] of an overtaken record keeps the mark, so that its conflict blocks', async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    await fixture.change('u1', { ...CONDITIONS['blocked refused'](0), overtakenBy: 'u2' });
    expect((await fixture.outbox.retry('ann', 'u1')).row).toMatchObject({ overtakenBy: 'u2' });
  });

  it("[R34, D30] with the person's word a blocked conflict expects what the server has", async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox } = fixture;
    await enqueue({ expectedRevision: 3 });
    const conflict = { originalId: 'u1', expected: 3, actual: 8, at: 0 };
    await fixture.change('u1', { ...CONDITIONS['blocked refused'](0), blockedCode: 'conflict', conflict });
    const { row } = await outbox.retry('ann', 'u1', { overwrite: true });
    expect(row).toMatchObject({ expectedRevision: 8 });
    expect(row?.requestHash).not.toBe((await fixture.store.findEnds(['u1']))[0]?.requestHash);
  });

  it('[C22, C23] of an intent that could not be prepared asks for its creation anew', async () => {
    const fixture = await outboxFixture({ prepareSuccessor: () => undefined });
    const { enqueue, outbox, accept, clock } = fixture;
    await enqueue({ id: 'c1', kind: 'create' });
    await accept('c1');
    await enqueue({ id: 'u1', target: C1 });
    const { row } = await outbox.retry('ann', 'u1');
    expect(row).toMatchObject({ id: 'u1', state: 'queued', orphanedAt: clock.now(), successorOf: 'c1' });
  });

  it('[S37, C30] of a row that only a witness knew lets it go, on the word of the person', async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    await fixture.change('u1', {
      ...CONDITIONS['blocked doubtful'](0),
      blockedCode: 'recovery_receipt_unknown',
      recovery: { source: 'ledger', at: 0, generation: 1, proof: 'unverified' },
    });
    const { row } = await fixture.outbox.retry('ann', 'u1');
    expect(row).toMatchObject({ id: 'u1', doubt: true, recovery: { source: 'ledger', proof: 'asked' } });
  });

  it('[W62, R34] of a row that came too late sends it after all', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, clock } = fixture;
    await enqueue({ expiresAt: clock.now() + 10 });
    await fixture.change('u1', { ...CONDITIONS['blocked refused'](0), blockedCode: 'expired' });
    await clock.advance(20);
    const { row } = await outbox.retry('ann', 'u1');
    expect(row).not.toHaveProperty('expiresAt');
    expect(row?.id).not.toBe('u1');
  });

  test.each(['unsent', 'in flight', 'held without doubt'] as const)(
    '[R34] of a row that is %s changes nothing: it is on its way',
    async (condition) => {
      const fixture = await outboxFixture();
      await fixture.enqueue({});
      await within(fixture, 'u1', condition);
      const before = await fixture.everything();
      expect((await fixture.outbox.retry('ann', 'u1')).action).toBe('existing');
      expect(await fixture.everything()).toEqual(before);
    },
  );

  it("[R34, C17] of an unknown id, or another owner's, is refused", async () => {
    const { outbox, enqueue } = await outboxFixture();
    await enqueue({});
    await expect(outbox.retry('bob', 'u1')).rejects.toThrow(UnknownRowError);
    await expect(outbox.retry('ann', 'u9')).rejects.toThrow(UnknownRowError);
  });
});

describe('a refused creation with intents', () => {
  /** c1 refused, behind it the given intents; `note` bodies are patches. */
  async function refused(
    family: 'note' | 'workout',
    intents: readonly { readonly id: string; readonly body?: unknown }[],
    families?: Parameters<typeof outboxFixture>[0],
  ): Promise<OutboxFixture> {
    const fixture = await outboxFixture(families);
    await fixture.enqueue({ id: 'c1', kind: 'create', family, body: { a: 1, b: 1 }, tags: ['c'] });
    await within(fixture, 'c1', 'in flight');
    for (const { id, body } of intents)
      await fixture.enqueue({
        id,
        family,
        target: C1,
        ...(body === undefined ? { kind: 'delete' } : { kind: 'update', body, tags: [id] }),
      });
    await within(fixture, 'c1', 'blocked refused');
    return fixture;
  }

  it('[R29, R34] is sent again with them in its body', async () => {
    const fixture = await refused('note', [{ id: 'u1', body: { b: 2 } }]);
    const { action, row, removed } = await fixture.outbox.retry('ann', 'c1');
    expect([action, removed]).toEqual(['queued', ['c1', 'u1']]);
    expect(row).toMatchObject({ kind: 'create', origin: 'c1', tags: ['c', 'u1'], state: 'queued' });
    expect(await fixture.rows()).toEqual([row]);
    expect(await fixture.body(row)).toEqual({ a: 1, b: 2 });
    expect(await fixture.store.findEnds(['c1', 'u1'])).toMatchObject([
      { end: 'replaced', by: row?.id },
      { end: 'merged', by: row?.id },
    ]);
  });

  it('[R29] of whole bodies the last one wins, without being read', async () => {
    const fixture = await refused('workout', [{ id: 'u1', body: { v: 9 } }]);
    const { bodiesRead } = fixture.store.counters;
    const { row } = await fixture.outbox.retry('ann', 'c1');
    expect(fixture.store.counters.bodiesRead).toBe(bodiesRead);
    expect(await fixture.body(row)).toEqual({ v: 9 });
  });

  it("[R29] the person's own edit comes on top", async () => {
    const fixture = await refused('note', [{ id: 'u1', body: { b: 2, c: 2 } }]);
    const { row } = await fixture.outbox.recover('ann', 'c1', { body: { a: 7, c: 7 } });
    expect(await fixture.body(row)).toEqual({ a: 7, b: 2, c: 7 });
    expect(await fixture.rows()).toEqual([row]);
  });

  it('[R29, R23] and a delete among them is dropped with all of them', async () => {
    const fixture = await refused('workout', [{ id: 'd1' }]);
    const { action, removed } = await fixture.outbox.retry('ann', 'c1');
    expect([action, removed]).toEqual(['dropped', ['c1', 'd1']]);
    expect(await fixture.rows()).toEqual([]);
  });

  it('[R29, D4] an intent that cannot be merged is blocked, and the creation leaves without it', async () => {
    const merge = (earlier: unknown, later: unknown) => {
      if ((later as { readonly bad?: boolean }).bad) throw new Error('no');
      return { ...(earlier as object), ...(later as object) };
    };
    const fixture = await refused('note', [{ id: 'u1', body: { bad: true } }], {
      families: { note: { ...record(), merge } },
    });
    const { row } = await fixture.outbox.retry('ann', 'c1');
    expect(await fixture.body(row)).toEqual({ a: 1, b: 1 });
    expect(await fixture.row('u1')).toMatchObject({ state: 'blocked', blockedCode: 'successor_unprepared' });
  });
});

describe('recover', () => {
  it('[R34, R1] sends an edited copy under a new id, and leaves the old body to nobody', async () => {
    const fixture = await outboxFixture();
    const { enqueue, outbox, body, store } = fixture;
    await enqueue({ body: { v: 1 } });
    await within(fixture, 'u1', 'blocked refused');
    const edited = { v: 2 };
    const recovering = outbox.recover('ann', 'u1', { body: edited, expectedRevision: 5 });
    edited.v = 3;
    const { row } = await recovering;
    expect(await body(row)).toEqual({ v: 2 });
    expect(row).toMatchObject({ state: 'queued', expectedRevision: 5, replaces: ['u1'] });
    expect(await store.readBodies(['u1'])).toEqual([{ type: 'missing' }]);
  });

  it('[R34] without an edit is a retry', async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    await within(fixture, 'u1', 'blocked doubtful');
    expect((await fixture.outbox.recover('ann', 'u1')).row).toMatchObject({ id: 'u1', state: 'queued' });
  });

  it('[R34, R3] brings back a row whose body can no longer be read', async () => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    fixture.store.spoilBody('u1', 'missing');
    await fixture.change('u1', { ...CONDITIONS['blocked refused'](0), blockedCode: 'body_unreadable' });
    const { row } = await fixture.outbox.recover('ann', 'u1', { body: { v: 'anew' } });
    expect(await fixture.body(row)).toEqual({ v: 'anew' });
  });

  test.each([
    { condition: 'blocked doubtful', instead: 'retry' },
    { condition: 'unsent', instead: 'cancel' },
    { condition: 'in flight', instead: 'cancel' },
  ] as const)('[R34] of a row that is $condition is refused: $instead', async ({ condition, instead }) => {
    const fixture = await outboxFixture();
    await fixture.enqueue({});
    await within(fixture, 'u1', condition);
    const before = await fixture.everything();
    const error = await fixture.outbox.recover('ann', 'u1', { body: {} }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(WrongStateError);
    expect((error as WrongStateError).data).toMatchObject({ instead });
    expect(await fixture.everything()).toEqual(before);
  });

  it('[R46] judges the edited body as the first one was', async () => {
    const strict = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          Reflect.get(Object(value), 'bad') ? { issues: [{ message: 'bad' }] } : { value },
      },
    };
    const fixture = await outboxFixture({ families: { workout: record({ update: strict }) } });
    await fixture.enqueue({});
    await within(fixture, 'u1', 'blocked refused');
    await expect(fixture.outbox.recover('ann', 'u1', { body: { bad: 1 } })).rejects.toThrow(InvalidBodyError);
    expect(await fixture.rows()).toHaveLength(1);
    await fixture.enqueue({ id: 'd1', kind: 'delete', target: { type: 'id', id: 'w9' } });
    await within(fixture, 'd1', 'blocked refused');
    await expect(fixture.outbox.recover('ann', 'd1', { body: {} })).rejects.toThrow(InvalidCommandError);
  });
});

it('[R34] an edit of a row that another edit has replaced is refused, never dropped unsaid', async () => {
  const { enqueue, outbox, change, clock, rows, body } = await outboxFixture();
  await enqueue({ id: 'u1' });
  await change('u1', CONDITIONS['blocked refused'](clock.now()));
  const first = await outbox.recover('ann', 'u1', { body: { v: 'one' } });
  const again = await outbox.recover('ann', 'u1', { body: { v: 'one' } });
  expect(again.row?.id).toBe(first.row?.id);
  await expect(outbox.recover('ann', 'u1', { body: { v: 'two' } })).rejects.toThrow();
  expect(await body((await rows())[0])).toEqual({ v: 'one' });
});

describe('an edit of a row that is stored no more', () => {
  const one = { body: { v: 'one' } };
  const two = { body: { v: 'two' } };

  async function replaced(): Promise<OutboxFixture & { readonly by: string }> {
    const fixture = await outboxFixture();
    await fixture.enqueue({ id: 'u1' });
    await within(fixture, 'u1', 'blocked refused');
    const { row } = await fixture.outbox.recover('ann', 'u1', one);
    return { ...fixture, by: row?.id ?? '' };
  }

  it('[R9, R34] is refused where it is another than the one that the server has', async () => {
    const { outbox, accept, by, everything } = await replaced();
    await accept(by);
    const before = await everything();
    expect(await outbox.recover('ann', 'u1', one)).toMatchObject({
      action: 'existing',
      settled: { type: 'uploaded', id: by, via: ['u1'] },
    });
    await expect(outbox.recover('ann', 'u1', two)).rejects.toThrow(IdentityConflictError);
    await expect(outbox.recover('ann', 'u1', { ...one, expectedRevision: 9 })).rejects.toThrow(
      IdentityConflictError,
    );
    expect(await everything()).toEqual(before);
  });

  it('[R9, R34] is refused also where the row that took over has been replaced itself', async () => {
    const fixture = await replaced();
    await within(fixture, fixture.by, 'blocked refused');
    const { row } = await fixture.outbox.recover('ann', fixture.by, { body: { v: 'later' } });
    expect((await fixture.outbox.recover('ann', 'u1', one)).row?.id).toBe(row?.id);
    await expect(fixture.outbox.recover('ann', 'u1', two)).rejects.toThrow(IdentityConflictError);
  });

  it('[R9, R29] is known again where intents were folded under it', async () => {
    const { enqueue, outbox, change, clock, rows, body } = await outboxFixture();
    await enqueue({ id: 'c1', family: 'note', kind: 'create', body: { a: 1 } });
    await change('c1', CONDITIONS['in flight'](clock.now()));
    await enqueue({ id: 'u2', family: 'note', target: C1, body: { b: 1 } });
    await change('c1', CONDITIONS['blocked refused'](clock.now()));
    const { row } = await outbox.recover('ann', 'c1', one);
    expect(await body(row)).toEqual({ a: 1, b: 1, v: 'one' });
    expect((await outbox.recover('ann', 'c1', one)).row?.id).toBe(row?.id);
    await expect(outbox.recover('ann', 'c1', two)).rejects.toThrow(IdentityConflictError);
    expect(await rows()).toHaveLength(1);
  });

  it('[R9, R29] is told that it was dropped, as often as it asks', async () => {
    const { enqueue, outbox, change, clock } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create' });
    await change('c1', CONDITIONS['in flight'](clock.now()));
    await enqueue({ id: 'd1', kind: 'delete', target: C1 });
    await change('c1', CONDITIONS['blocked refused'](clock.now()));
    expect(await outbox.recover('ann', 'c1', one)).toMatchObject({ action: 'dropped' });
    expect(await outbox.recover('ann', 'c1', one)).toMatchObject({ settled: { type: 'dropped' } });
  });

  it('[R9, R34] is refused where the row itself was accepted meanwhile, unless it says the same', async () => {
    const { enqueue, outbox, accept } = await outboxFixture();
    await enqueue({ id: 'c1', kind: 'create', ...one });
    await accept('c1');
    expect(await outbox.recover('ann', 'c1', one)).toMatchObject({ settled: { type: 'uploaded' } });
    await expect(outbox.recover('ann', 'c1', two)).rejects.toThrow(IdentityConflictError);
  });
});
