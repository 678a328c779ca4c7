/** What an answer does to its row, through the whole engine over memory. */
import { describe, expect, it } from 'vitest';
import { defineOutbox, record } from '../../../shared/family.ts';
import type { Outcome } from '../../../shared/outcome.ts';
import type { Row } from '../../../shared/row.ts';
import type { Answer } from '../../../sw/dispatch/sender.ts';
import { responseFixture, textFixture } from '../../support/answer-fixture.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';

const HOUR = 3_600_000;
const types = (outcomes: readonly Outcome[]) => outcomes.map(({ type }) => type);
const given = (answer: Answer, applies?: boolean) => ({ type: 'answer', answer, applies }) as const;

/** A world with one workout on the server, revision 1, and updates of it. */
async function withWorkout(options: Parameters<typeof dispatchWorld>[0] = {}) {
  const world = await dispatchWorld(options);
  world.server.change('ann', 'workout', 'w1', { kg: 60 });
  const update = (body: object = { kg: 80 }, target = 'w1') =>
    world.enqueue({
      family: 'workout',
      kind: 'update',
      target: { type: 'id', id: target },
      body,
      expectedRevision: 1,
    });
  const remove = () =>
    world.enqueue({
      family: 'workout',
      kind: 'delete',
      target: { type: 'id', id: 'w1' },
      body: undefined,
      expectedRevision: 1,
    });
  /** A later trigger: the same instant would count as the same flush. */
  const flush = async () => {
    await world.clock.advance(1);
    return world.flush();
  };
  return { world, update, remove, flush };
}

describe('passing failures', () => {
  it('[D10, D3] A09 408 and 425 put the row off; it is committed under one id', async () => {
    const { world, update, flush } = await withWorkout();
    const row = await update();
    world.server.next([
      { type: 'status', status: 408 },
      { type: 'status', status: 425 },
    ]);
    const seen: string[] = [];
    for (let trigger = 0; trigger < 3; trigger++) seen.push(...types((await flush()).outcomes));
    expect(seen).toEqual(['deferred', 'deferred', 'committed']);
    expect(world.sent()).toEqual([row.id, row.id, row.id]);
  });

  it.each(['2147484', '99999999999', 'Infinity', 'Mon, 01 Jan 2035 00:00:00 GMT'])(
    '[C4, D3] A11 Retry-After: %s never makes a loop, and is believed for an hour at most',
    async (retryAfter) => {
      const { world, update } = await withWorkout();
      const row = await update();
      world.server.next({ type: 'status', status: 503, retryAfter });
      await world.flush();
      const { notBefore } = await world.row(row.id);
      expect(notBefore?.at).toBeGreaterThan(world.clock.now());
      expect(notBefore?.at).toBeLessThanOrEqual(world.clock.now() + HOUR);
      expect(notBefore?.by).toBe(retryAfter === 'Infinity' ? 'engine' : 'server');
      for (let second = 0; second < 60 && retryAfter !== 'Infinity'; second += 10) {
        await world.flush();
        await world.clock.advance(10_000);
      }
      expect(world.server.requests).toHaveLength(1);
      await world.clock.advance(HOUR);
      expect(types((await world.flush()).outcomes)).toEqual(['committed']);
    },
  );

  it('[D10, D28] A14 a portal’s page is no success and blocks nothing', async () => {
    const { world, update } = await withWorkout();
    const row = await update();
    world.server.next({ type: 'portal' });
    expect(types((await world.flush()).outcomes)).toEqual(['deferred']);
    expect(await world.row(row.id)).toMatchObject({ state: 'queued', doubt: true });
    await world.clock.advance(10_000);
    expect(types((await world.flush()).outcomes)).toEqual(['committed']);
    expect(world.server.applied).toHaveLength(1);
  });

  it('[D10] A16 the class comes from the status, and what is kept of an answer is little', async () => {
    const { world, update } = await withWorkout();
    const cases: readonly [Answer, string][] = [
      [textFixture(500, 'text/plain'), 'deferred'],
      [textFixture(502, 'text/html'), 'deferred'],
      [textFixture(400, 'text/plain'), 'blocked'],
      [textFixture(503, 'application/json'), 'deferred'],
    ];
    const before = JSON.stringify(await world.engine.journal('ann', undefined, 100)).length;
    for (const [answer, end] of cases) {
      const target = `w-${answer.type === 'response' ? answer.status : 0}`;
      await update({ kg: 1 }, target);
      world.server.next(
        given(answer),
        (request) => request.target.type === 'id' && request.target.id === target,
      );
      expect(types((await world.flush()).outcomes)).toContain(end);
    }
    const after = JSON.stringify(await world.engine.journal('ann', undefined, 100)).length;
    expect(after - before).toBeLessThan(5_000);
    for (const row of await world.rows()) expect(JSON.stringify(row).length).toBeLessThan(4_000);
  });
});

