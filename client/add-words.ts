/** What a host leaves out because every page can say it: the sentence of a blocked row, and its ways out (W19, D11). */
import type { ExplainedRow } from '../shared/answers.ts';
import { type BlockedReason, blockedReason } from '../shared/blocked-code.ts';
import { isInDoubt } from '../shared/row.ts';

type Reason = ExplainedRow['reason'];
type Blocked = Extract<Reason, { readonly type: 'blocked' }>;

export interface Explanation extends Omit<ExplainedRow, 'reason'> {
  readonly reason: Exclude<Reason, Blocked> | (Blocked & BlockedReason);
}

export function addWords({ reason, row, ...rest }: ExplainedRow): Explanation {
  if (reason.type !== 'blocked') return { ...rest, row, reason };
  const { kind } = row;
  return {
    ...rest,
    row,
    reason: { ...reason, ...blockedReason(reason.code, { kind, doubt: isInDoubt(row) }) },
  };
}
