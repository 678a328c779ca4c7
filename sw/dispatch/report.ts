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
  /** A flush stopped before its end, for another reason than the network. */
  | {
      readonly type: 'stopped';
      readonly owner: string;
      readonly by: StoppedBy;
      /** What the device's store said, where that is why. */
      readonly error?: unknown;
    };

/** What it throws is ignored: telemetry never stops the outbox. */
export type Report = (reported: Reported) => void;

/** Outcomes worth reporting: held and deferred rows are silent. */
export function reportable(outcomes: readonly Outcome[]): readonly Reported[] {
  return outcomes.flatMap((outcome): Reported[] => {
    const { row } = outcome;
    if (outcome.type === 'unknown') return [{ type: 'unknown', row, rejection: outcome.rejection }];
    if (outcome.type === 'blocked')
      return [
        { type: 'blocked', row, code: outcome.code, failure: outcome.failure && plain(outcome.failure) },
      ];
    return [];
  });
}

/** Without the server's own sentence, which may repeat what was sent. */
function plain({ class: given, code, status }: FailureNote): FailureNote {
  return { class: given, code, status };
}
