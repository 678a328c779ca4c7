/** Cases from public reports of other outboxes: kills, clocks, late answers, the ids of creations. */
import { describe, expect, it } from 'vitest';
import type { Row } from '../shared/row.ts';
import { FACTS, type RowStore } from '../sw/outbox/row-store.ts';
import { LEASE, type TwoHosts, twoHosts } from './support/two-hosts.ts';

const DAY_MS = 86_400_000;
const pending = (row: Row | undefined) => ({ type: 'pending', origin: row?.origin ?? '' }) as const;
const ids = ({ world }: TwoHosts) => world.server.requests.map(({ id }) => id);

describe('a host that is killed between claim and sending', () => {
  it.each([
    { when: 'at once where locks show it', hasLocks: true },
    { when: 'not before the lease has ended where there are no locks', hasLocks: false },
  ])('[C1, C3, C6, A03] leaves a row that another sends once, $when', async ({ hasLocks }) => {
    const hosts = await twoHosts('memory', { hasLocks });
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    const hold = hosts.world.store.holdNext('claim');
    hosts.a.engine.flush('ann', 'flush').catch(() => undefined);
    await hold.reached;
    hosts.a.kill();
    hold.release();
    await hosts.settle();
    const left = {
      id: row?.id,
      state: 'sending',
      doubt: true,
      claim: { host: hosts.a.engine.host, fence: 1 },
    };
    expect(await hosts.rows()).toMatchObject([left]);
    expect(ids(hosts)).toEqual([]);

    hosts.world.server.latencyMs = 500;
    const takesOver = async () => {
      const flush = hosts.b.engine.flush('ann', 'flush');
      await hosts.pass(100);
      expect(ids(hosts)).toEqual([row?.id]);
      expect(await hosts.rows()).toMatchObject([{ claim: { host: hosts.b.engine.host, fence: 2 } }]);
      await hosts.run(flush);
    };
    await hosts.pass(1_000);
    if (hasLocks) await takesOver();
    else {
      await hosts.flush(hosts.b);
      await hosts.pass(LEASE - 1_500);
      await hosts.flush(hosts.b);
      expect(ids(hosts)).toEqual([]);
      await hosts.pass(500);
      await takesOver();
    }
    expect(ids(hosts)).toEqual([row?.id]);
    expect(await hosts.rows()).toEqual([]);
  });
});

