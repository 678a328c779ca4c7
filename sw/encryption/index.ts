/** The surface of `holdfast/encryption`: bodies encrypted at rest (W63). In a worker as in a page host. */
import type { BodyEncryption } from '../body-encryption.ts';
import { createEncryption, type EncryptionOptions } from './create-encryption.ts';
import { createWebCipher } from './web-cipher.ts';

export type { BodyEncryption } from '../body-encryption.ts';
export { canKeepKeys } from './can-keep-keys.ts';
export type { EncryptionOptions } from './create-encryption.ts';

/**
 * For `startOutbox` and the page host alike; both share the keys, since they share the databases.
 *
 * ```ts
 * startOutbox(definition, { sender, encryption: encryptBodies() });
 * ```
 * @throws EncryptionUnavailableError at once where there is no Web Crypto (no secure context), unless
 *   `whenUnavailable` is `plain`
 */
export function encryptBodies(options?: EncryptionOptions): BodyEncryption {
  return createEncryption(createWebCipher(globalThis.crypto?.subtle, globalThis.crypto), options);
}
