/**
 * One request with its time limit (D4, C5): whatever the sender does, an answer is there when the limit passes or
 * the attempt is cut. The limit covers the answer's body too, since the sender reads it before it answers.
 */
import type { Timers } from '../environment.ts';
import type { Answer } from './sender.ts';

export interface SendLimits {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** Fires when the attempt has to end for another reason, a sign-out for one (W30). */
  readonly cut: AbortSignal;
}

/** Never rejects. Answers of a batch come together; each of `count` attempts gets one. */
export function sendWithin(
  send: (signal: AbortSignal) => Promise<readonly Answer[]>,
  count: number,
  { timers, timeoutMs, cut }: SendLimits,
): Promise<readonly Answer[]> {
  return new Promise((resolve) => {
    const controller = new AbortController();
    const all = (answer: Answer): readonly Answer[] => Array.from({ length: count }, () => answer);
    const end = (answers: readonly Answer[]) => {
      cancel();
      cut.removeEventListener('abort', onCut);
      resolve(answers);
    };
    const abort = (timedOut: boolean) => {
      const error = new DOMException(
        timedOut ? 'The attempt took too long' : 'The attempt was cut',
        'AbortError',
      );
      // Answered first, aborted after: a sender that answers its own abort comes too late to be heard.
      end(all({ type: 'failure', error, timedOut }));
      controller.abort(error);
    };
    const onCut = () => abort(false);
    const cancel = timers.after(timeoutMs, () => abort(true));
    if (cut.aborted) {
      const error = new DOMException('The attempt was cut before it left', 'AbortError');
      end(all({ type: 'failure', error, timedOut: false, neverLeft: true }));
      return;
    }
    cut.addEventListener('abort', onCut);
    const failed = (error: unknown) => end(all({ type: 'failure', error, timedOut: false }));
    try {
      send(controller.signal).then((answers) => {
        // A batch that answers too few says nothing about the rest: those may have been applied.
        const missing: Answer = {
          type: 'failure',
          error: new Error('No answer in the batch'),
          timedOut: true,
        };
        end(Array.from({ length: count }, (_, place) => answers[place] ?? missing));
      }, failed);
    } catch (error) {
      failed(error);
    }
  });
}