describe('a clock that jumps', () => {
  it('[C4, C10, C42, A20] a day ahead lets another host take over; the first one`s failure changes nothing', async () => {
    const hosts = await twoHosts();
    const { server, clock } = hosts.world;
    server.latencyMs = 4_000;
    server.next({ type: 'status', status: 503 });
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    const first = await hosts.begin(hosts.a, 1);
    await hosts.pass(2_000);
    clock.jump(DAY_MS);
    const second = await hosts.begin(hosts.b, 2);
    const taken = await hosts.rows();
    expect(taken).toMatchObject([{ id: row?.id, claim: { host: hosts.b.engine.host, fence: 2 } }]);
    await hosts.run(first.ended);
    expect(await hosts.rows()).toEqual(taken);
    await hosts.run(second.ended);
    expect(ids(hosts)).toEqual([row?.id, row?.id]);
    expect(server.applied).toHaveLength(1);
    expect(await hosts.told()).toEqual([`${row?.id} committed`]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[C4, A20] a day back strands nothing: the claim of a lost host is not believed', async () => {
    const hosts = await twoHosts('memory', { hasLocks: false });
    const { server, clock } = hosts.world;
    server.next({ type: 'delay', ms: 5_000 });
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    await hosts.begin(hosts.a, 1);
    hosts.a.kill();
    clock.jump(-DAY_MS);
    await hosts.flush(hosts.b);
    expect(ids(hosts)).toEqual([row?.id, row?.id]);
    expect(await hosts.rows()).toEqual([]);
  });
});

describe('a late answer', () => {
  it.each([
    { answer: 'a refusal', fault: { type: 'status', status: 422, code: 'invalid' } },
    { answer: 'a sign-out', fault: { type: 'unauthorized' } },
  ] as const)(
    '[C10, C13, C14, C15, A51] with an old fence, $answer, changes nothing of a row that was given back since',
    async ({ fault }) => {
      const hosts = await twoHosts();
      const { server, clock } = hosts.world;
      server.latencyMs = 6_000;
      server.next([fault, { type: 'status', status: 503 }]);
      const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
      const first = await hosts.begin(hosts.a, 1);
      await hosts.pass(4_000);
      clock.jump(LEASE);
      server.latencyMs = 500;
      const second = await hosts.begin(hosts.b, 2);
      await hosts.run(second.ended);
      const back = await hosts.rows();
      expect(back).toMatchObject([{ id: row?.id, state: 'queued', claim: { fence: 2 } }]);
      await hosts.run(first.ended);
      expect(await hosts.rows()).toEqual(back);
      // Nor is its owner taken for signed out on the word of a request that somebody else has made again since (D5).
      expect(await hosts.store.readFact(FACTS.heldOwner('ann'))).toBeUndefined();

      const c = await hosts.start();
      const third = await hosts.begin(c, 3);
      expect(await hosts.rows()).toMatchObject([{ claim: { host: c.engine.host, fence: 3 } }]);
      await hosts.run(third.ended);
      expect(await hosts.rows()).toEqual([]);
    },
  );
});

describe('an edit of a creation', () => {
  it('[R16, R6, A59] that was refused makes a new creation of the two, in its place', async () => {
    const hosts = await twoHosts();
    hosts.world.server.next({ type: 'status', status: 422, code: 'invalid' });
    const created = await hosts.enqueue({ kind: 'create', body: { kg: -1 }, sourceRef: 'device-1' });
    await hosts.flush(hosts.a);
    const [refused] = await hosts.rows();
    expect(refused).toMatchObject({ state: 'blocked', blockedCode: 'rejected', doubt: false });
    const edited = await hosts.enqueue({ target: pending(created.row), body: { kg: 60 } }, hosts.b);
    expect(edited).toMatchObject({ action: 'merged', removed: [created.row?.id] });
    const { row } = edited;
    expect(row).toMatchObject({ kind: 'create', sourceRef: 'device-1' });
    expect([row?.seq, row?.savedAt, row?.origin]).toEqual([refused?.seq, refused?.savedAt, refused?.origin]);
    expect(row?.id).not.toBe(created.row?.id);
    expect(row?.requestHash).not.toBe(created.row?.requestHash);
    await hosts.flush(hosts.b);
    expect(hosts.world.server.applied).toMatchObject([{ id: row?.id, kind: 'create', body: { kg: 60 } }]);
    expect(await hosts.rows()).toEqual([]);
  });

  it('[C20, C21, R17, A59] whose answers were lost five times waits, and aims at the server`s id only', async () => {
    const hosts = await twoHosts();
    const { server } = hosts.world;
    server.next(Array.from({ length: 5 }, () => ({ type: 'reset' }) as const));
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    for (let n = 0; n < 5; n++) await hosts.flush(hosts.a);
    expect((await hosts.enqueue({ target: pending(row), body: { kg: 80 } })).action).toBe('intent');
    await hosts.flush(hosts.b);
    await hosts.flush(hosts.b);
    expect(server.requests.map(({ kind }) => kind)).toEqual([...Array<string>(6).fill('create'), 'update']);
    expect(new Set(ids(hosts).slice(0, 6)).size).toBe(1);
    expect(server.requests.at(-1)?.target).toEqual({ type: 'id', id: 'srv-1' });
    expect(await hosts.rows()).toEqual([]);
  });

  it('[C21, R29, A60] is one intent, however often it was made, and the last one wins', async () => {
    const hosts = await twoHosts();
    const { server } = hosts.world;
    server.latencyMs = 100;
    const { row } = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    const first = await hosts.begin(hosts.a, 1);
    const one = await hosts.enqueue({ target: pending(row), body: { kg: 70 } }, hosts.b);
    const two = await hosts.enqueue({ target: pending(row), body: { kg: 80 } }, hosts.b);
    expect(two.removed).toEqual([one.row?.id]);
    await hosts.run(first.ended);
    await hosts.flush(hosts.b);
    expect(server.applied.map(({ kind, target, body }) => [kind, target, body])).toEqual([
      ['create', 'srv-1', { kg: 60 }],
      ['update', 'srv-1', { kg: 80 }],
    ]);
  });

  it('[C22, A60] that cannot be prepared is blocked, content intact; others go on, and retry prepares it again', async () => {
    let isBroken = true;
    const hosts = await twoHosts('memory', {
      ports: {
        workout: {
          prepareSuccessor({ intent, receipt }) {
            if (isBroken && JSON.stringify(intent.body).includes('81')) throw new Error('app');
            return { target: receipt.target, expectedRevision: receipt.revision };
          },
        },
      },
    });
    const { server } = hosts.world;
    server.latencyMs = 100;
    const one = await hosts.enqueue({ kind: 'create', body: { kg: 61 } });
    const two = await hosts.enqueue({ kind: 'create', body: { kg: 62 } });
    const first = await hosts.begin(hosts.a, 2);
    const broken = await hosts.enqueue({ target: pending(one.row), body: { kg: 81 } }, hosts.b);
    await hosts.enqueue({ target: pending(two.row), body: { kg: 82 } }, hosts.b);
    await hosts.run(first.ended);
    await hosts.flush(hosts.b);
    expect(await hosts.rows()).toMatchObject([
      {
        id: broken.row?.id,
        state: 'blocked',
        blockedCode: 'successor_unprepared',
        bodyId: broken.row?.bodyId,
      },
    ]);
    expect(server.applied.map(({ body }) => body)).toEqual([{ kg: 61 }, { kg: 62 }, { kg: 82 }]);

    isBroken = false;
    await hosts.run(hosts.b.engine.retry('ann', broken.row?.id ?? ''));
    await hosts.flush(hosts.b);
    expect(server.applied.at(-1)).toMatchObject({ kind: 'update', target: 'srv-1', body: { kg: 81 } });
    expect(await hosts.rows()).toEqual([]);
  });
});

/** A view of a store that kills its host at its `n`th use: before it happens, or after, unheard. */
function fatalView(store: RowStore, kill: () => void) {
  let uses = 0;
  let at = Number.POSITIVE_INFINITY;
  let isBefore = true;
  const never = new Promise<never>(() => undefined);
  const view = new Proxy(store, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const isFatal = ++uses === at;
        if (isFatal && isBefore) {
          kill();
          return never;
        }
        const answer: unknown = Reflect.apply(value, target, args);
        if (!isFatal) return answer;
        kill();
        return never;
      };
    },
  });
  return {
    view,
    arm(n: number, when: 'before' | 'after') {
      uses = 0;
      at = n;
      isBefore = when === 'before';
    },
    uses: () => uses,
  };
}

