import { describe, expect, it, test } from 'vitest';
import type { CommandInput } from '../../../shared/command.ts';
import {
  BodyTooLargeError,
  InvalidBodyError,
  InvalidCommandError,
  OutboxContentionError,
  QuotaError,
  SignedOutError,
  UnencodableBodyError,
  UnknownFamilyError,
} from '../../../shared/errors.ts';
import { document, record } from '../../../shared/family.ts';
import type { StandardSchema } from '../../../shared/standard-schema.ts';
import { FACTS } from '../../../sw/outbox/row-store.ts';
import { CONDITIONS, outboxFixture } from '../../support/outbox-fixture.ts';

/** A validator by a function: what it returns is the value, what it throws is an issue. */
function schemaOf<T>(check: (value: unknown) => T | Promise<T>): StandardSchema<unknown, T> {
  const issue = (error: unknown) => ({ issues: [{ message: String(error), path: ['v', { key: 0 }] }] });
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate(value) {
        try {
          const answer = check(value);
          return answer instanceof Promise
            ? answer.then((checked) => ({ value: checked }), issue)
            : { value: answer };
        } catch (error) {
          return issue(error);
        }
      },
    },
  };
}

const target = { type: 'id', id: 'w1' } as const;
const good: CommandInput = {
  id: 'u1',
  owner: 'ann',
  family: 'workout',
  kind: 'update',
  target,
  body: { v: 1 },
};