describe('signed out', () => {
  it('[D10, R7] A13 by a redirect over https: held, in doubt, released by new credentials under the same id', async () => {
    const { world, update } = await withWorkout();
    const row = await update();
    world.server.next(given(textFixture(200, 'text/html', { redirected: true })));
    const held = await world.flush();
    expect(types(held.outcomes)).toEqual(['held']);
    expect(held.stoppedBy).toBe('auth');
    expect(await world.row(row.id)).toMatchObject({ state: 'held', doubt: true });
    expect(types((await world.flush()).outcomes)).toEqual(['committed']);
    expect(world.sent()).toEqual([row.id, row.id]);
    expect(world.server.applied).toHaveLength(1);
  });

  it('[D10] A13 not by a redirect over plain http, which a portal makes', async () => {
    const { world, update } = await withWorkout();
    const row = await update();
    world.server.next(given(textFixture(200, 'text/html', { redirected: true, secure: false })));
    expect(types((await world.flush()).outcomes)).toEqual(['deferred']);
    expect(await world.row(row.id)).toMatchObject({ state: 'queued', doubt: true });
  });

  it('[D10, D5] A70 by a code that the family maps; unmapped codes block, with their content', async () => {
    const { world, update } = await withWorkout({
      ports: {
        workout: { mapFailure: ({ code }) => (code === 'csrf' ? { class: 'auth', code } : undefined) },
      },
    });
    const mapped = await update();
    const unmapped = await world.put('p1');
    const expired = await world.put('p2');
    const at = (id: string) => (request: { id: string }) => request.id === id;
    world.server.next({ type: 'status', status: 403, code: 'csrf' }, at(unmapped.id));
    world.server.next({ type: 'status', status: 419 }, at(expired.id));
    world.server.next({ type: 'status', status: 403, code: 'csrf' }, at(mapped.id));
    await world.flush();
    expect(await world.row(mapped.id)).toMatchObject({ state: 'held', doubt: false });
    await world.flush();
    for (const { id, bodyId } of [unmapped, expired]) {
      expect(await world.row(id)).toMatchObject({ state: 'blocked', blockedCode: 'rejected', doubt: false });
      expect(await world.store.readBodies([bodyId ?? ''])).toMatchObject([{ type: 'body' }]);
    }
    expect(world.server.requestsOf(mapped.id)).toHaveLength(2);
    expect(world.server.receipt(mapped.id)).toBeDefined();
  });
});

