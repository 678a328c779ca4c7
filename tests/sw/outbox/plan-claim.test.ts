import { describe, expect, it, test } from 'vitest';
import type { Row } from '../../../shared/row.ts';
import {
  attemptOf,
  type ClaimPlan,
  isClaimFresh,
  planClaim,
  planReclaim,
} from '../../../sw/outbox/plan-claim.ts';
import { claimContext, claimedBy, LEASE_MS, NOW } from '../../support/claim-context.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const DAY_MS = 86_400_000;
const context = claimContext();

function claimOf(plan: ClaimPlan) {
  if (plan.type !== 'claim') throw new Error(`Expected a claim, got ${JSON.stringify(plan)}`);
  return plan;
}

const blocked = (overrides: Partial<Row> = {}) =>
  rowFixture({ id: 'b1', state: 'blocked', blockedAt: 1, blockedCode: 'rejected', ...overrides });
const second = (overrides: Partial<Row> = {}) => rowFixture({ id: 'u2', seq: 2, ...overrides });

describe('claiming', () => {
  it('[C1] writes host, lease, fence, doubt, evidence and writer in one commit', () => {
    const row = rowFixture({ evidence: { attemptCount: 2, lastAttemptAt: 5, lastErrorCode: 'timeout' } });
    const plan = claimOf(planClaim([row], context));
    expect(plan.commit).toEqual({
      owner: 'ann',
      reason: 'claim',
      keys: [{ owner: 'ann', family: 'workout', target: row.target }],
      expected: [row],
      write: [
        {
          ...row,
          state: 'sending',
          sentAt: NOW,
          doubt: true,
          claim: { host: 'here', expiresAt: NOW + LEASE_MS, fence: 1 },
          evidence: { attemptCount: 3, lastAttemptAt: NOW, lastErrorCode: 'timeout', doubtSince: NOW },
          writer: { release: 'r2', at: NOW },
        },
      ],
      remove: [],
      outcomes: [],
      activeOwner: 'ann',
      durability: 'strict',
    });
  });

  it('[C1] takes the lease that the family declares', () => {
    const plan = claimOf(planClaim([rowFixture()], claimContext({ leaseMs: () => 60_000 })));
    expect(plan.commit.write[0]?.claim?.expiresAt).toBe(NOW + 60_000);
  });

  it('[C15] raises the fence that the row kept', () => {
    const row = rowFixture({ claim: { host: 'other', expiresAt: NOW - 1, fence: 4 } });
    expect(claimOf(planClaim([row], context)).commit.write[0]?.claim?.fence).toBe(5);
  });

  it('[S14] is strict only where it first puts the row in doubt', () => {
    expect(claimOf(planClaim([rowFixture()], context)).commit.durability).toBe('strict');
    const doubted = rowFixture({ doubt: true, evidence: { attemptCount: 1, doubtSince: 7 } });
    const again = claimOf(planClaim([doubted], context)).commit;
    expect(again.durability).toBe('relaxed');
    expect(again.write[0]?.evidence.doubtSince).toBe(7);
  });
});

