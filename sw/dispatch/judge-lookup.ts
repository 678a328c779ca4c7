/** What a receipt look-up says about a row (C23, R34, S37, D45). Pure; no answer is never taken for "none". */
import type { BlockedCode } from '../../shared/blocked-code.ts';
import type { FailureNote } from '../../shared/outcome.ts';
import type { Receipt } from '../../shared/receipt.ts';
import { checkReceipt, type SentCommand } from '../receipts/check-receipt.ts';
import { failureSignals, readMember } from './failure-signals.ts';
import { type JudgeContext, judgeFailure, signalsOf } from './judge-answer.ts';
import type { ReceiptLookup } from './sender.ts';

export type LookupJudgement =
  | { readonly type: 'receipt'; readonly receipt: Receipt }
  /** The key is refused for good: the row is refused, without doubt (D45). */
  | { readonly type: 'refused'; readonly code: BlockedCode }
  | { readonly type: 'none' }
  /** Ask again later; `signed_out` where that is why. */
  | {
      readonly type: 'no_answer';
      readonly failure: FailureNote;
      readonly isSignedOut: boolean;
      readonly retryAt?: number | undefined;
    };

/** What was asked about; the hash is unknown where the row itself is gone. */
export type AskedCommand = Omit<SentCommand, 'requestHash'> & { readonly requestHash?: string | undefined };

/** Never throws. A receipt that proves something else proves nothing here: it is asked for again. */
export function judgeLookup(
  lookup: ReceiptLookup,
  asked: AskedCommand,
  context: JudgeContext,
): LookupJudgement {
  const { family, owner, mapFailure } = context;
  switch (readMember(lookup, 'type')) {
    case 'none':
      return { type: 'none' };
    case 'refused':
      return { type: 'refused', code: refusedCode(lookup, asked, context) };
    case 'receipt': {
      const receipt = readMember(lookup, 'receipt');
      const hash = asked.requestHash ?? readMember(receipt, 'requestHash');
      const sent = { ...asked, requestHash: typeof hash === 'string' ? hash : '' };
      const verdict = checkReceipt({ receipt, sent, owner, family });
      if (verdict.type === 'matches') return { type: 'receipt', receipt: verdict.receipt };
      const { code, field } = verdict.rejection;
      return { type: 'no_answer', failure: { class: 'transient', code, detail: field }, isSignedOut: false };
    }
    default: {
      const answer =
        lookup?.type === 'no_answer'
          ? lookup.answer
          : ({ type: 'failure', error: undefined, timedOut: false } as const);
      const judged = judgeFailure(signalsOf(answer, context), asked, mapFailure);
      if (judged.type === 'signed_out')
        return { type: 'no_answer', failure: judged.failure, isSignedOut: true };
      if (judged.type === 'transient')
        return { type: 'no_answer', failure: judged.failure, isSignedOut: false, retryAt: judged.retryAt };
      return { type: 'no_answer', failure: { class: 'transient', code: 'no_answer' }, isSignedOut: false };
    }
  }
}

/** The code the row would have been blocked with, had this refusal been its answer. */
function refusedCode(lookup: ReceiptLookup, asked: AskedCommand, { mapFailure }: JudgeContext): BlockedCode {
  const code = readMember(lookup, 'code');
  const status = readMember(lookup, 'status');
  const answer = {
    type: 'response',
    status: typeof status === 'number' ? status : 0,
    ok: false,
    redirected: false,
    secure: true,
    contentType: 'application/json',
    json: { code },
    retryAfter: undefined,
    etag: undefined,
    date: undefined,
  } as const;
  const judged = judgeFailure(failureSignals(answer), asked, mapFailure);
  if (judged.type === 'conflict') return 'conflict';
  return judged.type === 'refused' && judged.code !== 'unclassified' ? judged.code : 'rejected';
}
