/** The combination table of docs/claims.md: two hosts, a clock moved by hand, over both stores. */
import { describe, expect, it } from 'vitest';
import type { Row } from '../shared/row.ts';
import { rowFixture } from './support/row-fixture.ts';
import { LEASE, STORES, type TwoHosts, twoHosts } from './support/two-hosts.ts';

const W1 = { type: 'id', id: 'w1' } as const;
const DAY = { type: 'id', id: 'monday' } as const;

/** A workout on the server, at revision 1. */
function existing({ world }: TwoHosts): void {
  world.server.change('ann', 'workout', 'w1', { kg: 60 });
}
const edit = (kg: number) => ({ target: W1, expectedRevision: 1, body: { kg } }) as const;
const bodies = ({ world }: TwoHosts) => world.server.requests.map(({ body }) => body);
const ids = ({ world }: TwoHosts) => world.server.requests.map(({ id }) => id);
const appliedOnce = ({ world }: TwoHosts) =>
  expect(new Set(world.server.applied.map(({ id }) => id)).size).toBe(world.server.applied.length);

/** A row that does not come from a command of these hosts. */
function planted(overrides: Partial<Row>): Omit<Row, 'seq' | 'version'> {
  const { seq: _, version: __, ...row } = rowFixture(overrides);
  return row;
}

