/**
 * Runs a command through the replace table (R8-R37): each earlier row of its key is judged by its own line, and all
 * lines that apply do; one that refuses wins. Pure; bodies are merged, hashed and named by whoever carries it out.
 */
import { assert } from '../../shared/assert.ts';
import type { Target } from '../../shared/key.ts';
import type { CommandKind, Row } from '../../shared/row.ts';
import { type CreationEnd, type Rule, ruleFor, type Verdict } from './replace-table.ts';
import {
  isClean,
  isNoted,
  isResultUnknown,
  type Standing,
  type StandingContext,
  standingOf,
} from './standing.ts';

export interface PlannedCommand {
  readonly kind: CommandKind;
  readonly target: Target;
  readonly after?: readonly string[] | undefined;
}

export interface CommandContext extends StandingContext {
  /** Bodies of the family are patches, to be folded (R36). */
  readonly patches: boolean;
  /** Where the command aims at a creation that is not stored. */
  readonly end?: CreationEnd | undefined;
  /** Origins that the command waits for, directly or through others (W60): such a row cannot be replaced by it. */
  readonly waitedFor?: ReadonlySet<string> | undefined;
  /** Ids of rows whose body cannot be read, so that nothing can be folded over them. */
  readonly unreadable?: ReadonlySet<string> | undefined;
}

export type CommandPlan =
  | { readonly type: 'refuse'; readonly refusal: NonNullable<Rule['refusal']>; readonly rule: string }
  /** The stored row stands for the command (R10, R21, R33). */
  | { readonly type: 'answer'; readonly row: Row }
  /** Nothing is written; these rows, a creation and its intents, go (R23, R24, R26). */
  | { readonly type: 'drop'; readonly remove: readonly Row[] }
  /** A new creation takes the place of `create`, with the bodies of `fold` merged in order, the command's last (R16). */
  | {
      readonly type: 'rewrite';
      readonly create: Row;
      readonly fold: readonly Row[];
      readonly remove: readonly Row[];
    }
  /** The command goes on at the server's id, over the intents in `fold` and instead of `remove` (R27). */
  | { readonly type: 'convert'; readonly fold: readonly Row[]; readonly remove: readonly Row[] }
  | WritePlan;

export interface WritePlan {
  readonly type: 'write';
  readonly remove: readonly Row[];
  /** Those of `remove` whose bodies the command's is folded over, in order. */
  readonly fold: readonly Row[];
  /** The origin of the row it waits for. */
  readonly successorOf?: string | undefined;
  /** An intent whose creation is not stored here: flushes ask for it (R28, C23). */
  readonly orphaned: boolean;
  /** Intents that were orphans until this creation came. */
  readonly adopt: readonly Row[];
  /** The place of the first intent that was here before its creation, which takes a place before it (R8). */
  readonly before?: number | undefined;
  /** A line others wait for by name, which the new row therefore continues (R6). */
  readonly line?: string | undefined;
}

interface Judged {
  readonly row: Row;
  readonly rule: Rule;
  readonly verdict: Verdict;
}

/** @param rows all rows of the command's key, in any order. */
export function planCommand(
  rows: readonly Row[],
  command: PlannedCommand,
  context: CommandContext,
): CommandPlan {
  const ordered = rows.toSorted((a, b) => a.seq - b.seq);
  const judged = ordered.map((row) => judgeRow(row, ordered, command, context));
  const none = ruleWithoutRow(ordered, command, context);
  const refusing = [none, ...judged.map(({ rule }) => rule)].find((rule) => rule?.refusal !== undefined);
  if (refusing?.refusal) return { type: 'refuse', refusal: refusing.refusal, rule: refusing.id };
  if (none?.verdict === 'nothing' || judged.some(({ verdict }) => verdict === 'drop'))
    return { type: 'drop', remove: ordered };
  const answering = judged.find(({ verdict }) => verdict === 'answer');
  if (answering) return { type: 'answer', row: answering.row };
  const removed = judged.filter(({ verdict }) => verdict === 'remove' || verdict === 'merge');
  const remove = removed.map(({ row }) => row);
  const fold = context.patches ? removed.filter(({ rule }) => rule.folds).map(({ row }) => row) : [];
  const create = judged.find(({ verdict }) => verdict === 'merge')?.row;
  if (create) return { type: 'rewrite', create, fold, remove };
  if (none?.verdict === 'convert' && !command.after?.length) return { type: 'convert', fold, remove };
  return planWrite(judged, fold, remove, command, none);
}

