/**
 * One round's draft of a command's commit: what must be known around its key is read, the replace table asked, and
 * its plan composed (R6, R16, R27, R36, W60). Writes nothing.
 */
import type { EnqueueAction } from '../../shared/command.ts';
import { InvalidCommandError, NoSuchTargetError } from '../../shared/errors.ts';
import type { Key } from '../../shared/key.ts';
import { isIntent, type Row } from '../../shared/row.ts';
import { type AdmittedCommand, mergeOf, noteOf } from './admitted-command.ts';
import { outcomeOf } from './attempt.ts';
import {
  type Composed,
  composeRewrite,
  composeWrite,
  foldOver,
  requestOf,
  type Unreadable,
} from './compose-write.ts';
import { deriveId } from './derive-id.ts';
import { draftRow, joined, tookOver } from './draft-row.ts';
import { followId } from './follow-id.ts';
import { type Named, readAround, readDependants, readNamed } from './gather-rows.ts';
import { hashRequest } from './hash-request.ts';
import { type CommandContext, type CommandPlan, planCommand, type WritePlan } from './plan-command.ts';
import { neededOrigins } from './plan-intent.ts';
import { type PrepareDeps, prepareIntent } from './prepare-intent.ts';
import type { CreationEnd, Rule } from './replace-table.ts';
import type { OutcomeDraft, RowDraft, RowStore } from './row-store.ts';

export interface DraftDeps extends PrepareDeps {
  readonly store: RowStore;
  readonly leaseMs: (row: Pick<Row, 'family'>) => number;
}

export interface CommandDraft {
  readonly type: 'draft';
  readonly action: EnqueueAction;
  /** Where a stored row stands for the command, and the commit writes none for it. */
  readonly stands?: Row | undefined;
  readonly composed: Composed;
  /** Keys beside the command's own, and all that is stored under them. */
  readonly keys: readonly Key[];
  readonly rows: readonly Row[];
}

export type DraftResult =
  | CommandDraft
  /** A row of another key went meanwhile: look around again. */
  | { readonly type: 'stale' }
  | { readonly type: 'refuse'; readonly refusal: NonNullable<Rule['refusal']> };

const NOTHING: Composed = { write: [], remove: [], outcomes: [], bodies: [], ids: [] };
const ALONE = { keys: [], rows: [] } as const;

/**
 * @param rows all rows of the command's key, as last seen.
 * @throws InvalidBodyError where `merge` fails, InvalidCommandError and NoSuchTargetError for `after`
 */
export async function draftCommand(
  deps: DraftDeps,
  given: AdmittedCommand,
  rows: readonly Row[],
  now: number,
): Promise<DraftResult> {
  const { command, parents, named } = await resolveAfter(deps, given, rows);
  const unreadable = new Set<string>();
  const context: CommandContext = {
    now,
    leaseMs: deps.leaseMs,
    patches: mergeOf(command.family) !== undefined,
    end: await readEnd(deps.store, command, rows),
    waitedFor: named?.all,
    unreadable,
  };
  for (;;) {
    const plan = planCommand(rows, { ...command.input, target: command.key.target }, context);
    const draft = await compose(deps, plan, command, context);
    if (draft.type === 'draft') return tie(deps, draft, command, { rows, parents, named }, now);
    if (draft.type !== 'unreadable') return draft;
    for (const id of draft.ids) unreadable.add(id);
  }
}

async function compose(
  deps: DraftDeps,
  plan: CommandPlan,
  command: AdmittedCommand,
  context: CommandContext,
): Promise<DraftResult | Unreadable> {
  const tools = { ...deps, now: context.now };
  switch (plan.type) {
    case 'refuse':
      return plan;
    case 'answer':
      return answered(command, plan.row);
    case 'drop': {
      const along = await readDependants(deps.store, plan.remove);
      const remove = [...plan.remove, ...along];
      const outcomes = remove.map((row) => outcomeOf(row, { type: 'dropped', reason: 'table' }));
      const composed = { ...NOTHING, remove, outcomes, ids: [noteOf(command, 'dropped')] };
      const around = await readAround(deps.store, along, [command.key]);
      if (!areAmong(along, around.rows)) return { type: 'stale' };
      return { type: 'draft', action: 'dropped', composed, ...around };
    }
    case 'rewrite':
      return written(await composeRewrite(tools, plan, command), 'merged');
    case 'write':
      return written(await composeWrite(tools, plan, requestOf(command), command));
    case 'convert':
      return convert(deps, plan, command, context);
  }
}

