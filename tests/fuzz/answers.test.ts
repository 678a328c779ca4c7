/** Whatever comes back from a network: it ends in one of the classes there are, in bounded time, with finite waits. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeError, encodeError } from '../../shared/error-transfer.ts';
import { IdentityConflictError } from '../../shared/errors.ts';
import { classifyFailure } from '../../sw/dispatch/classify-failure.ts';
import { failureSignals } from '../../sw/dispatch/failure-signals.ts';
import { exchange } from '../../sw/dispatch/http-answer.ts';
import { postgrestFailures } from '../../sw/dispatch/postgrest-failures.ts';
import { readRetryAfter } from '../../sw/dispatch/retry-after.ts';
import { readRevision, revisionOfEtag } from '../../sw/dispatch/revision.ts';
import { checkReceipt } from '../../sw/receipts/check-receipt.ts';
import { holds, holdsInTime, junk, nearly } from '../support/fuzz.ts';
import { receiptFixture, sentFixture } from '../support/receipt-fixture.ts';

/** What HTTP lets into a header. */
const header = fc.oneof(
  fc.string().map((text) => text.replace(/[^\x20-\x7e]/g, '')),
  fc.constantFrom('120', '-1', '1e9', '99999999999999999999', 'Infinity', '"7"', 'W/"7"', '*', '2035'),
  fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
);
const NAMES = ['retry-after', 'etag', 'date', 'content-type', 'location', 'x-other'] as const;
const headers = fc.dictionary(fc.constantFrom(...NAMES), header);
const problem = nearly({
  type: fc.constantFrom('about:blank', 'https://x.test/problems/revision_conflict', 'urn:in_progress'),
  title: fc.string(),
  detail: fc.string(),
  code: fc.constantFrom('idempotency_key_reused', 'owner_mismatch', 'Revision-Conflict', ''),
  actual_revision: fc.nat(),
  refused: fc.record({ code: fc.string() }),
  receipt: fc.constant(receiptFixture(sentFixture())),
});
const json = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? 'null';
const text = fc.oneof(fc.string(), fc.json(), problem.map(json));
const status = fc.constantFrom(
  200,
  201,
  400,
  401,
  403,
  404,
  408,
  409,
  410,
  412,
  422,
  425,
  429,
  500,
  501,
  503,
  599,
);

it('[D4, D10] any status, headers and body become an answer and then one class, and never an exception', async () => {
  await holdsInTime(fc.tuple(status, headers, text), async ([code, given, body]) => {
    const request = new Request('https://api.test/x', { headers: { accept: 'application/json' } });
    const answer = await exchange({
      fetch: async () => new Response(body, { status: code, headers: given }),
      request,
    });
    expect(answer.type).toBe('response');
    const verdict = classifyFailure(failureSignals(answer), 'update');
    expect(['permanent', 'conflict', 'auth', 'transient', 'already_gone']).toContain(verdict.class);
    const mapped = classifyFailure(failureSignals(answer), 'delete', postgrestFailures());
    expect(mapped.code).not.toBe('');
  });
});

it('[D3, C4] a wait that can be read lies ahead, and no further than the longest that is believed', () => {
  holds(
    fc.tuple(fc.oneof(header, junk), fc.oneof(header, junk), fc.integer({ min: 0 })),
    ([value, date, now]) => {
      const at = readRetryAfter(value, { now, date });
      if (at === undefined) return;
      expect(at).toBeGreaterThan(now);
      expect(at).toBeLessThanOrEqual(now + 3_600_000);
    },
  );
});

it('[D26] a revision that can be read is a whole number that a header can carry back', () => {
  holds(fc.oneof(header, junk), (value) => {
    for (const revision of [readRevision(value), revisionOfEtag(value)])
      if (revision !== undefined) expect(Number.isSafeInteger(revision) && revision >= 0).toBe(true);
  });
  holds(fc.maxSafeNat(), (revision) => {
    expect(revisionOfEtag(`"${revision}"`)).toBe(revision);
  });
});

it('[D20, D24] only a receipt of this very id and hash matches, whatever else it holds', () => {
  const sent = {
    id: 'i1',
    requestHash: 'h1',
    owner: 'ann',
    family: 'workout',
    kind: 'update',
    wireKind: 'workout.update',
    target: { type: 'id', id: 'w1' },
    expectedRevision: 1,
  } as const;
  const receipt = nearly({
    id: fc.constantFrom('i1', 'i2'),
    requestHash: fc.constantFrom('h1', 'h2'),
    kind: fc.constantFrom('workout.update', 'workout.create'),
    target: fc.constantFrom('w1', 'w2', ''),
    revision: fc.integer(),
    generation: fc.integer(),
    committedAt: fc.oneof(fc.string(), fc.integer()),
    replayed: fc.boolean(),
  });
  holds(fc.oneof(junk, receipt), (given) => {
    const verdict = checkReceipt({ receipt: given, sent, owner: 'ann', family: { type: 'record' } });
    if (verdict.type === 'rejected') expect(verdict.rejection.field).not.toBe('');
    else expect(given).toMatchObject({ id: 'i1', requestHash: 'h1', kind: 'workout.update', target: 'w1' });
  });
});

it('[W15] whatever is thrown crosses the line, and an error of ours arrives as what it was', () => {
  holds(
    fc.oneof(
      junk,
      junk.map((value) => Object.assign(new Error('x'), { value })),
    ),
    (thrown) => {
      const wire = structuredClone(encodeError(thrown));
      const arrived = decodeError(wire);
      if (thrown instanceof Error) expect(arrived).toMatchObject({ message: thrown.message });
    },
  );
  holds(fc.tuple(fc.string(), fc.dictionary(fc.string(), fc.jsonValue())), ([message, data]) => {
    const arrived = decodeError(structuredClone(encodeError(new IdentityConflictError(message, data))));
    expect(arrived).toBeInstanceOf(IdentityConflictError);
    expect(arrived).toMatchObject({ message, code: 'identity_conflict' });
  });
});
