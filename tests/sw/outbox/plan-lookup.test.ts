import { describe, expect, it, test } from 'vitest';
import { keyOf, type Row } from '../../../shared/row.ts';
import type { Material, PreparedRequest } from '../../../sw/outbox/material.ts';
import type { AcknowledgementPlan } from '../../../sw/outbox/plan-acknowledgement.ts';
import {
  type AskingContext,
  type AskingPlan,
  type OwnWord,
  type PredecessorEnd,
  planAsking,
  planIntentWord,
  planOwnWord,
} from '../../../sw/outbox/plan-lookup.ts';
import { claimedBy, LEASE_MS, NOW } from '../../support/claim-context.ts';
import { receiptFor } from '../../support/receipt-for.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const AGAIN = NOW + 60_000;
const context = { now: NOW, leaseMs: () => LEASE_MS, foldsBodies: () => false };
const asking: AskingContext = { ...context, longestWaitMs: 3_600_000, canAsk: () => true, waits: 'all' };

const old = { attemptCount: 1, lastAttemptAt: NOW - LEASE_MS, doubtSince: 5 };
const doubtful = (overrides: Partial<Row> = {}) =>
  rowFixture({ state: 'blocked', blockedCode: 'receipt_missing', doubt: true, evidence: old, ...overrides });
const unverified = (overrides: Partial<Row> = {}) =>
  doubtful({
    blockedCode: 'recovery_receipt_unknown',
    recovery: { source: 'ledger', at: 1, generation: 1, proof: 'unverified' },
    ...overrides,
  });
const intent = (overrides: Partial<Row> = {}) =>
  rowFixture({
    id: 'i1',
    origin: 'o1',
    target: { type: 'pending', origin: 'c1' },
    successorOf: 'c1',
    orphanedAt: 3,
    ...overrides,
  });

function commitOf(plan: AcknowledgementPlan) {
  if (plan.type !== 'commit') throw new Error(JSON.stringify(plan));
  return plan.commit;
}
const materialOf = (...rows: Row[]): Material => ({ keys: rows.slice(0, 1).map(keyOf), rows });

describe('what a flush does with a row that needs the server`s word', () => {
  test.each<{ what: string; row: Row; plan: Partial<AskingPlan>; how?: Partial<AskingContext> }>([
    {
      what: '[C11] accepts one whose receipt is noted',
      row: rowFixture({ receipt: receiptFor(rowFixture()) }),
      plan: { type: 'settle' },
    },
    {
      what: '[C11] leaves a noted one to its holder while it is in flight',
      row: rowFixture({ ...claimedBy('there'), receipt: receiptFor(rowFixture()) }),
      plan: { type: 'wait', until: NOW + LEASE_MS },
    },
    { what: '[R34] asks about a doubtful one', row: doubtful(), plan: { type: 'ask' } },
    {
      what: '[R34] waits a lease after the last attempt, when "none" begins to count',
      row: doubtful({ evidence: { ...old, lastAttemptAt: NOW - 1 } }),
      plan: { type: 'wait', until: NOW - 1 + LEASE_MS },
    },
    {
      what: '[C4] does not wait for a last attempt in the future',
      row: doubtful({ evidence: { ...old, lastAttemptAt: NOW + 1 } }),
      plan: { type: 'ask' },
    },
    {
      what: '[C23] leaves a doubtful one where nobody can be asked',
      row: doubtful(),
      plan: { type: 'wait' },
      how: { canAsk: () => false },
    },
    {
      what: '[C23] asks again only after the engine`s wait',
      row: doubtful({ notBefore: { at: NOW + 1, by: 'engine' } }),
      plan: { type: 'wait', until: NOW + 1 },
    },
    {
      what: '[D3] asks before the engine`s wait is over when the person says flush',
      row: doubtful({ notBefore: { at: NOW + 1, by: 'engine' } }),
      plan: { type: 'ask' },
      how: { waits: 'server' },
    },
    { what: '[S37] asks about one that is unverified', row: unverified(), plan: { type: 'ask' } },
    {
      what: '[S37] leaves one to the person whose "none" was heard',
      row: unverified({
        doubt: false,
        recovery: { source: 'ledger', at: 1, generation: 1, proof: 'asked' },
      }),
      plan: { type: 'wait' },
    },
    {
      what: '[W62] claims an expired one that a later clock frees',
      row: doubtful({ doubt: false, blockedCode: 'expired', expiresAt: NOW + 1 }),
      plan: { type: 'claim' },
    },
    {
      what: '[W62] leaves an expired one',
      row: doubtful({ doubt: false, blockedCode: 'expired', expiresAt: NOW }),
      plan: { type: 'wait' },
    },
    {
      what: '[C23] asks for what an intent waits for',
      row: intent(),
      plan: { type: 'ask_predecessors', origins: ['c1'] },
    },
    {
      what: '[W60] asks for everything that a dependant waits for',
      row: intent({ kind: 'create', target: { type: 'pending', origin: 'o1' }, after: ['p1', 'p2'] }),
      plan: { type: 'ask_predecessors', origins: ['p1', 'p2'] },
    },
    {
      what: '[C22] leaves an intent that could not be prepared',
      row: intent({ state: 'blocked', blockedCode: 'successor_unprepared' }),
      plan: { type: 'wait' },
    },
  ])('$what', ({ row, plan, how }) => {
    expect(planAsking(row, { ...asking, ...how })).toEqual(plan);
  });
});