function written(composed: Composed | Unreadable, action?: EnqueueAction): CommandDraft | Unreadable {
  if ('type' in composed) return composed;
  const [row] = composed.write;
  return {
    type: 'draft',
    action: action ?? (row && isIntent(row) ? 'intent' : 'queued'),
    composed,
    ...ALONE,
  };
}

function answered(command: AdmittedCommand, row: Row): CommandDraft {
  const composed = { ...NOTHING, ids: [noteOf(command, 'merged', row.id)] };
  return { type: 'draft', action: 'existing', stands: row, composed, ...ALONE };
}

/** R27: the creation was accepted, so the command goes on at the server's id, as the latest one there. */
async function convert(
  deps: DraftDeps,
  { fold, remove }: Extract<CommandPlan, { readonly type: 'convert' }>,
  command: AdmittedCommand,
  context: CommandContext,
): Promise<DraftResult | Unreadable> {
  const { now } = context;
  const tools = { ...deps, now };
  const { input, key } = command;
  const folded = await foldOver(tools, fold, command, command);
  if (folded && 'type' in folded) return folded;
  const content = folded ?? command.content;
  const bodyId = content && input.id;
  const { bodyDigest, bodySize } = content ?? {};
  const { expectedRevision } = input;
  const request = { id: input.id, requestHash: command.requestHash, expectedRevision };
  const draft = draftRow(input, key, { ...request, bodyId, bodyDigest, bodySize }, now);
  const intent: Row = { ...draft, seq: 0, version: 0 };
  const preparation = await prepareIntent(withBody(deps, content?.body), intent, undefined, new Map());
  if (preparation.type !== 'prepared') {
    const successorOf = key.target.type === 'pending' ? key.target.origin : undefined;
    const plan: WritePlan = { type: 'write', remove, fold, successorOf, orphaned: true, adopt: [] };
    const composed = await composeWrite(tools, plan, requestOf(command), command);
    return written(preparation.type === 'failed' ? unprepared(composed, now) : composed);
  }
  const prepared = preparation.request;
  const serverKey: Key = { ...key, target: prepared.target };
  const [there = []] = await deps.store.readKeys([serverKey]);
  const around = { keys: [serverKey], rows: there };
  const plan = planCommand(
    there,
    { kind: input.kind, target: prepared.target },
    { ...context, end: undefined },
  );
  const gone = (by: string) =>
    remove.map((row) => outcomeOf(row, { type: fold.includes(row) ? 'merged' : 'replaced', by }));
  if (plan.type === 'refuse') return plan;
  if (plan.type === 'answer') {
    const { composed, ...draft } = answered(command, plan.row);
    return { ...draft, composed: { ...composed, remove, outcomes: gone(plan.row.id) }, ...around };
  }
  if (plan.type !== 'write') throw new Error(`A command on a server's id was planned as ${plan.type}`);
  const own = content && { ...content, bodyId: prepared.bodyId };
  const composed = await composeWrite(
    tools,
    plan,
    {
      ...prepared,
      key: serverKey,
      kind: input.kind,
      expectedRevision: prepared.expectedRevision,
      after: undefined,
      content: prepared.body
        ? {
            body: prepared.body.body,
            bodyId: prepared.bodyId,
            bodyDigest: prepared.bodyDigest ?? '',
            bodySize: prepared.bodySize ?? 0,
          }
        : own,
    },
    command,
  );
  if ('type' in composed) return composed;
  const [row, ...others] = composed.write;
  if (!row) throw new Error("A command on a server's id wrote no row");
  return {
    type: 'draft',
    action: 'queued',
    composed: {
      ...composed,
      write: [{ ...row, replaces: joined(tookOver(remove), row.replaces) }, ...others],
      remove: [...composed.remove, ...remove],
      outcomes: [...composed.outcomes, ...gone(row.id)],
    },
    ...around,
  };
}