function planWrite(
  judged: readonly Judged[],
  fold: readonly Row[],
  remove: readonly Row[],
  { kind, target }: PlannedCommand,
  none: Rule | undefined,
): WritePlan {
  const stays = judged.filter(({ row }) => !remove.includes(row)).map(({ row }) => row);
  const before = judged.findLast(({ verdict }) => verdict === 'keep')?.row;
  const aimsAtCreation = kind !== 'create' && target.type === 'pending';
  // Nothing of this key may come to wait for itself, so a line that a staying row waits for is not continued.
  const line = remove.findLast(
    ({ origin, awaited }) => awaited && !stays.some(({ successorOf }) => successorOf === origin),
  )?.origin;
  return {
    type: 'write',
    remove,
    fold,
    successorOf: aimsAtCreation ? target.origin : before?.origin,
    orphaned: aimsAtCreation && none !== undefined,
    // Behind its own intents it would wait for them, and they for it.
    before: kind === 'create' ? stays[0]?.seq : undefined,
    adopt: kind === 'create' ? stays.filter(({ orphanedAt }) => orphanedAt !== undefined) : [],
    line,
  };
}

function judgeRow(
  row: Row,
  ordered: readonly Row[],
  command: PlannedCommand,
  context: CommandContext,
): Judged {
  const standing = standingFor(row, context);
  const rule = ruleFor({
    command: command.kind,
    on: command.target.type,
    earlier: { kind: row.kind, standing },
  });
  assert(rule, `no line for ${command.kind} behind ${row.kind} ${standing}`);
  return { row, rule, verdict: temper(rule, row, standing, ordered, command, context) };
}

/** What the lines leave to the words around the table. */
function temper(
  rule: Rule,
  row: Row,
  standing: Standing,
  ordered: readonly Row[],
  command: PlannedCommand,
  context: CommandContext,
): Verdict {
  // R21 and R33 are for the last row of a key; with a later one behind it, that row's line decides.
  if (rule.verdict === 'answer') return row === ordered.at(-1) || row.kind === 'create' ? 'answer' : 'keep';
  const folds = rule.folds === true && context.patches;
  const unreadable = folds && (context.unreadable?.has(row.id) ?? false);
  const waitedFor = context.waitedFor?.has(row.origin) ?? false;
  if (rule.verdict === 'merge') {
    // A creation must not begin to wait for others because of an edit: that edit waits alone, as an intent.
    const dependent = Boolean(command.after?.length) || ordered.some((other) => staysBehind(other, context));
    return dependent || unreadable || waitedFor ? 'intent' : 'merge';
  }
  if (rule.verdict !== 'remove') return rule.verdict;
  const passed =
    context.patches &&
    row.kind === 'update' &&
    (ordered.some((later) => later.seq > row.seq && isResultUnknown(standingFor(later, context))) ||
      (folds && row.overtakenBy !== undefined));
  // R36: values of a patch that a later row has passed must not come back on top of that row's.
  if (passed && (folds || standing === 'refused')) return staying(row);
  return unreadable || waitedFor ? staying(row) : 'remove';
}

function staying(row: Row): Verdict {
  return row.state === 'blocked' ? 'leave' : 'keep';
}

/** An intent that cannot become part of its creation, so that a later edit must not either. */
function staysBehind(other: Row, context: CommandContext): boolean {
  return (
    other.kind !== 'create' &&
    (Boolean(other.after?.length) ||
      isResultUnknown(standingFor(other, context)) ||
      (context.patches && (context.unreadable?.has(other.id) ?? false)))
  );
}

/** The line for a command that meets no earlier row, or aims at a creation that is not stored. */
function ruleWithoutRow(
  ordered: readonly Row[],
  { kind, target }: PlannedCommand,
  context: CommandContext,
): Rule | undefined {
  if (kind === 'create' || target.type === 'id') return undefined;
  if (ordered.some((row) => row.kind === 'create')) return undefined;
  const rule = ruleFor({ command: kind, on: 'pending', earlier: undefined, end: context.end ?? 'unknown' });
  assert(rule, `no line for ${kind} of a creation that is not stored`);
  return rule;
}

/** R7, with one addition: whatever the server's noted word says, the row only waits to be removed (C11). */
export function standingFor(row: Row, context: StandingContext): Standing {
  const standing = standingOf(row, context);
  return isNoted(row) && isClean(standing) ? 'in_doubt' : standing;
}