describe('rows of a key', () => {
  test.each<{ when: string; rows: Row[]; plan: Partial<ClaimPlan> }>([
    { when: 'held', rows: [rowFixture({ state: 'held' })], plan: { type: 'skip', reason: 'held' } },
    { when: 'blocked', rows: [blocked()], plan: { type: 'skip', reason: 'blocked' } },
    {
      when: 'in flight elsewhere, until its lease ends',
      rows: [rowFixture(claimedBy('there'))],
      plan: { type: 'skip', reason: 'in_flight', host: 'there', until: NOW + LEASE_MS },
    },
    {
      when: 'sent by a writer without claims, until one lease after it was sent',
      rows: [rowFixture({ state: 'sending', sentAt: NOW - 4_000, doubt: undefined })],
      plan: { type: 'skip', reason: 'in_flight', host: undefined, until: NOW + 6_000 },
    },
    {
      when: 'an intent',
      rows: [rowFixture({ target: { type: 'pending', origin: 'c1' } })],
      plan: { type: 'skip', reason: 'intent' },
    },
    {
      when: 'waiting for other rows',
      rows: [rowFixture({ after: ['p1'] })],
      plan: { type: 'skip', reason: 'intent' },
    },
    {
      when: 'recovered without proof',
      rows: [
        rowFixture({
          recovery: { source: 'ledger', at: 1, generation: 1, proof: 'unverified' },
          doubt: true,
        }),
      ],
      plan: { type: 'skip', reason: 'unproven' },
    },
    {
      when: 'not to be sent before the server says so',
      rows: [rowFixture({ notBefore: { at: NOW + 5_000, by: 'server' } })],
      plan: { type: 'skip', reason: 'not_before', at: NOW + 5_000, by: 'server' },
    },
    {
      when: 'behind a later row that it waits for',
      rows: [rowFixture({ successorOf: 'u2' }), second()],
      plan: { type: 'skip', reason: 'predecessor' },
    },
    { when: 'gone', rows: [], plan: { type: 'skip', reason: 'no_rows' } },
  ])('[C30] skips a row that is $when', ({ rows, plan }) => {
    expect(planClaim(rows, context)).toMatchObject(plan);
  });

  it('[C30] accepts a row with a noted receipt instead of sending it, once nobody holds it', () => {
    const receipt = {
      id: 'r',
      requestHash: 'h',
      kind: 'k',
      target: 't',
      revision: 1,
      generation: 1,
      committedAt: 1,
    };
    expect(planClaim([rowFixture({ receipt })], context)).toMatchObject({ type: 'settle' });
    expect(planClaim([blocked({ gone: true }), second()], context)).toMatchObject({ type: 'settle' });
    expect(planClaim([rowFixture({ ...claimedBy('there'), receipt })], context)).toMatchObject({
      reason: 'in_flight',
    });
  });

  it('[C30] takes a predecessor that is blocked for no predecessor', () => {
    const rows = [blocked(), second({ successorOf: 'b1' })];
    expect(claimOf(planClaim(rows, context)).row.id).toBe('u2');
  });

  it('[R3] steps over a family that this release does not define', () => {
    const plan = planClaim([rowFixture()], claimContext({ isKnownFamily: () => false }));
    expect(plan).toMatchObject({ type: 'skip', reason: 'unknown_family' });
  });

  it('[C31] lets rows of one key leave one at a time and in order of seq, whatever order they came in', () => {
    const rows = [second(), rowFixture()];
    expect(claimOf(planClaim(rows, context)).row.seq).toBe(1);
    expect(planClaim([rowFixture(claimedBy('here')), second()], context)).toMatchObject({
      reason: 'in_flight',
    });
    expect(planClaim([rowFixture(), second(claimedBy('there'))], context)).toMatchObject({
      reason: 'in_flight',
    });
  });

  it('[C31] is held back by a head that is held or waits', () => {
    expect(planClaim([rowFixture({ state: 'held' }), second()], context)).toMatchObject({ reason: 'held' });
    const waits = rowFixture({ notBefore: { at: NOW + 1, by: 'engine' } });
    expect(planClaim([waits, second()], context)).toMatchObject({ reason: 'not_before' });
  });

  it('[C31] steps over a doubtful head only after the server said "none" in this flush', () => {
    const rows = [blocked({ doubt: true, blockedCode: 'receipt_missing' }), second()];
    const asks = claimContext({ canAsk: () => true });
    expect(planClaim(rows, asks)).toMatchObject({ type: 'ask', why: 'doubtful_head', row: { id: 'b1' } });
    const said = claimContext({ canAsk: () => true, saidNone: new Set(['b1']) });
    expect(claimOf(planClaim(rows, said)).row.id).toBe('u2');
  });

  it('[C31] steps over a doubtful head where nobody can be asked', () => {
    const rows = [blocked({ doubt: true }), second()];
    expect(claimOf(planClaim(rows, context)).row.id).toBe('u2');
  });

  it('[C31] asks nobody about a doubtful row that has nothing behind it', () => {
    expect(planClaim([blocked({ doubt: true })], claimContext({ canAsk: () => true }))).toMatchObject({
      reason: 'blocked',
    });
  });

  it('[C33] marks the blocked rows that it steps over in the commit of its claim, once', () => {
    const marked = blocked({ id: 'b0', seq: 0, overtakenBy: 'u0' });
    const rows = [marked, blocked(), second({ origin: 'o2' })];
    const { commit } = claimOf(planClaim(rows, context));
    expect(commit.write.map((row) => [row.id, row.overtakenBy])).toEqual([
      ['u2', undefined],
      ['b1', 'o2'],
    ]);
    expect(commit.write[1]).toEqual({ ...blocked(), overtakenBy: 'o2' });
  });

  it('[W61, C31] claims what stands before an urgent row first, so that order within the key stands', () => {
    const rows = [rowFixture(), second({ urgent: true })];
    expect(claimOf(planClaim(rows, context)).row.seq).toBe(1);
  });

  it('[R34] forgets, once it is sent again, that only a "none" had refused it', () => {
    const row = rowFixture({ lookupNone: true });
    expect(claimOf(planClaim([row], context)).commit.write[0]?.lookupNone).toBeUndefined();
  });

  it('[C32] is not kept by a blocked head', () => {
    expect(claimOf(planClaim([blocked(), second()], context)).row.id).toBe('u2');
  });
});

