/** AES-256-GCM and HMAC-SHA-256 of Web Crypto, with keys that no script can read (W63). */
import { isRecord } from '../../shared/row-codec.ts';
import type { Cipher } from './cipher.ts';

export interface WebKey {
  readonly seal: CryptoKey;
  readonly hash: CryptoKey;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;
const encoder = new TextEncoder();

/** `crypto` is `undefined` outside secure contexts. */
export function createWebCipher(subtle: SubtleCrypto | undefined, random: Crypto): Cipher<WebKey> {
  const web = (): SubtleCrypto => {
    if (subtle === undefined) throw new Error('There is no Web Crypto here');
    return subtle;
  };
  const gcm = (iv: Uint8Array<ArrayBuffer>, context: string): AesGcmParams => ({
    name: 'AES-GCM',
    iv,
    additionalData: encoder.encode(context),
  });

  return {
    isAvailable: subtle !== undefined,
    overhead: IV_BYTES + TAG_BYTES,
    async makeKey() {
      const [seal, hash] = await Promise.all([
        web().generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt']),
        web().generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']),
      ]);
      return { seal, hash };
    },
    isKey: (value): value is WebKey =>
      isRecord(value) && isCryptoKey(value['seal']) && isCryptoKey(value['hash']),
    async seal(key, bytes, context) {
      const sealed = new Uint8Array(IV_BYTES + bytes.length + TAG_BYTES);
      const iv = random.getRandomValues(sealed.subarray(0, IV_BYTES));
      sealed.set(new Uint8Array(await web().encrypt(gcm(iv, context), key.seal, bytes)), IV_BYTES);
      return sealed;
    },
    async open(key, sealed, context) {
      const iv = sealed.subarray(0, IV_BYTES);
      return new Uint8Array(await web().decrypt(gcm(iv, context), key.seal, sealed.subarray(IV_BYTES)));
    },
    async hash(key, text) {
      let hex = '';
      for (const byte of new Uint8Array(await web().sign('HMAC', key.hash, encoder.encode(text))))
        hex += byte.toString(16).padStart(2, '0');
      return hex;
    },
  };
}

function isCryptoKey(value: unknown): value is CryptoKey {
  return Object.prototype.toString.call(value) === '[object CryptoKey]';
}
