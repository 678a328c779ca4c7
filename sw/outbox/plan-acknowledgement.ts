/**
 * What an answer does to its row (C10-C16): one plan for a claim that is still this attempt's, one for a claim
 * that is not. The answer has been judged already; nothing here knows statuses or receipt rules. Pure.
 */
import type { BlockedCode } from '../../shared/blocked-code.ts';
import { sameKey } from '../../shared/key.ts';
import type { FailureNote, Outcome, OutcomeEnd, ReceiptRejection } from '../../shared/outcome.ts';
import type { Receipt } from '../../shared/receipt.ts';
import { isIntent, keyOf, type Row, type Wait } from '../../shared/row.ts';
import {
  type Attempt,
  blockedDraft,
  endClaim,
  isHeldBy,
  noteAttempt,
  outcomeOf,
  restoreDoubt,
  tell,
} from './attempt.ts';
import type { Material, Needs } from './material.ts';
import { type AcceptanceContext, endOf, planAcceptance } from './plan-acceptance.ts';
import type { Commit, FactWrite, RowDraft } from './row-store.ts';
import { isInDoubt, isNoted } from './standing.ts';

/**
 * What the answer proves about the server (R7): `maybe` nothing; `not_this_attempt` that this attempt was not
 * applied, or never left; `never` that this id is refused for good (D45).
 */
export type Applied = 'maybe' | 'not_this_attempt' | 'never';

export type JudgedAnswer = JudgedEnd & {
  /** Written with whatever the answer writes (D3, D29, D33), but not when it writes nothing. */
  readonly facts?: readonly FactWrite[] | undefined;
};

/** What an answer may be judged to mean without anything else being asked or reckoned. */
export type PlainEnd =
  | { readonly type: 'accepted'; readonly receipt: Receipt; readonly duplicate?: boolean | undefined }
  | { readonly type: 'already_gone' }
  | { readonly type: 'signed_out'; readonly failure: FailureNote; readonly applied: Applied }
  | {
      readonly type: 'refused';
      readonly code: BlockedCode;
      readonly applied: Applied;
      readonly failure?: FailureNote | undefined;
      /** A missing or wrong receipt: nothing proves that it was accepted or not, so the outcome is `unknown` (D28). */
      readonly rejection?: ReceiptRejection | undefined;
    };

type JudgedEnd =
  | PlainEnd
  | {
      readonly type: 'transient';
      readonly failure: FailureNote;
      readonly applied: Applied;
      readonly notBefore?: Wait | undefined;
    }
  /** The family's resolver lets the server's version win (D30). */
  | { readonly type: 'dropped'; readonly failure?: FailureNote | undefined };

export type AcknowledgementPlan =
  /** `outcomes` are all that happened, those that are not journalled (deferred, held) included. */
  | {
      readonly type: 'commit';
      readonly commit: Commit;
      readonly outcomes: readonly Outcome[];
      /** The origin for which rows wait that this commit did not prepare (C21). */
      readonly left?: string | undefined;
    }
  | { readonly type: 'nothing'; readonly reason: 'claim_lost' | 'gone' | 'noted_already' | 'unanswered' }
  | Needs;