describe('clocks, waits and leases', () => {
  it('[C3, C42] takes a row over at the moment its lease ends, a fence higher and under the same id', () => {
    const row = rowFixture(claimedBy('there'));
    const early = planClaim([row], claimContext({ now: NOW + LEASE_MS - 1 }));
    const late = claimOf(planClaim([row], claimContext({ now: NOW + LEASE_MS })));
    expect(early.type).toBe('skip');
    expect(late.commit.write[0]).toMatchObject({
      id: row.id,
      requestHash: row.requestHash,
      claim: { host: 'here', fence: 2 },
    });
  });

  it('[C6] takes a row over at once where its host is known to be gone', () => {
    const row = rowFixture(claimedBy('there'));
    const plan = claimOf(planClaim([row], claimContext({ now: NOW + 1, goneHosts: new Set(['there']) })));
    expect(plan.commit.write[0]?.claim?.fence).toBe(2);
  });

  it('[C6] waits for the lease all the same where the server gives no receipts', () => {
    const row = rowFixture(claimedBy('there'));
    const gone = { now: NOW + 1, goneHosts: new Set(['there']), lacksReceipts: () => true };
    expect(planClaim([row], claimContext(gone))).toMatchObject({ reason: 'in_flight' });
  });

  it('[C6] leaves a gone host`s row alone where an older writer has sent it since', () => {
    const row = rowFixture({ ...claimedBy('there'), sentAt: NOW + 500 });
    const plan = planClaim([row], claimContext({ now: NOW + 600, goneHosts: new Set(['there']) }));
    expect(plan).toMatchObject({ reason: 'in_flight' });
  });

  test.each([
    {
      what: 'a lease further ahead than one lease',
      row: rowFixture({
        ...claimedBy('there'),
        sentAt: NOW + DAY_MS,
        claim: { host: 'there', expiresAt: NOW + DAY_MS, fence: 1 },
      }),
    },
    {
      what: 'a sentAt in the future',
      row: rowFixture({ state: 'sending', doubt: undefined, sentAt: NOW + 1 }),
    },
    {
      what: 'a wait further ahead than the longest one',
      row: rowFixture({ notBefore: { at: NOW + 3_600_001, by: 'server' } }),
    },
  ])('[C4] does not believe $what', ({ row }) => {
    expect(planClaim([row], context).type).toBe('claim');
  });

  it('[C4] does not believe a rest further ahead than the longest wait', () => {
    expect(planClaim([rowFixture()], claimContext({ restUntil: NOW + 3_600_001 })).type).toBe('claim');
    expect(planClaim([rowFixture()], claimContext({ restUntil: NOW + 1 }))).toMatchObject({
      type: 'skip',
      reason: 'rest',
      at: NOW + 1,
    });
  });

  it('[D3] respects the server`s wait always, its own only where nothing has changed', () => {
    const respects = claimContext({ waits: 'server' });
    const wait = (by: 'server' | 'engine') => [rowFixture({ notBefore: { at: NOW + 1, by } })];
    expect(planClaim(wait('engine'), respects).type).toBe('claim');
    expect(planClaim(wait('engine'), context).type).toBe('skip');
    expect(planClaim(wait('server'), respects).type).toBe('skip');
  });

  it('[C7] counts a claim as fresh while half of its lease is left, and a jumped clock as stale', () => {
    const attempt = { before: rowFixture(), claimed: rowFixture(claimedBy('here')) };
    expect(isClaimFresh(attempt, NOW + LEASE_MS / 2, LEASE_MS)).toBe(true);
    expect(isClaimFresh(attempt, NOW + LEASE_MS / 2 + 1, LEASE_MS)).toBe(false);
    expect(isClaimFresh(attempt, NOW - 1, LEASE_MS)).toBe(false);
  });

  it('[C7] claims anew, as the same attempt, what was claimed ahead too long ago', () => {
    const row = rowFixture();
    const plan = claimOf(planClaim([row], context));
    const claimed: Row = { ...row, ...plan.commit.write[0], seq: 1, version: 2 };
    const attempt = attemptOf(plan, claimed);
    const commit = planReclaim([claimed], attempt, claimContext({ now: NOW + 6_000 }));
    expect(commit?.write[0]).toMatchObject({
      claim: { fence: 2, expiresAt: NOW + 6_000 + LEASE_MS },
      evidence: { attemptCount: 1, lastAttemptAt: NOW + 6_000 },
    });
    const taken = { ...claimed, claim: { host: 'there', expiresAt: NOW, fence: 2 } };
    expect(planReclaim([taken], attempt, context)).toBeUndefined();
  });
});

