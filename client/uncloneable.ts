/** Names what cannot be cloned (R46). Loaded when it happens, so that a page carries nothing for it. */
import { UnencodableBodyError } from '../shared/errors.ts';
import { findUnclonable } from '../shared/find-unclonable.ts';

export function uncloneableBody(value: unknown, cause: unknown): UnencodableBodyError {
  const path = findUnclonable(value, structuredClone);
  return new UnencodableBodyError(`${path} cannot be cloned`, { path }, { cause });
}
