/**
 * Ids that the engine makes (R6): derived, so that a step done twice, by two hosts or after a crash, makes the
 * same id, and the server's ledger knows it again.
 */
import type { Digest } from '../environment.ts';
import { digestBody } from './hash-request.ts';

/**
 * A UUID (version 8) for the row that takes the place of `replacedId`. `revision` is the one it will expect,
 * `bodyDigest` that of its body; both may be absent.
 */
export async function deriveId(
  digest: Digest,
  replacedId: string,
  revision: number | undefined,
  bodyDigest: string | undefined,
): Promise<string> {
  const { bodyDigest: hex } = await digestBody(digest, ['id', replacedId, revision, bodyDigest]);
  const variant = (Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant.toString(16)}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