/** The command's body is not stored yet: whoever prepares it gets a copy of its own (A72). */
function withBody(deps: DraftDeps, body: unknown): PrepareDeps {
  const { store } = deps;
  return {
    ...deps,
    store: {
      readBodies: async (ids) => ids.map(() => ({ type: 'body', body: structuredClone(body) })),
      findByOrigin: (origins) => store.findByOrigin(origins),
      findEndOfOrigin: (origin) => store.findEndOfOrigin(origin),
      findOutcome: (id) => store.findOutcome(id),
    },
  };
}

/** C22: its content is kept for the person, and `retry` prepares it again. */
function unprepared(composed: Composed | Unreadable, now: number): Composed | Unreadable {
  if ('type' in composed) return composed;
  const [row, ...others] = composed.write;
  if (!row) return composed;
  const blocked: RowDraft = {
    ...row,
    state: 'blocked',
    blockedAt: now,
    blockedCode: 'successor_unprepared',
    orphanedAt: undefined,
  };
  return { ...composed, write: [blocked, ...others] };
}

/** What is known here of a creation that a command aims at and that is not stored. */
async function readEnd(
  store: RowStore,
  { input, key }: AdmittedCommand,
  rows: readonly Row[],
): Promise<CreationEnd | undefined> {
  const { target } = key;
  if (input.kind === 'create' || target.type === 'id' || rows.some((row) => row.kind === 'create'))
    return undefined;
  const entry = await store.findEndOfOrigin(target.origin);
  if (entry?.key[0] !== key.owner || entry.key[1] !== key.family) return 'unknown';
  if (entry.end === 'discarded' || entry.end === 'cancelled' || entry.end === 'dropped') return 'gone';
  if (entry.end !== 'committed') return 'unknown';
  return (await store.findOutcome(entry.id))?.outcome.type === 'committed' ? 'accepted' : 'unknown';
}

/** What a command's dependencies are, led on to the lines that took over (W60). */
interface Dependencies {
  readonly command: AdmittedCommand;
  /** The stored rows that it names. */
  readonly parents: readonly Row[];
  /** Absent where neither it nor its key names any. */
  readonly named: Named | undefined;
}

async function resolveAfter(
  { store }: DraftDeps,
  command: AdmittedCommand,
  rows: readonly Row[],
): Promise<Dependencies> {
  const { owner } = command.key;
  const beside = rows.flatMap((row) => row.after ?? []);
  const own = command.input.after ?? [];
  if (own.length + beside.length === 0) return { command, parents: [], named: undefined };
  const after: string[] = [];
  for (const origin of own) after.push(await leadOn(store, owner, origin));
  const named = await readNamed(store, owner, [...after, ...beside]);
  const input = own.length > 0 ? { ...command.input, after } : command.input;
  return {
    command: { ...command, input },
    parents: named.stored.filter((row) => after.includes(row.origin)),
    named,
  };
}

/** The origin that stands for `origin` now. */
async function leadOn(store: RowStore, owner: string, origin: string): Promise<string> {
  const [row] = await store.findByOrigin([origin]);
  if (row?.owner === owner) return origin;
  const end = row === undefined ? await store.findEndOfOrigin(origin) : undefined;
  if (end === undefined || end.key[0] !== owner)
    throw new InvalidCommandError(`after names ${JSON.stringify(origin)}, which is not known here`, {
      path: 'after',
      origin,
    });
  if (end.by === undefined) {
    if (end.end === 'committed' || end.end === 'already_gone') return origin;
    throw new NoSuchTargetError(`after names ${JSON.stringify(origin)}, which was ${end.end}`, {
      origin,
      end: end.end,
    });
  }
  const followed = await followId(store, owner, end.by);
  if (followed.type === 'row') return followed.row.origin;
  return followed.type === 'ended' ? followed.entry.origin : origin;
}