describe.each(STORES)('two hosts over %s', (store) => {
  it('[C40] a failure of the first edit leaves the second untouched, and both leave in order', async () => {
    const hosts = await twoHosts(store);
    existing(hosts);
    hosts.world.server.latencyMs = 100;
    hosts.world.server.next({ type: 'status', status: 503 });
    const u1 = await hosts.enqueue(edit(80));
    const first = await hosts.begin(hosts.a, 1);
    const u2 = await hosts.enqueue(edit(85), hosts.b);
    expect(u2).toMatchObject({ action: 'queued', removed: [], row: { successorOf: u1.row?.origin } });
    await hosts.run(first.ended);
    expect(await hosts.rows()).toMatchObject([{ id: u1.row?.id, state: 'queued', doubt: true }, {}]);
    expect((await hosts.rows())[1]).toEqual(u2.row);
    await hosts.flush(hosts.b);
    expect(bodies(hosts)).toEqual([{ kg: 80 }, { kg: 80 }, { kg: 85 }]);
    expect(ids(hosts)[1]).toBe(ids(hosts)[0]);
    expect(await hosts.rows()).toEqual([]);
    appliedOnce(hosts);
  });

  it('[C41, C2] of two hosts that flush together one claims at fence 1 and sends', async () => {
    const hosts = await twoHosts(store);
    hosts.world.server.latencyMs = 100;
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    const flushes = [hosts.a.engine.flush('ann', 'flush'), hosts.b.engine.flush('ann', 'flush')];
    await hosts.pass(50);
    expect(await hosts.rows()).toMatchObject([{ id: row?.id, claim: { fence: 1 } }]);
    await hosts.run(Promise.all(flushes));
    expect(ids(hosts)).toEqual([row?.id]);
    expect(await hosts.rows()).toEqual([]);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
  });

  it('[C42] a late failure of the host that lost its lease changes nothing', async () => {
    const hosts = await twoHosts(store);
    hosts.world.server.next([
      { type: 'status', status: 503 },
      { type: 'delay', ms: 9_000 },
    ]);
    hosts.world.server.latencyMs = 3_000;
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    const first = await hosts.begin(hosts.a, 1);
    hosts.world.clock.jump(LEASE);
    const second = await hosts.begin(hosts.b, 2);
    const held = await hosts.rows();
    expect(held).toMatchObject([{ id: row?.id, claim: { host: hosts.b.engine.host, fence: 2 } }]);
    await hosts.run(first.ended);
    expect(await hosts.rows()).toEqual(held);
    await hosts.run(second.ended);
    await hosts.flush(hosts.a);
    expect(await hosts.rows()).toEqual([]);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
    appliedOnce(hosts);
  });

  it('[C42, C11] a late success of the host that lost its lease is noted, told once, and the row stays', async () => {
    const hosts = await twoHosts(store);
    hosts.world.server.next([
      { type: 'delay', ms: 2_000 },
      { type: 'delay', ms: 6_000 },
    ]);
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    const first = await hosts.begin(hosts.a, 1);
    hosts.world.clock.jump(LEASE);
    const second = await hosts.begin(hosts.b, 2);
    await hosts.run(first.ended);
    expect(await hosts.rows()).toMatchObject([
      {
        id: row?.id,
        state: 'sending',
        claim: { host: hosts.b.engine.host, fence: 2 },
        receipt: { id: row?.id },
      },
    ]);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
    await hosts.run(second.ended);
    expect(await hosts.rows()).toEqual([]);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
    appliedOnce(hosts);
  });

  it('[C43] an edit of a creation in flight becomes a row on the server`s id, and leaves', async () => {
    const hosts = await twoHosts(store);
    hosts.world.server.latencyMs = 100;
    const c1 = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    const first = await hosts.begin(hosts.a, 1);
    const target = { type: 'pending', origin: c1.row?.origin ?? '' } as const;
    const u2 = await hosts.enqueue({ target, body: { kg: 80 } }, hosts.b);
    expect(u2).toMatchObject({ action: 'intent', row: { successorOf: c1.row?.origin, target } });
    await hosts.run(first.ended);
    await hosts.flush(hosts.b);
    const sent = hosts.world.server.requests;
    expect(sent.map(({ kind, target: aim }) => [kind, aim.type])).toEqual([
      ['create', 'pending'],
      ['update', 'id'],
    ]);
    expect(sent[1]).toMatchObject({ target: { id: 'srv-1' }, expectedRevision: 1, body: { kg: 80 } });
    expect(await hosts.rows()).toEqual([]);
    expect((await hosts.told()).map((line) => line.split(' ')[1])).toEqual([
      'committed',
      'converted',
      'committed',
    ]);
  });

  it('[C44] a delete of a creation of unknown result waits for its receipt, then deletes on the server`s id', async () => {
    const hosts = await twoHosts(store);
    hosts.world.server.next({ type: 'drop_answer' });
    const c1 = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    await hosts.flush(hosts.a);
    const target = { type: 'pending', origin: c1.row?.origin ?? '' } as const;
    const d1 = await hosts.enqueue({ kind: 'delete', target, body: undefined }, hosts.b);
    expect(d1.action).toBe('intent');
    await hosts.flush(hosts.b);
    await hosts.flush(hosts.b);
    const [one, two, three, ...more] = hosts.world.server.requests;
    expect([two?.id, two?.requestHash]).toEqual([one?.id, one?.requestHash]);
    expect(three).toMatchObject({ kind: 'delete', target: { type: 'id', id: 'srv-1' } });
    expect(more).toEqual([]);
    expect(await hosts.rows()).toEqual([]);
    expect(hosts.world.server.resource('ann', 'workout', 'srv-1')?.deleted).toBe(true);
  });

  it('[C45, C17] another owner`s rows are neither claimed nor removed', async () => {
    const hosts = await twoHosts(store);
    const mine = await hosts.enqueue({ kind: 'create' });
    await hosts.run(hosts.a.engine.signIn('bob'));
    const theirs = await hosts.enqueue({ kind: 'create', owner: 'bob' });
    await hosts.flush(hosts.b, 'bob');
    expect(ids(hosts)).toEqual([theirs.row?.id]);
    expect(await hosts.rows()).toEqual([mine.row]);
    expect(await hosts.rows('bob')).toEqual([]);
  });

  it.each([
    { how: 'at once where the lock shows it', hasLocks: true, waits: 0 },
    { how: 'after the lease where there are no locks', hasLocks: false, waits: LEASE },
  ])('[C46, A02] a host killed in flight is taken over $how, under the same id and hash', async (given) => {
    const { hasLocks, waits } = given;
    const hosts = await twoHosts(store, { hasLocks });
    hosts.world.server.next({ type: 'delay', ms: 5_000 });
    const { row } = await hosts.enqueue({ kind: 'put', family: 'plan', target: DAY, body: { inc: -1 } });
    await hosts.begin(hosts.a, 1);
    hosts.a.kill();
    expect(await hosts.rows()).toMatchObject([{ id: row?.id, state: 'sending', doubt: true }]);
    const next = await hosts.start();
    if (waits > 0) {
      await hosts.flush(next);
      expect(ids(hosts)).toHaveLength(1);
      await hosts.pass(waits);
    }
    await hosts.flush(next);
    const [one, two, ...more] = hosts.world.server.requests;
    expect([two?.id, two?.requestHash, two?.body]).toEqual([one?.id, one?.requestHash, one?.body]);
    expect(more).toEqual([]);
    expect(hosts.world.server.applied).toHaveLength(1);
    expect(await hosts.rows()).toEqual([]);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
  });

  it('[C47, C18] an edit in flight is kept under a delete, which follows it', async () => {
    const hosts = await twoHosts(store);
    existing(hosts);
    hosts.world.server.latencyMs = 100;
    const u1 = await hosts.enqueue(edit(80));
    const first = await hosts.begin(hosts.a, 1);
    const d2 = await hosts.enqueue(
      { kind: 'delete', target: W1, expectedRevision: 1, body: undefined },
      hosts.b,
    );
    expect(d2).toMatchObject({ action: 'queued', removed: [], row: { successorOf: u1.row?.origin } });
    await hosts.run(first.ended);
    await hosts.flush(hosts.b);
    expect(hosts.world.server.applied.map(({ kind }) => kind)).toEqual(['update', 'delete']);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[C47, D30] a conflict of the delete behind an edit is answered by a resend', async () => {
    const hosts = await twoHosts(store);
    existing(hosts);
    hosts.world.server.latencyMs = 100;
    await hosts.enqueue(edit(80));
    const first = await hosts.begin(hosts.a, 1);
    await hosts.enqueue({ kind: 'delete', target: W1, expectedRevision: 1, body: undefined }, hosts.b);
    hosts.world.server.next({ type: 'conflict' }, ({ kind }) => kind === 'delete');
    await hosts.run(first.ended);
    await hosts.flush(hosts.b);
    expect(hosts.world.server.resource('ann', 'workout', 'w1')?.deleted).toBe(true);
    expect(await hosts.rows()).toEqual([]);
    appliedOnce(hosts);
  });

  it.each(['put', 'remove'] as const)(
    '[C48, C18] a put in flight is kept under a %s, which follows it',
    async (kind) => {
      const hosts = await twoHosts(store);
      hosts.world.server.latencyMs = 100;
      const p1 = await hosts.enqueue({ kind: 'put', family: 'plan', target: DAY, body: { title: 'a' } });
      const first = await hosts.begin(hosts.a, 1);
      const body = kind === 'put' ? { title: 'b' } : undefined;
      const p2 = await hosts.enqueue({ kind, family: 'plan', target: DAY, body }, hosts.b);
      expect(p2).toMatchObject({ action: 'queued', removed: [], row: { successorOf: p1.row?.origin } });
      await hosts.run(first.ended);
      await hosts.flush(hosts.b);
      expect(hosts.world.server.applied.map((change) => change.kind)).toEqual(['put', kind]);
      expect(await hosts.rows()).toEqual([]);
    },
  );

  it('[C49, C3] a row that a writer without claims is sending is left alone for a lease, then sent under its id', async () => {
    const hosts = await twoHosts(store);
    existing(hosts);
    const now = hosts.world.clock.now();
    const [older] = await hosts.plant({
      write: [planted({ state: 'sending', sentAt: now - 4_000, doubt: undefined })],
      bodies: [{ bodyId: rowFixture().bodyId ?? '', body: { kg: 70 } }],
    });
    await hosts.flush(hosts.a);
    expect(ids(hosts)).toEqual([]);
    const next = await hosts.enqueue(edit(80), hosts.b);
    expect(next).toMatchObject({ action: 'queued', removed: [], row: { successorOf: older?.origin } });
    await hosts.pass(6_000);
    await hosts.flush(hosts.a);
    expect(ids(hosts)[0]).toBe(older?.id);
    expect(bodies(hosts)).toEqual([{ kg: 70 }, { kg: 80 }]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[C50, C23] an intent whose creation vanished asks the server, and is kept, blocked, on its "none"', async () => {
    const hosts = await twoHosts(store);
    const target = { type: 'pending', origin: '00000000-0000-4000-8000-00000000c001' } as const;
    const { row } = await hosts.enqueue({ target, body: { kg: 80 } });
    expect(row).toMatchObject({ target, state: 'queued' });
    await hosts.flush(hosts.b);
    expect(hosts.world.server.lookups).toEqual([target.origin]);
    expect(await hosts.rows()).toMatchObject([
      { id: row?.id, state: 'blocked', blockedCode: 'predecessor_receipt_unknown', bodyId: row?.bodyId },
    ]);
    expect(ids(hosts)).toEqual([]);
  });

  it('[C50, C23] an intent whose creation vanished is converted when the server has its receipt', async () => {
    const hosts = await twoHosts(store);
    const origin = '00000000-0000-4000-8000-00000000c001';
    await hosts.run(
      hosts.world.server.sender.send(
        {
          id: origin,
          requestHash: 'h',
          owner: 'ann',
          family: 'workout',
          kind: 'create',
          wireKind: 'workout.create',
          target: { type: 'pending', origin },
          body: { kg: 60 },
          headers: {},
          attempt: 1,
        },
        new AbortController().signal,
      ),
    );
    await hosts.enqueue({ target: { type: 'pending', origin }, body: { kg: 80 } });
    await hosts.flush(hosts.b);
    expect(hosts.world.server.resource('ann', 'workout', 'srv-1')?.body).toEqual({ kg: 80 });
    expect(await hosts.rows()).toEqual([]);
  });

  it('[C50, C23] an intent stays as it is while nobody answers about its creation', async () => {
    const hosts = await twoHosts(store);
    const origin = '00000000-0000-4000-8000-00000000c001';
    hosts.world.server.reachable = false;
    const { row } = await hosts.enqueue({ target: { type: 'pending', origin }, body: { kg: 80 } });
    await hosts.flush(hosts.b);
    expect(await hosts.rows()).toEqual([row]);
  });

  it('[C51, D31] a conflict`s resend keeps its place before the edit behind it', async () => {
    const hosts = await twoHosts(store);
    existing(hosts);
    hosts.world.server.change('ann', 'workout', 'w1', { kg: 61 });
    hosts.world.server.latencyMs = 100;
    const u1 = await hosts.enqueue(edit(80));
    const first = await hosts.begin(hosts.a, 1);
    const u2 = await hosts.enqueue(edit(85), hosts.b);
    await hosts.run(first.ended);
    await hosts.flush(hosts.b);
    const { requests, applied } = hosts.world.server;
    expect(requests[0]?.id).toBe(u1.row?.id);
    expect(requests[1]).toMatchObject({ expectedRevision: 2, body: { kg: 80 } });
    expect(requests[1]?.id).not.toBe(u1.row?.id);
    expect(applied.map(({ body }) => body)).toEqual([{ kg: 80 }, { kg: 85 }]);
    expect(await hosts.rows()).toEqual([]);
    expect((await hosts.told())[0]).toBe(`${u1.row?.id} superseded`);
    expect((await hosts.told()).some((line) => line.startsWith(`${u2.row?.id} `))).toBe(true);
  });

  it('[C52, C19] a put that timed out is sent again before the next, and its first request changes nothing later', async () => {
    const hosts = await twoHosts(store);
    hosts.world.server.next({ type: 'hang' });
    const p1 = await hosts.enqueue({ kind: 'put', family: 'plan', target: DAY, body: { title: 'a' } });
    const first = await hosts.begin(hosts.a, 1);
    await hosts.run(first.ended);
    expect(await hosts.rows()).toMatchObject([{ id: p1.row?.id, state: 'queued', doubt: true }]);
    const p2 = await hosts.enqueue(
      { kind: 'put', family: 'plan', target: DAY, body: { title: 'b' } },
      hosts.b,
    );
    expect(p2.removed).toEqual([]);
    await hosts.flush(hosts.b);
    expect(ids(hosts)).toEqual([p1.row?.id, p1.row?.id, p2.row?.id]);
    const [late] = hosts.world.server.requests;
    if (late) await hosts.run(hosts.world.server.sender.send(late, new AbortController().signal));
    expect(hosts.world.server.resource('ann', 'plan', 'monday')?.body).toEqual({ title: 'b' });
    expect(hosts.world.server.applied).toHaveLength(2);
    expect(await hosts.rows()).toEqual([]);
  });
});
