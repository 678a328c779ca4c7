/**
 * Moves a queue that `workbox-background-sync` filled into the outbox (W53), once, whatever is killed in between: an
 * entry is set aside, stored under an id that is made from it, and removed only after its row is durable. A repeat
 * makes the same id, and finds the row instead of making a second one.
 */
import {
  BadInputError,
  IdentityConflictError,
  InvalidCommandError,
  RefusedError,
  SignedOutError,
} from '../shared/errors.ts';
import type { DocumentFamily, Families, Family, RecordFamily } from '../shared/family.ts';
import type { CommandKind } from '../shared/row.ts';
import type { InputOf } from '../shared/standard-schema.ts';
import type { OutboxMethods } from './outbox.ts';
import type { CommandOptions, DocumentMethods, RecordMethods, TargetRef } from './typed-api.ts';
import { openWorkboxQueue, type WorkboxEntry, type WorkboxQueue } from './workbox-queue.ts';

/** What every command has, whatever its family. */
export interface AnyCommand extends CommandOptions {
  readonly family: string;
  readonly kind: CommandKind;
  readonly target?: TargetRef | undefined;
  readonly body?: unknown;
}

type CommandOf<Name extends string, F extends Family> = { readonly family: Name } & (
  | (F extends RecordFamily<infer Create, infer Update>
      ?
          | { readonly kind: 'create'; readonly body: InputOf<Create> }
          | { readonly kind: 'update'; readonly target: TargetRef; readonly body: InputOf<Update> }
          | { readonly kind: 'delete'; readonly target: TargetRef }
      : never)
  | (F extends DocumentFamily<infer Put>
      ?
          | { readonly kind: 'put'; readonly target: string; readonly body: InputOf<Put> }
          | { readonly kind: 'remove'; readonly target: string }
      : never)
);

/**
 * The command that a request stood for. Its `id` need only be given where the request carried an idempotency key of
 * its own that the server knows.
 */
export type AdoptedCommand<F extends Families> = AnyCommand &
  { [Name in keyof F & string]: CommandOf<Name, F[Name]> }[keyof F & string];

/**
 * What shall become of a request. `leave`: it stays in workbox's queue, as does one for which the answer is
 * `undefined`. `drop`: it is removed and never sent. Both with the app's own word on why, for its report.
 */
export type Decision<F extends Families> =
  | AdoptedCommand<F>
  | { readonly leave: string }
  | { readonly drop: string }
  | undefined;

export interface AdoptOptions<F extends Families> {
  /** The name that was given to `new Queue(…)` or `new BackgroundSyncPlugin(…)`. */
  readonly queue: string;
  /**
   * Says which command a stored request stands for. It may be asked again for the same one, and must then say the
   * same. What it throws leaves the request where it is. `savedAt`: when workbox stored it, in epoch ms.
   */
  readonly map: (
    request: Request,
    stored: { readonly savedAt: number; readonly metadata?: object | undefined },
  ) => Decision<F> | Promise<Decision<F>>;
  /** Given by tests. */
  readonly realm?: AdoptionRealm | undefined;
}

export interface AdoptionRealm {
  readonly indexedDB: Pick<IDBFactory, 'open'>;
  readonly crypto: { readonly subtle: Pick<SubtleCrypto, 'digest'> };
  readonly navigator: { readonly locks?: Pick<LockManager, 'request'> | undefined };
  readonly Date: Pick<DateConstructor, 'now'>;
  setTimeout(callback: () => void, ms: number): unknown;
}

/** A request that stayed in workbox's queue. */
export interface LeftEntry {
  readonly method: string;
  readonly url: string;
  readonly savedAt: number;
  /** The app's word, or what `map` or the outbox said against it. */
  readonly why: Error | string;
}

export interface AdoptionReport {
  /** Ids of the commands, in the queue's order. `outbox.settled(id)` says what becomes of them. */
  readonly adopted: readonly string[];
  readonly dropped: readonly LeftEntry[];
  readonly left: readonly LeftEntry[];
}

/**
 * Workbox reads an entry and deletes it in two transactions, and sends it then. One that it had read when the entry was
 * set aside deletes it within this time, in ms; what is still there afterwards is sent by nobody else.
 */
const GRACE_MS = 1_000;

/**
 * Call it in a page after `connectOutbox`, with the worker that no longer makes that queue; for as long as devices may
 * hold one, since a call with nothing to do costs one look into IndexedDB.
 * @throws SignedOutError, QuotaError and whatever else keeps commands from being stored now: the entries that are left
 * stay set aside, and the next call goes on with them.
 */
export async function adoptWorkboxQueue<F extends Families>(
  outbox: Pick<OutboxMethods<F>, 'family'>,
  { queue: name, map, realm = window }: AdoptOptions<F>,
): Promise<AdoptionReport> {
  const adopt = async (): Promise<AdoptionReport> => {
    const queue = await openWorkboxQueue(realm.indexedDB, name);
    if (!queue) return { adopted: [], dropped: [], left: [] };
    try {
      return await moveEntries({
        queue,
        name,
        methodsOf: (family) => outbox.family(family),
        decide: (entry) => ask(map, entry),
        realm,
      });
    } finally {
      queue.close();
    }
  };
  const { locks } = realm.navigator;
  // Of several pages one does it. Where there are no locks, the ids see to it that nothing is stored twice.
  return await (locks ? locks.request(`holdfast-adopt:${name}`, adopt) : adopt());
}

