import { describe, expect, it } from 'vitest';
import { type Families, record } from '../../../shared/family.ts';
import type { Receipt } from '../../../shared/receipt.ts';
import { keyOf, type Row } from '../../../shared/row.ts';
import { type Acknowledged, createAcknowledger } from '../../../sw/outbox/acknowledger.ts';
import type { Attempt } from '../../../sw/outbox/attempt.ts';
import { attemptOf, type ClaimContext, planClaim } from '../../../sw/outbox/plan-claim.ts';
import type { PrepareSuccessorPort } from '../../../sw/outbox/prepare-intent.ts';
import type { Commit, RowDraft } from '../../../sw/outbox/row-store.ts';
import { sha256 } from '../../../sw/sha256.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { claimContext, LEASE_MS } from '../../support/claim-context.ts';
import { receiptFor } from '../../support/receipt-for.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const OWNER = 'ann';
const pending = { type: 'pending', origin: 'c1' } as const;
const creation = rowFixture({ id: 'c1', kind: 'create', target: pending, expectedRevision: undefined });
const intentRow = (overrides: Partial<Row> = {}) =>
  rowFixture({ id: 'i1', target: pending, successorOf: 'c1', expectedRevision: undefined, ...overrides });

function draftOf({ seq: _, version: __, ...row }: Row): RowDraft {
  return row;
}

/** One store, and as many hosts over it as a test asks for. */
async function outbox(
  options: {
    readonly prepare?: PrepareSuccessorPort;
    readonly families?: Families;
    readonly appLimitMs?: number;
  } = {},
) {
  const clock = createManualClock();
  const store = createMemoryRowStore({ clock, ids: { uuid: () => 'epoch' } });
  await store.writeFacts([{ name: ['active_owner'], value: OWNER }], 'relaxed');
  const waiting: [string, boolean][] = [];
  const ackOf = (host: string) =>
    createAcknowledger({
      host: () => host,
      store,
      clock,
      timers: clock,
      digest: { sha256: async (bytes) => sha256(bytes) },
      families: options.families ?? { workout: record() },
      prepareSuccessor: () => options.prepare,
      appLimitMs: options.appLimitMs ?? 1_000,
      leaseMs: () => LEASE_MS,
      patienceMs: 20_000,
      onWaiting: (row, waits) => waiting.push([row.id, waits]),
    });
  const acknowledger = ackOf('host-a');

  async function commit(part: Partial<Commit>): Promise<readonly Row[]> {
    const keys =
      part.keys ?? (part.write ?? []).map(({ owner, family, target }) => ({ owner, family, target }));
    const expected = (await store.readKeys(keys)).flat();
    const [result] = await store.commit([
      {
        owner: OWNER,
        reason: 'enqueue',
        keys,
        expected,
        write: [],
        remove: [],
        outcomes: [],
        durability: 'relaxed',
        ...part,
      },
    ]);
    if (result?.type !== 'committed') throw new Error(JSON.stringify(result));
    return result.rows;
  }

  async function put(...rows: Row[]): Promise<readonly Row[]> {
    const stored: Row[] = [];
    for (const row of rows)
      stored.push(
        ...(await commit({
          write: [draftOf(row)],
          bodies: row.bodyId === undefined ? [] : [{ bodyId: row.bodyId, body: { from: row.id } }],
        })),
      );
    return stored;
  }

  return {
    clock,
    store,
    acknowledger,
    /** Another host's, over the same store. */
    other: ackOf('host-b'),
    waiting,
    commit,
    put,
    /** Stores the rows and answers the first. */
    async first(...rows: Row[]): Promise<Row> {
      const [row] = await put(...rows);
      if (!row) throw new Error('No row to store');
      return row;
    },
    async claim(row: Row, overrides: Partial<ClaimContext> = {}): Promise<Attempt> {
      const [rows = []] = await store.readKeys([keyOf(row)]);
      const plan = planClaim(rows, claimContext({ now: clock.now(), ...overrides }));
      if (plan.type !== 'claim') throw new Error(JSON.stringify(plan));
      const [result] = await store.commit([plan.commit]);
      const [claimed] = result?.type === 'committed' ? result.rows : [];
      if (!claimed) throw new Error(JSON.stringify(result));
      return attemptOf(plan, claimed);
    },
    rows: () => store.index(OWNER, { limit: 100 }),
    async outcomes(): Promise<readonly string[]> {
      const { entries } = await store.readJournal(OWNER, undefined, 100);
      return entries.map(({ outcome }) => `${outcome.row.id} ${outcome.type}`);
    },
    accept: (attempt: Attempt, overrides: Partial<Receipt> = {}): Promise<Acknowledged> =>
      acknowledger.acknowledge(attempt, {
        type: 'accepted',
        receipt: receiptFor(attempt.claimed, overrides),
      }),
  };
}

