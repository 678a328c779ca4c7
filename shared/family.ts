/**
 * One definition, imported by the page and by the worker, names the families; everything is typed from it
 * (W17). Nothing here is specific to a realm: worker-only ports (sending, resolving) are given to
 * `startOutbox`.
 */

import { InvalidOptionError } from './errors.ts';
import type { Receipt } from './receipt.ts';
import type { CommandKind } from './row.ts';
import type { OutputOf, StandardSchema } from './standard-schema.ts';

/** What a command is put under (W60), as the server knows it now. */
export interface ParentFacts {
  /** The server's id. */
  readonly target: string;
  /** Absent where the command named the server's id itself. */
  readonly receipt?: Receipt | undefined;
}

/** Puts a parent's id into a body, once it is known. Gets a copy; what it answers is sent, and not validated again. */
export type FillBody = (body: unknown, parent: ParentFacts) => unknown;

export interface FamilyOptions {
  /** Largest payload accepted, in bytes of its canonical encoding (R46). Default 25 MB. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * Lease and longest attempt for this family, in ms (C1). Default 10,000. A body adds a second for each 32,768
   * bytes of it, so that a large one has the time that a slow link takes.
   */
  readonly leaseMs?: number | undefined;
  /**
   * `ledger` (default): the server answers with receipts (D20). `none`: any 2xx counts as acceptance; docs say
   * what that gives up.
   */
  readonly receipts?: 'ledger' | 'none' | undefined;
  /** For how many days the server remembers idempotency keys (V1). Default: for good. */
  readonly ledgerDays?: number | undefined;
  /** Older names of a command's wire kind that a receipt may still carry (D23), by kind. */
  readonly wireKinds?: Readonly<Partial<Record<string, readonly string[]>>> | undefined;
  /** This family's adapter derives or checks key and hash itself, so D24 is not repeated. */
  readonly checksKeyItself?: boolean | undefined;
}

/** The name a command has on the wire and in its receipt (D23). */
export function wireKindOf(family: string, kind: CommandKind): string {
  return `${family}.${kind}`;
}

export interface RecordFamily<
  Create extends StandardSchema = StandardSchema,
  Update extends StandardSchema = StandardSchema,
  Parents extends string = string,
> extends FamilyOptions {
  readonly type: 'record';
  /** Families whose records this one's belong to, and how a parent's id comes into a body (W60). */
  readonly under?: Readonly<Record<Parents, FillBody>> | undefined;
  readonly create?: Create | undefined;
  readonly update?: Update | undefined;
  /** Bodies are patches: how a later update folds into an earlier clean one, a create included (R36). */
  readonly merge?: ((earlier: unknown, later: unknown) => unknown) | undefined;
}

export interface DocumentFamily<Put extends StandardSchema = StandardSchema> extends FamilyOptions {
  readonly type: 'document';
  readonly under?: undefined;
  readonly put?: Put | undefined;
}

export type Family = RecordFamily | DocumentFamily;
export type Families = Readonly<Record<string, Family>>;

export interface OutboxDefinition<F extends Families = Families> {
  readonly families: F;
}

/**
 * Declares a family of records: the server gives the id, commands are create, update and delete.
 *
 * ```ts
 * photo: record({
 *   create: v.object({ picture: v.blob(), workoutId: v.optional(v.string()) }),
 *   under: { workout: (photo, { target }) => ({ ...photo, workoutId: target }) },
 * })
 * // in the page, also while the workout has no id of the server's
 * outbox.photo.create({ picture }, { under: { workout: saved.target } });
 * ```
 */
export function record<
  Create extends StandardSchema,
  Update extends StandardSchema = Create,
  Parents extends string = never,
>(
  options: FamilyOptions & {
    readonly create?: Create;
    readonly update?: Update;
    readonly merge?: <Earlier extends OutputOf<Create> | OutputOf<Update>>(
      earlier: Earlier,
      later: OutputOf<Update>,
    ) => Earlier;
    readonly under?: {
      readonly [Parent in Parents]: <Body extends OutputOf<Create> | OutputOf<Update>>(
        body: Body,
        parent: ParentFacts,
      ) => Body;
    };
  } = {},
  // Not inferred from what `defineOutbox` accepts: an update without a validator of its own has the create's.
): RecordFamily<NoInfer<Create>, NoInfer<Update>, NoInfer<Parents>> {
  const { merge, under, ...rest } = options;
  return {
    ...rest,
    type: 'record',
    // The engine folds bodies it reads from its own store, which the same validators admitted.
    merge: merge as ((earlier: unknown, later: unknown) => unknown) | undefined,
    under: under as Readonly<Record<Parents, FillBody>> | undefined,
  };
}

/** Declares a family of documents: the page chooses the id, commands are put and remove; the last one wins. */
export function document<Put extends StandardSchema>(
  options: FamilyOptions & { readonly put?: Put } = {},
): DocumentFamily<Put> {
  return { ...options, type: 'document' };
}

/** What an outbox has beside its families: a family of that name would hide it, or be hidden. */
const TAKEN: ReadonlySet<string> = new Set(
  'family settled flush retry recover discard cancel pause resume explain bodies export journal persist signIn signOut view close then'.split(
    ' ',
  ),
);

/**
 * The single definition that page and worker share. An outbox has each family's methods under the family's name.
 * @throws InvalidOptionError for a name that an outbox has for something else, or a parent that is no family
 */
export function defineOutbox<const F extends Families>(families: F): OutboxDefinition<F> {
  for (const name of Object.keys(families)) {
    if (TAKEN.has(name)) throw new InvalidOptionError(`A family cannot be named ${name}`, { option: name });
  }
  for (const [name, { under = {} }] of Object.entries<Family>(families))
    for (const parent of Object.keys(under))
      if (!Object.hasOwn(families, parent))
        throw new InvalidOptionError(`${name} is under ${parent}, which is no family`, { option: 'under' });
  return { families };
}
