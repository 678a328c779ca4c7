import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { LONGEST_WAIT_MS, readRetryAfter } from '../../../sw/dispatch/retry-after.ts';

const now = Date.UTC(2026, 10, 30, 12);
const inTwoMinutes = now + 120_000;

test.each([
  { form: 'seconds', value: '120', at: inTwoMinutes },
  { form: 'seconds with space around', value: ' 120 ', at: inTwoMinutes },
  { form: 'an IMF-fixdate', value: 'Mon, 30 Nov 2026 12:02:00 GMT', at: inTwoMinutes },
  { form: 'an RFC 850 date', value: 'Monday, 30-Nov-26 12:02:00 GMT', at: inTwoMinutes },
  { form: 'an asctime date, which is in GMT too', value: 'Mon Nov 30 12:02:00 2026', at: inTwoMinutes },
])('[D3] reads $form', ({ value, at }) => {
  expect(readRetryAfter(value, { now })).toBe(at);
});

test.each([
  { what: 'missing', value: undefined },
  { what: 'empty', value: '' },
  { what: 'zero', value: '0' },
  { what: 'negative', value: '-5' },
  { what: 'no whole number', value: '1.5' },
  { what: 'in another notation', value: '1e3' },
  { what: 'Infinity (A11)', value: 'Infinity' },
  { what: 'NaN', value: 'NaN' },
  { what: 'a bare year', value: '2035-01-01' },
  { what: 'a date in the past', value: 'Mon, 30 Nov 2026 11:59:59 GMT' },
  { what: 'no date after all', value: 'Mon, soon' },
  { what: 'two values', value: '120, 240' },
  { what: 'not a string', value: 120 },
])('[D3] counts one that is $what as none', ({ value }) => {
  expect(readRetryAfter(value, { now })).toBeUndefined();
});

test.each(['2147484', '99999999999', '9'.repeat(400), 'Mon, 01 Jan 2035 00:00:00 GMT'])(
  '[C4, D3] A11 cuts %s to an hour',
  (value) => {
    expect(readRetryAfter(value, { now })).toBe(now + 3_600_000);
    expect(readRetryAfter(value, { now, longestWaitMs: 60_000 })).toBe(now + 60_000);
  },
);

it('[C4, D3] measures an instant from the answer’s own date, so that this device’s clock does not matter', () => {
  const value = 'Mon, 30 Nov 2026 12:02:00 GMT';
  const date = 'Mon, 30 Nov 2026 12:01:30 GMT';
  const fastBy = 86_400_000;
  expect(readRetryAfter(value, { now: now + fastBy, date })).toBe(now + fastBy + 30_000);
  expect(readRetryAfter(value, { now: now + fastBy, date: 'unreadable' })).toBeUndefined();
});

it('[C4, D3] answers nothing or a finite instant within the hour ahead, whatever the header', () => {
  const text = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.double().map(String),
    fc.date().map((d) => d.toUTCString()),
  );
  fc.assert(
    fc.property(fc.oneof(text, fc.anything()), fc.oneof(text, fc.anything()), (value, date) => {
      const at = readRetryAfter(value, { now, date });
      if (at === undefined) return;
      expect(at).toBeGreaterThan(now);
      expect(at).toBeLessThanOrEqual(now + LONGEST_WAIT_MS);
    }),
  );
});
