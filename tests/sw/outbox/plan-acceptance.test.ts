import { describe, expect, it, test } from 'vitest';
import { keyOf, type Row } from '../../../shared/row.ts';
import type { Material, Preparation, PreparedRequest } from '../../../sw/outbox/material.ts';
import { planAcceptance } from '../../../sw/outbox/plan-acceptance.ts';
import type { Commit } from '../../../sw/outbox/row-store.ts';
import { claimedBy, LEASE_MS, NOW } from '../../support/claim-context.ts';
import { receiptFor } from '../../support/receipt-for.ts';
import { rowFixture } from '../../support/row-fixture.ts';

type Plan = ReturnType<typeof planAcceptance>;

const context = { now: NOW, leaseMs: () => LEASE_MS, foldsBodies: () => false };
const patches = { ...context, foldsBodies: () => true };

function accept(row: Row, material: Material, how = context, revision = 2): Plan {
  return planAcceptance(
    { row, receipt: receiptFor(row, { revision }), told: 'now', reason: 'acknowledge' },
    material,
    how,
  );
}
function commitOf(plan: Plan): Commit {
  if (plan.type !== 'commit') throw new Error(`Expected a commit, got ${JSON.stringify(plan)}`);
  return plan.commit;
}
const ends = (commit: Commit) =>
  commit.outcomes.map(({ outcome }) => [outcome.row.id, outcome.type, 'by' in outcome ? outcome.by : '']);

describe('a later edit on the same revision', () => {
  const accepted = rowFixture({ id: 'u1', ...claimedBy('here') });
  const later = rowFixture({ id: 'u2', origin: 'o2', seq: 2, successorOf: 'u1' });
  const material = { keys: [keyOf(accepted)], rows: [accepted, later] };
  const rehashed = new Map([['u2', { id: 'u2b', requestHash: 'h2b' }]]);

  it('[D34] asks for its new identity, then moves it in the accepting commit, in its place', () => {
    expect(accept(accepted, material)).toMatchObject({
      type: 'needs',
      rehash: [{ id: 'u2' }],
      accepted: { row: { id: 'u1' }, receipt: { revision: 2 } },
    });
    const commit = commitOf(accept(accepted, { ...material, rehashed }));
    expect(commit.remove).toEqual(['u1', 'u2']);
    expect(commit.write).toEqual([
      { ...later, id: 'u2b', requestHash: 'h2b', expectedRevision: 2, replaces: ['u2'] },
    ]);
    expect(ends(commit)).toEqual([
      ['u1', 'committed', ''],
      ['u2', 'rebased', 'u2b'],
    ]);
    expect(commit.durability).toBe('strict');
  });

  it('[D34] keeps its identity where the new one cannot be used', () => {
    const commit = commitOf(accept(accepted, { ...material, rehashed: new Map([['u2', 'keep']]) }));
    expect(commit).toMatchObject({ remove: ['u1'], write: [], durability: 'relaxed' });
  });

  test.each<{ when: string; row?: Partial<Row>; other?: Partial<Row>; revision?: number }>([
    { when: 'the acceptance went through a conflict', row: { conflict: { originalId: 'u0', at: 1 } } },
    { when: 'it has left before', other: { evidence: { attemptCount: 1 } } },
    { when: 'it is in doubt', other: { doubt: true } },
    { when: 'it is claimed', other: claimedBy('there') },
    { when: 'it is blocked', other: { state: 'blocked' } },
    { when: 'a later row has overtaken it', other: { overtakenBy: 'u9' } },
    { when: 'it was made on another revision', other: { expectedRevision: 7 } },
    {
      when: 'neither names a revision',
      row: { expectedRevision: undefined },
      other: { expectedRevision: undefined },
    },
    { when: 'the server does not say which revision it made', revision: 0 },
    { when: 'nothing has moved', revision: 1 },
  ])('[D34] stays as it is when $when', ({ row, other, revision }) => {
    const rows = [
      { ...accepted, ...row },
      { ...later, ...other },
    ] as const;
    const commit = commitOf(accept(rows[0], { keys: material.keys, rows }, context, revision));
    expect(commit).toMatchObject({ remove: ['u1'], write: [] });
  });
});

