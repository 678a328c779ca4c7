/** Bodies are structured clones, which hold more than JSON does: a copy for reading. */

/** As text for a person; what JSON has no word for is shown under a name with `$`. Never throws for a clone. */
export function toText(value: unknown): string {
  return JSON.stringify(readable(value), undefined, 2) ?? 'undefined';
}

function readable(value: unknown): unknown {
  if (typeof value === 'bigint') return { $bigint: `${value}` };
  if (typeof value === 'number' && !Number.isFinite(value)) return { $number: `${value}` };
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(readable);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? { $date: 'invalid' } : value;
  if (value instanceof Map) return { $map: [...value].map(readable) };
  if (value instanceof Set) return { $set: [...value].map(readable) };
  if (value instanceof Blob) return { $blob: { type: value.type, size: value.size } };
  if (value instanceof ArrayBuffer) return { $bytes: base64(new Uint8Array(value)) };
  if (ArrayBuffer.isView(value))
    return { $bytes: base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, readable(member)]));
}

function base64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