const prepare: PrepareSuccessorPort = ({ intent, receipt, predecessor }) => ({
  target: receipt.target,
  expectedRevision: receipt.revision,
  body: { of: intent.body, after: predecessor?.body },
});

describe('an answer and what came between', () => {
  it('[C10] is planned again when a successor was stored meanwhile, and lands', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    await box.put(rowFixture({ id: 'u2', successorOf: row.origin }));
    expect(await box.accept(attempt)).toMatchObject({ type: 'committed' });
    const [left, ...others] = await box.rows();
    expect(others).toEqual([]);
    expect(left).toMatchObject({ origin: 'u2', expectedRevision: 2, replaces: ['u2'] });
    expect(await box.outcomes()).toEqual([`${row.id} committed`, 'u2 rebased']);
  });

  it('[D34] leaves a successor that was claimed meanwhile', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    const [later] = await box.put(rowFixture({ id: 'u2', successorOf: row.origin }));
    const hold = box.store.holdNext('acknowledge');
    const accepting = box.accept(attempt);
    await hold.reached;
    const claimed = later && { ...later, state: 'sending' as const, doubt: true };
    await box.commit({ reason: 'claim', write: claimed ? [claimed] : [] });
    hold.release();
    expect(await accepting).toMatchObject({ type: 'committed' });
    expect(await box.rows()).toMatchObject([{ id: 'u2', expectedRevision: 1, state: 'sending' }]);
  });

  it('[C21, D34] derives ids, so that a step done twice makes the same one', async () => {
    const ids = await Promise.all(
      [1, 2].map(async () => {
        const box = await outbox();
        const [row] = await box.put(rowFixture());
        if (!row) throw new Error();
        const attempt = await box.claim(row);
        await box.put(rowFixture({ id: 'u2', successorOf: row.origin }));
        await box.accept(attempt);
        return (await box.rows())[0]?.id;
      }),
    );
    expect(ids[0]).toBe(ids[1]);
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('[C10, C42] leaves a row that another host took over, but for the receipt, told once', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const first = await box.claim(row, { host: 'a' });
    await box.clock.advance(LEASE_MS);
    const second = await box.claim(row, { host: 'b' });
    const failure = { class: 'transient', code: 'http_503' } as const;
    expect(
      await box.acknowledger.acknowledge(first, { type: 'transient', failure, applied: 'maybe' }),
    ).toEqual({
      type: 'nothing',
      reason: 'claim_lost',
    });
    expect(await box.rows()).toEqual([second.claimed]);

    expect((await box.accept(first)).type).toBe('committed');
    expect(await box.rows()).toMatchObject([{ state: 'sending', claim: { host: 'b', fence: 2 } }]);
    await box.acknowledger.acknowledge(second, { type: 'transient', failure, applied: 'maybe' });
    expect(await box.rows()).toEqual([]);
    expect(await box.outcomes()).toEqual([`${row.id} committed`]);
    expect(await box.store.findEnds([row.id])).toMatchObject([{ end: 'committed' }]);
  });

  it('[C11] settles a noted receipt in the next flush when its holder is lost', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const first = await box.claim(row, { host: 'a' });
    await box.clock.advance(LEASE_MS);
    await box.claim(row, { host: 'b' });
    await box.accept(first);
    const [noted] = await box.store.readLane(OWNER, 'asking', { limit: 10 });
    expect(noted?.id).toBe(row.id);
    if (noted) await box.acknowledger.settle(noted);
    expect(await box.rows()).toEqual([]);
    expect(await box.outcomes()).toEqual([`${row.id} committed`]);
  });
});

