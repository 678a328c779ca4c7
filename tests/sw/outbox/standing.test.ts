import { expect, it, test } from 'vitest';
import type { Row } from '../../../shared/row.ts';
import { isInDoubt, isInFlight, laneOf, standingOf } from '../../../sw/outbox/standing.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const now = 100_000;
const context = { now, leaseMs: () => 10_000 };
const writer = { release: '1', at: 1 };
const claim = { host: 'a', expiresAt: now + 5_000, fence: 1 };
const sending: Partial<Row> = { state: 'sending', sentAt: now - 5_000 };
const deferred = (at: number) => ({
  attemptCount: 1,
  attempts: [{ at, host: 'a', fence: 1, end: 'deferred' }],
});

test.each([
  { when: 'claimed by a living host', row: rowFixture({ ...sending, writer, claim }), inFlight: true },
  {
    when: 'claimed but expired',
    row: rowFixture({ ...sending, sentAt: now - 10_001, writer, claim: { ...claim, expiresAt: now - 1 } }),
    inFlight: false,
  },
  { when: 'sent by a writer without claims within the lease', row: rowFixture(sending), inFlight: true },
  {
    when: 'sent by a writer without claims a lease ago',
    row: rowFixture({ ...sending, sentAt: now - 10_000 }),
    inFlight: false,
  },
  { when: 'given back', row: rowFixture({ writer, claim: { ...claim, expiresAt: now } }), inFlight: false },
  {
    when: 'sent again by a writer without claims after a claim ended',
    row: rowFixture({ ...sending, sentAt: now - 1, writer, claim: { ...claim, expiresAt: now - 5_000 } }),
    inFlight: true,
  },
])('[C3] a row that is $when: in flight $inFlight', ({ row, inFlight }) => {
  expect(isInFlight(row, context)).toBe(inFlight);
});

test.each([
  {
    when: 'whose lease ends further ahead than one lease',
    row: rowFixture({ ...sending, sentAt: now + 1, writer, claim: { ...claim, expiresAt: now + 10_001 } }),
  },
  { when: 'sent in the future', row: rowFixture({ ...sending, sentAt: now + 1 }) },
])('[C4] does not believe a row $when', ({ row }) => {
  expect(isInFlight(row, context)).toBe(false);
});

it('[C6] a row whose holder is gone is not in flight for sending, but its result stays unknown', () => {
  const row = rowFixture({ ...sending, doubt: true, writer, claim });
  expect(isInFlight(row, { ...context, goneHosts: new Set(['a']) })).toBe(false);
  expect(standingOf(row, { ...context, goneHosts: new Set(['a']) })).toBe('in_doubt');
  const sentLater = rowFixture({ ...sending, sentAt: now - 1, doubt: true, writer, claim });
  expect(isInFlight(sentLater, { ...context, goneHosts: new Set(['a']) })).toBe(true);
});

test.each([
  { row: rowFixture(), standing: 'unsent' },
  { row: rowFixture({ state: 'held', doubt: false }), standing: 'unsent' },
  { row: rowFixture({ state: 'blocked', doubt: false }), standing: 'refused' },
  { row: rowFixture({ state: 'blocked', doubt: true }), standing: 'doubtful' },
  { row: rowFixture({ doubt: true }), standing: 'in_doubt' },
  { row: rowFixture({ doubt: undefined, deferredAt: 5 }), standing: 'in_doubt' },
  { row: rowFixture({ doubt: undefined, sentAt: 5 }), standing: 'in_doubt' },
  { row: rowFixture({ ...sending, writer, claim, doubt: true }), standing: 'in_flight' },
  // A release that knows no `doubt` took up rows of this one, and left the field as it was (R2).
  { row: rowFixture({ ...sending, doubt: false, sentAt: 0 }), standing: 'in_doubt' },
  { row: rowFixture({ doubt: false, deferredAt: 5 }), standing: 'in_doubt' },
  { row: rowFixture({ doubt: false, deferredAt: 5, evidence: deferred(5) }), standing: 'unsent' },
  { row: rowFixture({ doubt: false, deferredAt: 7, evidence: deferred(5) }), standing: 'in_doubt' },
])('[R7] names the standing $standing', ({ row, standing }) => {
  expect(standingOf(row, context)).toBe(standing);
  expect(isInDoubt(rowFixture({ doubt: undefined }))).toBe(false);
});

test.each([
  { row: rowFixture(), lane: 'ready' },
  { row: rowFixture(sending), lane: 'ready' },
  { row: rowFixture({ state: 'held' }), lane: 'held' },
  { row: rowFixture({ state: 'blocked', blockedCode: 'rejected' }), lane: 'blocked' },
  { row: rowFixture({ state: 'blocked', blockedCode: 'predecessor_receipt_unknown' }), lane: 'asking' },
  { row: rowFixture({ target: { type: 'pending', origin: 'c1' } }), lane: 'waiting' },
  { row: rowFixture({ target: { type: 'pending', origin: 'c1' }, orphanedAt: 1 }), lane: 'asking' },
  {
    row: rowFixture({ recovery: { source: 'ledger', at: 1, generation: 1, proof: 'unverified' } }),
    lane: 'asking',
  },
])('[S2] puts a row in the $lane lane from the row alone', ({ row, lane }) => {
  expect(laneOf(row)).toBe(lane);
});
