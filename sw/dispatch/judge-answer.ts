/**
 * What an answer means for its row: one closed union that the dispatcher and the acknowledgement act on. Pure.
 */
import { unreachable } from '../../shared/assert.ts';
import type { Family } from '../../shared/family.ts';
import type { FailureNote, ReceiptRejection } from '../../shared/outcome.ts';
import type { Applied, PlainEnd } from '../outbox/plan-acknowledgement.ts';
import { acceptanceReceipt } from '../receipts/acceptance-receipt.ts';
import { checkReceipt, type SentCommand } from '../receipts/check-receipt.ts';
import { classifyFailure, type FailureVerdict, mapVerdict, type WaitScope } from './classify-failure.ts';
import { type FailureSignals, failureSignals, readMember } from './failure-signals.ts';
import type { MapFailure } from './family-ports.ts';
import { readRetryAfter } from './retry-after.ts';
import { readRevision, revisionOfEtag } from './revision.ts';
import type { AcceptedFacts, Answer } from './sender.ts';

export type Judgement =
  | PlainEnd
  | {
      readonly type: 'transient';
      readonly failure: FailureNote;
      readonly applied: Applied;
      /** What rests (D3). */
      readonly scope: WaitScope;
      /** The server's own wait as an instant, cut to the longest wait (C4); absent: the engine's own wait. */
      readonly retryAt?: number | undefined;
    }
  | {
      readonly type: 'conflict';
      readonly failure: FailureNote;
      readonly applied: Applied;
      /** The server's revision, where the answer names it. */
      readonly actual?: number | undefined;
    };

export interface JudgeContext {
  /** The owner this flush is for (D21). */
  readonly owner: string;
  readonly family: Family;
  readonly mapFailure?: MapFailure | undefined;
  /** Epoch ms. */
  readonly now: number;
  readonly longestWaitMs?: number | undefined;
}

/** Never throws, whatever the sender hands over. */
export function judgeAnswer(answer: Answer, sent: SentCommand, context: JudgeContext): Judgement {
  const { family, mapFailure, owner, now } = context;
  const signals = signalsOf(answer, context);
  if (!signals.isSuccess) return judgeFailure(signals, sent, mapFailure);
  const receipt = readMember(signals.json, 'receipt');
  // Servers that report errors with 200 are understood through the family's own mapping.
  const told = receipt === undefined ? mapVerdict(signals, sent.kind, mapFailure) : undefined;
  if (told) return judgementOf(told, signals);
  const isSaid = answer.type !== 'response' || !answer.isUnsaid;
  const takesAny = family.receipts === 'none' && sent.owner === owner && isSaid;
  if (takesAny) return { type: 'accepted', receipt: acceptanceReceipt(sent, acceptedFacts(answer), now) };
  const verdict = checkReceipt({ receipt, sent, owner, family });
  return verdict.type === 'matches'
    ? { type: 'accepted', receipt: verdict.receipt }
    : rejectedAs(verdict.rejection);
}

/** The facts of an answer; its `Retry-After` read against the context's clock. */
export function signalsOf(
  answer: Answer,
  { now, longestWaitMs }: Pick<JudgeContext, 'now' | 'longestWaitMs'>,
): FailureSignals {
  const { retryAfter, date } = answer?.type === 'response' ? answer : {};
  return failureSignals(answer, readRetryAfter(retryAfter, { now, date, longestWaitMs }));
}

/** A failure that carries no receipt question: a look-up without an answer, a port that threw. */
export function judgeFailure(
  signals: FailureSignals,
  sent: Pick<SentCommand, 'kind'>,
  mapFailure?: MapFailure | undefined,
): Judgement {
  return judgementOf(classifyFailure(signals, sent.kind, mapFailure), signals);
}

function judgementOf(verdict: FailureVerdict, signals: FailureSignals): Judgement {
  const { code, applied, scope, actualRevision: actual } = verdict;
  if (verdict.class === 'already_gone') return { type: 'already_gone' };
  const { status, codes, detail = codes[0], retryAt } = signals;
  const failure: FailureNote = { class: verdict.class, code, status, detail };
  switch (verdict.class) {
    case 'transient':
      return { type: 'transient', failure, applied, scope, retryAt };
    case 'auth':
      return { type: 'signed_out', failure, applied };
    case 'conflict':
      return { type: 'conflict', failure, applied, actual };
    case 'permanent':
      return { type: 'refused', code, applied, failure };
    default:
      return unreachable(verdict.class);
  }
}

/** A row that nothing proves: blocked with the rejection's code, in doubt, content intact (D28). */
export function rejectedAs(rejection: ReceiptRejection): Judgement {
  return { type: 'refused', code: rejection.code, applied: 'maybe', rejection };
}

/** What an answer without a receipt says: the app's own mapping first, then an entity tag and the usual members. */
function acceptedFacts(answer: Answer): AcceptedFacts {
  if (answer.type !== 'response') return {};
  const { accepted, etag, json } = answer;
  const id = readMember(json, 'id');
  return {
    target: accepted?.target ?? (typeof id === 'string' || typeof id === 'number' ? String(id) : undefined),
    revision: accepted?.revision ?? revisionOfEtag(etag) ?? readRevision(readMember(json, 'revision')),
  };
}
