/**
 * Canonical encoding (R4): one text per content. Every value leads with a tag and everything of variable length
 * with its length, so that no two contents share a text; members of an object are sorted, so that the order of
 * keys is no content. Made for a structured clone: prototypes, getters and symbol keys are gone by then.
 *
 * Encoded: null, undefined, booleans, numbers (`-0`, `NaN` and infinities included), BigInt, well-formed
 * strings, Date, arrays, objects, Map and Set (in their order), ArrayBuffer, typed arrays, DataView, Blob (type
 * and bytes), File (name too). Refused with the path: functions, symbols, lone surrogates, sparse arrays and
 * arrays with named members, cycles, whatever is nested deeper than 1,000, and every other class.
 */
import { BodyTooLargeError, UnencodableBodyError } from '../../shared/errors.ts';

export interface Encoding {
  /** What stands before, between and after the binary parts: one piece more than there are parts. */
  readonly pieces: readonly string[];
  readonly parts: readonly (Uint8Array<ArrayBuffer> | Blob)[];
}

const MAX_DEPTH = 1_000;
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/**
 * @param maxBytes stops early on what is certainly larger; the exact size is known only with its UTF-8 bytes.
 * @throws UnencodableBodyError with `data.path`, BodyTooLargeError
 */
export function encodeCanonical(value: unknown, maxBytes = Number.POSITIVE_INFINITY): Encoding {
  const pieces: string[] = [];
  const parts: (Uint8Array<ArrayBuffer> | Blob)[] = [];
  const path: (string | number)[] = [];
  const ancestors: object[] = [];
  let text = '';
  /** Size of the pieces and parts that are done. */
  let done = 0;

  const refuse = (what: string): never => {
    const at = formatPath(path);
    throw new UnencodableBodyError(`Cannot store ${what} at ${at}`, { path: at });
  };
  const string = (part: string): void => {
    if (LONE_SURROGATE.test(part)) refuse('a string with a lone surrogate');
    text += `s${part.length}:${part}`;
  };
  const binary = (tag: string, part: Uint8Array<ArrayBuffer> | Blob, size: number): void => {
    pieces.push(`${text}${tag}${size}:`);
    parts.push(part);
    done += size + text.length;
    text = '';
  };
  const bytesOf = (buffer: ArrayBuffer, offset = 0, length?: number): Uint8Array<ArrayBuffer> => {
    try {
      return new Uint8Array(buffer, offset, length);
    } catch {
      return refuse('a detached buffer');
    }
  };
  const checkSize = (): void => {
    if (text.length + done > maxBytes) throw tooLarge(maxBytes);
  };
  const at = (step: string | number, member: unknown): void => {
    path.push(step);
    encode(member);
    path.pop();
  };

  const encodeObject = (object: object): void => {
    const tag = Object.prototype.toString.call(object).slice(8, -1);
    if (Array.isArray(object)) {
      const keys = Object.keys(object);
      // Index keys come first and in order: this one in the last place means that all are there and no other.
      if (
        keys.length !== object.length ||
        (keys.length > 0 && keys[keys.length - 1] !== `${keys.length - 1}`)
      )
        refuse('a sparse array or one with named members');
      text += `a${object.length}:`;
      object.forEach((member, index) => {
        at(index, member);
      });
    } else if (ArrayBuffer.isView(object)) {
      if (Object.prototype.toString.call(object.buffer) !== '[object ArrayBuffer]') refuse('shared memory');
      const { buffer, byteOffset, byteLength } = object as ArrayBufferView<ArrayBuffer>;
      binary(`v${tag},`, bytesOf(buffer, byteOffset, byteLength), byteLength);
    } else if (tag === 'ArrayBuffer') {
      const bytes = bytesOf(object as ArrayBuffer);
      binary('b', bytes, bytes.byteLength);
    } else if (tag === 'Blob' || tag === 'File') {
      const blob = object as Blob;
      text += tag === 'File' ? 'F' : 'B';
      if (tag === 'File') at('name', (object as File).name);
      at('type', blob.type);
      binary('', blob, blob.size);
    } else if (tag === 'Date') text += `D${(object as Date).getTime()};`;
    else if (tag === 'Map') {
      const map = object as Map<unknown, unknown>;
      text += `M${map.size}:`;
      let index = 0;
      for (const [key, member] of map) {
        at(`key ${index}`, key);
        at(`value ${index++}`, member);
      }
    } else if (tag === 'Set') {
      const set = object as Set<unknown>;
      text += `S${set.size}:`;
      let index = 0;
      for (const member of set) at(index++, member);
    } else if (tag === 'Object') {
      const keys = Object.keys(object).sort();
      text += `o${keys.length}:`;
      for (const key of keys) {
        path.push(key);
        string(key);
        encode((object as Readonly<Record<string, unknown>>)[key]);
        path.pop();
      }
    } else refuse(`a value of class ${tag}`);
  };

  const encode = (part: unknown): void => {
    if (typeof part === 'string') string(part);
    else if (typeof part === 'number') text += `d${Object.is(part, -0) ? '-0' : part};`;
    else if (typeof part === 'boolean') text += part ? 't' : 'f';
    else if (typeof part === 'bigint') text += `i${part};`;
    else if (part === undefined) text += 'u';
    else if (part === null) text += 'n';
    else if (typeof part === 'object') nest(part);
    else refuse(`a ${typeof part}`);
  };

  const nest = (part: object): void => {
    if (ancestors.includes(part)) refuse('an object inside itself');
    if (ancestors.length === MAX_DEPTH) refuse(`something nested deeper than ${MAX_DEPTH}`);
    checkSize();
    ancestors.push(part);
    encodeObject(part);
    ancestors.pop();
  };

  encode(value);
  checkSize();
  pieces.push(text);
  return { pieces, parts };
}

export function tooLarge(maxBytes: number): BodyTooLargeError {
  return new BodyTooLargeError(`The body is larger than ${maxBytes} bytes`, { maxBytes });
}

/** `body`, `body.tags[2]`, `body["a b"]`; long paths keep both ends. */
function formatPath(path: readonly (string | number)[]): string {
  const steps = path.map((step) =>
    typeof step === 'number' ? `[${step}]` : /^[\w$]+$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`,
  );
  return `body${steps.length > 20 ? [...steps.slice(0, 10), '…', ...steps.slice(-10)].join('') : steps.join('')}`;
}
