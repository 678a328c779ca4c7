/** What a host leaves out because every page can say it: the sentence of a blocked row, and its ways out (W19, D11). */
import type { ExplainedRow } from '../shared/answers.ts';
import { type BlockedReason, blockedReason } from '../shared/blocked-code.ts';

type Reason = ExplainedRow['reason'];
type Blocked = Extract<Reason, { readonly type: 'blocked' }>;

export interface Explanation extends Omit<ExplainedRow, 'reason'> {
  readonly reason: Exclude<Reason, Blocked> | (Blocked & BlockedReason);
}

export function addWords({ reason, ...rest }: ExplainedRow): Explanation {
  return {
    ...rest,
    reason: reason.type === 'blocked' ? { ...reason, ...blockedReason(reason.code) } : reason,
  };
}
