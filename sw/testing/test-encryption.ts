/**
 * Encryption for tests and simulations (W52, W63): the same store in front of the store, with a cipher that answers at
 * once, so that a moved clock decides alone what happens when. It keeps no secret from anybody.
 */
import type { BodyEncryption } from '../body-encryption.ts';
import type { Cipher } from '../encryption/cipher.ts';
import { createEncryption, type EncryptionOptions } from '../encryption/create-encryption.ts';
import { sha256 } from '../sha256.ts';

const encoder = new TextEncoder();
const IV_CHARACTERS = 8;
const TAG_CHARACTERS = 64;
const OVERHEAD = IV_CHARACTERS + TAG_CHARACTERS;

/** Keys count up, so that every run makes the same ones. */
export function createTestCipher(): Cipher<string> {
  let made = 0;
  let sealed = 0;
  const masked = (key: string, iv: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> => {
    const mask = encoder.encode(sha256(encoder.encode(key + iv)));
    return Uint8Array.from(bytes, (byte, at) => byte ^ (mask[at % mask.length] ?? 0));
  };
  const tagOf = (key: string, iv: string, bytes: Uint8Array<ArrayBuffer>, context: string): string =>
    sha256(encoder.encode(`${key} ${iv} ${context} ${sha256(bytes)}`));

  return {
    isAvailable: true,
    overhead: OVERHEAD,
    makeKey: async () => `test key ${++made}`,
    isKey: (value): value is string => typeof value === 'string',
    async seal(key, bytes, context) {
      const iv = (++sealed).toString(16).padStart(IV_CHARACTERS, '0');
      const content = masked(key, iv, bytes);
      const whole = new Uint8Array(OVERHEAD + content.length);
      whole.set(encoder.encode(iv + tagOf(key, iv, content, context)));
      whole.set(content, OVERHEAD);
      return whole;
    },
    async open(key, whole, context) {
      const head = new TextDecoder().decode(whole.subarray(0, OVERHEAD));
      const iv = head.slice(0, IV_CHARACTERS);
      const content = whole.slice(OVERHEAD);
      if (head.slice(IV_CHARACTERS) !== tagOf(key, iv, content, context)) throw new Error('Altered');
      return masked(key, iv, content);
    },
    hash: async (key, text) => sha256(encoder.encode(`${key} ${text}`)),
  };
}

/** For the `encryption` of `createTestWorld` and `createTestEngine`. */
export function testEncryption(options?: EncryptionOptions): BodyEncryption {
  return createEncryption(createTestCipher(), options);
}
