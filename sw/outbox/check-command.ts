/** What a command must look like before anything is read or stored (R46, R5). Pure. */

import type { CommandInput } from '../../shared/command.ts';
import { InvalidCommandError, UnencodableBodyError, UnknownFamilyError } from '../../shared/errors.ts';
import type { Families, Family } from '../../shared/family.ts';
import type { Key } from '../../shared/key.ts';
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
  check('command', input, typeof input === 'object' && input !== null, 'must be an object');
  const { id, owner, family: name, kind, target, body, expectedRevision, tags = [], after = [] } = input;
  check('id', id, typeof id === 'string' && ID.test(id), 'must be a UUID (any printable ASCII will do)');
  checkName('owner', owner);
  checkName('family', name);
  const family = findFamily(families, name);
  if (family === undefined) throw new UnknownFamilyError(`No family is named ${name}`, { path: 'family' });
  const kinds = KINDS[family.type];
  check('kind', kind, kinds.includes(kind), `must be one of ${kinds.join(', ')}`);
  const wanted = hasBody(kind);
  check('body', body, wanted === (body !== undefined), wanted ? 'is missing' : `is no part of a ${kind}`);
  const isCreate = kind === 'create';
  const isRevision = Number.isSafeInteger(expectedRevision) && Number(expectedRevision) >= 0 && !isCreate;
  checkOptional('expectedRevision', expectedRevision, isRevision, 'must be an integer, and none of a create');
  checkOptional('urgent', input.urgent, typeof input.urgent === 'boolean', 'must be a boolean');
  checkOptional('expiresAt', input.expiresAt, Number.isFinite(input.expiresAt), 'must be a number');
  if (input.sourceRef !== undefined) checkName('sourceRef', input.sourceRef);
  for (const [field, list] of Object.entries({ tags, after })) {
    check(field, list, Array.isArray(list), 'must be an array of strings');
    list.forEach((entry, index) => {
      checkName(`${field}[${index}]`, entry);
    });
  }
  for (const [parent, ref] of Object.entries(input.under ?? {})) {
    const path = `under.${parent}`;
    check(path, parent, Object.hasOwn(family.under ?? {}, parent), `is nothing that a ${name} belongs to`);
    if (ref !== undefined)
      checkName(path, typeof ref === 'object' ? (ref?.type === 'id' ? ref.id : ref?.origin) : ref);
  }
  check('after', id, !after.includes(id), 'names the command itself');
  const aim = target ?? (isCreate ? { type: 'pending', origin: id } : undefined);
  if (aim?.type === 'id') checkName('target.id', aim.id);
  else if (aim?.type === 'pending' && family.type === 'record') checkName('target.origin', aim.origin);
  else throw invalid('target', target, 'must be an id, or of a record a pending origin');
  check(
    'target',
    target,
    !isCreate || (aim.type === 'pending' && aim.origin === id),
    'of a create is itself',
  );
  return { family, key: { owner, family: name, target: aim }, schema: schemaOf(family, kind) };
}

function checkName(path: string, value: unknown): void {
  check(path, value, typeof value === 'string' && value !== '', 'must be a non-empty string');
  if (LONE_SURROGATE.test(String(value)))
    throw new UnencodableBodyError(`${path} holds a lone surrogate`, { path });
}

function checkOptional(path: string, value: unknown, ok: boolean, what: string): void {
  check(path, value, value === undefined || ok, what);
}

function check(path: string, value: unknown, ok: boolean, what: string): void {
  if (!ok) throw invalid(path, value, what);
}

function invalid(path: string, value: unknown, what: string): InvalidCommandError {
  const got = typeof value === 'object' ? '' : ` (got ${String(value).slice(0, 100)})`;
  return new InvalidCommandError(`${path} ${what}${got}`, { path });
}
