/**
 * A body ⇄ what is stored of it (W63). Text goes in one piece; binary parts in chunks, so that a photo is never in
 * memory as a whole. Each piece is bound to its body and its place: none can be exchanged, left out or moved unnoticed.
 */
import { isRecord } from '../../shared/row-codec.ts';
import { SNAPSHOT_BODY_BYTES } from '../../shared/snapshot.ts';
import { encodeCanonical } from '../outbox/canonical-encoding.ts';
import { SEAL, type SealedBody } from '../outbox/sealed-body.ts';
import type { Cipher } from './cipher.ts';
import { readCanonical } from './read-canonical.ts';

type Part = Uint8Array<ArrayBuffer> | Blob;

const CHUNK = 1024 * 1024;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export async function sealBody<Key>(
  cipher: Cipher<Key>,
  { id, key }: { readonly id: string; readonly key: Key },
  bodyId: string,
  body: unknown,
): Promise<SealedBody> {
  const { pieces, parts } = encodeCanonical(body);
  const modified = parts.map((part) => (part instanceof File ? part.lastModified : undefined));
  const head = encoder.encode(JSON.stringify([pieces.join(''), modified]));
  const sealed = await cipher.seal(key, head, contextOf(bodyId, 'head', 0, true));
  // A short one goes into a page's snapshot, which is text.
  const text = sealed.length > SNAPSHOT_BODY_BYTES ? sealed : toBase64(sealed);
  const sealedParts: Part[] = [];
  for (const [place, part] of parts.entries())
    sealedParts.push(
      await inChunks(part, CHUNK, (bytes, n, isLast) =>
        cipher.seal(key, bytes, contextOf(bodyId, place, n, isLast)),
      ),
    );
  return {
    seal: SEAL,
    key: id,
    content: sealedParts.length === 0 ? { text } : { text, parts: sealedParts },
  };
}

/** Rejects where anything is not as it was sealed. */
export async function openBody<Key>(
  cipher: Cipher<Key>,
  key: Key,
  bodyId: string,
  { content }: SealedBody,
): Promise<unknown> {
  const { text: stored, parts: sealedParts = [] } = isRecord(content) ? content : {};
  const sealed = typeof stored === 'string' ? fromBase64(stored) : stored;
  if (!(sealed instanceof Uint8Array) || !Array.isArray(sealedParts)) throw new Error('No sealed body');
  const head = await cipher.open(key, ownBytes(sealed), contextOf(bodyId, 'head', 0, true));
  const [text, modified] = JSON.parse(decoder.decode(head)) as [string, (number | null)[]];
  const parts: Part[] = [];
  for (const [place, part] of sealedParts.entries())
    parts.push(
      await inChunks(asPart(part), CHUNK + cipher.overhead, (bytes, n, isLast) =>
        cipher.open(key, bytes, contextOf(bodyId, place, n, isLast)),
      ),
    );
  return readCanonical({ text, parts, modified: modified.map((at) => at ?? undefined) });
}

function contextOf(bodyId: string, part: number | 'head', chunk: number, isLast: boolean): string {
  return JSON.stringify([bodyId, part, chunk, isLast]);
}

async function inChunks(
  part: Part,
  size: number,
  each: (bytes: Uint8Array<ArrayBuffer>, n: number, isLast: boolean) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<Part> {
  const length = part instanceof Blob ? part.size : part.byteLength;
  const made: BlobPart[] = [];
  for (let from = 0, n = 0; n === 0 || from < length; from += size, n++) {
    const bytes =
      part instanceof Blob
        ? new Uint8Array(await part.slice(from, from + size).arrayBuffer())
        : part.subarray(from, from + size);
    const done = await each(bytes, n, from + size >= length);
    // A Blob's bytes leave this realm's memory as soon as it is made.
    made.push(part instanceof Blob ? new Blob([done]) : done);
  }
  const whole = new Blob(made);
  return part instanceof Blob ? whole : new Uint8Array(await whole.arrayBuffer());
}

function asPart(part: unknown): Part {
  if (part instanceof Blob) return part;
  if (part instanceof Uint8Array) return ownBytes(part);
  throw new Error('No sealed part');
}

function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
}

/** As much as one call takes for its arguments anywhere. */
const AT_ONCE = 8_192;

function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += AT_ONCE)
    binary += String.fromCharCode(...bytes.subarray(at, at + AT_ONCE));
  return btoa(binary);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