type SomeMethods = RecordMethods<unknown, unknown> | DocumentMethods<unknown>;

type AnyDecision = AnyCommand | { readonly leave: string } | { readonly drop: string };

interface MoveDeps {
  readonly queue: WorkboxQueue;
  readonly name: string;
  readonly methodsOf: (family: string) => SomeMethods;
  readonly decide: (entry: WorkboxEntry) => Promise<AnyDecision>;
  readonly realm: Omit<AdoptionRealm, 'indexedDB' | 'navigator'>;
}

async function moveEntries({ queue, name, methodsOf, decide, realm }: MoveDeps): Promise<AdoptionReport> {
  const adopted: string[] = [];
  const dropped: LeftEntry[] = [];
  const left: LeftEntry[] = [];
  const leave = async (entry: WorkboxEntry, why: Error | string): Promise<void> => {
    await queue.giveBack([entry.id]);
    left.push(summaryOf(entry, why));
  };

  const wanted: { readonly entry: WorkboxEntry; readonly decision: AnyDecision }[] = [];
  for (const entry of await queue.read()) {
    const decision = await decide(entry);
    if ('leave' in decision) await leave(entry, decision.leave);
    else wanted.push({ entry, decision });
  }
  if (wanted.length === 0) return { adopted, dropped, left };

  const now = realm.Date.now();
  await queue.setAside(
    wanted.map(({ entry }) => entry.id),
    now,
  );
  const isOld = ({ entry }: { readonly entry: WorkboxEntry }): boolean =>
    entry.setAsideAt !== undefined && entry.setAsideAt <= now - GRACE_MS;
  if (!wanted.every(isOld)) await new Promise<void>((resolve) => void realm.setTimeout(resolve, GRACE_MS));
  const ours = new Set(
    (await queue.read()).flatMap(({ id, setAsideAt }) => (setAsideAt === undefined ? [] : [id])),
  );

  for (const { entry, decision } of wanted) {
    // Workbox had it in its hands already, and sends it.
    if (!ours.has(entry.id)) continue;
    if ('drop' in decision) {
      await queue.remove(entry.id);
      dropped.push(summaryOf(entry, decision.drop));
    } else if ('family' in decision) {
      const id = decision.id ?? (await deriveId(realm.crypto, name, entry));
      const refusal = await store(methodsOf, decision, id);
      if (refusal === undefined) {
        await queue.remove(entry.id);
        adopted.push(id);
      } else await leave(entry, refusal);
    }
  }
  return { adopted, dropped, left };
}

/** What `map` says of an entry; where it throws or says nothing, the entry stays. */
async function ask<F extends Families>(
  map: AdoptOptions<F>['map'],
  { requestData, timestamp, metadata }: WorkboxEntry,
): Promise<AnyDecision> {
  try {
    const { url, ...init } = requestData;
    // A navigation cannot be made again by a script; workbox does the same.
    const request = new Request(url, init.mode === 'navigate' ? { ...init, mode: 'same-origin' } : init);
    return (await map(request, { savedAt: timestamp, metadata })) ?? { leave: 'No command stands for it' };
  } catch (error) {
    return { leave: String(error) };
  }
}

/** Answers what keeps it from being stored for good; `undefined` once it is durable. */
async function store(
  methodsOf: MoveDeps['methodsOf'],
  command: AnyCommand,
  id: string,
): Promise<Error | undefined> {
  try {
    await enqueue(methodsOf(command.family), { ...command, id });
    return undefined;
  } catch (error) {
    // An earlier call stored it, and `map` says something else of it today: what was stored stands.
    if (error instanceof IdentityConflictError && command.id === undefined) return undefined;
    const isForGood = error instanceof BadInputError || error instanceof RefusedError;
    if (isForGood && !(error instanceof SignedOutError)) return error;
    throw error;
  }
}

async function enqueue(
  methods: SomeMethods,
  { family, kind, target = '', body, ...options }: AnyCommand,
): Promise<unknown> {
  if ('create' in methods) {
    if (kind === 'create') return methods.create(body, options);
    if (kind === 'update') return methods.update(target, body, options);
    if (kind === 'delete') return methods.delete(target, options);
  }
  if ('put' in methods && typeof target === 'string') {
    if (kind === 'put') return methods.put(target, body, options);
    if (kind === 'remove') return methods.remove(target, options);
  }
  throw new InvalidCommandError(`${family} has no ${kind} of this target`, { family, kind, target });
}

/** A UUID (version 8), the same whenever it is made from the same entry. */
async function deriveId(
  { subtle }: AdoptionRealm['crypto'],
  queue: string,
  { id, timestamp, requestData: { method = 'GET', url } }: WorkboxEntry,
): Promise<string> {
  const text = JSON.stringify(['workbox-background-sync', queue, id, timestamp, method, url]);
  const bytes = new Uint8Array(await subtle.digest('SHA-256', new TextEncoder().encode(text)));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const variant = (Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant.toString(16)}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function summaryOf({ requestData, timestamp }: WorkboxEntry, why: Error | string): LeftEntry {
  return { method: requestData.method ?? 'GET', url: requestData.url, savedAt: timestamp, why };
}
