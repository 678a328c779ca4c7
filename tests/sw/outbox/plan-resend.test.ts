import { describe, expect, it } from 'vitest';
import { keyOf, type Row } from '../../../shared/row.ts';
import { planResend, type Resend } from '../../../sw/outbox/plan-resend.ts';
import { claimedBy, NOW } from '../../support/claim-context.ts';
import { receiptFor } from '../../support/receipt-for.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const before = rowFixture({
  id: 'u1',
  origin: 'o1',
  seq: 4,
  tags: ['monday'],
  noticed: true,
  successorOf: 'o0',
  overtakenBy: undefined,
  awaited: true,
});
const claimed: Row = { ...before, ...claimedBy('here', 2), deferredAt: 9 };
const attempt = { before, claimed };
const resend: Resend = { identity: { id: 'u1b', requestHash: 'h9' }, actual: 7, rounds: 0 };
const plan = (overrides: Partial<Resend> = {}, rows: readonly Row[] = [claimed]) =>
  planResend(attempt, { ...resend, ...overrides }, rows, NOW + 5);

function commitOf(planned: ReturnType<typeof planResend>) {
  if (planned.type !== 'commit') throw new Error(planned.type);
  return planned.commit;
}

describe('a resend', () => {
  it('[D31, C51] takes the original`s place in one strict commit, under a new id and hash', () => {
    const behind = rowFixture({ id: 'u2', seq: 6, successorOf: 'o1' });
    const commit = commitOf(plan({}, [claimed, behind]));
    expect(commit).toMatchObject({
      reason: 'resend',
      keys: [keyOf(claimed)],
      expected: [claimed, behind],
      remove: ['u1'],
      durability: 'strict',
    });
    expect(commit.write).toHaveLength(1);
    expect(commit.write[0]).toMatchObject({
      id: 'u1b',
      requestHash: 'h9',
      expectedRevision: 7,
      origin: 'o1',
      seq: 4,
      tags: ['monday'],
      noticed: true,
      successorOf: 'o0',
      awaited: true,
      bodyId: before.bodyId,
      replaces: ['u1'],
      conflict: { originalId: 'u1', expected: 1, actual: 7, at: NOW + 5, rounds: 1 },
    });
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'superseded', by: 'u1b', row: { id: 'u1' } });
  });

  it('[D31, R7] is a request nobody has seen', () => {
    const [row] = commitOf(plan()).write;
    expect(row).toMatchObject({ state: 'queued', doubt: false, evidence: { attemptCount: 0 } });
    for (const name of ['sentAt', 'deferredAt', 'claim', 'writer', 'notBefore'] as const)
      expect(row?.[name]).toBeUndefined();
    expect(row?.evidence.attempts?.at(-1)).toMatchObject({ end: 'superseded', code: 'conflict', fence: 2 });
  });

  it('[D30] carries the resolver`s body, stored with it', () => {
    const body = { bodyId: 'b9', body: { n: 2 }, bodyDigest: 'd9', bodySize: 3 };
    const commit = commitOf(plan({ body }));
    expect(commit.write[0]).toMatchObject({ bodyId: 'b9', bodyDigest: 'd9', bodySize: 3 });
    expect(commit.bodies).toEqual([{ bodyId: 'b9', body: { n: 2 } }]);
  });

  it('[D33] writes the summary of the conflict with it', () => {
    const facts = [{ name: ['conflicts', 'ann'], value: [] }] as const;
    expect(commitOf(plan({ facts })).facts).toBe(facts);
  });

  it('[D31] writes nothing when the claim is no longer ours or the row is gone', () => {
    expect(plan({}, [{ ...claimed, ...claimedBy('there', 3) }])).toEqual({
      type: 'nothing',
      reason: 'claim_lost',
    });
    expect(plan({}, [])).toEqual({ type: 'nothing', reason: 'gone' });
  });

  it('[D32] waits once its line has conflicted three times in a flush', () => {
    expect(plan({ rounds: 2 }).type).toBe('commit');
    expect(plan({ rounds: 3 })).toEqual({ type: 'storm' });
  });

  it('[C33] is not made for a row that a later one has overtaken', () => {
    expect(plan({}, [{ ...claimed, overtakenBy: 'o5' }])).toEqual({ type: 'overtaken' });
  });

  it('[D47] is not made for a row whose receipt is noted', () => {
    expect(plan({}, [{ ...claimed, receipt: receiptFor(claimed) }])).toEqual({ type: 'noted' });
  });
});
