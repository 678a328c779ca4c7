/**
 * Hashes (R4). A body is digested once, when it is stored; a row's `requestHash` is made from that digest, so
 * that a new revision or target for an old body reads no body. Both are SHA-256 of canonical encodings.
 */
import type { Target } from '../../shared/key.ts';
import type { CommandKind } from '../../shared/row.ts';
import type { Digest } from '../environment.ts';
import { encodeCanonical, tooLarge } from './canonical-encoding.ts';

export interface BodyDigest {
  /** Lower-case hex; made with the owner's key where bodies are encrypted (W63). */
  readonly bodyDigest: string;
  /** Bytes of the canonical encoding, binary parts included: close to what the payload takes. */
  readonly bodySize: number;
}

export interface RequestContent {
  readonly kind: CommandKind;
  readonly target: Target;
  readonly expectedRevision?: number | undefined;
  /** Absent where the command has no body. */
  readonly bodyDigest?: string | undefined;
  readonly after?: readonly string[] | undefined;
}

const encoder = new TextEncoder();

/** Binary parts count by the digest of their bytes. */
async function digestText(digest: Digest, value: unknown, maxBytes?: number): Promise<[string, number]> {
  const { pieces, parts } = encodeCanonical(value, maxBytes);
  let text = pieces[0] ?? '';
  let size = 0;
  for (const [index, part] of parts.entries()) {
    const bytes = part instanceof Uint8Array ? part : new Uint8Array(await part.arrayBuffer());
    size += bytes.byteLength;
    text += (await digest.sha256(bytes)) + pieces[index + 1];
  }
  const bytes = encoder.encode(text);
  size += bytes.byteLength;
  if (maxBytes !== undefined && size > maxBytes) throw tooLarge(maxBytes);
  return [await digest.sha256(bytes), size];
}

/**
 * @param owner whose body it is; absent for what is no body.
 * @throws UnencodableBodyError, BodyTooLargeError
 */
export async function digestBody(
  digest: Digest,
  body: unknown,
  maxBytes?: number,
  owner?: string,
): Promise<BodyDigest> {
  const [plain, bodySize] = await digestText(digest, body, maxBytes);
  const keyed = owner !== undefined && digest.ofBody?.(owner, plain);
  return { bodyDigest: (await keyed) || plain, bodySize };
}

/** The hash that goes with an idempotency key. Needs no body, only its digest. */
export async function hashRequest(digest: Digest, content: RequestContent): Promise<string> {
  const { kind, target, expectedRevision, bodyDigest, after = [] } = content;
  const [hash] = await digestText(digest, [1, kind, target, expectedRevision, bodyDigest, after]);
  return hash;
}
