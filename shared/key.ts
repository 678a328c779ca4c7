/**
 * What a row is about. A key is always an array (R5): owner, family and target are opaque strings, and no
 * two different keys may ever be taken for one because somebody joined them with a separator.
 */

/**
 * One resource of a family: an id the server knows (or, for a document, the id the page chose), or a
 * creation that has no server id yet. A pending target names the creation's *origin*, which stays the same
 * when the creation's own id changes (R6).
 */
export type Target =
  | { readonly type: 'id'; readonly id: string }
  | { readonly type: 'pending'; readonly origin: string };

export interface Key {
  readonly owner: string;
  readonly family: string;
  readonly target: Target;
}

/** The form in which a key is stored and indexed. */
export type KeyArray = [owner: string, family: string, targetType: Target['type'], target: string];

export function toKeyArray(key: Key): KeyArray {
  const { target } = key;
  return [key.owner, key.family, target.type, target.type === 'id' ? target.id : target.origin];
}

export function fromKeyArray([owner, family, type, value]: KeyArray): Key {
  return { owner, family, target: type === 'id' ? { type, id: value } : { type, origin: value } };
}

/** A string that is equal exactly when the keys are, for use in a `Map`: JSON quotes what it separates. */
export function keyToken(key: Key): string {
  return JSON.stringify(toKeyArray(key));
}

export function sameTarget(a: Target, b: Target): boolean {
  return a.type === 'id' ? b.type === 'id' && a.id === b.id : b.type === 'pending' && a.origin === b.origin;
}

export function sameKey(a: Key, b: Key): boolean {
  return a.owner === b.owner && a.family === b.family && sameTarget(a.target, b.target);
}
