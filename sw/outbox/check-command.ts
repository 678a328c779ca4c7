/** What a command must look like before anything is read or stored (R46, R5). Pure. */

import type { CommandInput } from '../../shared/command.ts';
import {
  type HoldfastError,
  InvalidCommandError,
  UnencodableBodyError,
  UnknownFamilyError,
} from '../../shared/errors.ts';
import type { Families, Family } from '../../shared/family.ts';
import type { Key, Target } from '../../shared/key.ts';
import type { CommandKind } from '../../shared/row.ts';
import type { StandardSchema } from '../../shared/standard-schema.ts';

const KINDS: Readonly<Record<Family['type'], readonly CommandKind[]>> = {
  record: ['create', 'update', 'delete'],
  document: ['put', 'remove'],
};
const LONE_SURROGATE = /[\ud800-\udfff]/u;
/** What fits a quoted HTTP header: an id travels as `Idempotency-Key`. */
const ID = /^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/;

export interface CheckedCommand {
  readonly family: Family;
  readonly key: Key;
  readonly schema: StandardSchema | undefined;
}

export function findFamily(families: Families, name: string): Family | undefined {
  return Object.hasOwn(families, name) ? families[name] : undefined;
}

export function hasBody(kind: CommandKind): boolean {
  return kind !== 'delete' && kind !== 'remove';
}

export function schemaOf(family: Family, kind: CommandKind): StandardSchema | undefined {
  if (kind === 'put') return family.type === 'document' ? family.put : undefined;
  if (family.type === 'document') return undefined;
  return kind === 'create' ? family.create : kind === 'update' ? family.update : undefined;
}

/** @throws InvalidCommandError, UnknownFamilyError, UnencodableBodyError: with `data.path` of what is wrong. */
export function checkCommand(input: CommandInput, families: Families): CheckedCommand {
  if (typeof input !== 'object' || input === null) throw invalid('', 'must be an object', input);
  const { id, owner, kind, target } = input;
  if (typeof id !== 'string' || !ID.test(id))
    throw invalid('id', 'must be a UUID (any printable ASCII will do)', id);
  name('owner', owner);
  name('family', input.family);
  const family = findFamily(families, input.family);
  if (family === undefined)
    throw new UnknownFamilyError(`No family is named ${JSON.stringify(input.family)}`, { path: 'family' });
  if (!KINDS[family.type].includes(kind))
    throw invalid('kind', `must be one of ${KINDS[family.type].join(', ')}`, kind);
  if (hasBody(kind) !== (input.body !== undefined))
    throw invalid('body', hasBody(kind) ? 'is missing' : `is not part of a ${kind}`, undefined);
  const { expectedRevision, sourceRef, urgent, expiresAt } = input;
  if (expectedRevision !== undefined && (!Number.isSafeInteger(expectedRevision) || expectedRevision < 0))
    throw invalid('expectedRevision', 'must be an integer of at least 0', expectedRevision);
  if (kind === 'create' && expectedRevision !== undefined)
    throw invalid('expectedRevision', 'is not part of a create', expectedRevision);
  if (sourceRef !== undefined) name('sourceRef', sourceRef);
  if (urgent !== undefined && typeof urgent !== 'boolean')
    throw invalid('urgent', 'must be a boolean', urgent);
  if (expiresAt !== undefined && !Number.isFinite(expiresAt))
    throw invalid('expiresAt', 'must be a number', expiresAt);
  for (const field of ['tags', 'after'] as const) {
    if (input[field] !== undefined && !Array.isArray(input[field]))
      throw invalid(field, 'must be an array of strings', input[field]);
    input[field]?.forEach((entry, index) => {
      name(`${field}[${index}]`, entry);
    });
  }
  if (input.after?.includes(id)) throw invalid('after', 'names the command itself: a cycle', id);
  const own: Target = { type: 'pending', origin: id };
  const aim = kind === 'create' ? (target ?? own) : target;
  checkTarget(aim, family);
  if (kind === 'create' && (aim.type !== 'pending' || aim.origin !== id))
    throw invalid('target', 'of a create is itself, pending', target);
  return { family, key: { owner, family: input.family, target: aim }, schema: schemaOf(family, kind) };
}

function checkTarget(target: Target | undefined, family: Family): asserts target is Target {
  if (target?.type === 'id') name('target.id', target.id);
  else if (target?.type === 'pending' && family.type === 'record') name('target.origin', target.origin);
  else throw invalid('target', family.type === 'record' ? 'is missing' : 'must be {type: "id"}', target);
}

function name(path: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw invalid(path, 'must be a non-empty string', value);
  if (LONE_SURROGATE.test(value)) throw new UnencodableBodyError(`${path} holds a lone surrogate`, { path });
}

function invalid(path: string, what: string, value: unknown): HoldfastError {
  const shown =
    typeof value === 'string'
      ? JSON.stringify(value.slice(0, 100))
      : typeof value === 'object' && value !== null
        ? 'an object'
        : String(value);
  const got = value === undefined ? '' : `, not ${shown}`;
  return new InvalidCommandError(`${path || 'command'} ${what}${got}`, { path });
}
