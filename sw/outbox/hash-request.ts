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

/** A part that is larger is read and digested in pieces of so many bytes, and counts by their digests. */
const PIECE = 1024 * 1024;

/** By its bytes alone. However large it is, no more than a piece of it is in memory at a time. */
async function digestPart(digest: Digest, part: Uint8Array<ArrayBuffer> | Blob): Promise<string> {
  const size = part instanceof Blob ? part.size : part.byteLength;
  const read = async (from: number): Promise<string> =>
    digest.sha256(
      part instanceof Blob
        ? new Uint8Array(await part.slice(from, from + PIECE).arrayBuffer())
        : part.subarray(from, from + PIECE),
    );
  if (size <= PIECE) return read(0);
  let digests = '';
  for (let from = 0; from < size; from += PIECE) digests += await read(from);
  return digest.sha256(encoder.encode(digests));
}

/** Binary parts count by the digest of their bytes. */
async function digestText(digest: Digest, value: unknown, maxBytes?: number): Promise<[string, number]> {
  const { pieces, parts } = encodeCanonical(value, maxBytes);
  let text = pieces[0] ?? '';
  let size = 0;
  for (const [index, part] of parts.entries()) {
    size += part instanceof Blob ? part.size : part.byteLength;
    text += (await digestPart(digest, part)) + pieces[index + 1];
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
