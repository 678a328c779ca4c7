/**
 * The one classifier (D10): facts become one class, by one table. No other file compares a status or a code.
 */
import type { FailureNote } from '../../shared/outcome.ts';
import type { CommandKind } from '../../shared/row.ts';
import type { Applied } from '../outbox/plan-acknowledgement.ts';
import type { Fact, FailureSignals } from './failure-signals.ts';
import type { MapFailure } from './family-ports.ts';
import { readRevision } from './revision.ts';

export type FailureClass = FailureNote['class'];

/** What rests after a transient failure (D3). `device`: the key, and the connection is not to blame. */
export type WaitScope = 'network' | 'owner' | 'everyone' | 'key' | 'device';

export interface FailureLine {
  /** All that is given must be seen. */
  readonly code?: string;
  readonly status?: readonly number[];
  /** Both ends included. */
  readonly range?: readonly [from: number, to: number];
  readonly fact?: Fact;
  readonly on?: readonly CommandKind[];
  readonly class: FailureClass | 'already_gone';
  /** A blocked code (D11) or a word for the evidence; by default `http_<status>`. */
  readonly as?: string;
  /** By default the key. */
  readonly scope?: WaitScope;
  /** By default `maybe` for a transient failure, else `as_before`. */
  readonly applied?: Applied;
}

const DELETES: readonly CommandKind[] = ['delete', 'remove'];

/** Blocked and recoverable beats an endless loop at the head. */
const UNCLASSIFIED: FailureLine = { class: 'permanent', as: 'unclassified', applied: 'maybe' };

/**
 * The first line that fits decides. Codes stand before statuses, since they are more exact, and among equals the
 * order is permanent, conflict, auth, transient.
 */
export const FAILURE_TABLE: readonly FailureLine[] = [
  { code: 'idempotency_key_reused', class: 'permanent', as: 'key_reused', applied: 'maybe' },
  { code: 'revision_conflict', class: 'conflict', as: 'revision_conflict' },
  { code: 'owner_mismatch', class: 'auth', as: 'owner_mismatch' },
  { code: 'bad_credentials', class: 'auth', as: 'bad_credentials' },
  { code: 'in_progress', class: 'transient', as: 'in_progress' },
  { fact: 'redirect_secure', class: 'auth', as: 'redirect', applied: 'maybe' },
  { fact: 'redirect_plain', class: 'transient', as: 'redirect' },
  { fact: 'page', class: 'transient', as: 'portal' },
  { status: [401], class: 'auth', as: 'unauthorized' },
  { status: [412], class: 'conflict', as: 'revision_conflict' },
  { status: [409], fact: 'revision', class: 'conflict', as: 'revision_conflict' },
  { status: [409], fact: 'retry_after', class: 'transient', as: 'in_progress' },
  { status: [409], class: 'permanent', as: 'conflict' },
  { status: [404, 410], fact: 'foreign', class: 'transient', as: 'foreign_answer' },
  { status: [404, 410], on: DELETES, class: 'already_gone', as: 'source_deleted' },
  { status: [404, 410], on: ['update'], class: 'permanent', as: 'source_deleted' },
  { status: [408, 425], class: 'transient' },
  { status: [429], class: 'transient', as: 'too_many_requests', scope: 'owner', applied: 'not_this_attempt' },
  { status: [503], fact: 'retry_after', class: 'transient', scope: 'everyone' },
  { status: [501, 505], class: 'permanent', as: 'rejected', applied: 'maybe' },
  { range: [500, 599], class: 'transient' },
  { range: [400, 499], class: 'permanent', as: 'rejected' },
  { fact: 'timeout', class: 'transient', as: 'timeout' },
  { fact: 'network', class: 'transient', as: 'network', scope: 'network' },
  { fact: 'device', class: 'transient', scope: 'device' },
  { fact: 'aborted', class: 'transient', as: 'aborted', scope: 'device' },
  { fact: 'revision_conflict', class: 'conflict', as: 'revision_conflict' },
  { fact: 'idempotency_conflict', class: 'conflict', as: 'idempotency_conflict', applied: 'maybe' },
  { fact: 'not_found', on: DELETES, class: 'already_gone', as: 'source_deleted' },
  UNCLASSIFIED,
];