describe('receipts', () => {
  it('[D22, D28, D29] A15 an empty answer proves nothing, but is enough where the server has no receipts', async () => {
    const definition = defineOutbox({
      workout: record(),
      note: record({ receipts: 'none' }),
      plan: record(),
    });
    const { world, remove } = await withWorkout({ definition });
    const id = (target: string) => ({ type: 'id', id: target }) as const;
    const gone = await remove();
    const note = { family: 'note', expectedRevision: 1 };
    await world.enqueue({ ...note, kind: 'delete', target: id('n1'), body: undefined });
    await world.enqueue({ ...note, kind: 'update', target: id('n2'), body: { a: 1 } });
    world.server.always(given(textFixture(204, undefined)), ({ kind }) => kind === 'delete');
    world.server.always(
      given(textFixture(200, undefined, { etag: '"7"' })),
      ({ family }) => family === 'note',
    );
    const third = await world.enqueue({ family: 'plan', kind: 'create' });
    const { outcomes } = await world.flush();
    expect(Object.fromEntries(outcomes.map(({ type, row }) => [`${row.family} ${row.kind}`, type]))).toEqual({
      'workout delete': 'unknown',
      'note delete': 'committed',
      'note update': 'committed',
      'plan create': 'committed',
    });
    expect(outcomes.find(({ row }) => row.kind === 'update')).toMatchObject({
      receipt: { target: 'n2', revision: 7, generation: 0 },
    });
    expect(await world.row(gone.id)).toMatchObject({
      state: 'blocked',
      blockedCode: 'receipt_missing',
      doubt: true,
    });
    expect(world.server.receipt(third.id)).toBeDefined();
  });

  it('[D20, D24, D25, D28] A17 of another request block the row, name the wrong field, and are applied once', async () => {
    const { world } = await withWorkout();
    const rows: Row[] = [];
    for (const target of ['a', 'b', 'c', 'd']) rows.push(await world.put(target));
    const wrong = [
      { id: rows[1]?.id },
      { id: rows[0]?.id },
      { requestHash: 'other' },
      { target: 'elsewhere' },
    ];
    for (const [place, fields] of wrong.entries())
      world.server.next({ type: 'wrong_receipt', fields }, ({ id }) => id === rows[place]?.id);
    const { outcomes } = await world.flush();
    const fields = new Map(
      outcomes.map((outcome) => [outcome.row.id, outcome.type === 'unknown' && outcome.rejection.field]),
    );
    expect(rows.map(({ id }) => fields.get(id))).toEqual(['id', 'id', 'requestHash', 'target']);
    for (const { id } of rows)
      expect(await world.row(id)).toMatchObject({ blockedCode: 'receipt_mismatch', doubt: true });
    expect(world.server.applied).toHaveLength(4);
    expect(world.reported.map(({ type }) => type)).toEqual(['unknown', 'unknown', 'unknown', 'unknown']);
  });

  it.each([
    { when: 'before the adoption landed', landed: false, requests: 2, replayed: true },
    { when: 'after the adoption landed', landed: true, requests: 1, replayed: undefined },
  ])(
    '[D29] A18 of a host killed $when are adopted once, with the row gone in the same commit',
    async ({ landed, requests, replayed }) => {
      const { world, update } = await withWorkout();
      const row = await update();
      // Either way the host hears of a failure, and is gone before it can try again.
      world.store.failNext({ reason: 'acknowledge', error: new Error('cut'), landed });
      void world.engine.flush('ann', 'flush');
      await world.clock.settle();
      world.host.kill();
      const next = await world.start();
      await world.clock.advance(1_000);
      await world.run(next.engine.flush('ann', 'flush'));
      const { entries } = await next.engine.journal('ann', undefined, 10);
      expect(entries.map(({ outcome }) => outcome.type)).toEqual(['committed']);
      expect(await world.rows()).toEqual([]);
      expect(world.sent()).toEqual(Array.from({ length: requests }, () => row.id));
      expect(world.server.applied).toHaveLength(1);
      const settled = await next.engine.settled('ann', row.id);
      expect(settled).toMatchObject({ type: 'uploaded', receipt: { id: row.id } });
      expect(settled.type === 'uploaded' && settled.receipt.replayed).toBe(replayed);
    },
  );

  it('[D29, C11] A18 that come late, after another host adopted the row, are duplicates and told once', async () => {
    const { world, update } = await withWorkout({ hasLocks: false });
    const row = await update();
    const other = await world.start();
    world.server.next({ type: 'delay', ms: 9_900 });
    const first = world.engine.flush('ann', 'flush');
    await world.clock.settle();
    // The wall clock jumps: to the other host the lease is over while the first attempt is still open.
    world.clock.jump(11_000);
    const { outcomes } = await world.run(other.engine.flush('ann', 'flush'));
    expect(types(outcomes)).toEqual(['committed']);
    const told = await world.run(first);
    expect(told.outcomes).toMatchObject([{ type: 'committed', duplicate: true, row: { id: row.id } }]);
    const { entries } = await world.engine.journal('ann', undefined, 10);
    expect(entries.map(({ outcome }) => outcome.type)).toEqual(['committed']);
    expect(world.server.applied).toHaveLength(1);
  });
});