describe('the server`s word on a row', () => {
  const hear = (row: Row, word: OwnWord, ...others: Row[]) =>
    planOwnWord(row.id, word, AGAIN, materialOf(row, ...others), context);
  const none: OwnWord = { type: 'none' };

  it('[S37, R34] accepts it on its receipt, as recovered where it was', () => {
    const row = unverified();
    const commit = commitOf(hear(row, { type: 'receipt', receipt: receiptFor(row) }));
    expect(commit).toMatchObject({ reason: 'settle', remove: [row.id] });
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'committed', recovered: true });
  });

  it('[C11] notes its receipt where somebody sends it meanwhile', () => {
    const row = rowFixture(claimedBy('there'));
    const receipt = receiptFor(row);
    expect(commitOf(hear(row, { type: 'receipt', receipt }))).toMatchObject({
      reason: 'note_receipt',
      write: [{ receipt, state: 'sending' }],
      remove: [],
    });
    expect(hear(row, none).type).toBe('nothing');
  });

  it('[R7, R34] clears the doubt of a doubtful one on "none", and remembers that only this refused it', () => {
    const [row] = commitOf(hear(doubtful(), none)).write;
    expect(row).toMatchObject({ state: 'blocked', doubt: false, lookupNone: true });
    expect(row?.evidence.doubtSince).toBeUndefined();
  });

  test.each([
    {
      when: 'within a lease of the last attempt',
      row: doubtful({ evidence: { ...old, lastAttemptAt: NOW - 1 } }),
    },
    { when: 'the ledger may have forgotten the key', row: doubtful({ blockedCode: 'ledger_expired' }) },
  ])('[R34, V1] takes "none" for no answer when $when', ({ row }) => {
    expect(commitOf(hear(row, none)).write).toEqual([{ ...row, notBefore: { at: AGAIN, by: 'engine' } }]);
  });

  it('[D45] takes a proven refusal for one, without doubt', () => {
    const commit = commitOf(hear(doubtful(), { type: 'refused', code: 'rejected' }));
    expect(commit.write[0]).toMatchObject({ state: 'blocked', blockedCode: 'rejected', doubt: false });
    expect(commit.outcomes[0]?.outcome.type).toBe('blocked');
  });

  it('[S37] returns an unverified one to the queue on "none", with its content and where it came from', () => {
    const row = unverified();
    const [written] = commitOf(hear(row, none)).write;
    expect(written).toMatchObject({
      state: 'queued',
      doubt: false,
      bodyId: row.bodyId,
      recovery: { ...row.recovery, proof: 'asked' },
    });
    expect(written?.blockedCode).toBeUndefined();
  });

  test.each([
    { what: 'an intent', row: unverified({ target: { type: 'pending', origin: 'c1' } }), others: [] },
    { what: 'a row beside a younger one', row: unverified(), others: [rowFixture({ id: 'y', seq: 2 })] },
  ])('[S37] leaves $what to the person on "none"', ({ row, others }) => {
    expect(commitOf(hear(row, none, ...others)).write[0]).toMatchObject({
      state: 'blocked',
      blockedCode: 'recovery_receipt_unknown',
      doubt: false,
    });
  });

  it('[C16] changes nothing for a row that is gone or accepted meanwhile', () => {
    const row = doubtful();
    expect(planOwnWord(row.id, none, AGAIN, { keys: [keyOf(row)], rows: [] }, context).type).toBe('nothing');
    expect(hear({ ...row, receipt: receiptFor(row) }, none).type).toBe('nothing');
  });
});

