import { describe, expect, it, test } from 'vitest';
import {
  callerHears,
  PAGE_REACTIONS,
  type PageStep,
  pageReactions,
  type ReactionContext,
  reactionCase,
  reactionsToUnknownId,
} from '../../client/page-reactions.ts';
import type { Outcome, OutcomeEnd, OutcomeRow } from '../../shared/outcome.ts';
import type { CommandKind } from '../../shared/row.ts';
import { receiptFixture, sentFixture } from '../support/receipt-fixture.ts';

const KINDS: readonly CommandKind[] = ['create', 'update', 'delete', 'put', 'remove'];
const receipt = receiptFixture(sentFixture(), { target: 'w1', revision: 7, generation: 5 });
const failure = { class: 'transient', code: 'network' } as const;
const rejection = { code: 'receipt_mismatch', field: 'id' } as const;
const resource = { family: 'workout', target: 'w1' };

function outcome(end: OutcomeEnd, row: Partial<OutcomeRow> = {}): Outcome {
  const target = { type: 'id', id: 'w1' } as const;
  return {
    ...end,
    row: { id: 'i1', origin: 'o1', seq: 1, owner: 'ann', family: 'workout', kind: 'update', target, ...row },
  };
}

function react(end: OutcomeEnd, row: Partial<OutcomeRow> = {}, context: Partial<ReactionContext> = {}) {
  return pageReactions([outcome(end, row)], { owner: 'ann', ...context });
}

const confirm: PageStep = { type: 'confirm', resource, revision: 7, origin: 'o1' };
const derived: PageStep = { type: 'refresh_derived', resource, generation: 5 };
const announce: PageStep = { type: 'announce', ids: ['i1'] };
const notice: PageStep = { type: 'notice', ids: ['i1'] };

const TABLE: readonly {
  readonly when: string;
  readonly end: OutcomeEnd;
  readonly kinds?: readonly CommandKind[];
  readonly steps: readonly PageStep[];
  readonly hears: object;
}[] = [
  {
    when: 'committed',
    end: { type: 'committed', receipt },
    kinds: ['create', 'update'],
    steps: [confirm, derived],
    hears: { type: 'uploaded', id: 'i1', receipt },
  },
  {
    when: 'committed',
    end: { type: 'committed', receipt },
    kinds: ['put'],
    steps: [{ type: 'invalidate', resource }, derived],
    hears: { type: 'uploaded', id: 'i1', receipt },
  },
  {
    when: 'committed',
    end: { type: 'committed', receipt },
    kinds: ['delete', 'remove'],
    steps: [{ type: 'drop', resource }, derived],
    hears: { type: 'uploaded', id: 'i1', receipt },
  },
  {
    when: 'committed, noticed',
    end: { type: 'committed', receipt, noticed: true },
    kinds: ['update'],
    steps: [confirm, derived, announce],
    hears: { type: 'uploaded', id: 'i1', receipt },
  },
  {
    when: 'committed, duplicate',
    end: { type: 'committed', receipt, duplicate: true, noticed: true, recovered: true },
    steps: [],
    hears: { type: 'uploaded', id: 'i1', receipt },
  },
  {
    when: 'committed, recovered',
    end: { type: 'committed', receipt, recovered: true, noticed: true },
    steps: [{ type: 'refetch_canonical', resource }],
    hears: { type: 'uploaded', id: 'i1', receipt },
  },
  {
    when: 'already gone',
    end: { type: 'already_gone' },
    steps: [{ type: 'drop', resource }],
    hears: { type: 'already_gone', id: 'i1' },
  },
  {
    when: 'unknown',
    end: { type: 'unknown', rejection },
    steps: [{ type: 'refetch', resource }, { type: 'badge', id: 'i1', code: 'receipt_mismatch' }, notice],
    hears: { type: 'unknown', id: 'i1', rejection },
  },
  {
    when: 'blocked',
    end: { type: 'blocked', code: 'rejected' },
    steps: [{ type: 'badge', id: 'i1', code: 'rejected' }, notice],
    hears: { type: 'blocked', id: 'i1', code: 'rejected' },
  },
  { when: 'held', end: { type: 'held', failure }, steps: [], hears: { type: 'held', id: 'i1' } },
  { when: 'deferred', end: { type: 'deferred', failure }, steps: [], hears: { type: 'deferred', id: 'i1' } },
  ...(['replaced', 'merged', 'converted', 'superseded', 'rebased'] as const).map((type) => ({
    when: type,
    end: { type, by: 'i2' },
    steps: [{ type: 'follow', id: 'i1', by: 'i2' } as const],
    hears: { type: 'follow', id: 'i1', by: 'i2' },
  })),
  {
    when: 'dropped by a resolver',
    end: { type: 'dropped', reason: 'resolver' },
    steps: [
      { type: 'drop_pending', id: 'i1', origin: 'o1' },
      { type: 'refetch', resource },
    ],
    hears: { type: 'dropped', id: 'i1' },
  },
  {
    when: 'dropped by the table',
    end: { type: 'dropped', reason: 'table' },
    steps: [{ type: 'drop_pending', id: 'i1', origin: 'o1' }],
    hears: { type: 'dropped', id: 'i1' },
  },
  ...(['cancelled', 'discarded'] as const).map((type) => ({
    when: type,
    end: { type },
    steps: [{ type: 'drop_pending', id: 'i1', origin: 'o1' } as const],
    hears: { type, id: 'i1' },
  })),
];