describe('intents of an accepted creation', () => {
  const pending = { type: 'pending', origin: 'c1' } as const;
  const creation = rowFixture({
    id: 'c1',
    kind: 'create',
    target: pending,
    expectedRevision: undefined,
    ...claimedBy('here'),
  });
  const intent = rowFixture({
    id: 'i1',
    origin: 'o1',
    seq: 2,
    target: pending,
    successorOf: 'c1',
    expectedRevision: undefined,
    tags: ['monday'],
    noticed: true,
    urgent: true,
    savedAt: 77,
  });
  const target = { type: 'id', id: 'srv-1' } as const;
  const serverKey = { owner: 'ann', family: 'workout', target };
  const request: PreparedRequest = {
    id: 'p1',
    requestHash: 'hp',
    target,
    expectedRevision: 1,
    bodyId: 'p1',
    bodyDigest: 'dp',
    bodySize: 9,
    body: { bodyId: 'p1', body: { n: 1 } },
  };
  const prepared = (row: Row, made: Preparation = { type: 'prepared', request }) => new Map([[row.id, made]]);
  const material = (rows: readonly Row[], made = prepared(intent)): Material => ({
    keys: [keyOf(creation), serverKey],
    rows,
    prepared: made,
  });

  it('[C21] are prepared, then looked up on the server`s id, before anything is written', () => {
    const first = accept(creation, { keys: [keyOf(creation)], rows: [creation, intent] });
    expect(first).toMatchObject({ type: 'needs', prepare: [{ id: 'i1' }], keys: [] });
    const second = accept(creation, {
      keys: [keyOf(creation)],
      rows: [creation, intent],
      prepared: prepared(intent),
    });
    expect(second).toMatchObject({ type: 'needs', prepare: [], keys: [serverKey] });
  });

  it('[C21, C43] become rows on the server`s id in the commit that removes the creation, place kept', () => {
    const commit = commitOf(accept(creation, material([creation, intent])));
    expect(commit.keys).toEqual([keyOf(creation), serverKey]);
    expect(commit.expected).toEqual([creation, intent]);
    expect(commit.remove).toEqual(['c1', 'i1']);
    expect(commit.write).toHaveLength(1);
    expect(commit.write[0]).toMatchObject({
      id: 'p1',
      requestHash: 'hp',
      target,
      expectedRevision: 1,
      bodyId: 'p1',
      origin: 'o1',
      seq: 2,
      savedAt: 77,
      tags: ['monday'],
      noticed: true,
      urgent: true,
      successorOf: 'c1',
      replaces: ['i1'],
      state: 'queued',
    });
    expect(commit.bodies).toEqual([{ bodyId: 'p1', body: { n: 1 } }]);
    expect(ends(commit)).toEqual([
      ['c1', 'committed', ''],
      ['i1', 'converted', 'p1'],
    ]);
    expect(commit.durability).toBe('strict');
  });

  it('[C22] are blocked with their content when they cannot be prepared; the creation is accepted', () => {
    const commit = commitOf(
      accept(creation, material([creation, intent], prepared(intent, { type: 'failed' }))),
    );
    expect(commit.remove).toEqual(['c1']);
    expect(commit.write[0]).toMatchObject({
      id: 'i1',
      state: 'blocked',
      blockedCode: 'successor_unprepared',
      target: pending,
      bodyId: intent.bodyId,
      doubt: false,
    });
    expect(ends(commit)).toEqual([
      ['c1', 'committed', ''],
      ['i1', 'blocked', ''],
    ]);
  });

  it('[C22] go their own ways: one that cannot be prepared holds up no other', () => {
    const other = rowFixture({ ...intent, id: 'i2', origin: 'o2', seq: 3, kind: 'delete' });
    const made = new Map<string, Preparation>([
      ['i1', { type: 'failed' }],
      ['i2', { type: 'prepared', request }],
    ]);
    const commit = commitOf(accept(creation, material([creation, intent, other], made)));
    expect(commit.write.map(({ id, state }) => [id, state])).toEqual([
      ['i1', 'blocked'],
      ['p1', 'queued'],
    ]);
  });

  test.each<{ when: string; row: Partial<Row> }>([
    {
      when: 'only a witness knew them',
      row: {
        state: 'blocked',
        blockedCode: 'recovery_receipt_unknown',
        recovery: { source: 'snapshot', at: 1, generation: 1, proof: 'unverified' },
      },
    },
    {
      when: 'they could not be prepared before',
      row: { state: 'blocked', blockedCode: 'successor_unprepared' },
    },
  ])('[S37, C22] stay as they are when $when', ({ row }) => {
    const commit = commitOf(accept(creation, material([creation, { ...intent, ...row }], new Map())));
    expect(commit).toMatchObject({ remove: ['c1'], write: [] });
  });

  it('[C23] are converted from the creation`s receipt though they were blocked for want of it', () => {
    const asked = { ...intent, state: 'blocked', blockedCode: 'predecessor_receipt_unknown' } as const;
    const commit = commitOf(accept(creation, material([creation, asked])));
    expect(commit.write[0]).toMatchObject({ id: 'p1', state: 'queued', blockedCode: undefined });
  });

  describe('meet rows on the server`s id', () => {
    const onServer = (overrides: Partial<Row> = {}): Row =>
      rowFixture({ id: 's1', origin: 'os', seq: 9, target, bodyId: 's1', ...overrides });
    const meet = (row: Row, how = context, made = prepared(intent)) =>
      accept(creation, material([creation, intent, row], made), how);

    it('[C21] and give way to a later clean whole body', () => {
      const commit = commitOf(meet(onServer()));
      expect(commit.write).toEqual([]);
      expect(commit.remove).toEqual(['c1', 'i1']);
      expect(ends(commit)[1]).toEqual(['i1', 'replaced', 's1']);
    });

    it('[C21] and are folded under a later clean patch, in its place', () => {
      const needs = meet(onServer(), patches);
      expect(needs).toMatchObject({ type: 'needs', fold: [{ intent: { id: 'i1' }, later: { id: 's1' } }] });
      const folded = { ...request, id: 'f1', requestHash: 'hf', bodyId: 'f1' };
      const commit = commitOf(
        accept(
          creation,
          {
            ...material([creation, intent, onServer()]),
            folds: new Map([['i1', { type: 'folded', over: 's1', request: folded }]]),
          },
          patches,
        ),
      );
      expect(commit.write).toMatchObject([{ id: 'f1', origin: 'os', seq: 9, replaces: ['i1', 's1'] }]);
      expect(commit.remove).toEqual(['c1', 'i1', 's1']);
      expect(ends(commit).slice(1)).toEqual([
        ['i1', 'merged', 'f1'],
        ['s1', 'merged', 'f1'],
      ]);
    });

    it('[C21, D4] and are blocked where the fold fails', () => {
      const commit = commitOf(
        accept(
          creation,
          {
            ...material([creation, intent, onServer()]),
            folds: new Map([['i1', { type: 'failed', over: 's1' }]]),
          },
          patches,
        ),
      );
      expect(commit.write).toMatchObject([{ id: 'i1', blockedCode: 'successor_unprepared' }]);
    });

    test.each<{ when: string; row: Partial<Row> }>([
      { when: 'waiting', row: {} },
      { when: 'in flight', row: claimedBy('there') },
    ])('[C21] and are dropped for a later delete that is $when', ({ row }) => {
      const commit = commitOf(meet(onServer({ kind: 'delete', ...row })));
      expect(commit.write).toEqual([]);
      expect(ends(commit)[1]).toEqual(['i1', 'replaced', 's1']);
    });

    it('[C21] and are written beside a delete that was refused', () => {
      const commit = commitOf(meet(onServer({ kind: 'delete', state: 'blocked' })));
      expect(commit.write).toMatchObject([{ id: 'p1', overtakenBy: undefined }]);
    });

    test.each<{ when: string; row: Partial<Row> }>([
      { when: 'in flight', row: claimedBy('there') },
      { when: 'in doubt', row: { doubt: true } },
      { when: 'doubtful', row: { state: 'blocked', doubt: true } },
    ])('[C21, C33] and are marked as overtaken by a later row that is $when', ({ row }) => {
      for (const how of [context, patches]) {
        const commit = commitOf(meet(onServer(row), how));
        expect(commit.write).toMatchObject([{ id: 'p1', seq: 2, overtakenBy: 'os' }]);
      }
    });

    it('[C21, R36] and are not folded over a patch behind one that has left', () => {
      const rows = [creation, intent, onServer({ doubt: true }), onServer({ id: 's2', seq: 10 })];
      const commit = commitOf(accept(creation, material(rows), patches));
      expect(commit.write).toMatchObject([{ id: 'p1', overtakenBy: 'os' }]);
    });

    it('[C21, R36] and are not folded over a refused patch that a later one has overtaken', () => {
      const refused = onServer({ state: 'blocked', blockedCode: 'rejected' });
      const rows = [creation, intent, refused, onServer({ id: 's2', origin: 'os2', seq: 10, doubt: true })];
      const commit = commitOf(accept(creation, material(rows), patches));
      expect(commit.write).toMatchObject([{ id: 'p1', overtakenBy: 'os2' }]);
    });

    describe('of which two wait for the same receipt', () => {
      const first = rowFixture({ id: 'd1', origin: 'd1', seq: 5, target, after: ['c1'] });
      const second = rowFixture({ id: 'd2', origin: 'd2', seq: 6, target, after: ['c1'] });
      const awaited = { ...creation, awaited: true };
      const both = (rows: readonly Row[]): Material => ({
        ...material([awaited, first, second, ...rows]),
        waiting: [first, second],
        prepared: new Map([
          ...prepared(first, { type: 'prepared', request: { ...request, id: 'p1' } }),
          ...prepared(second, { type: 'prepared', request: { ...request, id: 'p2' } }),
        ]),
      });

      it('[C21, R36] the last one is folded, and the one before it leaves by itself, in its place', () => {
        const needs = accept(awaited, both([onServer()]), patches);
        expect(needs).toMatchObject({ type: 'needs', fold: [{ intent: { id: 'd2' }, later: { id: 's1' } }] });
        const folded = { ...request, id: 'f1', requestHash: 'hf', bodyId: 'f1' };
        const folds = new Map([['d2', { type: 'folded', over: 's1', request: folded } as const]]);
        const commit = commitOf(accept(awaited, { ...both([onServer()]), folds }, patches));
        expect(commit.write).toMatchObject([
          { id: 'p1', seq: 5 },
          { id: 'f1', seq: 9, replaces: ['d2', 's1'] },
        ]);
        expect(commit.remove).toEqual(['c1', 'd1', 'd2', 's1']);
      });

      it('[C21, R36] neither is folded over the other, which is about to go', () => {
        const commit = commitOf(accept(awaited, both([]), patches));
        expect(commit.write).toMatchObject([
          { id: 'p1', seq: 5 },
          { id: 'p2', seq: 6 },
        ]);
      });
    });

    it('[C21] and a delete is one with a later delete', () => {
      const removal = { ...intent, kind: 'delete' } as const;
      const commit = commitOf(
        accept(creation, material([creation, removal, onServer({ kind: 'delete' })], prepared(removal))),
      );
      expect(commit.write).toEqual([]);
      expect(ends(commit)[1]).toEqual(['i1', 'merged', 's1']);
    });

    it('[C21] and leave rows alone that were there before them', () => {
      const commit = commitOf(meet(onServer({ seq: 1.5 })));
      expect(commit.write.map((row) => row.id)).toEqual(['p1']);
    });
  });
});

