/**
 * One round's draft of a command's commit: what must be known around its key is read, the replace table asked, and
 * its plan composed (R6, R16, R27, R36, W60). Writes nothing.
 */
import type { EnqueueAction } from '../../shared/command.ts';
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
import { draftRow, joined, tookOver } from './draft-row.ts';
import { readAround, readDependants } from './gather-rows.ts';
import { type CommandContext, type CommandPlan, planCommand, type WritePlan } from './plan-command.ts';
import { type PrepareDeps, prepareIntent } from './prepare-intent.ts';
import type { CreationEnd, Rule } from './replace-table.ts';
import type { RowDraft, RowStore } from './row-store.ts';
import { areAmong, type Draft, resolveAfter, tie } from './tie-dependencies.ts';

export interface DraftDeps extends PrepareDeps {
  readonly store: RowStore;
  readonly leaseMs: (row: Pick<Row, 'family'>) => number;
}

export interface CommandDraft extends Draft {
  readonly type: 'draft';
  readonly action: EnqueueAction;
  /** Where a stored row stands for the command, and the commit writes none for it. */
  readonly stands?: Row | undefined;
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
  const { command, parents, named } = await resolveAfter(deps.store, given, rows);
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
