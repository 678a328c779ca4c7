import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { BodyTooLargeError, UnencodableBodyError } from '../../../shared/errors.ts';
import { encodeCanonical } from '../../../sw/outbox/canonical-encoding.ts';
import { digestBody, hashRequest } from '../../../sw/outbox/hash-request.ts';
import { sha256Hex } from '../../support/sha256-hex.ts';

const digest = { sha256: sha256Hex };

const digestOf = async (value: unknown): Promise<string> => (await digestBody(digest, value)).bodyDigest;

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
const looped: Record<string, unknown> = { list: [] };
looped['list'] = [looped];
const detached = new ArrayBuffer(4);
structuredClone(detached, { transfer: [detached] });

const BYTES = [1, 2, 3];
const DIFFERENT: readonly { readonly what: string; readonly value: unknown }[] = [
  { what: 'null', value: null },
  { what: 'undefined', value: undefined },
  { what: 'true', value: true },
  { what: 'the string true', value: 'true' },
  { what: '0', value: 0 },
  { what: '-0', value: -0 },
  { what: '0n', value: 0n },
  { what: 'the string 0', value: '0' },
  { what: 'NaN', value: Number.NaN },
  { what: 'the string NaN', value: 'NaN' },
  { what: 'Infinity', value: Number.POSITIVE_INFINITY },
  { what: '-Infinity', value: Number.NEGATIVE_INFINITY },
  { what: '0.1 + 0.2', value: 0.1 + 0.2 },
  { what: '0.3', value: 0.3 },
  { what: 'an empty string', value: '' },
  { what: 'an empty object', value: {} },
  { what: 'an empty array', value: [] },
  { what: 'an empty Map', value: new Map() },
  { what: 'an empty Set', value: new Set() },
  { what: 'a member that is undefined', value: { note: undefined } },
  { what: 'a member that is null', value: { note: null } },
  { what: 'a member that is NaN', value: { n: Number.NaN } },
  { what: 'another member that is null', value: { n: null } },
  { what: 'a member that is -0', value: { z: -0 } },
  { what: 'a member that is 0', value: { z: 0 } },
  { what: 'a member named __proto__', value: JSON.parse('{"__proto__":1}') },
  { what: '[1, 2]', value: [1, 2] },
  { what: '[[1], 2]', value: [[1], 2] },
  { what: '[[1, 2]]', value: [[1, 2]] },
  { what: '["1", 2]', value: ['1', 2] },
  { what: '["a", "b"]', value: ['a', 'b'] },
  { what: '["ab", ""]', value: ['ab', ''] },
  { what: '["as1:b"]', value: ['as1:b'] },
  { what: 'a Date', value: new Date(0) },
  { what: 'the Date as ISO text', value: new Date(0).toISOString() },
  { what: 'an invalid Date', value: new Date(Number.NaN) },
  { what: 'a Map', value: new Map([['a', 1]]) },
  { what: 'the object of the Map', value: { a: 1 } },
  { what: 'the entries of the Map', value: [['a', 1]] },
  { what: 'a Set', value: new Set([1, 2]) },
  { what: 'bytes', value: new Uint8Array(BYTES) },
  { what: 'signed bytes', value: new Int8Array(BYTES) },
  { what: 'other bytes', value: new Uint8Array([1, 2, 4]) },
  { what: 'a DataView', value: new DataView(new Uint8Array(BYTES).buffer) },
  { what: 'a buffer', value: new Uint8Array(BYTES).buffer },
  { what: 'a Blob', value: new Blob([new Uint8Array(BYTES)]) },
  { what: 'a Blob with a type', value: new Blob([new Uint8Array(BYTES)], { type: 'image/png' }) },
  { what: 'a File', value: new File([new Uint8Array(BYTES)], 'é.png', { type: 'image/png' }) },
  {
    what: 'the File by another name',
    value: new File([new Uint8Array(BYTES)], 'e.png', { type: 'image/png' }),
  },
  { what: 'two Blobs', value: [new Blob(['ab']), new Blob(['c'])] },
  { what: 'the same bytes cut elsewhere', value: [new Blob(['a']), new Blob(['bc'])] },
  { what: 'a composed é', value: '\u00e9' },
  { what: 'a decomposed é', value: 'e\u0301' },
  { what: 'the replacement character', value: '\ufffd' },
];

