import { createHash } from 'node:crypto';

/** SHA-256 by Node: what a browser's `crypto.subtle` answers. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  return createHash('sha256').update(bytes).digest('hex');
}