describe('a kill between the creation`s acknowledgement and the conversion of its intents', () => {
  /** Creates, edits while the creation is under way, and kills the flushing host at its `n`th use of the store. */
  async function killedAt(n: number, when: 'before' | 'after'): Promise<number> {
    const hosts = await twoHosts();
    const { server, store } = hosts.world;
    server.next({ type: 'drop_answer' });
    const created = await hosts.enqueue({ kind: 'create', body: { kg: 60 } });
    await hosts.flush(hosts.a);
    const edited = await hosts.enqueue({ target: pending(created.row), body: { kg: 80 } });
    expect(edited.action).toBe('intent');

    let kill: () => void = () => undefined;
    const fatal = fatalView(store, () => kill());
    const doomed = await hosts.start(fatal.view);
    kill = doomed.kill;
    fatal.arm(n, when);
    let isOver = false;
    doomed.engine.flush('ann', 'flush').then(
      () => {
        isOver = true;
      },
      () => undefined,
    );
    for (let turns = 0; turns < 60 && !isOver; turns++) await hosts.settle();
    const uses = fatal.uses();

    for (let flushes = 0; flushes < 3; flushes++) await hosts.flush(hosts.b);
    expect(await hosts.rows(), `killed ${when} use ${n}`).toEqual([]);
    expect(server.applied.map(({ kind, target, body }) => [kind, target, body])).toEqual([
      ['create', 'srv-1', { kg: 60 }],
      ['update', 'srv-1', { kg: 80 }],
    ]);
    const ends = (await hosts.told()).map((line) => line.split(' ')[1]);
    expect(ends, `killed ${when} use ${n}`).toEqual(['committed', 'converted', 'committed']);
    return uses;
  }

  it('[C21, C46, A60, T30] loses and doubles nothing, at whatever step it comes', async () => {
    const uses = await killedAt(Number.POSITIVE_INFINITY, 'before');
    expect(uses).toBeGreaterThan(5);
    for (let n = 1; n <= uses; n++) {
      await killedAt(n, 'before');
      await killedAt(n, 'after');
    }
  });
});
