import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  readEncoded,
  readExpectedRevision,
  readIdempotencyKey,
  readRequestHash,
} from '../../../examples/server/http/command-headers.ts';
import type { ApiRequest } from '../../../examples/server/http/exchange.ts';
import { readJson } from '../../../examples/server/http/json-body.ts';
import { ProblemError } from '../../../examples/server/http/problem.ts';
import { holds } from '../../support/fuzz.ts';

it('[V4] whatever a request says in its headers and body is read, or refused as a problem', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('"a\\"b"', '"open', '%', '%e0%a4', '"3"', '-1', '*', '1e9', '9'.repeat(400)),
  );
  const names = ['idempotency-key', 'holdfast-request-hash', 'if-match', 'holdfast-owner', 'content-type'];
  const request = fc.record({
    method: fc.constantFrom('POST', 'PATCH', 'DELETE'),
    path: fc.constant('/api/workouts'),
    query: fc.constant(new URLSearchParams()),
    headers: fc.dictionary(fc.constantFrom(...names), text),
    bytes: fc.oneof(
      fc.uint8Array(),
      fc.json().map((json) => new TextEncoder().encode(json)),
    ),
  });
  const readers: readonly ((given: ApiRequest) => unknown)[] = [
    readIdempotencyKey,
    readRequestHash,
    readExpectedRevision,
    (given) => readEncoded(given, 'holdfast-owner'),
    readJson,
  ];
  holds(request, (given) => {
    for (const read of readers) {
      try {
        const value = read(given);
        if (typeof value === 'number') expect(Number.isSafeInteger(value)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(ProblemError);
      }
    }
  });
});
