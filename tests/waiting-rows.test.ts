/** Rows that wait for other rows (W60), and rows that may come too late (W62), through the whole engine. */
import { describe, expect, it } from 'vitest';
import type { PrepareSuccessor } from '../sw/dispatch/family-ports.ts';
import { LEASE, type TwoHosts, twoHosts } from './support/two-hosts.ts';

const kinds = ({ world }: TwoHosts) => world.server.applied.map(({ kind, body }) => [kind, body]);

describe('a row that waits for others', () => {
  /** A set under a workout: its body names the server's ids of what it waited for. */
  const prepareSuccessor: PrepareSuccessor = ({ intent, receipt, receipts }) => ({
    target: receipt.target,
    body: { of: intent.body, under: [...receipts.values()].map(({ target }) => target).sort() },
  });
  const ports = { workout: { prepareSuccessor } };
  const create = (hosts: TwoHosts, name: string, after?: readonly string[]) =>
    hosts.enqueue({ kind: 'create', body: name, after });

  it('[W60] leaves after the last of them, with what their receipts say, whoever accepts them', async () => {
    const hosts = await twoHosts('memory', { ports });
    const one = await create(hosts, 'one');
    const two = await create(hosts, 'two');
    const child = await create(hosts, 'child', [one.row?.origin ?? '', two.row?.origin ?? '']);
    expect(child.action).toBe('intent');
    hosts.world.server.next({ type: 'reset' }, ({ body }) => body === 'two');
    await hosts.flush(hosts.a);
    expect(kinds(hosts)).toEqual([['create', 'one']]);
    await hosts.flush(hosts.b);
    expect(kinds(hosts)).toEqual([
      ['create', 'one'],
      ['create', 'two'],
      ['create', { of: 'child', under: ['srv-1', 'srv-2'] }],
    ]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[W21, W60] calls no browser back while only a person can free what it waits for', async () => {
    const hosts = await twoHosts('memory', { ports });
    const { server } = hosts.world;
    const waiting = async () => (await hosts.run(hosts.a.engine.waiting('ann'))).queued;
    const parent = await create(hosts, 'parent');
    const child = await create(hosts, 'child', [parent.row?.origin ?? '']);
    await create(hosts, 'grandchild', [child.row?.origin ?? '']);
    const target = { type: 'id', id: 'w9' } as const;
    const named = await hosts.enqueue({ target, body: 'named', after: [parent.row?.origin ?? ''] });
    await hosts.enqueue({ target, body: 'behind', after: [named.row?.origin ?? ''] });
    expect(await waiting()).toBe(5);
    server.next({ type: 'status', status: 422 });
    await hosts.flush(hosts.a);
    expect(await hosts.rows()).toMatchObject([{ state: 'blocked' }, {}, {}, {}, {}]);
    expect(await waiting()).toBe(0);
    server.reachable = false;
    await hosts.enqueue({ kind: 'create', body: 'free' });
    expect(await waiting()).toBe(5);
    await hosts.run(hosts.a.engine.pause('ann'));
    expect(await waiting()).toBe(0);
  });

  it('[W60] that is stored while its parent is in flight is found by the acceptance', async () => {
    const hosts = await twoHosts('memory', { ports });
    hosts.world.server.latencyMs = 100;
    const parent = await create(hosts, 'parent');
    const first = await hosts.begin(hosts.a, 1);
    await hosts.run(
      hosts.b.engine.enqueue({
        id: hosts.world.uuid(),
        owner: 'ann',
        family: 'workout',
        kind: 'create',
        body: 'child',
        after: [parent.row?.origin ?? ''],
      }),
    );
    await hosts.run(first.ended);
    await hosts.flush(hosts.b);
    expect(kinds(hosts)).toEqual([
      ['create', 'parent'],
      ['create', { of: 'child', under: ['srv-1'] }],
    ]);
  });

  it('[W60] reads a parent that was accepted before it from the journal', async () => {
    const hosts = await twoHosts('memory', { ports });
    const parent = await create(hosts, 'parent');
    await hosts.flush(hosts.a);
    await create(hosts, 'child', [parent.row?.origin ?? '']);
    await hosts.flush(hosts.b);
    expect(kinds(hosts).at(-1)).toEqual(['create', { of: 'child', under: ['srv-1'] }]);
    expect(hosts.world.server.lookups).toEqual([]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[W60] waits behind a parent that is refused', async () => {
    const hosts = await twoHosts('memory', { ports });
    hosts.world.server.next({ type: 'status', status: 422, code: 'invalid' });
    const parent = await create(hosts, 'parent');
    const child = await create(hosts, 'child', [parent.row?.origin ?? '']);
    await hosts.flush(hosts.a);
    await hosts.flush(hosts.b);
    expect(await hosts.rows()).toMatchObject([{ state: 'blocked' }, { id: child.row?.id, state: 'queued' }]);
    expect(hosts.world.server.requests).toHaveLength(1);
  });

  it('[W60, C43] that has edits behind it carries them to the id that it is given in the end', async () => {
    const hosts = await twoHosts('memory', { ports });
    const parent = await create(hosts, 'parent');
    const child = await create(hosts, 'child', [parent.row?.origin ?? '']);
    hosts.world.server.next({ type: 'drop_answer' }, ({ body }) => body !== 'parent');
    await hosts.flush(hosts.a);
    const target = { type: 'pending', origin: child.row?.origin ?? '' } as const;
    expect((await hosts.enqueue({ target, body: 'edit' })).action).toBe('intent');
    await hosts.flush(hosts.b);
    await hosts.flush(hosts.b);
    expect(hosts.world.server.applied.at(-1)).toMatchObject({
      kind: 'update',
      target: 'srv-2',
      body: { of: 'edit', under: ['srv-2'] },
    });
    expect(await hosts.rows()).toEqual([]);
  });
});

describe('a row that may come too late', () => {
  const put = (hosts: TwoHosts, expiresAt: number) =>
    hosts.enqueue({
      family: 'plan',
      kind: 'put',
      target: { type: 'id', id: 'monday' },
      body: 'a',
      expiresAt,
    });

  it('[W62, C4] is blocked, visibly, and sent after all when a later clock shows that it is not', async () => {
    const hosts = await twoHosts();
    const { clock, server } = hosts.world;
    const { row } = await put(hosts, clock.now() + 60_000);
    clock.jump(3_600_000);
    await hosts.flush(hosts.a);
    expect(await hosts.rows()).toMatchObject([{ id: row?.id, state: 'blocked', blockedCode: 'expired' }]);
    expect(await hosts.told()).toEqual([`${row?.id} blocked`]);
    await hosts.flush(hosts.b);
    expect(server.requests).toEqual([]);
    clock.jump(-3_600_000);
    await hosts.flush(hosts.b);
    expect(server.applied).toMatchObject([{ id: row?.id }]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[W62] is asked about when it may have been applied: a receipt accepts it', async () => {
    const hosts = await twoHosts();
    const { clock, server } = hosts.world;
    server.next({ type: 'drop_answer' });
    const { row } = await put(hosts, clock.now() + 30_000);
    await hosts.flush(hosts.a);
    await hosts.pass(30_000);
    await hosts.flush(hosts.b);
    expect(server.lookups).toEqual([row?.id]);
    expect(server.requests).toHaveLength(1);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[W62] is expired on a "none", and stays as it is while nobody answers', async () => {
    const hosts = await twoHosts();
    const { clock, server } = hosts.world;
    server.next({ type: 'reset' });
    const { row } = await put(hosts, clock.now() + 30_000);
    await hosts.flush(hosts.a);
    await hosts.pass(30_000 + LEASE);
    server.reachable = false;
    await hosts.flush(hosts.b);
    expect(await hosts.rows()).toMatchObject([{ id: row?.id, state: 'queued', doubt: true }]);
    server.reachable = true;
    await hosts.flush(hosts.b);
    expect(await hosts.rows()).toMatchObject([
      { id: row?.id, state: 'blocked', blockedCode: 'expired', doubt: false },
    ]);
    expect(server.requests).toHaveLength(1);
  });

  it('[W62, C31] lets what stands behind it pass', async () => {
    const hosts = await twoHosts();
    const { clock, server } = hosts.world;
    const early = await put(hosts, clock.now() + 60_000);
    server.next({ type: 'reset' });
    await hosts.flush(hosts.a);
    const later = await hosts.enqueue({
      family: 'plan',
      kind: 'put',
      target: { type: 'id', id: 'monday' },
      body: 'b',
    });
    expect(later.removed).toEqual([]);
    await hosts.pass(60_000);
    await hosts.flush(hosts.b);
    expect(server.applied).toMatchObject([{ id: later.row?.id, body: 'b' }]);
    expect(await hosts.rows()).toMatchObject([
      { id: early.row?.id, blockedCode: 'expired', overtakenBy: later.row?.origin },
    ]);
  });
});