export interface FailureVerdict {
  readonly class: FailureClass | 'already_gone';
  readonly code: string;
  readonly scope: WaitScope;
  readonly applied: Applied;
  /** Of a conflict, where the answer names it. */
  readonly actualRevision: number | undefined;
}

/** Never throws; a `mapFailure` that throws or answers nonsense leaves it to the table (D4). */
export function classifyFailure(
  signals: FailureSignals,
  kind: CommandKind,
  mapFailure?: MapFailure | undefined,
): FailureVerdict {
  return mapVerdict(signals, kind, mapFailure) ?? finish(signals, tableVerdict(signals, kind));
}

/** What the family itself says, if it says anything. */
export function mapVerdict(
  signals: FailureSignals,
  kind: CommandKind,
  mapFailure: MapFailure | undefined,
): FailureVerdict | undefined {
  const mapped = mapFailure && readMapped(signals, kind, mapFailure);
  if (!mapped) return undefined;
  const { code } = mapped;
  const isGone = code === 'source_deleted' && mapped.class === 'permanent' && DELETES.includes(kind);
  // How long to rest and what stays in doubt the table still knows from the status. An answer it has no line for
  // (a 200 that reports an error) the family knows to be a refusal.
  const common = tableVerdict(signals, kind);
  const isTold =
    mapped.class !== 'transient' && common.code === 'unclassified' && signals.status !== undefined;
  return finish(signals, {
    class: isGone ? 'already_gone' : mapped.class,
    code,
    scope: common.scope,
    applied: code === 'key_reused' ? 'maybe' : isTold ? 'not_this_attempt' : common.applied,
    actualRevision: readRevision(mapped.actualRevision) ?? common.actualRevision,
  });
}

function tableVerdict(signals: FailureSignals, kind: CommandKind): FailureVerdict {
  const { status, codes, actualRevision } = signals;
  const line = FAILURE_TABLE.find((candidate) => fits(candidate, signals, kind)) ?? UNCLASSIFIED;
  return {
    class: line.class,
    code: line.as ?? (status === undefined ? (codes[0] ?? 'device') : `http_${status}`),
    scope: line.scope ?? 'key',
    applied: line.applied ?? (line.class === 'transient' ? 'maybe' : 'not_this_attempt'),
    actualRevision,
  };
}

function finish(signals: FailureSignals, verdict: FailureVerdict): FailureVerdict {
  if (signals.neverLeft) return { ...verdict, applied: 'not_this_attempt' };
  const isRefusal =
    (verdict.class === 'permanent' || verdict.class === 'conflict') && verdict.applied === 'not_this_attempt';
  return isRefusal && signals.facts.has('refused_for_good') ? { ...verdict, applied: 'never' } : verdict;
}

function fits(line: FailureLine, { status = 0, codes, facts }: FailureSignals, kind: CommandKind): boolean {
  const { code, status: statuses, range, fact, on } = line;
  return (
    (code === undefined || codes.some((seen) => normalized(seen) === code)) &&
    (statuses === undefined || statuses.includes(status)) &&
    (range === undefined || (status >= range[0] && status <= range[1])) &&
    (fact === undefined || facts.has(fact)) &&
    (on === undefined || on.includes(kind))
  );
}

/** `Revision-Conflict` and `revision_conflict` are one code. */
function normalized(code: string): string {
  return code.toLowerCase().replaceAll('-', '_');
}

const CLASSES: readonly unknown[] = ['permanent', 'conflict', 'auth', 'transient'];

function readMapped(
  { status, codes, json }: FailureSignals,
  kind: CommandKind,
  mapFailure: MapFailure,
): NonNullable<ReturnType<MapFailure>> | undefined {
  try {
    const mapped = mapFailure({ kind, status, code: codes[0], json });
    const isSense = CLASSES.includes(mapped?.class) && typeof mapped?.code === 'string' && mapped.code !== '';
    return isSense ? mapped : undefined;
  } catch {
    return undefined;
  }
}
