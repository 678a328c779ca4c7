/**
 * Reads back what `canonical-encoding.ts` wrote: the same content, with the members of objects in their sorted order
 * and each typed array in a buffer of its own. Everything that can be encoded can be read.
 */

export interface CanonicalContent {
  /** The pieces in one text. */
  readonly text: string;
  readonly parts: readonly (Uint8Array<ArrayBuffer> | Blob)[];
  /** `lastModified` of each part that is a file; the encoding itself leaves it out. */
  readonly modified: readonly (number | undefined)[];
}

const VIEWS = new Map<string, new (buffer: ArrayBuffer) => ArrayBufferView>(
  [
    DataView,
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
  ].map((view) => [view.name, view]),
);

/** @throws Error where the text is not whole. */
export function readCanonical({ text, parts, modified }: CanonicalContent): unknown {
  let at = 0;
  let part = 0;

  const upTo = (mark: string): string => {
    const end = text.indexOf(mark, at);
    if (end < 0) throw new Error(`No ${mark} after ${at}`);
    const found = text.slice(at, end);
    at = end + 1;
    return found;
  };
  const count = (): number => Number(upTo(':'));
  const list = (): unknown[] => Array.from({ length: count() }, read);
  const bytes = (): Uint8Array<ArrayBuffer> => {
    upTo(':');
    const found = parts[part++];
    if (!(found instanceof Uint8Array)) throw new Error('Not the part that was stored');
    return found;
  };
  const blob = (name: string | undefined): Blob => {
    const type = String(read());
    upTo(':');
    const lastModified = modified[part];
    const found = parts[part++];
    if (!(found instanceof Blob)) throw new Error('Not the part that was stored');
    return name === undefined
      ? new Blob([found], { type })
      : new File([found], name, { type, ...(lastModified !== undefined && { lastModified }) });
  };

  function read(): unknown {
    const tag = text.charAt(at++);
    switch (tag) {
      case 's': {
        const length = count();
        at += length;
        return text.slice(at - length, at);
      }
      case 'd':
        return Number(upTo(';'));
      case 't':
        return true;
      case 'f':
        return false;
      case 'n':
        return null;
      case 'u':
        return undefined;
      case 'i':
        return BigInt(upTo(';'));
      case 'D':
        return new Date(Number(upTo(';')));
      case 'a':
        return list();
      case 'S':
        return new Set(list());
      case 'M':
        return new Map(Array.from({ length: count() }, () => [read(), read()]));
      case 'o':
        // Makes a member called `__proto__` like any other.
        return Object.fromEntries(Array.from({ length: count() }, () => [read(), read()]));
      case 'b':
        return ownBuffer(bytes());
      case 'v': {
        const View = VIEWS.get(upTo(','));
        if (!View) throw new Error('A view that this realm does not have');
        return new View(ownBuffer(bytes()));
      }
      case 'B':
        return blob(undefined);
      case 'F':
        return blob(String(read()));
      default:
        throw new Error(`Nothing begins with "${tag}"`);
    }
  }

  return read();
}

function ownBuffer({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): ArrayBuffer {
  return byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
}
