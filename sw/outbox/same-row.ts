/** Comparison by whole content (R41): key order aside, and `undefined` is the same as absent. Pure. */
import type { Row } from '../../shared/row.ts';

export function sameRow(a: Row, b: Row): boolean {
  return sameContent(a, b);
}

/** Whether two lists hold the same rows, in any order. Ids are unique in each. */
export function sameRows(a: readonly Row[], b: readonly Row[]): boolean {
  if (a.length !== b.length) return false;
  const byId = new Map(b.map((row) => [row.id, row]));
  return a.every((row) => {
    const other = byId.get(row.id);
    return other !== undefined && sameRow(row, other);
  });
}

export function sameContent(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return sameLists(a, b);
  const tag = Object.prototype.toString.call(a);
  if (tag !== Object.prototype.toString.call(b)) return false;
  // A field of a newer release may hold a Blob, a Date, …: every reading makes another object, so its content
  // is left to `version`, which every write raises.
  if (tag !== '[object Object]') return true;
  return sameRecords(a, b);
}

function sameLists(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, place) => sameContent(item, b[place]));
}

function sameRecords(a: object, b: object): boolean {
  let present = 0;
  for (const [name, value] of Object.entries(a)) {
    if (value === undefined) continue;
    present++;
    if (!Object.hasOwn(b, name) || !sameContent(value, Reflect.get(b, name))) return false;
  }
  return (
    Object.values(b).reduce((count: number, value) => count - (value === undefined ? 0 : 1), present) === 0
  );
}