describe('rows that are too late', () => {
  const late = (overrides: Partial<Row> = {}) => rowFixture({ expiresAt: NOW, ...overrides });

  it('[W62] blocks an expired row without doubt, with its outcome, in a guarded commit', () => {
    const plan = planClaim([late(), second()], context);
    if (plan.type !== 'block') throw new Error(plan.type);
    expect(plan.commit).toMatchObject({ reason: 'expire', activeOwner: 'ann' });
    expect(plan.commit.write).toMatchObject([{ state: 'blocked', blockedCode: 'expired', doubt: false }]);
    expect(plan.commit.outcomes[0]?.outcome).toMatchObject({ type: 'blocked', code: 'expired' });
  });

  it('[W62] asks for the receipt of an expired row in doubt, and blocks it after "none"', () => {
    const row = late({ doubt: true });
    const asks = claimContext({ canAsk: () => true });
    expect(planClaim([row], asks)).toMatchObject({ type: 'ask', why: 'expired' });
    const plan = planClaim([row], claimContext({ canAsk: () => true, saidNone: new Set([row.id]) }));
    if (plan.type !== 'block') throw new Error(plan.type);
    expect(plan.commit.write[0]).toMatchObject({ blockedCode: 'expired', doubt: false });
  });

  it('[W62] blocks an expired row in doubt as doubtful where nobody can be asked', () => {
    const plan = planClaim([late({ doubt: true })], context);
    if (plan.type !== 'block') throw new Error(plan.type);
    expect(plan.commit.write[0]).toMatchObject({ blockedCode: 'expired', doubt: true });
  });

  it('[W62] sends a row blocked as expired when a later clock shows that it is not', () => {
    const row = blocked({ blockedCode: 'expired', expiresAt: NOW + 1 });
    const plan = claimOf(planClaim([row], context));
    expect(plan.commit.write[0]).toMatchObject({ state: 'sending', blockedCode: undefined });
    expect(planClaim([row], claimContext({ now: NOW + 1 })).type).toBe('skip');
  });

  it('[W62] sends a row that has not expired', () => {
    expect(planClaim([late({ expiresAt: NOW + 1 })], context).type).toBe('claim');
  });

  it('[V1] blocks an attempted row that the server no longer remembers, doubtful', () => {
    const remembers = claimContext({ ledgerDays: () => 30 });
    const since = (doubtSince: number) =>
      rowFixture({ doubt: true, savedAt: NOW - 90 * DAY_MS, evidence: { attemptCount: 1, doubtSince } });
    const plan = planClaim([since(NOW - 30 * DAY_MS - 1)], remembers);
    if (plan.type !== 'block') throw new Error(plan.type);
    expect(plan.commit.write[0]).toMatchObject({ blockedCode: 'ledger_expired', doubt: true });
    expect(planClaim([since(NOW - 30 * DAY_MS)], remembers).type).toBe('claim');
    expect(planClaim([rowFixture({ savedAt: NOW - 90 * DAY_MS })], remembers).type).toBe('claim');
  });
});
