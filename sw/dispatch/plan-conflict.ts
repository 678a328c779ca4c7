/**
 * What to do about a revision conflict (D30-D34). Pure: what has to be read or asked is named, and the caller comes
 * back with it. The row that takes the original's place is planned in `outbox/plan-resend.ts`.
 */
import type { Outcome } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { MAX_CONFLICT_ROUNDS } from '../outbox/plan-resend.ts';
import { readMember } from './failure-signals.ts';
import type { ConflictAnswer, FamilyPorts } from './family-ports.ts';

export interface ConflictView {
  readonly row: Pick<Row, 'kind' | 'overtakenBy'>;
  /** The server's revision, as far as it is known. */
  readonly actual: number | undefined;
  /** How often this line has been resent in this flush already (D32). */
  readonly rounds: number;
  /** How the row that this one waited for ended, where that is known (D34). */
  readonly predecessor: Outcome | undefined;
  readonly ports: Pick<FamilyPorts, 'resolveConflict' | 'readCurrent'>;
}

export type ConflictPlan =
  /** A person decides. */
  | { readonly type: 'block' }
  /** D32: the line waits for another flush. */
  | { readonly type: 'storm' }
  /** Ask the server for its revision, then plan again. */
  | { readonly type: 'read_current' }
  | { readonly type: 'ask_resolver'; readonly actual: number }
  | { readonly type: 'resend'; readonly actual: number };

export function planConflict(view: ConflictView): ConflictPlan {
  const { row, actual, ports } = view;
  // C33: a later row of the key has left meanwhile; rebasing this one would put older values on top.
  if (row.overtakenBy !== undefined) return { type: 'block' };
  if (view.rounds >= MAX_CONFLICT_ROUNDS) return { type: 'storm' };
  if (actual === undefined) return { type: ports.readCurrent ? 'read_current' : 'block' };
  if (isOwnDoing(actual, view.predecessor)) return { type: 'resend', actual };
  if (ports.resolveConflict) return { type: 'ask_resolver', actual };
  // A creation was made on no revision, so there is nothing to rebase.
  return row.kind === 'create' ? { type: 'block' } : { type: 'resend', actual };
}

/** D34: the revision in the way is the one that this device's own earlier row made, with nobody else's between. */
function isOwnDoing(actual: number, predecessor: Outcome | undefined): boolean {
  return (
    predecessor?.type === 'committed' &&
    predecessor.receipt.revision === actual &&
    predecessor.resolvedConflict !== true
  );
}

/** The resolver's answer, or `undefined` where it makes no sense (D4). */
export function readConflictAnswer(answer: unknown, row: Pick<Row, 'kind'>): ConflictAnswer | undefined {
  const type = readMember(answer, 'type');
  if (type === 'resend' || type === 'block' || type === 'drop') return { type };
  const takesBody = row.kind !== 'delete' && row.kind !== 'remove';
  const body = readMember(answer, 'body');
  return type === 'body' && takesBody && body !== undefined ? { type, body } : undefined;
}