/** `material.rows`: the rows of the row's key; just the claimed one to begin with. */
export function planAcknowledgement(
  attempt: Attempt,
  answer: JudgedAnswer,
  material: Material,
  context: AcceptanceContext,
): AcknowledgementPlan {
  const row = material.rows.find((other) => other.id === attempt.claimed.id);
  if (!row) return { type: 'nothing', reason: 'gone' };
  if (!isHeldBy(row, attempt)) return planLateAnswer(row, answer, material);
  const { facts } = answer;
  if (isNoted(row)) {
    // D47, C11: what is known is better than this answer, whatever it is.
    const settled = { row, receipt: row.receipt, told: 'already', facts, reason: 'acknowledge' } as const;
    return withOutcomes(planAcceptance(settled, material, context));
  }
  const { now } = context;
  const { claimed } = attempt;
  const note = (end: string, code?: string) => ({
    at: now,
    host: claimed.claim?.host ?? '',
    fence: claimed.claim?.fence ?? 0,
    end,
    ...(code !== undefined && { code }),
  });
  const returned = (end: string, code: string | undefined, applied: Applied): Row => {
    const kept =
      applied === 'maybe' ? { doubt: true, evidence: row.evidence } : restoreDoubt(row, attempt.before);
    const { doubt } = applied === 'never' ? { doubt: false } : kept;
    return {
      ...row,
      doubt,
      sentAt: undefined,
      claim: endClaim(row, now),
      evidence: noteAttempt(
        doubt ? kept.evidence : { ...kept.evidence, doubtSince: undefined },
        note(end, code),
      ),
    };
  };
  // R34: the request that a "none" was said about may still arrive.
  const stillNone = (applied: Applied) =>
    applied === 'not_this_attempt' ? attempt.before.lookupNone : undefined;

  switch (answer.type) {
    case 'accepted':
    case 'already_gone': {
      const accepted = answer.type === 'accepted' ? answer : undefined;
      return withOutcomes(
        planAcceptance(
          {
            row,
            receipt: accepted?.receipt,
            duplicate: accepted?.duplicate,
            told: 'now',
            facts,
            reason: 'acknowledge',
          },
          material,
          context,
        ),
      );
    }
    case 'transient': {
      const { failure, notBefore } = answer;
      const write = {
        ...returned('deferred', failure.code, answer.applied),
        state: 'queued',
        deferredAt: now,
        notBefore,
        lookupNone: stillNone(answer.applied),
      } as const;
      return writes(row, write, [tell(row, { type: 'deferred', failure })], [], material, facts);
    }
    case 'signed_out': {
      const { failure } = answer;
      const write = {
        ...returned('held', failure.code, answer.applied),
        state: 'held',
        heldAt: now,
        lookupNone: stillNone(answer.applied),
      } as const;
      return writes(row, write, [tell(row, { type: 'held', failure })], [], material, facts);
    }
    case 'refused': {
      const { code, failure, rejection } = answer;
      const base = returned('blocked', failure?.code ?? code, answer.applied);
      const doubt = isInDoubt({ ...base, state: 'blocked' });
      const intents = row.kind === 'create' ? intentsOf(row, material.rows) : [];
      if (!doubt && intents.some((intent) => intent.kind === 'delete'))
        return drops([row, ...intents], material, facts);
      const end: OutcomeEnd = rejection
        ? { type: 'unknown', rejection }
        : { type: 'blocked', code, ...(failure && { failure }) };
      return writes(row, blockedDraft(base, code, doubt, now), [], [end], material, facts);
    }
    case 'dropped': {
      const outcome = outcomeOf(row, { type: 'dropped', reason: 'resolver' });
      return {
        type: 'commit',
        commit: { ...base(row, material, facts), remove: [row.id], outcomes: [outcome] },
        outcomes: [outcome.outcome],
      };
    }
  }
}

/** C10-C14, right column: somebody else holds the row, or it was given up. Only success is worth a word. */
function planLateAnswer(row: Row, answer: JudgedAnswer, material: Material): AcknowledgementPlan {
  if (answer.type !== 'accepted' && answer.type !== 'already_gone')
    return { type: 'nothing', reason: 'claim_lost' };
  if (isNoted(row)) return { type: 'nothing', reason: 'noted_already' };
  return planNote(row, answer.type === 'accepted' ? answer : { facts: answer.facts }, material);
}

/** C11: notes the receipt (or, without one, that it is already gone) on a row that is not ours, and tells it once. */
export function planNote(
  row: Row,
  accepted: {
    readonly receipt?: Receipt | undefined;
    readonly duplicate?: boolean | undefined;
    readonly facts?: readonly FactWrite[] | undefined;
  },
  material: Material,
): Extract<AcknowledgementPlan, { readonly type: 'commit' }> {
  const { receipt, duplicate, facts } = accepted;
  const outcome = outcomeOf(row, endOf({ row, receipt, duplicate }));
  return {
    type: 'commit',
    commit: {
      ...base(row, material, facts),
      reason: 'note_receipt',
      write: [receipt ? { ...row, receipt } : { ...row, gone: true }],
      outcomes: [outcome],
    },
    outcomes: [outcome.outcome],
  };
}

