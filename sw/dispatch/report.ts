/** The report port for telemetry (D48). It hears plain words, once each: no body, no credential. */
import type { BlockedCode } from '../../shared/blocked-code.ts';
import type { FailureNote, Outcome, OutcomeRow, ReceiptRejection, StoppedBy } from '../../shared/outcome.ts';

export type Reported =
  | { readonly type: 'unknown'; readonly row: OutcomeRow; readonly rejection: ReceiptRejection }
  | {
      readonly type: 'blocked';
      readonly row: OutcomeRow;
      readonly code: BlockedCode;
      readonly failure?: FailureNote | undefined;
    }
  | {
      readonly type: 'stopped';
      readonly owner: string;
      readonly by: StoppedBy;
      readonly failure?: FailureNote | undefined;
    };

/** What it throws is ignored: telemetry never stops the outbox. */
export type Report = (reported: Reported) => void;

/** Stops that say something about the app or its server; the rest is everyday life. */
const TELLING: ReadonlySet<StoppedBy> = new Set(['auth', 'failures', 'rest', 'credentials', 'store']);

/** What of a flush is worth reporting: held and deferred rows, and a lost network, are silent. */
export function reportable(result: {
  readonly owner: string;
  readonly outcomes: readonly Outcome[];
  readonly stoppedBy: StoppedBy | undefined;
}): readonly Reported[] {
  const reported: Reported[] = [];
  for (const outcome of result.outcomes) {
    const { row } = outcome;
    if (outcome.type === 'unknown') reported.push({ type: 'unknown', row, rejection: outcome.rejection });
    if (outcome.type === 'blocked')
      reported.push({ type: 'blocked', row, code: outcome.code, failure: outcome.failure });
  }
  const { owner, stoppedBy } = result;
  if (stoppedBy && TELLING.has(stoppedBy)) reported.push({ type: 'stopped', owner, by: stoppedBy });
  return reported;
}
