/**
 * What a person may do with a row (R34, R35, C33): cancel, discard, retry, recover. Pure; new ids and hashes are
 * made, bodies merged, by whoever carries it out.
 */
import { isIntent, type Row } from '../../shared/row.ts';
import { standingFor } from './plan-command.ts';
import type { RowDraft } from './row-store.ts';
import { isClean, isInDoubt, isNoted, isUnproven, type StandingContext } from './standing.ts';

/** Refused: the row's state does not allow it, and what would. */
export interface WrongState {
  readonly type: 'wrong_state';
  readonly instead: 'cancel' | 'discard' | 'retry' | 'wait';
}

export type RemovalPlan = WrongState | { readonly type: 'remove'; readonly end: 'cancelled' | 'discarded' };

/** R35: a clean row is withdrawn; one the server may have applied cannot be. */
export function planCancel(row: Row, context: StandingContext): RemovalPlan {
  const standing = standingFor(row, context);
  if (!isClean(standing))
    return { type: 'wrong_state', instead: standing === 'doubtful' ? 'discard' : 'wait' };
  return { type: 'remove', end: standing === 'refused' ? 'discarded' : 'cancelled' };
}

/** R35: a blocked row is given up, whether the server may have applied it or not: the person says so. */
export function planDiscard(row: Row): RemovalPlan {
  if (row.state !== 'blocked') return { type: 'wrong_state', instead: 'cancel' };
  // C11: the server has it, and the next flush will say so.
  return isNoted(row) ? { type: 'wrong_state', instead: 'wait' } : { type: 'remove', end: 'discarded' };
}

export interface AgainContext extends StandingContext {
  /** The row is of a document family (C33). */
  readonly document: boolean;
  /** The person's word that this version shall stand. */
  readonly overwrite: boolean;
  /** A new body is given with it. */
  readonly edited: boolean;
}

export type AgainPlan =
  | WrongState
  | { readonly type: 'overtaken' }
  /** It is on its way already. */
  | { readonly type: 'answer' }
  /** The same row, id and hash, sent again. */
  | { readonly type: 'again'; readonly write: RowDraft }
  /** A new id in the old place; `fold` are the intents that become part of a rewritten creation, in order (R29). */
  | {
      readonly type: 'replace';
      readonly revision: number | undefined;
      readonly fold: readonly Row[];
      readonly changes: RowChanges;
    }
  /** A delete waits behind the creation: nothing of it is wanted any more (R29, R23). */
  | { readonly type: 'drop' };

/** In `again` without `expiresAt`, which an id keeps for ever (R1). */
export type RowChanges = Pick<RowDraft, 'overtakenBy' | 'noticed' | 'expiresAt' | 'orphanedAt'>;

/** @param rows all rows of the key, `row` among them. */
export function planAgain(row: Row, rows: readonly Row[], context: AgainContext): AgainPlan {
  const { now, edited, overwrite } = context;
  if (isNoted(row)) return edited ? { type: 'wrong_state', instead: 'wait' } : { type: 'answer' };
  if (row.state !== 'blocked')
    return edited ? { type: 'wrong_state', instead: 'cancel' } : { type: 'answer' };
  const doubt = isInDoubt(row);
  // R34: whether the server has the old content must be known before there can be another.
  if (edited && doubt) return { type: 'wrong_state', instead: 'retry' };
  if (context.document && row.overtakenBy !== undefined && !overwrite && !edited)
    return { type: 'overtaken' };
  const isLate = row.expiresAt !== undefined && row.expiresAt <= now;
  const changes: RowChanges = {
    overtakenBy: overwrite || edited ? undefined : row.overtakenBy,
    // D42: the person saw that it was not done, so that its end is worth telling.
    noticed: true,
    // C22: what an intent waits for is asked for anew, where it is not stored.
    orphanedAt: isIntent(row) && !rows.some((other) => other.kind === 'create') ? now : undefined,
  };
  if (!edited && (doubt || (!isLate && (row.lookupNone || isIntent(row)))))
    return { type: 'again', write: again(row, changes) };
  // W62: it leaves after all, because the person says so; the time that has passed would block it again at once.
  const expiresAt = isLate ? undefined : row.expiresAt;
  if (row.kind !== 'create') {
    const revision = overwrite ? (row.conflict?.actual ?? row.expectedRevision) : row.expectedRevision;
    return { type: 'replace', revision, fold: [], changes: { ...changes, expiresAt } };
  }
  const intents = rows.filter((other) => other !== row);
  const standing = (other: Row) => standingFor(other, context);
  if (intents.some((other) => other.kind === 'delete' && standing(other) !== 'refused'))
    return { type: 'drop' };
  const edits = intents.filter((other) => other.kind === 'update').toSorted((a, b) => a.seq - b.seq);
  // An intent that cannot become part of the creation keeps the later ones behind it.
  const stays = edits.findIndex((other) => other.after?.length || other.awaited || !isClean(standing(other)));
  const fold = stays < 0 ? edits : edits.slice(0, stays);
  return { type: 'replace', revision: undefined, fold, changes: { ...changes, expiresAt } };
}

function again(row: Row, changes: RowChanges): RowDraft {
  return {
    ...row,
    ...changes,
    state: 'queued',
    blockedAt: undefined,
    blockedCode: undefined,
    notBefore: undefined,
    // The person's word stands for the witnesses': without it a restored row would stay where it is (C30).
    recovery: row.recovery && { ...row.recovery, proof: isUnproven(row) ? 'asked' : row.recovery.proof },
  };
}