/**
 * C11: accepts a row whose receipt was noted, once nobody holds it; its outcome was told then. `undefined`: there
 * is nothing to settle any more.
 */
export function planSettle(
  id: string,
  material: Material,
  context: AcceptanceContext,
): Exclude<AcknowledgementPlan, { readonly type: 'nothing' }> | undefined {
  const row = material.rows.find((other) => other.id === id);
  if (!row || !isNoted(row)) return undefined;
  return withOutcomes(
    planAcceptance({ row, receipt: row.receipt, told: 'already', reason: 'settle' }, material, context),
  );
}

/**
 * C8: what was claimed but never left is as it was before, its claim expired and its fence kept. Marks that the
 * claim left on rows it stepped over stay (C33). `undefined`: the claim is no longer ours.
 */
export function planGiveBack(rows: readonly Row[], attempt: Attempt, now: number): Commit | undefined {
  const row = rows.find((other) => other.id === attempt.claimed.id);
  if (!row || !isHeldBy(row, attempt)) return undefined;
  const { before } = attempt;
  return {
    ...base(row, { rows, keys: [keyOf(row)] }, undefined),
    reason: 'give_back',
    write: [
      {
        ...row,
        // Never `sending` again, even if it was taken over from a lost host: nobody sends it now.
        state: 'queued',
        doubt: isInDoubt(before),
        sentAt: before.sentAt,
        deferredAt: before.deferredAt,
        lookupNone: before.lookupNone,
        notBefore: before.notBefore,
        evidence: before.evidence,
        claim: endClaim(row, now),
      },
    ],
  };
}

/** Intents of a creation: the rows of its key beside itself (C20). */
export function intentsOf(creation: Row, rows: readonly Row[]): readonly Row[] {
  return rows.filter(
    (row) => row.id !== creation.id && isIntent(row) && sameKey(keyOf(row), keyOf(creation)),
  );
}

/** A commit about the rows of one key that changes nothing yet. */
export function base(row: Row, material: Material, facts?: readonly FactWrite[] | undefined): Commit {
  return {
    owner: row.owner,
    reason: 'acknowledge',
    keys: [keyOf(row)],
    expected: material.rows.filter((other) => sameKey(keyOf(other), keyOf(row))),
    write: [],
    remove: [],
    outcomes: [],
    ...(facts && { facts }),
    durability: 'relaxed',
  };
}

/** Writes a row and tells what became of it. */
export function writes(
  row: Row,
  write: RowDraft,
  passing: readonly Outcome[],
  ends: readonly OutcomeEnd[],
  material: Material,
  facts: readonly FactWrite[] | undefined,
): Extract<AcknowledgementPlan, { readonly type: 'commit' }> {
  const outcomes = ends.map((end) => outcomeOf(row, end));
  return {
    type: 'commit',
    commit: {
      ...base(row, material, facts),
      write: [write],
      outcomes,
      ...(passing.length > 0 && { passing }),
    },
    outcomes: [...passing, ...outcomes.map((draft) => draft.outcome)],
  };
}

/** R24, C14: the person has already said that the record should not be. */
export function drops(
  rows: readonly [Row, ...Row[]],
  material: Material,
  facts: readonly FactWrite[] | undefined,
): AcknowledgementPlan {
  const outcomes = rows.map((row) => outcomeOf(row, { type: 'dropped', reason: 'table' }));
  return {
    type: 'commit',
    commit: { ...base(rows[0], material, facts), remove: rows.map((row) => row.id), outcomes },
    outcomes: outcomes.map((draft) => draft.outcome),
  };
}

function withOutcomes(
  plan: ReturnType<typeof planAcceptance>,
): Exclude<AcknowledgementPlan, { readonly type: 'nothing' }> {
  if (plan.type === 'needs') return plan;
  return { ...plan, outcomes: plan.commit.outcomes.map((draft) => draft.outcome) };
}
