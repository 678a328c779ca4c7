import { describe, expect, it, test } from 'vitest';
import type { FailureNote } from '../../../shared/outcome.ts';
import { keyOf, type Row } from '../../../shared/row.ts';
import type { Attempt } from '../../../sw/outbox/attempt.ts';
import type { Material } from '../../../sw/outbox/material.ts';
import {
  type AcknowledgementPlan,
  type JudgedAnswer,
  planAcknowledgement,
  planGiveBack,
  planSettle,
} from '../../../sw/outbox/plan-acknowledgement.ts';
import type { Commit } from '../../../sw/outbox/row-store.ts';
import { claimedBy, LEASE_MS, NOW } from '../../support/claim-context.ts';
import { receiptFor } from '../../support/receipt-for.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const LATER = NOW + 3_000;
const context = { now: LATER, leaseMs: () => LEASE_MS, foldsBodies: () => false };

function attemptFixture(before: Row = rowFixture()): Attempt {
  return { before, claimed: { ...before, ...claimedBy('here'), version: 2 } };
}
const materialOf = (...rows: Row[]): Material => ({
  keys: rows.slice(0, 1).map(keyOf),
  rows,
});
function plan(answer: JudgedAnswer, attempt = attemptFixture(), ...rows: Row[]) {
  const stored = rows.length > 0 ? rows : [attempt.claimed];
  return planAcknowledgement(attempt, answer, materialOf(...stored), context);
}
function commitOf(planned: AcknowledgementPlan | undefined): Commit {
  if (planned?.type !== 'commit') throw new Error(`Expected a commit, got ${JSON.stringify(planned)}`);
  return planned.commit;
}

const failure: FailureNote = { class: 'transient', code: 'http_503', status: 503 };
const accepted = (row: Row): JudgedAnswer => ({ type: 'accepted', receipt: receiptFor(row) });
const transient: JudgedAnswer = { type: 'transient', failure, applied: 'maybe' };
const signedOut: JudgedAnswer = { type: 'signed_out', failure, applied: 'not_this_attempt' };
const refused: JudgedAnswer = {
  type: 'refused',
  code: 'rejected',
  failure: { ...failure, class: 'permanent' },
  applied: 'not_this_attempt',
};
const expired = { host: 'here', expiresAt: LATER, fence: 1 };