/**
 * Ties a new row to rows of other keys: those it waits for learn that they are awaited, and those that waited for
 * a removed row by name wait for the one that took over (R6, W60).
 */
async function tie(
  deps: DraftDeps,
  draft: CommandDraft,
  command: AdmittedCommand,
  { rows, parents, named }: Omit<Dependencies, 'command'> & { readonly rows: readonly Row[] },
  now: number,
): Promise<CommandDraft | { readonly type: 'stale' }> {
  const { composed } = draft;
  const [row, ...others] = composed.write;
  if (!row) return draft;
  const left = new Set(
    composed.remove.flatMap(({ awaited, origin }) => (awaited && origin !== row.origin ? origin : [])),
  );
  const found = await Promise.all([...left].map((origin) => deps.store.findWaiting(origin)));
  const waiting = uniqueRows(found.flat()).filter(
    (other) => other.owner === row.owner && other.after?.some((name) => left.has(name)),
  );
  const stored = new Set([...rows, ...(named?.stored ?? [])].map(({ origin }) => origin));
  const orphanedAt =
    row.after?.length && !neededOrigins(row).some((origin) => stored.has(origin)) ? now : row.orphanedAt;
  const tied = { ...row, orphanedAt, awaited: waiting.length > 0 ? true : row.awaited };
  if (parents.length + waiting.length === 0)
    return { ...draft, composed: { ...composed, write: [tied, ...others] } };
  const around = await readAround(deps.store, [...parents, ...waiting], [command.key, ...draft.keys]);
  const fresh = new Map([...rows, ...draft.rows, ...around.rows].map((other) => [other.id, other]));
  if (![...parents, ...waiting].every(({ id }) => fresh.has(id))) return { type: 'stale' };
  const touched = new Set([...composed.remove, ...composed.write].map(({ id }) => id));
  const marks = parents
    .flatMap(({ id }) => fresh.get(id) ?? [])
    .filter(({ id, awaited }) => !awaited && !touched.has(id))
    .map((parent) => ({ ...parent, awaited: true }));
  const moved = await Promise.all(
    waiting.map((seen) => moveDependant(deps, fresh.get(seen.id) ?? seen, left, row.origin)),
  );
  return {
    ...draft,
    keys: [...draft.keys, ...around.keys],
    rows: [...draft.rows, ...around.rows],
    composed: {
      ...composed,
      write: [tied, ...others, ...marks, ...moved.map(({ write }) => write)],
      remove: [...composed.remove, ...waiting],
      outcomes: [...composed.outcomes, ...moved.map(({ outcome }) => outcome)],
    },
  };
}

/** `after` is part of a row's identity, so a dependant that waits for another line is another row in its place. */
async function moveDependant(
  { digest }: DraftDeps,
  row: Row,
  from: ReadonlySet<string>,
  to: string,
): Promise<{ readonly write: RowDraft; readonly outcome: OutcomeDraft }> {
  const after = joined(row.after?.map((name) => (from.has(name) ? to : name)));
  const { kind, target, expectedRevision, bodyDigest } = row;
  const id = await deriveId(digest, row.id, expectedRevision, bodyDigest);
  const requestHash = await hashRequest(digest, { kind, target, expectedRevision, bodyDigest, after });
  return {
    write: { ...row, id, requestHash, after, replaces: tookOver([row]), version: undefined },
    outcome: outcomeOf(row, { type: 'replaced', by: id }),
  };
}

function uniqueRows(rows: readonly Row[]): readonly Row[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

function areAmong(rows: readonly Row[], all: readonly Row[]): boolean {
  const ids = new Set(all.map(({ id }) => id));
  return rows.every(({ id }) => ids.has(id));
}