describe('bad input', () => {
  test.each([
    { what: 'no owner', input: { owner: undefined }, path: 'owner' },
    { what: 'an owner that is null', input: { owner: null }, path: 'owner' },
    { what: 'an empty owner', input: { owner: '' }, path: 'owner' },
    { what: 'an owner that is 0', input: { owner: 0 }, path: 'owner' },
    { what: 'an owner that is false', input: { owner: false }, path: 'owner' },
    { what: 'an empty id', input: { id: '' }, path: 'id' },
    { what: 'an id that fits no header', input: { id: 'é' }, path: 'id' },
    { what: 'an empty target', input: { target: { type: 'id', id: '' } }, path: 'target.id' },
    { what: 'no target', input: { target: undefined }, path: 'target' },
    { what: 'a target of another type', input: { target: { type: 'x', id: 'a' } }, path: 'target' },
    { what: 'an unknown kind', input: { kind: 'upsert' }, path: 'kind' },
    { what: 'a kind of the other type of family', input: { kind: 'put' }, path: 'kind' },
    { what: 'no body', input: { body: undefined }, path: 'body' },
    { what: 'a body for a delete', input: { kind: 'delete' }, path: 'body' },
    { what: 'a revision that is no integer', input: { expectedRevision: 1.5 }, path: 'expectedRevision' },
    {
      what: 'a revision for a create',
      input: { kind: 'create', target: undefined, expectedRevision: 1 },
      path: 'expectedRevision',
    },
    { what: 'a create that aims at something', input: { kind: 'create' }, path: 'target' },
    { what: 'tags that are no list', input: { tags: 'x' }, path: 'tags' },
    { what: 'a tag that is no string', input: { tags: ['x', 1] }, path: 'tags[1]' },
    { what: 'a sourceRef that is no string', input: { sourceRef: 7 }, path: 'sourceRef' },
    { what: 'urgency that is no boolean', input: { urgent: 'yes' }, path: 'urgent' },
    { what: 'an expiry that is no number', input: { expiresAt: 'soon' }, path: 'expiresAt' },
    { what: 'an expiry without end', input: { expiresAt: Number.POSITIVE_INFINITY }, path: 'expiresAt' },
    { what: 'a dependency on itself', input: { after: ['u1'] }, path: 'after' },
  ])('[R46, R5, A30] $what is refused and named, and nothing changes', async ({ input, path }) => {
    const { outbox, everything, store } = await outboxFixture();
    const before = await everything();
    // Nothing types what comes from a page.
    const command = { ...good, ...input } as CommandInput;
    const error = await outbox.enqueue(command).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(InvalidCommandError);
    expect((error as InvalidCommandError).data['path']).toBe(path);
    expect(await everything()).toEqual(before);
    expect(await store.owners()).toEqual([]);
  });

  it.each([null, undefined, 'create', 7])('[R46] a command that is %s is refused', async (input) => {
    const { outbox } = await outboxFixture();
    await expect(outbox.enqueue(input as unknown as CommandInput)).rejects.toThrow(InvalidCommandError);
  });

  test.each(['', 'nobody', 'constructor', '__proto__'])(
    '[R46, R5] the family "%s" is unknown unless it was declared',
    async (family) => {
      const { outbox } = await outboxFixture();
      const expected = family === '' ? InvalidCommandError : UnknownFamilyError;
      await expect(outbox.enqueue({ ...good, family })).rejects.toThrow(expected);
    },
  );

  test.each([
    { what: 'owner', input: { owner: 'a\ud800' } },
    { what: 'target', input: { target: { type: 'id', id: 'a\udc00' } as const } },
    { what: 'tag', input: { tags: ['\ud83d'] } },
    { what: 'body', input: { body: { text: 'cut \ud83d' } } },
  ])('[R4, R5, A27] a lone surrogate in the $what is refused', async ({ input }) => {
    const { enqueue, store } = await outboxFixture();
    await expect(enqueue(input)).rejects.toThrow(UnencodableBodyError);
    expect(await store.owners()).toEqual([]);
  });

  const detached = new ArrayBuffer(4);
  structuredClone(detached, { transfer: [detached] });
  test.each([
    { what: 'a proxy', body: { form: new Proxy({ tags: ['x'] }, {}) }, path: 'body.form' },
    { what: 'a function', body: { fn() {} }, path: 'body.fn' },
    { what: 'a symbol', body: [Symbol('x')], path: 'body[0]' },
    { what: 'a WeakMap', body: { a: new WeakMap() }, path: 'body.a' },
    { what: 'a detached buffer', body: { b: detached }, path: 'body.b' },
    { what: 'an Error', body: { e: new Error('x') }, path: 'body.e' },
  ])(
    '[R46, A25] a body with $what is refused with its path, and the next row is stored',
    async ({ body, path }) => {
      const { enqueue, rows } = await outboxFixture();
      const error = await enqueue({ body }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(UnencodableBodyError);
      expect((error as UnencodableBodyError).data).toEqual({ path });
      expect(await rows()).toEqual([]);
      await enqueue({});
      expect(await rows()).toHaveLength(1);
    },
  );

  it('[R46] a body beyond the size that its family allows is refused', async () => {
    const { enqueue, rows } = await outboxFixture({ families: { workout: record({ maxBodyBytes: 100 }) } });
    await enqueue({ body: 'x'.repeat(80) });
    await expect(enqueue({ id: 'u2', body: 'x'.repeat(200) })).rejects.toThrow(BodyTooLargeError);
    expect(await rows()).toHaveLength(1);
  });

  it('[R46, A23] a body that the store cannot take leaves nothing behind, and the next is stored', async () => {
    const { enqueue, store, rows } = await outboxFixture();
    store.failNext({ reason: 'enqueue', error: new QuotaError('full') });
    await expect(enqueue({ id: 'u1' })).rejects.toThrow(QuotaError);
    expect(await rows()).toEqual([]);
    expect(await store.readBodies(['u1'])).toEqual([{ type: 'missing' }]);
    await enqueue({ id: 'u2' });
    expect(await rows()).toHaveLength(1);
  });
});

describe('validators', () => {
  const numbers = schemaOf((value) => {
    const { v } = value as { readonly v: unknown };
    if (typeof v !== 'number') throw new Error('must be a number');
    return { v, checked: true };
  });

  it('[R46] judge a body by its kind, and their issues reach the caller', async () => {
    const families = { workout: record({ update: numbers }), plan: document({ put: numbers }) };
    const { enqueue, rows, body } = await outboxFixture({ families });
    const error = await enqueue({ body: { v: 'x' } }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(InvalidBodyError);
    expect((error as InvalidBodyError).data).toEqual({
      issues: [{ message: 'Error: must be a number', path: ['v', '0'] }],
    });
    await expect(enqueue({ family: 'plan', kind: 'put', body: { v: 'x' } })).rejects.toThrow(
      InvalidBodyError,
    );
    expect(await rows()).toEqual([]);
    const { row } = await enqueue({ id: 'u2', body: { v: 1 } });
    expect(await body(row)).toEqual({ v: 1, checked: true });
    // No validator was declared for creations.
    await enqueue({ id: 'c1', kind: 'create', body: 'anything' });
  });

  it('[R46] may be asynchronous, and one that never answers ends with the call, not with the key', async () => {
    const never = schemaOf<unknown>(() => new Promise(() => {}));
    const later = schemaOf(async (value) => value);
    const families = { workout: record({ update: later }), note: record({ update: never }) };
    const { enqueue, rows, clock, outbox } = await outboxFixture({ families });
    await enqueue({});
    expect(await rows()).toHaveLength(1);
    const stuck = outbox.enqueue({ ...good, family: 'note' }, { deadlineAt: clock.now() + 500 });
    const settled = expect(stuck).rejects.toThrow(InvalidBodyError);
    await clock.advance(500);
    await settled;
    expect(clock.pendingTimers).toBe(0);
  });

  it('[R42] of a slow and a quick one for the same key, the order of the calls stands', async () => {
    const slowFirst = schemaOf(async (value) => {
      if ((value as { readonly v: number }).v === 1) for (let i = 0; i < 50; i++) await Promise.resolve();
      return value;
    });
    const { enqueue, rows, body } = await outboxFixture({
      families: { workout: record({ update: slowFirst }) },
    });
    await Promise.all([enqueue({ id: 'u1', body: { v: 1 } }), enqueue({ id: 'u2', body: { v: 2 } })]);
    const [row, ...others] = await rows();
    expect([row?.id, others.length]).toEqual(['u2', 0]);
    expect(await body(row)).toEqual({ v: 2 });
  });

  it('[R46] a bad command does not hold up the next one of its key', async () => {
    const { enqueue, rows } = await outboxFixture({ families: { workout: record({ update: numbers }) } });
    const [bad, fine] = await Promise.allSettled([
      enqueue({ id: 'u1', body: { v: 'x' } }),
      enqueue({ id: 'u2', body: { v: 2 } }),
    ]);
    expect([bad?.status, fine?.status]).toEqual(['rejected', 'fulfilled']);
    expect((await rows()).map(({ id }) => id)).toEqual(['u2']);
  });
});

describe('what a caller does afterwards', () => {
  it('[R1, R42, A72] changes nothing: the body is copied before the call returns', async () => {
    const slow = schemaOf(async (value) => {
      await Promise.resolve();
      return value;
    });
    const { outbox, rows, body } = await outboxFixture({ families: { workout: record({ update: slow }) } });
    const given = { v: 1, l: [1] };
    const tags = ['a'];
    const storing = outbox.enqueue({ ...good, body: given, tags });
    given.v = 2;
    given.l.push(2);
    tags.push('b');
    const { row } = await storing;
    expect(await body(row)).toEqual({ v: 1, l: [1] });
    expect(row?.tags).toEqual(['a']);
    const again = await outbox.enqueue({ ...good, body: { v: 1, l: [1] } });
    expect(again.action).toBe('existing');
    expect(await rows()).toHaveLength(1);
  });

  it('[R1] is not copied where it came by message and nobody else holds it', async () => {
    const seen: unknown[] = [];
    const looking = schemaOf((value) => {
      seen.push(value);
      return value;
    });
    const { outbox, body } = await outboxFixture({ families: { workout: record({ update: looking }) } });
    const [held, sole] = [{ v: 1 }, { v: 2 }];
    await outbox.enqueue({ ...good, id: 'held', body: held });
    const { row } = await outbox.enqueue({ ...good, id: 'sole', body: sole }, { isOwn: true });
    expect(seen.map((one) => one === held || one === sole)).toEqual([false, true]);
    expect(await body(row)).toEqual({ v: 2 });
  });

  it('[R1, A72] a validator that keeps what it answered cannot change what is stored', async () => {
    const kept: { v: number }[] = [];
    const keeping = schemaOf((value) => {
      const answer = { v: (value as { readonly v: number }).v };
      kept.push(answer);
      queueMicrotask(() => {
        answer.v = 99;
      });
      return answer;
    });
    const { enqueue, body } = await outboxFixture({ families: { workout: record({ update: keeping }) } });
    const { row } = await enqueue({ body: { v: 1 } });
    expect(kept).toEqual([{ v: 99 }]);
    expect(await body(row)).toEqual({ v: 1 });
  });

  it('[R4, A24] a Blob is stored with its bytes and its type, which count for the hash', async () => {
    const { enqueue, body } = await outboxFixture();
    const { row } = await enqueue({ body: { photo: new Blob(['abc'], { type: 'image/png' }) } });
    const { photo } = (await body(row)) as { readonly photo: Blob };
    expect([photo.type, await photo.text()]).toEqual(['image/png', 'abc']);
    expect(row?.bodySize).toBeGreaterThanOrEqual(3);
    await expect(
      enqueue({ body: { photo: new Blob(['abd'], { type: 'image/png' }) } }),
    ).rejects.toMatchObject({
      code: 'identity_conflict',
    });
  });

  it('[R41, R42, A71] slow bytes are read before the transaction, and an abort leaves neither row nor body', async () => {
    const { enqueue, store, rows } = await outboxFixture();
    class SlowBlob extends Blob {
      override async arrayBuffer() {
        for (let i = 0; i < 20; i++) await Promise.resolve();
        return super.arrayBuffer();
      }
    }
    store.failNext({ reason: 'enqueue', error: new DOMException('aborted', 'AbortError') });
    await expect(enqueue({ id: 'u1', body: { file: new SlowBlob(['abc']) } })).rejects.toThrow('aborted');
    expect(await rows()).toEqual([]);
    expect(await store.readBodies(['u1'])).toEqual([{ type: 'missing' }]);
    await enqueue({ id: 'u2', body: { file: new SlowBlob(['abc']) } });
    expect(await rows()).toHaveLength(1);
  });
});

describe('owners', () => {
  it('[R46, W30] a command for an owner that is not signed in is refused, and nothing changes', async () => {
    const { enqueue, store, everything } = await outboxFixture();
    await expect(enqueue({ owner: 'bob' })).rejects.toThrow(SignedOutError);
    await store.writeFacts([{ name: FACTS.activeOwner, value: undefined }], 'strict');
    await expect(enqueue({})).rejects.toThrow(SignedOutError);
    expect((await everything()) as object).toMatchObject({ rows: [] });
    expect(await store.owners()).toEqual([]);
  });

  it('[R46, A47] a command that races a sign-out is stored whole or refused', async () => {
    const { outbox, store, rows } = await outboxFixture();
    const hold = store.holdNext('enqueue');
    const racing = outbox.enqueue(good);
    await hold.reached;
    await store.writeFacts([{ name: FACTS.activeOwner, value: 'bob' }], 'strict');
    hold.release();
    await expect(racing).rejects.toThrow(SignedOutError);
    expect(await rows()).toEqual([]);
  });

  it('[R9, R46] the repeat of a stored command is answered after its owner has signed out', async () => {
    const { enqueue, store } = await outboxFixture();
    const { row } = await enqueue({});
    await store.writeFacts([{ name: FACTS.activeOwner, value: 'bob' }], 'strict');
    expect(await enqueue({})).toEqual({ action: 'existing', row, removed: [] });
  });

  it('[R5, A28] identifiers that objects inherit are names like any other', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'pending:x', 'a|b', '😀'];
    const families = Object.fromEntries([['__proto__', record()]]);
    const { outbox, store, rows } = await outboxFixture({ families });
    await store.writeFacts([{ name: FACTS.activeOwner, value: '__proto__' }], 'strict');
    const input = (id: string, name: string): CommandInput => ({
      ...good,
      id,
      owner: '__proto__',
      family: '__proto__',
      target: { type: 'id', id: name },
      body: JSON.parse('{"__proto__":{"polluted":true}}'),
    });
    for (const [index, name] of names.entries()) await outbox.enqueue(input(`u${index}`, name));
    const again = await outbox.enqueue(input('again', 'constructor'));
    expect(again.removed).toEqual(['u1']);
    expect((await rows('__proto__')).map((row) => row.target)).toHaveLength(names.length);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('[R5, A29] owner and target are never read as one: three keys stay three', async () => {
    const { outbox, store, rows } = await outboxFixture();
    const commands = [
      { id: 'u1', owner: 'a|b', target: { type: 'id', id: 'c' } },
      { id: 'u2', owner: 'a', target: { type: 'id', id: 'b|c' } },
      { id: 'u3', owner: 'a', target: { type: 'id', id: 'pending:x' } },
    ] as const;
    for (const command of commands) {
      await store.writeFacts([{ name: FACTS.activeOwner, value: command.owner }], 'strict');
      expect(await outbox.enqueue({ ...good, ...command })).toMatchObject({ action: 'queued', removed: [] });
    }
    expect(await rows('a|b')).toHaveLength(1);
    expect(await rows('a')).toHaveLength(2);
  });
});

describe('contention', () => {
  it('[R42] of two enqueues of one key at once, both succeed in turn, and one row, the last, is left', async () => {
    const { enqueue, rows } = await outboxFixture();
    const answers = await Promise.all(['u1', 'u2', 'u3'].map((id) => enqueue({ id })));
    expect(answers.map(({ action }) => action)).toEqual(['queued', 'queued', 'queued']);
    expect((await rows()).map(({ id }) => id)).toEqual(['u3']);
  });

  it('[R42, T6] the same from two hosts: the stale one plans again', async () => {
    const { outbox, other, rows } = await outboxFixture();
    await Promise.all([outbox.enqueue(good), other.enqueue({ ...good, id: 'u2' })]);
    expect(await rows()).toHaveLength(1);
  });

  it('[R42] a key that others keep changing is tried until the deadline, and at least three times', async () => {
    const { outbox, enqueue, store, clock, change, row, everything } = await outboxFixture();
    await enqueue({ id: 'u1' });
    await change('u1', CONDITIONS['in flight'](clock.now()));
    let rounds = 0;
    const disturb = async (): Promise<void> => {
      const hold = store.holdNext('enqueue');
      await hold.reached;
      rounds++;
      if (rounds === 5) await clock.advance(1_000);
      const { noticed } = await row('u1');
      await change('u1', { noticed: noticed !== true });
      const next = disturb();
      hold.release();
      await next;
    };
    void disturb();
    const busy = outbox.enqueue({ ...good, id: 'u2' }, { deadlineAt: clock.now() + 1_000 });
    await expect(busy).rejects.toThrow(OutboxContentionError);
    expect(rounds).toBe(5);
    const late = outbox.enqueue({ ...good, id: 'u3' }, { deadlineAt: clock.now() - 1 });
    await expect(late).rejects.toThrow(OutboxContentionError);
    expect(rounds).toBe(8);
    expect(JSON.stringify(await everything())).not.toMatch(/u2|u3/);
  });

  it("[R43] another key's commands neither wait nor make anything stale", async () => {
    const { outbox, store, enqueue } = await outboxFixture();
    const hold = store.holdNext('enqueue');
    const held = outbox.enqueue(good);
    await hold.reached;
    const { transactions } = store.counters;
    hold.release();
    await Promise.all([held, enqueue({ id: 'u2', target: { type: 'id', id: 'w2' } })]);
    expect(store.counters.transactions - transactions).toBeLessThanOrEqual(2);
  });

  it('[R42, S14] the usual command costs two digests and one strict transaction, and reads nothing else', async () => {
    const { enqueue, store } = await outboxFixture();
    const before = { ...store.counters };
    await enqueue({ id: 'u1' });
    expect(store.counters).toEqual({
      ...before,
      transactions: before.transactions + 1,
      strict: before.strict + 1,
      rowsWritten: before.rowsWritten + 1,
      bodiesWritten: before.bodiesWritten + 1,
    });
  });
});
