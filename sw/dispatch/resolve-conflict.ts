/**
 * Carries out the plan for a conflict: reads the server's state, asks the family's resolver, each within its time
 * limit (D4), and says what becomes of the row. Writes nothing.
 */
import type { ConflictSummary, FailureNote, Outcome } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import type { Applied } from '../outbox/plan-acknowledgement.ts';
import type { ConflictAnswer, FamilyPorts } from './family-ports.ts';
import type { Judgement } from './judge-answer.ts';
import { planConflict, readConflictAnswer } from './plan-conflict.ts';
import { readRevision } from './revision.ts';
import type { ServerState } from './sender.ts';

export interface ConflictCase {
  readonly row: Row;
  /** The payload that was sent. */
  readonly body: unknown;
  readonly conflict: Extract<Judgement, { readonly type: 'conflict' }>;
  /** How often this line has been resent in this flush already (D32). */
  readonly rounds: number;
  /** How the row that this one waited for ended, where that is known (D34). */
  readonly predecessor: Outcome | undefined;
  readonly ports: FamilyPorts;
  readonly headers: Readonly<Record<string, string>>;
  /** Epoch ms. */
  readonly now: number;
}

export type Resolution =
  /** Store a resend on `actual` in the row's place (D31), with the new body where there is one. */
  | {
      readonly type: 'resend';
      readonly actual: number;
      readonly newBody?: { readonly body: unknown } | undefined;
      readonly summary: ConflictSummary;
    }
  /** The server's version wins. */
  | { readonly type: 'dropped'; readonly failure: FailureNote; readonly summary: ConflictSummary }
  | {
      readonly type: 'refused';
      readonly code: 'conflict';
      readonly applied: Applied;
      readonly failure: FailureNote;
      readonly summary: ConflictSummary;
    }
  | Extract<Judgement, { readonly type: 'transient' }>;

/** Rejects when the time is up, or as `run` does. */
export type WithinLimit = <T>(run: (signal: AbortSignal) => T | Promise<T>) => Promise<T>;

/** Never rejects. */
export async function resolveConflict(given: ConflictCase, withinLimit: WithinLimit): Promise<Resolution> {
  const { row, conflict, rounds, predecessor, ports, now } = given;
  let { actual } = conflict;
  const summaryOf = (answer: ConflictSummary['answer']): ConflictSummary => ({
    originalId: row.id,
    expected: row.expectedRevision,
    actual,
    answer,
    at: now,
  });
  const block = (): Resolution => {
    const failure: FailureNote = { ...conflict.failure, class: 'permanent', code: 'conflict' };
    return {
      type: 'refused',
      code: 'conflict',
      applied: conflict.applied,
      failure,
      summary: summaryOf('block'),
    };
  };
  const settle = (answer: ConflictAnswer, on: number): Resolution => {
    switch (answer.type) {
      case 'block':
        return block();
      case 'drop':
        return { type: 'dropped', failure: conflict.failure, summary: summaryOf('drop') };
      case 'body':
        return { type: 'resend', actual: on, newBody: { body: answer.body }, summary: summaryOf('body') };
      default:
        return { type: 'resend', actual: on, summary: summaryOf('resend') };
    }
  };

  let plan = planConflict({ row, actual, rounds, predecessor, ports });
  if (plan.type === 'read_current') {
    const state = await settled(() => withinLimit((signal) => readCurrent(given, signal)));
    if (state.type === 'failed') return deviceFailure('read_current_failed', conflict.applied, state.error);
    actual = readRevision(state.value?.revision);
    plan = planConflict({ row, actual, rounds, predecessor, ports: { ...ports, readCurrent: undefined } });
  }
  switch (plan.type) {
    case 'resend':
      return settle({ type: 'resend' }, plan.actual);
    case 'storm':
      return deviceFailure('conflict_storm', conflict.applied);
    case 'ask_resolver': {
      const on = plan.actual;
      const asked = await settled(() => withinLimit((signal) => askResolver(given, on, signal)));
      if (asked.type === 'failed') return deviceFailure('resolver_failed', conflict.applied, asked.error);
      const answer = readConflictAnswer(asked.value, row);
      return answer ? settle(answer, on) : deviceFailure('resolver_failed', conflict.applied);
    }
    default:
      return block();
  }
}

/** A failure of this device or of the app's own functions: the row waits, the connection is not to blame (D32). */
export function deviceFailure(
  code: 'successor_persist_failed' | 'conflict_storm' | 'resolver_failed' | 'read_current_failed',
  applied: Applied,
  error?: unknown,
): Extract<Judgement, { readonly type: 'transient' }> {
  const detail = error instanceof Error ? error.message.slice(0, 200) : undefined;
  return { type: 'transient', failure: { class: 'transient', code, detail }, applied, scope: 'device' };
}

function askResolver({ row, body, ports, ...given }: ConflictCase, actual: number, signal: AbortSignal) {
  const { id, family, kind, savedAt, expectedRevision: expected } = row;
  // Copies: what a resolver does to its arguments reaches no stored row.
  const seen = { id, family, kind, savedAt, target: { ...row.target }, tags: row.tags && [...row.tags] };
  const read = () => readCurrent({ row, body, ports, ...given }, signal);
  return ports.resolveConflict?.({ row: seen, body, expected, actual, readCurrent: read });
}

async function readCurrent(
  { row, ports, headers }: ConflictCase,
  signal: AbortSignal,
): Promise<ServerState | undefined> {
  const { owner, target } = row;
  if (target.type !== 'id') return undefined;
  return ports.readCurrent?.({ owner, target: target.id, headers }, signal);
}

async function settled<T>(
  run: () => Promise<T>,
): Promise<
  { readonly type: 'done'; readonly value: T } | { readonly type: 'failed'; readonly error: unknown }
> {
  try {
    return { type: 'done', value: await run() };
  } catch (error) {
    return { type: 'failed', error };
  }
}