describe('an intent whose creation is not stored', () => {
  const hear = (row: Row, end: PredecessorEnd['type'], more: Partial<Material> = {}) => {
    const word: PredecessorEnd =
      end === 'receipt' ? { type: end, receipt: receiptFor(rowFixture({ id: 'c1' })) } : { type: end };
    const origins = row.target.type === 'pending' ? [row.target.origin] : [];
    const material = { ...materialOf(row), ...more };
    return planIntentWord(row.id, new Map(origins.map((origin) => [origin, word])), AGAIN, material, context);
  };

  it('[C23, C50] is converted from the creation`s receipt', () => {
    const row = intent();
    expect(hear(row, 'receipt')).toMatchObject({ type: 'needs', prepare: [{ id: 'i1' }] });
    const target = { type: 'id', id: 'srv-1' } as const;
    const request: PreparedRequest = { id: 'p1', requestHash: 'hp', target };
    const keys = [keyOf(row), { ...keyOf(row), target }];
    const prepared = new Map([['i1', { type: 'prepared', request } as const]]);
    expect(hear(row, 'receipt', { prepared })).toMatchObject({ type: 'needs', keys: [keys[1]] });
    const commit = commitOf(hear(row, 'receipt', { keys, prepared }));
    expect(commit).toMatchObject({ reason: 'convert', keys, remove: ['i1'], write: [{ id: 'p1', target }] });
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'converted', by: 'p1' });
  });

  test.each(['none', 'no_port'] as const)('[C23, C50] is kept, blocked, on %s', (end) => {
    const commit = commitOf(hear(intent(), end));
    expect(commit.write[0]).toMatchObject({
      id: 'i1',
      state: 'blocked',
      blockedCode: 'predecessor_receipt_unknown',
      notBefore: { at: AGAIN, by: 'engine' },
    });
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'blocked' });
  });

  it('[C23] tells that it is blocked once, however often it is asked about', () => {
    const blocked = intent({ state: 'blocked', blockedCode: 'predecessor_receipt_unknown', blockedAt: 9 });
    const commit = commitOf(hear(blocked, 'none'));
    expect(commit.outcomes).toEqual([]);
    expect(commit.write[0]).toMatchObject({ blockedAt: 9, notBefore: { at: AGAIN } });
  });

  it('[C23] stays as it is when nobody answered', () => {
    expect(hear(intent(), 'no_answer')).toEqual({ type: 'nothing', reason: 'unanswered' });
  });

  it('[C23] is dropped when it is a delete and the creation never was', () => {
    const commit = commitOf(hear(intent({ kind: 'delete' }), 'none'));
    expect(commit).toMatchObject({ remove: ['i1'], write: [] });
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'dropped', reason: 'table' });
  });

  it('[C23, S38] is kept, blocked, when it is a delete that came back after a loss: its creation may have another id', () => {
    const recovery = { source: 'ledger', at: 1, generation: 1, proof: 'agreed' } as const;
    const commit = commitOf(hear(intent({ kind: 'delete', recovery }), 'none'));
    expect(commit).toMatchObject({
      remove: [],
      write: [{ state: 'blocked', blockedCode: 'predecessor_receipt_unknown' }],
    });
  });

  it('[C23] is blocked when it is a delete that nobody can be asked about', () => {
    expect(commitOf(hear(intent({ kind: 'delete' }), 'no_port')).write[0]).toMatchObject({
      blockedCode: 'predecessor_receipt_unknown',
    });
  });
});

it('[C14, D45, R24] a creation that was refused for good is dropped with its intents where a delete waits behind it', () => {
  const target = { type: 'pending', origin: 'c1' } as const;
  const creation = doubtful({ id: 'c1', origin: 'c1', kind: 'create', target, seq: 1 });
  const removal = intent({ kind: 'delete', orphanedAt: undefined, seq: 2 });
  const word = { type: 'refused', code: 'rejected' } as const;
  const commit = commitOf(planOwnWord('c1', word, AGAIN, materialOf(creation, removal), context));
  expect(commit).toMatchObject({ remove: ['c1', 'i1'], write: [] });
  expect(commit.outcomes.map(({ outcome }) => outcome.type)).toEqual(['dropped', 'dropped']);
});