describe('refusals', () => {
  it('[D10] A22 413 blocks after one attempt, and no trigger sends it again', async () => {
    const { world, update } = await withWorkout();
    const row = await update({ text: 'x'.repeat(150_000) });
    world.server.always({ type: 'status', status: 413 });
    const { outcomes } = await world.flush();
    expect(outcomes).toMatchObject([{ type: 'blocked', code: 'rejected' }]);
    for (const cause of ['sync', 'online', 'connect', 'start', 'flush'] as const)
      await world.run(world.engine.flush('ann', cause));
    expect(world.server.requests).toHaveLength(1);
    expect(await world.row(row.id)).toMatchObject({ state: 'blocked', doubt: false });
  });

  it('[D10, C33] A55 of an update whose record is gone block it; the next one steps over and ends alike', async () => {
    for (const status of [404, 410]) {
      const { world, update, flush } = await withWorkout();
      const first = await update({ kg: 80 });
      world.server.always({ type: 'status', status, code: 'gone' });
      world.server.latencyMs = 1_000;
      const running = world.engine.flush('ann', 'flush');
      await world.clock.advance(500);
      const second = await update({ kg: 90 });
      const blocked = { type: 'blocked', code: 'source_deleted' };
      expect((await world.run(running)).outcomes).toMatchObject([{ ...blocked, row: { id: first.id } }]);
      expect((await flush()).outcomes).toMatchObject([{ ...blocked, row: { id: second.id } }]);
      expect(await world.row(first.id)).toMatchObject({ overtakenBy: second.origin });
      expect((await flush()).outcomes).toEqual([]);
      expect(world.server.requests.map(({ kind }) => kind)).toEqual(['update', 'update']);
    }
  });

  it('[D10] A55 that a proxy makes of a 404 are not the server’s word', async () => {
    const { world, update, flush } = await withWorkout();
    await update();
    world.server.next({ type: 'status', status: 404 });
    expect(types((await flush()).outcomes)).toEqual(['deferred']);
    expect(types((await flush()).outcomes)).toEqual(['committed']);
  });

  it('[D10, C11] A56 of a delete whose record is gone are its wish: one request, one outcome', async () => {
    for (const status of [404, 410]) {
      const { world, remove } = await withWorkout();
      const row = await remove();
      expect((await remove()).id).toBe(row.id);
      world.server.always({ type: 'status', status, code: 'gone' });
      const { outcomes } = await world.flush();
      expect(types(outcomes)).toEqual(['already_gone']);
      await world.flush();
      expect(world.sent()).toEqual([row.id]);
      expect(await world.rows()).toEqual([]);
    }
  });
});