describe('an answer under its own claim', () => {
  it('[C11] removes an accepted row and tells its receipt in the same commit', () => {
    const attempt = attemptFixture();
    const { claimed } = attempt;
    const facts = [{ name: ['adopted', 'ann'], value: 1 }] as const;
    const planned = plan({ ...accepted(claimed), facts }, attempt);
    expect(commitOf(planned)).toEqual({
      owner: 'ann',
      reason: 'acknowledge',
      keys: [keyOf(claimed)],
      expected: [claimed],
      write: [],
      remove: [claimed.id],
      outcomes: [
        {
          requestHash: 'h1',
          outcome: {
            type: 'committed',
            receipt: receiptFor(claimed),
            row: expect.objectContaining({ id: claimed.id, seq: 1, kind: 'update' }),
          },
        },
      ],
      facts,
      durability: 'relaxed',
    });
  });

  it('[C11, D40] tells what a page needs to know of an acceptance, and no more', () => {
    const row = rowFixture({
      noticed: true,
      conflict: { originalId: 'x', at: 1 },
      recovery: { source: 'ledger', at: 1, generation: 1, proof: 'agreed' },
    });
    const attempt = attemptFixture(row);
    const planned = plan(
      { type: 'accepted', receipt: receiptFor(attempt.claimed), duplicate: true },
      attempt,
    );
    expect(commitOf(planned).outcomes[0]?.outcome).toMatchObject({
      type: 'committed',
      duplicate: true,
      resolvedConflict: true,
      noticed: true,
      recovered: true,
    });
  });

  it('[C11] removes a row that is already gone', () => {
    const commit = commitOf(plan({ type: 'already_gone' }));
    expect(commit.remove).toEqual([rowFixture().id]);
    expect(commit.outcomes[0]?.outcome.type).toBe('already_gone');
  });

  it('[C12] returns a row after a transient failure, with its evidence and its wait', () => {
    const notBefore = { at: LATER + 2_000, by: 'engine' } as const;
    const planned = plan({ type: 'transient', failure, applied: 'maybe', notBefore });
    const [row] = commitOf(planned).write;
    expect(row).toMatchObject({
      state: 'queued',
      deferredAt: LATER,
      doubt: true,
      claim: expired,
      notBefore,
      evidence: { attemptCount: 1, lastErrorCode: 'http_503' },
    });
    expect(row?.sentAt).toBeUndefined();
    expect(row?.evidence.attempts).toEqual([
      { at: LATER, host: 'here', fence: 1, end: 'deferred', code: 'http_503' },
    ]);
    expect(commitOf(planned).outcomes).toEqual([]);
    expect(planned).toMatchObject({ outcomes: [{ type: 'deferred', failure }] });
  });

  it('[C13] holds a row when signed out, and says so without a journal entry', () => {
    const planned = plan(signedOut);
    const [row] = commitOf(planned).write;
    expect(row).toMatchObject({ state: 'held', heldAt: LATER, doubt: false, claim: expired });
    expect(row?.sentAt).toBeUndefined();
    expect(commitOf(planned).outcomes).toEqual([]);
    expect(planned).toMatchObject({ outcomes: [{ type: 'held' }] });
  });

  it('[C14] blocks a refused row with its code, content intact', () => {
    const commit = commitOf(plan(refused));
    expect(commit.write[0]).toMatchObject({
      state: 'blocked',
      blockedAt: LATER,
      blockedCode: 'rejected',
      doubt: false,
      claim: expired,
      noticed: true,
      bodyId: rowFixture().bodyId,
    });
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'blocked', code: 'rejected' });
  });

  it('[C14, D28] blocks a row without a matching receipt as doubtful, and calls its result unknown', () => {
    const rejection = { code: 'receipt_mismatch', field: 'id' } as const;
    const commit = commitOf(plan({ type: 'refused', code: 'receipt_mismatch', rejection, applied: 'maybe' }));
    expect(commit.write[0]).toMatchObject({ state: 'blocked', blockedCode: 'receipt_mismatch', doubt: true });
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'unknown', rejection });
  });

  it('[D30] removes a row that the resolver drops, and says so', () => {
    const commit = commitOf(plan({ type: 'dropped' }));
    expect(commit.remove).toHaveLength(1);
    expect(commit.outcomes[0]?.outcome).toMatchObject({ type: 'dropped', reason: 'resolver' });
  });

  test.each([
    { before: false, applied: 'maybe', after: true },
    { before: true, applied: 'maybe', after: true },
    { before: false, applied: 'not_this_attempt', after: false },
    { before: true, applied: 'not_this_attempt', after: true },
    { before: true, applied: 'never', after: false },
  ] as const)(
    '[R7] leaves doubt $after where it was $before and the answer proves $applied',
    ({ before, applied, after }) => {
      const doubtSince = before ? 7 : undefined;
      const attempt = attemptFixture(
        rowFixture({ doubt: before, evidence: { attemptCount: 1, doubtSince } }),
      );
      const [row] = commitOf(plan({ type: 'transient', failure, applied }, attempt)).write;
      expect(row?.doubt).toBe(after);
      expect(row?.evidence.doubtSince === undefined).toBe(!after);
    },
  );

  it('[W19] keeps the last eight attempts only', () => {
    let row = rowFixture();
    for (let n = 0; n < 10; n++) {
      const attempt = {
        before: row,
        claimed: { ...row, ...claimedBy('here', n + 1), evidence: row.evidence },
      };
      const [next] = commitOf(plan(transient, attempt)).write;
      row = { ...row, ...next, seq: 1, version: n };
    }
    expect(row.evidence.attempts?.map((note) => note.fence)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

describe('an answer that finds another claim', () => {
  const attempt = attemptFixture();
  const row = attempt.claimed;
  const cases = [
    { when: 'another host holds the row', now: { ...row, ...claimedBy('there', 2) } },
    { when: 'the same host holds it under a newer fence', now: { ...row, ...claimedBy('here', 2) } },
    // A power cut may take a relaxed claim back, and its number with it (S14).
    { when: 'another host holds it under the same fence', now: { ...row, ...claimedBy('there', 1) } },
    {
      when: 'the row was given back with its fence kept',
      now: { ...row, state: 'queued', claim: { host: 'there', expiresAt: NOW, fence: 2 } },
    },
    { when: 'the row is blocked since', now: { ...row, state: 'blocked', claim: { ...expired, fence: 2 } } },
  ] as const satisfies readonly { when: string; now: Row }[];

  test.each(
    cases.flatMap(({ when, now }) =>
      [
        { end: 'a transient failure', answer: transient },
        { end: 'a sign-out', answer: signedOut },
        { end: 'a refusal', answer: refused },
        { end: 'a drop', answer: { type: 'dropped' } as const },
      ].map((late) => ({ when, now, ...late })),
    ),
  )('[C10, C12, C13, C14] does nothing on $end when $when', ({ now, answer }) => {
    expect(plan(answer, attempt, now)).toEqual({ type: 'nothing', reason: 'claim_lost' });
  });

  test.each(cases)('[C11] notes a receipt on the row and tells it, nothing else, when $when', ({ now }) => {
    const receipt = receiptFor(row);
    const commit = commitOf(plan({ type: 'accepted', receipt }, attempt, now));
    expect(commit).toMatchObject({ reason: 'note_receipt', remove: [], write: [{ ...now, receipt }] });
    expect(commit.outcomes[0]?.outcome.type).toBe('committed');
  });

  it('[C11] notes that a row is already gone', () => {
    const now = { ...row, ...claimedBy('there', 2) };
    const commit = commitOf(plan({ type: 'already_gone' }, attempt, now));
    expect(commit.write).toEqual([{ ...now, gone: true }]);
    expect(commit.outcomes[0]?.outcome.type).toBe('already_gone');
  });

  it('[C11] reports a receipt once: a second late answer changes nothing', () => {
    const now = { ...row, ...claimedBy('there', 2), receipt: receiptFor(row) };
    expect(plan(accepted(row), attempt, now)).toEqual({ type: 'nothing', reason: 'noted_already' });
  });

  it('[C16] brings nothing back when the row is gone', () => {
    for (const answer of [accepted(row), transient, refused, signedOut])
      expect(planAcknowledgement(attempt, answer, { keys: [keyOf(row)], rows: [] }, context)).toEqual({
        type: 'nothing',
        reason: 'gone',
      });
  });
});

describe('a noted receipt', () => {
  const receipt = receiptFor(rowFixture());
  const attempt = attemptFixture();
  const noted: Row = { ...attempt.claimed, receipt };

  test.each([
    { name: 'a transient failure', answer: transient },
    { name: 'a sign-out', answer: signedOut },
    { name: 'a refusal', answer: refused },
    { name: 'its own receipt', answer: accepted(rowFixture()) },
  ])('[D47, C11] removes its row as accepted on $name, and tells nothing again', ({ answer }) => {
    const commit = commitOf(plan(answer, attempt, noted));
    expect(commit.remove).toEqual([noted.id]);
    expect(commit.write).toEqual([]);
    expect(commit.outcomes).toEqual([]);
    expect(commit.ids).toEqual([
      {
        id: noted.id,
        key: ['ann', 'workout', 'id', 'w1'],
        requestHash: 'h1',
        origin: noted.origin,
        end: 'committed',
      },
    ]);
  });

  it.each([
    { name: 'a rest of the sender', answer: transient },
    { name: 'a sign-out', answer: signedOut },
  ])('[D3, D5, D47] keeps nothing back of what $name says beside the row', ({ answer }) => {
    const facts = [{ name: ['rest', 'ann'], value: { at: 1 } }] as const;
    expect(commitOf(plan({ ...answer, facts }, attempt, noted)).facts).toEqual(facts);
  });

  it('[C11] removes its row as accepted in the next flush', () => {
    const commit = commitOf(planSettle(noted.id, materialOf(noted), context));
    expect(commit).toMatchObject({ reason: 'settle', remove: [noted.id], outcomes: [] });
    expect(planSettle(noted.id, materialOf(attempt.claimed), context)).toBeUndefined();
  });
});

describe('a row that only a "none" has refused', () => {
  const attempt = attemptFixture(rowFixture({ lookupNone: true }));
  const sent = { ...attempt, claimed: { ...attempt.claimed, lookupNone: undefined } };
  const throttled: JudgedAnswer = { type: 'transient', failure, applied: 'not_this_attempt' };

  it.each([
    { when: 'it was not applied this time', answer: throttled, is: true },
    { when: 'it left without credentials', answer: signedOut, is: true },
    { when: 'nobody knows whether it was applied', answer: transient, is: undefined },
    { when: 'the server has refused it itself', answer: refused, is: undefined },
  ])('[R34, R7] is $is still that when $when', ({ answer, is }) => {
    const { write } = commitOf(plan(answer, sent, sent.claimed));
    expect(write[0]?.lookupNone).toBe(is);
  });
});

describe('a claim that never left', () => {
  it('[C8] is given back as it was before, its claim expired and its fence kept', () => {
    const before = rowFixture({
      doubt: true,
      deferredAt: 5,
      lookupNone: true,
      notBefore: { at: NOW, by: 'engine' },
      evidence: { attemptCount: 3, lastAttemptAt: 4, doubtSince: 3 },
      claim: { host: 'old', expiresAt: 9, fence: 6 },
    });
    const attempt = {
      before,
      claimed: { ...before, ...claimedBy('here', 7), notBefore: undefined, lookupNone: undefined },
    };
    const commit = planGiveBack([attempt.claimed], attempt, LATER);
    expect(commit).toMatchObject({ reason: 'give_back', remove: [], outcomes: [] });
    const [row] = commit?.write ?? [];
    expect(row).toMatchObject({
      state: 'queued',
      doubt: true,
      deferredAt: 5,
      lookupNone: true,
      notBefore: before.notBefore,
      evidence: before.evidence,
      claim: { host: 'here', expiresAt: LATER, fence: 7 },
    });
    expect(row?.sentAt).toBeUndefined();
  });

  it('[C8] is not given back once another host holds it', () => {
    const attempt = attemptFixture();
    expect(planGiveBack([{ ...attempt.claimed, ...claimedBy('there', 2) }], attempt, LATER)).toBeUndefined();
    expect(planGiveBack([], attempt, LATER)).toBeUndefined();
  });

  it('[C33] leaves the marks on rows that its claim stepped over', () => {
    const attempt = attemptFixture();
    const passed = rowFixture({ id: 'b1', seq: 0, state: 'blocked', overtakenBy: attempt.claimed.origin });
    const commit = planGiveBack([passed, attempt.claimed], attempt, LATER);
    expect(commit?.write.map((row) => row.id)).toEqual([attempt.claimed.id]);
  });
});

describe('a refused creation', () => {
  const target = { type: 'pending', origin: 'c1' } as const;
  const creation = rowFixture({ id: 'c1', kind: 'create', target, expectedRevision: undefined });
  const attempt = attemptFixture(creation);
  const edit = rowFixture({ id: 'i1', seq: 2, target, successorOf: 'c1' });
  const removal = rowFixture({ id: 'i2', seq: 3, kind: 'delete', target, successorOf: 'c1' });

  it('[C14, R24] is dropped with its intents when a delete waits behind it', () => {
    const commit = commitOf(plan(refused, attempt, attempt.claimed, edit, removal));
    expect(commit.remove).toEqual(['c1', 'i1', 'i2']);
    expect(commit.write).toEqual([]);
    expect(commit.outcomes.map(({ outcome }) => outcome.type)).toEqual(['dropped', 'dropped', 'dropped']);
  });

  it('[C14] is blocked and keeps the edits behind it, for the person to recover or discard them together', () => {
    const commit = commitOf(plan(refused, attempt, attempt.claimed, edit));
    expect(commit.remove).toEqual([]);
    expect(commit.write.map((row) => row.id)).toEqual(['c1']);
  });

  it('[C14] stays, with the delete behind it, while it may have been applied', () => {
    const unsure: JudgedAnswer = { type: 'refused', code: 'key_reused', applied: 'maybe' };
    const commit = commitOf(plan(unsure, attempt, attempt.claimed, removal));
    expect(commit.remove).toEqual([]);
    expect(commit.write[0]).toMatchObject({ id: 'c1', state: 'blocked', doubt: true });
  });
});