describe('canonical encoding', () => {
  it('[R4, A26] gives every kind of content a digest of its own', async () => {
    const digests = new Map<string, string>();
    for (const { what, value } of DIFFERENT) {
      const hash = await digestOf(value);
      expect(`${what} = ${digests.get(hash) ?? what}`).toBe(`${what} = ${what}`);
      digests.set(hash, what);
    }
    expect(digests.size).toBe(DIFFERENT.length);
  });

  it('[R4] does not depend on the order of keys, at any depth', async () => {
    const one = { b: [{ y: 1, x: 2 }], a: null, 10: 0, 2: 0 };
    const other = { 2: 0, 10: 0, a: null, b: [{ x: 2, y: 1 }] };
    expect(await digestOf(one)).toBe(await digestOf(other));
  });

  it('[R4] gives a structured clone the digest of its original, and different values different ones', async () => {
    const values = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withUnicodeString: true,
    } as fc.ObjectConstraints);
    await fc.assert(
      fc.asyncProperty(values, values, async (one, other) => {
        fc.pre(isEncodable(one) && isEncodable(other));
        expect(await digestOf(structuredClone(one))).toBe(await digestOf(one));
        const same = (await digestOf(one)) === (await digestOf(other));
        let equal = true;
        try {
          expect(one).toStrictEqual(other);
        } catch {
          equal = false;
        }
        // Equality ignores the order of Map and Set, the digest does not.
        if (same) expect(equal).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    { what: 'a function', value: { a: [{ fn() {} }] }, path: 'body.a[0].fn' },
    { what: 'a symbol', value: [Symbol('x')], path: 'body[0]' },
    { what: 'a lone surrogate', value: { 'a b': 'cut \ud83d' }, path: 'body["a b"]' },
    { what: 'a lone surrogate in a key', value: { ok: { '\udc00': 1 } }, path: 'body.ok["\\udc00"]' },
    { what: 'a cycle', value: looped, path: 'body.list[0]' },
    { what: 'a sparse array', value: { a: Object.assign(new Array(3), { 0: 1 }) }, path: 'body.a' },
    { what: 'a named member of an array', value: { a: Object.assign([1], { x: 1 }) }, path: 'body.a' },
    { what: 'a detached buffer', value: [detached], path: 'body[0]' },
    { what: 'shared memory', value: { m: new Uint8Array(new SharedArrayBuffer(2)) }, path: 'body.m' },
    { what: 'a RegExp', value: { r: /x/ }, path: 'body.r' },
    { what: 'an Error', value: new Map([['a', new Error('x')]]), path: 'body["value 0"]' },
    { what: 'a WeakMap', value: [new WeakMap()], path: 'body[0]' },
  ])('[R4, A25, A27] refuses $what and names the path', ({ value, path }) => {
    const error = catchError(() => encodeCanonical(value));
    expect(error).toBeInstanceOf(UnencodableBodyError);
    expect((error as UnencodableBodyError).data).toEqual({ path });
  });

  it('[R4] refuses what is nested too deeply, and shortens its path', () => {
    expect(() => encodeCanonical(nested(900))).not.toThrow();
    const error = catchError(() => encodeCanonical(nested(5_000)));
    expect(error).toBeInstanceOf(UnencodableBodyError);
    expect(String((error as UnencodableBodyError).data['path']).length).toBeLessThan(100);
  });

  it('[R46] stops at the size limit, also where one object is repeated endlessly', () => {
    let wide: unknown = 'x';
    for (let i = 0; i < 60; i++) wide = [wide, wide];
    expect(() => encodeCanonical(wide, 10_000)).toThrow(BodyTooLargeError);
    expect(() => encodeCanonical(new Uint8Array(20_000), 10_000)).toThrow(BodyTooLargeError);
    expect(() => encodeCanonical({ a: [new Uint8Array(6_000), new Uint8Array(6_000)] }, 10_000)).toThrow(
      BodyTooLargeError,
    );
  });

  it('[R46] counts the bytes of text, not its characters', async () => {
    await expect(digestBody(digest, '가'.repeat(400), 1_000)).rejects.toThrow(BodyTooLargeError);
    expect((await digestBody(digest, '가'.repeat(300), 1_000)).bodySize).toBe(905);
  });
});

describe('a large binary part', () => {
  const MB = 1024 * 1024;
  const bytes = Uint8Array.from({ length: 3 * MB + 5 }, (_, at) => (at * 7 + (at >> 20) * 13) & 0xff);

  it('[R4] is never in memory as a whole: it is read and digested in pieces', async () => {
    const seen: number[] = [];
    const counting = {
      sha256: async (given: Uint8Array<ArrayBuffer>) => {
        seen.push(given.byteLength);
        return digest.sha256(given);
      },
    };
    const { bodySize } = await digestBody(counting, { photo: new Blob([bytes]) });
    expect(Math.max(...seen)).toBe(MB);
    expect(seen.filter((size) => size === MB)).toHaveLength(3);
    expect(bodySize).toBeGreaterThan(bytes.byteLength);
  });

  it('[R4] counts by its bytes, whatever it is made of, and by each of them', async () => {
    const split = new Blob([bytes.slice(0, MB + 1), bytes.slice(MB + 1)]);
    expect(await digestOf(split)).toBe(await digestOf(new Blob([bytes])));
    for (const place of [0, MB, 3 * MB + 4]) {
      const other = bytes.slice();
      other[place] = (other[place] ?? 0) ^ 1;
      expect(await digestOf(new Blob([other]))).not.toBe(await digestOf(new Blob([bytes])));
    }
    const moved = new Blob([bytes.slice(MB, 2 * MB), bytes.slice(0, MB), bytes.slice(2 * MB)]);
    expect(await digestOf(moved)).not.toBe(await digestOf(new Blob([bytes])));
  });
});

describe('hashRequest', () => {
  const content = {
    kind: 'update',
    target: { type: 'id', id: 'w1' },
    expectedRevision: 3,
    bodyDigest: 'd',
  } as const;

  test.each([
    { what: 'kind', other: { ...content, kind: 'delete' } as const },
    { what: 'target', other: { ...content, target: { type: 'id', id: 'w2' } } as const },
    { what: 'type of target', other: { ...content, target: { type: 'pending', origin: 'w1' } } as const },
    { what: 'revision', other: { ...content, expectedRevision: undefined } },
    { what: 'body', other: { ...content, bodyDigest: 'e' } },
    { what: 'dependencies', other: { ...content, after: ['a'] } },
  ])('[R4] differs by $what', async ({ other }) => {
    expect(await hashRequest(digest, other)).not.toBe(await hashRequest(digest, content));
  });

  it('[R4] is that of the same content, with and without an empty list of dependencies', async () => {
    expect(await hashRequest(digest, { ...content, after: [] })).toBe(await hashRequest(digest, content));
  });

  it("[R5] takes a target's name for what it is", async () => {
    const names = ['__proto__', 'constructor', 'a|b', 'pending:x', '😀', 'a'];
    const hashes = await Promise.all(
      names.map((id) => hashRequest(digest, { ...content, target: { type: 'id', id } })),
    );
    expect(new Set(hashes).size).toBe(names.length);
  });
});

function catchError(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}

function isEncodable(value: unknown): boolean {
  return catchError(() => encodeCanonical(value)) === undefined;
}