describe('a store that fails', () => {
  const error = new Error('disk');

  it('[D46] is tried again: an accepted row is never a failed send, and the page can be told', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    box.store.failNext({ reason: 'acknowledge', error });
    const accepting = box.accept(attempt);
    await box.clock.settle();
    expect(box.waiting).toEqual([[row.id, true]]);
    expect(await box.clock.until(accepting)).toMatchObject({ type: 'committed' });
    expect(box.waiting).toEqual([
      [row.id, true],
      [row.id, false],
    ]);
    expect(await box.rows()).toEqual([]);
  });

  it('[D46, S11] knows a commit again whose end it was not told', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    box.store.failNext({ reason: 'acknowledge', error, landed: true });
    const end = await box.clock.until(box.accept(attempt));
    expect(end).toMatchObject({ type: 'committed', outcomes: [{ type: 'committed' }] });
    expect(await box.outcomes()).toEqual([`${row.id} committed`]);
  });

  it('[C11, S11] does not take the acceptance of another host for its own', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    box.store.failNext({ reason: 'acknowledge', error });
    const accepting = box.accept(attempt);
    await box.clock.settle();
    const taken = await box.claim(attempt.claimed, {
      host: 'host-b',
      goneHosts: new Set([attempt.claimed.claim?.host ?? '']),
    });
    const receipt = receiptFor(taken.claimed);
    expect(await box.other.acknowledge(taken, { type: 'accepted', receipt })).toMatchObject({
      type: 'committed',
    });
    expect(await box.clock.until(accepting)).toEqual({ type: 'nothing', reason: 'gone' });
    expect(await box.outcomes()).toEqual([`${row.id} committed`]);
  });

  it('[C11, S11] nor the receipt that another host has noted', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    const gone = new Set([attempt.claimed.claim?.host ?? '']);
    await box.claim(attempt.claimed, { host: 'host-c', goneHosts: gone });
    box.store.failNext({ reason: 'note_receipt', error });
    const noting = box.accept(attempt);
    await box.clock.settle();
    const receipt = receiptFor(attempt.claimed);
    expect(await box.other.acknowledge(attempt, { type: 'accepted', receipt })).toMatchObject({
      type: 'committed',
    });
    expect(await box.clock.until(noting)).toEqual({ type: 'nothing', reason: 'noted_already' });
    expect(await box.outcomes()).toEqual([`${row.id} committed`]);
  });

  it('[C12, S11] returns a row once, though the end of its commit was not told', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    box.store.failNext({ reason: 'acknowledge', error, landed: true });
    const failure = { class: 'transient', code: 'http_503' } as const;
    const answered = box.acknowledger.acknowledge(attempt, { type: 'transient', failure, applied: 'maybe' });
    expect(await box.clock.until(answered)).toMatchObject({ type: 'committed' });
    expect((await box.rows())[0]?.evidence.attempts).toHaveLength(1);
  });

  it('[D46] leaves the row to a later flush when the store does not come back', async () => {
    const box = await outbox();
    const row = await box.first(rowFixture());
    const attempt = await box.claim(row);
    box.store.failReads(error);
    box.store.failNext({ reason: 'acknowledge', error });
    expect(await box.clock.until(box.accept(attempt))).toEqual({ type: 'unsettled', error });
    box.store.failReads(undefined);
    expect(await box.rows()).toEqual([attempt.claimed]);
  });
});

