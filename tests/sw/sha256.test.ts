import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256 } from '../../sw/sha256.ts';

test('[R4, W52] our own digest is SHA-256 at every length around a block', () => {
  for (const length of [0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 1000]) {
    const bytes = new Uint8Array(length).map((_, i) => (i * 31 + length) & 255);
    expect(sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
  }
});