describe('conflicts', () => {
  it('[D31, D32, D33] A53 a storm stops after three resends a flush, each a new id in the old place', async () => {
    const { world, update, flush } = await withWorkout({
      ports: { workout: { resolveConflict: () => ({ type: 'resend' }) } },
    });
    const row = await update();
    await world.put('b');
    // Somebody else is always faster.
    world.server.always({ type: 'drop_answer' }, ({ family }) => {
      if (family === 'workout') world.server.change('ann', 'workout', 'w1', { kg: 1 });
      return false;
    });
    for (let trigger = 1; trigger <= 3; trigger++) {
      const { outcomes, stoppedBy, remaining } = await flush();
      const conflicts = types(outcomes.filter(({ row: { family } }) => family === 'workout'));
      expect(conflicts).toEqual(['superseded', 'superseded', 'superseded', 'deferred']);
      expect(stoppedBy).toBeUndefined();
      expect(remaining.queued).toBe(1);
      const [waiting] = await world.rows();
      expect(waiting).toMatchObject({
        origin: row.origin,
        seq: row.seq,
        doubt: false,
        evidence: { lastErrorCode: 'conflict_storm' },
      });
    }
    const ids = world.server.requests.filter(({ family }) => family === 'workout').map(({ id }) => id);
    expect(ids).toHaveLength(12);
    // The row that waited for the next flush is sent under its own id again.
    expect(new Set(ids).size).toBe(10);
    const kept = await world.engine.conflicts('ann');
    expect(kept).toHaveLength(9);
    expect(kept[0]).toMatchObject({ originalId: row.id, answer: 'resend', expected: 1 });
  });

  it('[D30, D33] a resolver that lets the server win ends the row, with an outcome that says so', async () => {
    const { world, update } = await withWorkout({
      ports: { workout: { resolveConflict: () => ({ type: 'drop' }) } },
    });
    await update();
    world.server.change('ann', 'workout', 'w1', { kg: 70 });
    expect((await world.flush()).outcomes).toMatchObject([{ type: 'dropped', reason: 'resolver' }]);
    expect(await world.rows()).toEqual([]);
    expect(world.server.resource('ann', 'workout', 'w1')).toMatchObject({ body: { kg: 70 } });
  });

  it('[D30] a resolver’s new body is sent on the revision the server has', async () => {
    const { world, update } = await withWorkout({
      ports: {
        workout: {
          resolveConflict: async ({ body, readCurrent }) => ({
            type: 'body',
            body: { mine: body, theirs: (await readCurrent())?.body },
          }),
        },
      },
    });
    await update({ kg: 80 });
    world.server.change('ann', 'workout', 'w1', { kg: 70 });
    expect(types((await world.flush()).outcomes)).toEqual(['superseded', 'committed']);
    expect(world.server.resource('ann', 'workout', 'w1')).toMatchObject({
      revision: 3,
      body: { mine: { kg: 80 }, theirs: { kg: 70 } },
    });
  });

  it('[D30] a conflict without a revision is resolved on the one that is read, or blocked', async () => {
    for (const canAsk of [true, false]) {
      const { world, update } = await withWorkout({ canAsk });
      await update();
      world.server.change('ann', 'workout', 'w1', { kg: 70 });
      world.server.next(given(responseFixture(412)));
      const { outcomes } = await world.flush();
      if (canAsk) expect(types(outcomes)).toEqual(['superseded', 'committed']);
      else expect(outcomes).toMatchObject([{ type: 'blocked', code: 'conflict' }]);
    }
  });

  it('[D34] a conflict of this device’s own making is resent without asking', async () => {
    const asked: unknown[] = [];
    const { world, update } = await withWorkout({
      ports: {
        workout: {
          resolveConflict: (conflict) => {
            asked.push(conflict);
            return { type: 'block' };
          },
        },
      },
    });
    const before = await update({ kg: 80 });
    world.server.latencyMs = 1_000;
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(500);
    await update({ kg: 90 });
    await world.run(flush);
    expect(asked).toEqual([]);
    expect(world.server.resource('ann', 'workout', 'w1')).toMatchObject({ revision: 3, body: { kg: 90 } });
    expect(await world.rows()).toEqual([]);
    expect(world.server.receipt(before.id)).toMatchObject({ revision: 2 });
  });
});

describe('the report', () => {
  it('[D48] repeats no sentence of the server, which may hold what was sent', async () => {
    const { world, update } = await withWorkout();
    await update({ note: 'private' });
    const json = { type: 'urn:x:invalid', detail: 'note must not be "private"' };
    world.server.next(given(responseFixture(422, { contentType: 'application/problem+json', json })));
    await world.flush();
    expect(world.reported).toMatchObject([{ type: 'blocked', code: 'rejected', failure: { status: 422 } }]);
    expect(JSON.stringify(world.reported)).not.toContain('private');
  });
});