describe('rows that wait for others', () => {
  const parent = rowFixture({
    id: 'c1',
    kind: 'create',
    target: { type: 'pending', origin: 'c1' },
    expectedRevision: undefined,
    awaited: true,
    ...claimedBy('here'),
  });
  const child = rowFixture({
    id: 'd1',
    seq: 5,
    kind: 'create',
    target: { type: 'pending', origin: 'd1' },
    after: ['c1'],
    expectedRevision: undefined,
  });
  const request: PreparedRequest = { id: 'd2', requestHash: 'hd', target: child.target };
  const seen: Material = { keys: [keyOf(parent)], rows: [parent], waiting: [child] };

  it('[W60] are looked for only where the row says that somebody waits', () => {
    expect(accept(parent, { keys: [keyOf(parent)], rows: [parent] })).toMatchObject({
      type: 'needs',
      waitingFor: 'c1',
    });
    const alone = { ...parent, awaited: undefined };
    expect(accept(alone, { keys: [keyOf(parent)], rows: [alone] }).type).toBe('commit');
  });

  it('[W60] are prepared in the commit that accepts the last of them, and their own keys guard it', () => {
    expect(accept(parent, seen)).toMatchObject({
      type: 'needs',
      keys: [keyOf(child)],
      prepare: [{ id: 'd1' }],
    });
    const commit = commitOf(
      accept(parent, {
        ...seen,
        keys: [keyOf(parent), keyOf(child)],
        rows: [parent, child],
        prepared: new Map([['d1', { type: 'prepared', request }]]),
      }),
    );
    expect(commit.keys).toEqual([keyOf(parent), keyOf(child)]);
    expect(commit.expected).toEqual([parent, child]);
    expect(commit.write).toMatchObject([
      { id: 'd2', origin: 'd1', seq: 5, target: child.target, after: undefined },
    ]);
    expect(ends(commit)).toEqual([
      ['c1', 'committed', ''],
      ['d1', 'converted', 'd2'],
    ]);
  });

  describe('and are too much for one commit', () => {
    const MB = 1_048_576;
    const waitingOf = (sizes: readonly number[]) =>
      sizes.map((bodySize, place) =>
        rowFixture({
          ...child,
          id: `d${place}`,
          origin: `d${place}`,
          seq: 5 + place,
          target: { type: 'pending', origin: `d${place}` },
          bodySize,
        }),
      );
    const prepare = (waiting: readonly Row[]) => {
      const plan = accept(parent, { ...seen, waiting });
      return plan.type === 'needs' ? plan.prepare.map(({ id }) => id) : [];
    };

    it('[C21, S10] are prepared in their order, as many as go; the first of all, however large', () => {
      expect(prepare(waitingOf([3 * MB, 3 * MB, 3 * MB, 1]))).toEqual(['d0', 'd1']);
      expect(prepare(waitingOf([20 * MB, 1]))).toEqual(['d0']);
      expect(prepare(waitingOf(Array.from({ length: 1_002 }, () => 10)))).toHaveLength(1_000);
    });

    it('[C21] the others stay as they are, and the commit says for whom they wait', () => {
      const [first = child, second = child] = waitingOf([20 * MB, 1]);
      const plan = accept(parent, {
        keys: [keyOf(parent), keyOf(first)],
        rows: [parent, first],
        waiting: [first, second],
        prepared: new Map([['d0', { type: 'prepared', request: { ...request, target: first.target } }]]),
      });
      expect(plan).toMatchObject({ type: 'commit', left: 'c1' });
      expect(commitOf(plan).keys).toEqual([keyOf(parent), keyOf(first)]);
      expect(commitOf(plan).remove).toEqual(['c1', 'd0']);
    });

    it('[C21] where all go nothing is left', () => {
      const waiting = waitingOf([MB, MB]);
      const plan = accept(parent, {
        keys: [parent, ...waiting].map(keyOf),
        rows: [parent, ...waiting],
        waiting,
        prepared: new Map(
          waiting.map(({ id, target }) => [
            id,
            { type: 'prepared', request: { ...request, id: `${id}b`, target } },
          ]),
        ),
      });
      expect(plan).not.toHaveProperty('left');
      expect(commitOf(plan).write).toHaveLength(2);
    });
  });

  test.each([
    { type: 'waits', write: 0 },
    { type: 'unknown', write: 1 },
  ] as const)('[W60] stay while another is $type', ({ type, write }) => {
    const commit = commitOf(
      accept(parent, {
        ...seen,
        keys: [keyOf(parent), keyOf(child)],
        rows: [parent, child],
        prepared: new Map([['d1', { type }]]),
      }),
    );
    expect(commit.remove).toEqual(['c1']);
    expect(commit.write).toHaveLength(write);
    if (write) expect(commit.write[0]).toEqual({ ...child, orphanedAt: NOW });
  });

  it('[W60] that went meanwhile are left out', () => {
    const commit = commitOf(accept(parent, { ...seen, keys: [keyOf(parent), keyOf(child)], rows: [parent] }));
    expect(commit).toMatchObject({ remove: ['c1'], write: [] });
  });
});
