/** A revision as servers write it: a number, digits, or an entity tag around digits. */

/** A non-negative safe integer, or `undefined`. Never throws. */
export function readRevision(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined;
}

/** `"7"`, `W/"7"` and a bare `7` are revision 7. */
export function revisionOfEtag(etag: unknown): number | undefined {
  return readRevision(/^\s*(?:W\/)?"?(\d+)"?\s*$/.exec(typeof etag === 'string' ? etag : '')?.[1]);
}
