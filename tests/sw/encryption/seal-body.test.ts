import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openBody, sealBody } from '../../../sw/encryption/seal-body.ts';
import { createWebCipher } from '../../../sw/encryption/web-cipher.ts';
import { digestBody } from '../../../sw/outbox/hash-request.ts';
import { isSealed, type SealedBody } from '../../../sw/outbox/sealed-body.ts';
import { createTestCipher } from '../../../sw/testing/test-encryption.ts';
import { sha256Hex } from '../../support/sha256-hex.ts';

const cipher = createWebCipher(crypto.subtle, crypto);
const digest = { sha256: sha256Hex };

async function crossed(body: unknown): Promise<unknown> {
  const key = await cipher.makeKey();
  const sealed = structuredClone(await sealBody(cipher, { id: 'k', key }, 'b', body));
  expect(isSealed(sealed)).toBe(true);
  return openBody(cipher, key, 'b', sealed);
}

describe('a body that is sealed and opened', () => {
  it.each([
    { what: 'an object', body: { a: [1, 'zwei', { b: null }], c: undefined, d: true } },
    { what: 'numbers', body: [0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, -1e300, 10n ** 30n] },
    { what: 'text', body: ['', 'a|b', '👩‍🚀 가', 's3:abc', ':;"\\'] },
    { what: 'a member called __proto__', body: JSON.parse('{"__proto__":{"x":1},"y":2}') },
    { what: 'dates', body: [new Date(0), new Date(1e12), new Date(Number.NaN)] },
    {
      what: 'maps and sets',
      body: new Map<unknown, unknown>([
        [{ k: 1 }, new Set([1, 'a'])],
        ['x', new Map()],
      ]),
    },
    {
      what: 'binary parts',
      body: { a: new Uint8Array([1, 2]), b: new Float64Array([0.5]), c: new Uint16Array(0) },
    },
    { what: 'buffers and views', body: [new Uint8Array([9, 8]).buffer, new DataView(new ArrayBuffer(3))] },
    { what: 'nothing', body: null },
  ])('[W63] is the same: $what', async ({ body }) => {
    expect(await crossed(body)).toStrictEqual(body);
  });

  it('[W63] is the same for whatever can be encoded, and has the same digest', async () => {
    const quick = createTestCipher();
    const key = await quick.makeKey();
    await fc.assert(
      fc.asyncProperty(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withNullPrototype: false,
        }),
        async (body) => {
          const copy: unknown = structuredClone(body);
          const before = await digestBody(digest, copy).catch(() => undefined);
          fc.pre(before !== undefined);
          const sealed = structuredClone(await sealBody(quick, { id: 'k', key }, 'b', copy));
          const opened = await openBody(quick, key, 'b', sealed);
          expect(await digestBody(digest, opened)).toEqual(before);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('[W63] keeps Blobs and files, chunk by chunk, with type, name and time', async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    const big = new Blob(
      Array.from({ length: 41 }, () => bytes),
      { type: 'image/jpeg' },
    );
    const file = new File([bytes], 'squat.png', { type: 'image/png', lastModified: 1_234 });
    const body = { big, file, empty: new Blob([]), kg: 60 };
    const opened = (await crossed(body)) as typeof body;
    expect(await digestBody(digest, opened)).toEqual(await digestBody(digest, body));
    expect(opened.file).toBeInstanceOf(File);
    expect(opened.file).toMatchObject({ name: 'squat.png', type: 'image/png', lastModified: 1_234 });
    expect(opened.big.type).toBe('image/jpeg');
    expect(opened.empty.size).toBe(0);
  });

  it('[W63] never looks the same twice, and holds nothing of the content', async () => {
    const key = await cipher.makeKey();
    const seal = () => sealBody(cipher, { id: 'k', key }, 'b', { note: 'A note to be found' });
    const [one, other] = [await seal(), await seal()];
    expect(one).not.toEqual(other);
    expect(atob(String(Object(one.content).text))).not.toContain('note');
  });
});

describe('a sealed body', () => {
  const parts = { photo: new Blob([new Uint8Array(2_500_000)]) };

  it.each([
    { what: 'under another id', open: (sealed: SealedBody) => ({ sealed, bodyId: 'other' }) },
    {
      what: 'with a chunk left out',
      open: (sealed: SealedBody) => ({ sealed: withPart(sealed, (part) => part.slice(0, 1024 * 1024 + 28)) }),
    },
    {
      what: 'with its chunks in another order',
      open: (sealed: SealedBody) => ({
        sealed: withPart(sealed, (part) => {
          const size = 1024 * 1024 + 28;
          return new Blob([part.slice(size, 2 * size), part.slice(0, size), part.slice(2 * size)]);
        }),
      }),
    },
    {
      what: 'altered in its text',
      open: (sealed: SealedBody) => {
        const content = Object(sealed.content);
        const text = String(content.text);
        const other = text.charAt(40) === 'A' ? 'B' : 'A';
        return {
          sealed: { ...sealed, content: { ...content, text: text.slice(0, 40) + other + text.slice(41) } },
        };
      },
    },
    { what: 'emptied', open: (sealed: SealedBody) => ({ sealed: { ...sealed, content: undefined } }) },
  ])('[W63] does not open $what', async ({ open }) => {
    const key = await cipher.makeKey();
    const given: { sealed: SealedBody; bodyId?: string } = open(
      await sealBody(cipher, { id: 'k', key }, 'b', parts),
    );
    await expect(openBody(cipher, key, given.bodyId ?? 'b', given.sealed)).rejects.toThrow();
  });

  it('[W63] does not open with another key', async () => {
    const sealed = await sealBody(cipher, { id: 'k', key: await cipher.makeKey() }, 'b', { kg: 60 });
    await expect(openBody(cipher, await cipher.makeKey(), 'b', sealed)).rejects.toThrow();
  });

  it('[W63] is told from every body that was admitted, also after JSON', async () => {
    const sealed = await sealBody(cipher, { id: 'k', key: await cipher.makeKey() }, 'b', 1);
    expect(isSealed(JSON.parse(JSON.stringify(sealed)))).toBe(true);
    await expect(digestBody(digest, sealed)).rejects.toThrow('lone surrogate');
  });
});

function withPart(sealed: SealedBody, change: (part: Blob) => Blob): SealedBody {
  const content = Object(sealed.content);
  return { ...sealed, content: { ...content, parts: [change(content.parts[0])] } };
}
