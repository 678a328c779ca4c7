/**
 * One round's change for a command: what must be known around its key is read, the replace table asked, and its plan
 * composed (R6, R16, R27, R36, W60). Writes nothing.
 */
import type { EnqueueAction } from '../../shared/command.ts';
import type { Key } from '../../shared/key.ts';
import { isIntent, type Row } from '../../shared/row.ts';
import { type AdmittedCommand, mergeOf, noteOf } from './admitted-command.ts';
import { type Change, createChange, endRow, takeIn } from './change.ts';
import { type ComposeTools, composeRewrite, composeWrite, foldOver, requestOf } from './compose-write.ts';
import { draftRow, joined, tookOver } from './draft-row.ts';
import { readDependants, readNamed } from './gather-rows.ts';
import type { LeaseOf } from './lease.ts';
import { type CommandContext, type CommandPlan, planCommand, type WritePlan } from './plan-command.ts';
import { type PrepareDeps, prepareIntent } from './prepare-intent.ts';
import type { CreationEnd, Rule } from './replace-table.ts';
import type { RowDraft, RowStore } from './row-store.ts';
import { resolveAfter, tie } from './tie-dependencies.ts';

export interface DraftDeps extends PrepareDeps {
  readonly store: RowStore;
  readonly leaseMs: LeaseOf;
}

export interface CommandDraft {
  readonly type: 'draft';
  readonly action: EnqueueAction;
  /** Where a stored row stands for the command, and the commit writes none for it. */
  readonly stands?: Row | undefined;
  readonly change: Change;
}

type Refuse = { readonly type: 'refuse'; readonly refusal: NonNullable<Rule['refusal']> };

/** `undefined`: plan again, with what was learnt. */
type Composed = Omit<CommandDraft, 'type' | 'change'> | Refuse | undefined;

interface Tools extends DraftDeps, ComposeTools {
  readonly store: RowStore;
  readonly context: CommandContext;
}

/**
 * @param rows all rows of the command's key, as last seen.
 * @returns `undefined` where a row of another key went meanwhile: look around again.
 * @throws InvalidBodyError where `merge` fails, InvalidCommandError and NoSuchTargetError for `after`
 */
export async function draftCommand(
  deps: DraftDeps,
  given: AdmittedCommand,
  rows: readonly Row[],
  now: number,
): Promise<CommandDraft | Refuse | undefined> {
  const { command, named } = await resolveAfter(deps.store, given, rows);
  const unreadable = new Set<string>();
  const context: CommandContext = {
    now,
    leaseMs: deps.leaseMs,
    patches: mergeOf(command.family) !== undefined,
    end: await readEnd(deps.store, command, rows),
    waitedFor: named.all,
    unreadable,
  };
  const tools: Tools = { ...deps, now, unreadable, context };
  for (;;) {
    const learnt = unreadable.size;
    const change = createChange(command.key, rows);
    const plan = planCommand(rows, { ...command.input, target: command.key.target }, context);
    const composed = await compose(tools, change, plan, command);
    if (composed && 'refusal' in composed) return composed;
    if (composed && (await tie(deps, change, command, named, now)))
      return { type: 'draft', ...composed, change };
    if (unreadable.size === learnt) return undefined;
  }
}

async function compose(
  tools: Tools,
  change: Change,
  plan: CommandPlan,
  command: AdmittedCommand,
): Promise<Composed> {
  switch (plan.type) {
    case 'refuse':
      return plan;
    case 'answer':
      change.ids.push(noteOf(command, 'merged', plan.row.id));
      return { action: 'existing', stands: plan.row };
    case 'drop': {
      const along = await takeIn(tools.store, change, await readDependants(tools.store, plan.remove));
      for (const row of [...plan.remove, ...(along ?? [])])
        endRow(change, row, { type: 'dropped', reason: 'table' });
      change.ids.push(noteOf(command, 'dropped'));
      return along && { action: 'dropped' };
    }
    case 'rewrite':
      return (await composeRewrite(tools, change, plan, command)) && { action: 'merged' };
    case 'write': {
      const row = await composeWrite(tools, change, plan, requestOf(command), command);
      return row && { action: isIntent(row) ? 'intent' : 'queued' };
    }
    case 'convert':
      return convert(tools, change, plan, command);
  }
}