describe('the page’s reaction', () => {
  test.each(TABLE)(
    '[D42] to $when ($kinds) and what the waiting caller hears',
    ({ end, kinds = KINDS, steps, hears }) => {
      for (const kind of kinds) expect(react(end, { kind })).toEqual(steps);
      expect(callerHears(outcome(end))).toEqual(hears);
    },
  );

  it('[D42] to an id this outbox does not know is to read again', () => {
    expect(reactionsToUnknownId(resource)).toEqual([{ type: 'refetch', resource }]);
  });

  it('[D42] has a line for every outcome', () => {
    const met = new Set(TABLE.map(({ end }) => reactionCase(outcome(end))));
    expect([...met, 'not_found'].toSorted()).toEqual(Object.keys(PAGE_REACTIONS).toSorted());
  });

  it('[D42] invalidates what the tags name, after what the receipt confirms', () => {
    const tags = ['2026-11-30', 'week 48'];
    expect(react({ type: 'committed', receipt }, { tags })).toEqual([
      confirm,
      { type: 'invalidate_tags', family: 'workout', tags },
      derived,
    ]);
  });

  it('[D42] confirms a creation under the id the receipt names, and says which line it was', () => {
    const pending = { type: 'pending', origin: 'o1' } as const;
    const created = receiptFixture(sentFixture({ kind: 'create' }), { target: 'srv-1', revision: 1 });
    expect(react({ type: 'committed', receipt: created }, { kind: 'create', target: pending })[0]).toEqual({
      type: 'confirm',
      resource: { family: 'workout', target: 'srv-1' },
      revision: 1,
      origin: 'o1',
    });
    expect(react({ type: 'unknown', rejection }, { kind: 'create', target: pending })[0]).toEqual({
      type: 'refetch',
      resource: { family: 'workout', target: undefined },
    });
  });

  it('[D42] reads again where a server without receipts says neither id nor revision', () => {
    const bare = { ...receipt, revision: 0, generation: 0 };
    expect(react({ type: 'committed', receipt: bare })).toEqual([{ type: 'refetch', resource }]);
  });

  it('[D44] refreshes derived data by its generation, and not at all for generation 0', () => {
    expect(react({ type: 'committed', receipt: { ...receipt, generation: 0 } }, { kind: 'put' })).toEqual([
      { type: 'invalidate', resource },
    ]);
    expect(react({ type: 'already_gone' }, { kind: 'delete' })).toEqual([{ type: 'drop', resource }]);
  });

  it('[D43] to another owner’s outcome is none, whatever arrives', () => {
    for (const { end } of TABLE) expect(react(end, { owner: 'ben' })).toEqual([]);
  });

  it('[D42] tells the person once per flush, last, and announces only what they had seen undone', () => {
    const ids = (n: number) => ({ id: `i${n}`, origin: `o${n}` });
    const steps = pageReactions(
      [
        outcome({ type: 'blocked', code: 'rejected' }, ids(1)),
        outcome({ type: 'committed', receipt, noticed: true }, ids(2)),
        outcome({ type: 'committed', receipt }, ids(3)),
        outcome({ type: 'unknown', rejection }, ids(4)),
        outcome({ type: 'committed', receipt, noticed: true }, ids(5)),
        outcome({ type: 'blocked', code: 'rejected' }, { ...ids(6), owner: 'ben' }),
      ],
      { owner: 'ann' },
    );
    expect(steps.slice(-2)).toEqual([
      { type: 'announce', ids: ['i2', 'i5'] },
      { type: 'notice', ids: ['i1', 'i4'] },
    ]);
    expect(steps.filter(({ type }) => type === 'announce' || type === 'notice')).toHaveLength(2);
    expect(steps.filter(({ type }) => type === 'badge')).toHaveLength(2);
  });

  it('[D42] takes the connection down only where the network stopped the flush', () => {
    expect(react({ type: 'deferred', failure }, {}, { stoppedBy: 'network' })).toEqual([
      { type: 'connection_down' },
    ]);
    for (const stoppedBy of ['auth', 'failures', 'rest', 'time', 'store'] as const)
      expect(react({ type: 'deferred', failure }, {}, { stoppedBy })).toEqual([]);
  });

  it('[D42] A65 to the late receipt of an older edit confirms its revision and touches no newer pending one', () => {
    const steps = react({ type: 'committed', receipt });
    expect(steps.map(({ type }) => type)).toEqual(['confirm', 'refresh_derived']);
    expect(JSON.stringify(steps)).not.toContain('body');
    expect(react({ type: 'blocked', code: 'rejected' }, { id: 'i2' })).toEqual([
      { type: 'badge', id: 'i2', code: 'rejected' },
      { type: 'notice', ids: ['i2'] },
    ]);
  });
});
