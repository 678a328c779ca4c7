/**
 * `outbox.workout.update(…)` from the shared definition (W17): the types of every family's methods, and the one
 * object behind them. Bodies are what the family's validators accept; nothing needs a cast.
 */
import type { CommandInput } from '../shared/command.ts';
import type { DocumentFamily, Families, Family, RecordFamily } from '../shared/family.ts';
import type { Target } from '../shared/key.ts';
import type { CommandKind } from '../shared/row.ts';
import type { InputOf } from '../shared/standard-schema.ts';
import type { Handle } from './handle.ts';
import type { PageRealm } from './page-realm.ts';

export interface CommandOptions {
  /** The idempotency key, a UUID. Give the same one again to repeat a call whose end is unknown. */
  readonly id?: string | undefined;
  /** The revision this change was made on; another one at the server is a conflict. */
  readonly revision?: number | undefined;
  /** Your own words (dates, lists), which come back with the outcome to say what to refresh. */
  readonly tags?: readonly string[] | undefined;
  readonly sourceRef?: string | undefined;
  /** Origins of commands whose receipts this one needs (W60): `[parent.origin]`. */
  readonly after?: readonly string[] | undefined;
  readonly urgent?: boolean | undefined;
  /** Epoch ms after which it must not be sent any more (W62). */
  readonly expiresAt?: number | undefined;
}

/** A server id, or the `target` of a handle, which may have none yet. */
export type TargetRef = string | Target;

/** What a family that belongs under others takes besides (W60). */
export type OptionsUnder<Parents extends string> = [Parents] extends [never]
  ? CommandOptions
  : CommandOptions & {
      /** What it belongs to, by the family's name: the `target` of a handle, or a server's id. */
      readonly under?: { readonly [Parent in Parents]?: TargetRef | undefined } | undefined;
    };

export interface RecordMethods<Create, Update, Parents extends string = never> {
  create(body: Create, options?: OptionsUnder<Parents>): Promise<Handle>;
  update(target: TargetRef, patch: Update, options?: OptionsUnder<Parents>): Promise<Handle>;
  delete(target: TargetRef, options?: CommandOptions): Promise<Handle>;
}

export interface DocumentMethods<Put> {
  put(id: string, body: Put, options?: CommandOptions): Promise<Handle>;
  remove(id: string, options?: CommandOptions): Promise<Handle>;
}

export type FamilyMethods<F extends Family> =
  F extends RecordFamily<infer Create, infer Update, infer Parents>
    ? RecordMethods<InputOf<Create>, InputOf<Update>, Parents>
    : F extends DocumentFamily<infer Put>
      ? DocumentMethods<InputOf<Put>>
      : never;

export type AllMethods<F extends Families> = { readonly [Name in keyof F]: FamilyMethods<F[Name]> };

export type Enqueue = (command: Omit<CommandInput, 'owner'>) => Promise<Handle>;

/** Every method of both kinds of family; the engine refuses a kind that a family has not got. */
export interface AnyMethods extends RecordMethods<unknown, unknown>, DocumentMethods<unknown> {}

export function createFamilyMethods(
  family: string,
  { crypto }: Pick<PageRealm, 'crypto'>,
  enqueue: Enqueue,
): AnyMethods {
  const send = (
    kind: CommandKind,
    target: TargetRef | undefined,
    body: unknown,
    { id = crypto.randomUUID(), revision: expectedRevision, ...options }: CommandOptions = {},
  ): Promise<Handle> =>
    enqueue({
      ...options,
      id,
      family,
      kind,
      target: typeof target === 'string' ? { type: 'id', id: target } : target,
      body,
      expectedRevision,
    });
  return {
    create: (body, options) => send('create', undefined, body, options),
    update: (target, patch, options) => send('update', target, patch, options),
    delete: (target, options) => send('delete', target, undefined, options),
    put: (id, body, options) => send('put', id, body, options),
    remove: (id, options) => send('remove', id, undefined, options),
  };
}