/** R27: the creation was accepted, so the command goes on at the server's id, as the latest one there. */
async function convert(
  tools: Tools,
  change: Change,
  { fold, remove }: Extract<CommandPlan, { readonly type: 'convert' }>,
  command: AdmittedCommand,
): Promise<Composed> {
  const { context, store, now } = tools;
  const { input, key } = command;
  const content = await foldOver(tools, fold, command.content, command);
  if (content === 'unreadable') return undefined;
  const { body, bodyDigest, bodySize } = content ?? {};
  const { id, expectedRevision } = input;
  const part = { id, requestHash: command.requestHash, expectedRevision, bodyDigest, bodySize };
  const draft = draftRow(input, key, { ...part, bodyId: content && id }, now);
  const intent: Row = { ...draft, seq: 0, version: 0 };
  // Its body is not stored yet: whoever prepares it gets a copy of its own (A72).
  const readBodies: RowStore['readBodies'] = async (ids) =>
    ids.map(() => ({ type: 'body', body: structuredClone(body) }));
  const preparation = await prepareIntent(
    { ...tools, store: { ...store, readBodies } },
    intent,
    undefined,
    new Map(),
  );
  if (preparation.type !== 'prepared') {
    const successorOf = key.target.type === 'pending' ? key.target.origin : undefined;
    const plan: WritePlan = { type: 'write', remove, fold, successorOf, orphaned: true, adopt: [] };
    const row = await composeWrite(tools, change, plan, requestOf(command), command);
    // C22: its content is kept for the person, and `retry` prepares it again.
    if (row && preparation.type === 'failed') change.write[0] = unprepared(row, now);
    return row && { action: 'intent' };
  }
  const prepared = preparation.request;
  const serverKey: Key = { ...key, target: prepared.target };
  const [there = []] = await store.readKeys([serverKey]);
  change.keys.push(serverKey);
  change.expected.push(...there);
  const named = await readNamed(
    store,
    key.owner,
    there.flatMap(({ after = [] }) => after),
  );
  const plan = planCommand(
    there,
    { kind: input.kind, target: prepared.target },
    { ...context, end: undefined, waitedFor: new Set([...(context.waitedFor ?? []), ...named.all]) },
  );
  let by: string;
  let composed: Composed;
  if (plan.type === 'write') {
    const { bodyId, bodyDigest = '', bodySize = 0 } = prepared;
    const made = prepared.body ? prepared.body.body : body;
    const final = bodyId === undefined ? undefined : { body: made, bodyId, bodyDigest, bodySize };
    const row = await composeWrite(
      tools,
      change,
      plan,
      { ...prepared, key: serverKey, kind: input.kind, content: final },
      command,
    );
    if (!row) return undefined;
    change.write[0] = { ...row, replaces: joined(tookOver(remove), row.replaces) };
    by = row.id;
    composed = { action: 'queued' };
  } else {
    composed = await compose(tools, change, plan, command);
    if (plan.type !== 'answer') return composed;
    by = plan.row.id;
  }
  for (const row of remove) endRow(change, row, { type: fold.includes(row) ? 'merged' : 'replaced', by });
  return composed;
}

function unprepared(row: RowDraft, now: number): RowDraft {
  const blockedCode = 'successor_unprepared';
  return { ...row, state: 'blocked', blockedAt: now, blockedCode, orphanedAt: undefined };
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
  const outcome = entry.end === 'committed' ? await store.findOutcome(entry.id) : undefined;
  return outcome?.outcome.type === 'committed' ? 'accepted' : 'unknown';
}