describe('intents', () => {
  it('[C21, C43] are prepared from the receipt and the bodies, and aim at the server`s id', async () => {
    const box = await outbox({ prepare });
    const row = await box.first(creation, intentRow());
    await box.accept(await box.claim(row));
    const [left, ...others] = await box.rows();
    expect(others).toEqual([]);
    expect(left).toMatchObject({
      origin: 'i1',
      target: { type: 'id', id: 'srv-1' },
      expectedRevision: 2,
      state: 'queued',
    });
    expect(await box.store.readBodies([left?.bodyId ?? ''])).toEqual([
      { type: 'body', body: { of: { from: 'i1' }, after: { from: 'c1' } } },
    ]);
    expect(await box.outcomes()).toEqual(['c1 committed', 'i1 converted']);
  });

  it('[C21] that came in between make the acceptance stale, and are taken along', async () => {
    const box = await outbox({ prepare });
    const row = await box.first(creation);
    const attempt = await box.claim(row);
    const hold = box.store.holdNext('acknowledge');
    const accepting = box.accept(attempt);
    await hold.reached;
    await box.put(intentRow());
    hold.release();
    await accepting;
    expect(await box.rows()).toMatchObject([{ origin: 'i1', target: { type: 'id', id: 'srv-1' } }]);
  });

  it.each<{ when: string; prepare: PrepareSuccessorPort | undefined }>([
    { when: 'is missing', prepare: undefined },
    {
      when: 'throws',
      prepare: () => {
        throw new Error('app');
      },
    },
    { when: 'rejects', prepare: () => Promise.reject(new Error('app')) },
    { when: 'never answers', prepare: () => new Promise(() => {}) },
    { when: 'answers nonsense', prepare: () => 'yes' },
    { when: 'answers without a target', prepare: () => ({ expectedRevision: 1 }) },
    { when: 'gives a body that cannot be stored', prepare: () => ({ target: 's', body: { f: () => 1 } }) },
  ])('[C22, D4] are blocked, content intact, when prepareSuccessor $when', async ({ prepare: port }) => {
    const box = await outbox({ prepare: port });
    const row = await box.first(creation, intentRow());
    await box.clock.until(box.accept(await box.claim(row)));
    expect(await box.rows()).toMatchObject([
      {
        id: 'i1',
        state: 'blocked',
        blockedCode: 'successor_unprepared',
        target: pending,
        bodyId: intentRow().bodyId,
      },
    ]);
    expect(await box.store.readBodies([intentRow().bodyId ?? ''])).toEqual([
      { type: 'body', body: { from: 'i1' } },
    ]);
    expect(await box.outcomes()).toEqual(['c1 committed', 'i1 blocked']);
  });

  it('[C21] fold under a later patch on the server`s id, whose body wins', async () => {
    const merge = (earlier: unknown, later: unknown) => Object.assign({}, earlier, later);
    const box = await outbox({
      families: { workout: { type: 'record', merge } },
      prepare: ({ receipt }) => ({
        target: receipt.target,
        expectedRevision: 2,
        body: { kg: 80, note: 'a' },
      }),
    });
    const target = { type: 'id', id: 'srv-1' } as const;
    const row = await box.first(creation, intentRow());
    await box.commit({
      write: [draftOf(rowFixture({ id: 's1', target, bodyId: 's1', expectedRevision: 2 }))],
      bodies: [{ bodyId: 's1', body: { note: 'b' } }],
    });
    await box.accept(await box.claim(row));
    const [left, ...others] = await box.rows();
    expect(others).toEqual([]);
    expect(left).toMatchObject({ origin: 's1', target, expectedRevision: 2, replaces: ['i1', 's1'] });
    expect(await box.store.readBodies([left?.bodyId ?? ''])).toEqual([
      { type: 'body', body: { kg: 80, note: 'b' } },
    ]);
  });

  it('[C23, C50] whose creation vanished are found, and converted from what the journal remembers', async () => {
    const box = await outbox({ prepare });
    const row = await box.first(creation);
    await box.accept(await box.claim(row));
    const [intent] = await box.put(intentRow());
    const { orphans } = await box.acknowledger.findOrphans(OWNER, { limit: 10 });
    expect(orphans).toEqual([intent]);
    if (!intent) throw new Error();
    const ends = await box.acknowledger.readPredecessors(intent);
    expect(ends.get('c1')).toMatchObject({ type: 'receipt', receipt: { id: 'c1' } });
    await box.acknowledger.hearPredecessors(intent, ends, 0);
    expect(await box.rows()).toMatchObject([{ origin: 'i1', target: { type: 'id', id: 'srv-1' } }]);
  });

  it('[C23] are no orphans while their creation is stored', async () => {
    const box = await outbox();
    await box.put(creation, intentRow());
    expect(await box.acknowledger.findOrphans(OWNER, { limit: 10 })).toEqual({
      orphans: [],
      next: undefined,
    });
  });

  it('[C23] of a creation that was discarded here need no server to know it', async () => {
    const box = await outbox();
    const row = await box.first(creation);
    const { id, origin, seq, owner, family, kind, target, requestHash } = row;
    await box.commit({
      reason: 'person',
      keys: [keyOf(row)],
      remove: [id],
      outcomes: [
        {
          requestHash,
          outcome: { type: 'discarded', row: { id, origin, seq, owner, family, kind, target } },
        },
      ],
    });
    const intent = await box.first(intentRow({ kind: 'delete' }));
    const ends = await box.acknowledger.readPredecessors(intent);
    expect(ends.get('c1')).toEqual({ type: 'none' });
    await box.acknowledger.hearPredecessors(intent, ends, 0);
    expect(await box.rows()).toEqual([]);
  });
});

