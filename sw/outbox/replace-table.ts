/**
 * The replace table as data (R8-R37, R29): what a command does to each earlier row of its key. The planner reads
 * its verdicts here, docs/replace-table.md and the tests of the table are made from it (T33).
 */
import type { CommandKind, Row } from '../../shared/row.ts';
import type { Standing } from './standing.ts';

export type Verdict =
  /** It stays, and the new row waits for it. */
  | 'keep'
  /** It stays, and nobody waits for it. */
  | 'leave'
  /** It goes; the new row takes over. */
  | 'remove'
  /** It stands for the command; nothing is written. */
  | 'answer'
  /** It goes; a creation with the merged body takes its place. */
  | 'merge'
  /** It stays; the command becomes an intent behind it. */
  | 'intent'
  /** It goes with its intents; nothing is written. */
  | 'drop'
  | 'refuse'
  /** There is no earlier row: one is written. */
  | 'write'
  /** The creation is gone: there is nothing to do. */
  | 'nothing'
  /** The creation was accepted: the command is aimed at the server's id. */
  | 'convert';

/** What is known of a creation whose row is not stored: it ended without the server, was accepted, or neither. */
export type CreationEnd = 'gone' | 'accepted' | 'unknown';

export interface Rule {
  readonly id: string;
  readonly command: readonly CommandKind[];
  /** Kinds of the earlier row; absent: there is none (of a pending target: no creation). */
  readonly earlier?: readonly CommandKind[];
  readonly standing?: readonly Standing[];
  /** Only for a key of this type. */
  readonly on?: Row['target']['type'];
  readonly end?: CreationEnd;
  readonly verdict: Verdict;
  readonly refusal?: 'target_deleted' | 'no_such_target';
  /** Where bodies are patches, a removed row is folded into what takes over (R36). */
  readonly folds?: true;
}

const UNSENT: readonly Standing[] = ['unsent'];
const REFUSED: readonly Standing[] = ['refused'];
const CLEAN: readonly Standing[] = [...UNSENT, ...REFUSED];
const UNKNOWN: readonly Standing[] = ['in_flight', 'in_doubt', 'doubtful'];
const NOT_REFUSED: readonly Standing[] = [...UNSENT, ...UNKNOWN];
const ANY: readonly Standing[] = [...CLEAN, ...UNKNOWN];

const create: readonly CommandKind[] = ['create'];
const update: readonly CommandKind[] = ['update'];
const del: readonly CommandKind[] = ['delete'];
const change: readonly CommandKind[] = ['update', 'delete'];
const put: readonly CommandKind[] = ['put'];
const remove: readonly CommandKind[] = ['remove'];
const write: readonly CommandKind[] = ['put', 'remove'];

// biome-ignore format: a table is read by its lines
export const REPLACE_TABLE: readonly Rule[] = [
  { id: 'R8', command: create, on: 'pending', verdict: 'write' },
  { id: 'R8', command: [...change, ...write], on: 'id', verdict: 'write' },
  // A creation that arrives after its intents (they were R28's until now) takes its place before them.
  { id: 'R8', command: create, earlier: change, on: 'pending', standing: ANY, verdict: 'leave' },
  { id: 'R10', command: create, earlier: create, standing: ANY, verdict: 'answer' },
  { id: 'R12', command: update, earlier: del, standing: NOT_REFUSED, verdict: 'refuse', refusal: 'target_deleted' },
  { id: 'R13', command: update, earlier: del, standing: REFUSED, verdict: 'leave' },
  { id: 'R14', command: update, earlier: update, on: 'id', standing: UNKNOWN, verdict: 'keep' },
  { id: 'R15', command: update, earlier: update, on: 'id', standing: CLEAN, verdict: 'remove', folds: true },
  { id: 'R16', command: update, earlier: create, standing: CLEAN, verdict: 'merge', folds: true },
  { id: 'R17', command: update, earlier: create, standing: UNKNOWN, verdict: 'intent' },
  { id: 'R18', command: update, on: 'pending', end: 'gone', verdict: 'refuse', refusal: 'no_such_target' },
  { id: 'R19', command: del, earlier: update, on: 'id', standing: UNKNOWN, verdict: 'keep' },
  { id: 'R20', command: del, earlier: update, on: 'id', standing: CLEAN, verdict: 'remove' },
  { id: 'R21', command: del, earlier: del, standing: NOT_REFUSED, verdict: 'answer' },
  { id: 'R22', command: del, earlier: del, standing: REFUSED, verdict: 'remove' },
  { id: 'R23', command: del, earlier: create, standing: UNSENT, verdict: 'drop' },
  { id: 'R24', command: del, earlier: create, standing: REFUSED, verdict: 'drop' },
  { id: 'R25', command: del, earlier: create, standing: UNKNOWN, verdict: 'intent' },
  { id: 'R26', command: del, on: 'pending', end: 'gone', verdict: 'nothing' },
  { id: 'R27', command: change, on: 'pending', end: 'accepted', verdict: 'convert' },
  { id: 'R28', command: change, on: 'pending', end: 'unknown', verdict: 'write' },
  { id: 'R29', command: update, earlier: update, on: 'pending', standing: CLEAN, verdict: 'remove', folds: true },
  { id: 'R29', command: del, earlier: update, on: 'pending', standing: CLEAN, verdict: 'remove' },
  { id: 'R29', command: change, earlier: update, on: 'pending', standing: UNKNOWN, verdict: 'keep' },
  { id: 'R30', command: put, earlier: write, standing: CLEAN, verdict: 'remove' },
  { id: 'R31', command: put, earlier: write, standing: UNKNOWN, verdict: 'keep' },
  { id: 'R31', command: remove, earlier: put, standing: UNKNOWN, verdict: 'keep' },
  { id: 'R32', command: remove, earlier: put, standing: CLEAN, verdict: 'remove' },
  { id: 'R33', command: remove, earlier: remove, standing: NOT_REFUSED, verdict: 'answer' },
  { id: 'R37', command: remove, earlier: remove, standing: REFUSED, verdict: 'remove' },
];

export interface RuleQuestion {
  readonly command: CommandKind;
  readonly on: Row['target']['type'];
  /** The earlier row, or `undefined` where there is none. */
  readonly earlier: { readonly kind: CommandKind; readonly standing: Standing } | undefined;
  /** Asked where a pending target has no creation. */
  readonly end?: CreationEnd | undefined;
}

/** The one line that applies. Kinds of two families never share a key, so a question without a line is a defect. */
export function ruleFor({ command, on, earlier, end }: RuleQuestion): Rule | undefined {
  return REPLACE_TABLE.find(
    (rule) =>
      rule.command.includes(command) &&
      (rule.on === undefined || rule.on === on) &&
      (earlier === undefined
        ? rule.earlier === undefined && rule.end === end
        : rule.earlier?.includes(earlier.kind) && rule.standing?.includes(earlier.standing)),
  );
}