describe('rows that wait for others', () => {
  const parent = (id: string) =>
    rowFixture({
      id,
      kind: 'create',
      target: { type: 'pending', origin: id },
      expectedRevision: undefined,
      awaited: true,
    });
  const child = rowFixture({
    id: 'd1',
    kind: 'create',
    target: { type: 'pending', origin: 'd1' },
    expectedRevision: undefined,
    after: ['p1', 'p2'],
  });
  const join: PrepareSuccessorPort = ({ receipts }) => ({
    body: { parents: [receipts.get('p1')?.target, receipts.get('p2')?.target] },
  });

  it('[W60] are prepared by the acceptance of the last of them, with the receipts of all', async () => {
    const box = await outbox({ prepare: join });
    const [p1, p2] = await box.put(parent('p1'), parent('p2'), child);
    if (!p1 || !p2) throw new Error();
    await box.accept(await box.claim(p1), { target: 'one' });
    expect(await box.store.readLane(OWNER, 'ready', { limit: 9 })).toMatchObject([{ id: 'p2' }]);
    await box.accept(await box.claim(p2), { target: 'two' });
    const [ready] = await box.store.readLane(OWNER, 'ready', { limit: 9 });
    expect(ready).toMatchObject({ origin: 'd1', kind: 'create', target: child.target, replaces: ['d1'] });
    expect(await box.store.readBodies([ready?.bodyId ?? ''])).toEqual([
      { type: 'body', body: { parents: ['one', 'two'] } },
    ]);
  });
});

describe('what never left', () => {
  it('[C8] is given back in one transaction, but for keys that have changed', async () => {
    const box = await outbox();
    const target = (n: number) => ({ type: 'id', id: `w${n}` }) as const;
    const rows = await box.put(
      ...[1, 2, 3].map((n) => rowFixture({ id: `u${n}`, target: target(n), bodyId: undefined })),
    );
    const attempts: Attempt[] = [];
    for (const row of rows) attempts.push(await box.claim(row));
    await box.put(rowFixture({ id: 'u4', target: target(2), successorOf: 'u2' }));
    const before = box.store.counters.transactions;
    const ends = await box.acknowledger.giveBack(attempts);
    expect(ends.map(({ type }) => type)).toEqual(['committed', 'committed', 'committed']);
    expect(box.store.counters.transactions - before).toBeLessThanOrEqual(3);
    for (const row of await box.rows()) expect(row).toMatchObject({ state: 'queued', doubt: false });
  });
});
