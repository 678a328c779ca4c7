/**
 * What the answers of one flush say about going on (D3, D5): a lost connection, a resting server or a signed-out
 * owner stops new sends; single keys that fail only rest themselves, three of them in a row stop the flush. Pure.
 */
import type { StoppedBy } from '../../shared/outcome.ts';

export type Seen =
  /** The server dealt with the request, whatever it said about it. */
  | { readonly type: 'answered' }
  | { readonly type: 'no_answer'; readonly key: string }
  /** Another transient answer, or a timeout. */
  | { readonly type: 'failed'; readonly key: string }
  | { readonly type: 'stop'; readonly by: StoppedBy };

export interface StopState {
  readonly stoppedBy: StoppedBy | undefined;
  /** Keys that failed in a row, the latest last. */
  readonly streak: readonly string[];
  /** Keys that got no answer at all. */
  readonly unanswered: ReadonlySet<string>;
  readonly answered: boolean;
}

export const GOING_ON: StopState = {
  stoppedBy: undefined,
  streak: [],
  unanswered: new Set(),
  answered: false,
};

const STREAK_LIMIT = 3;

export function afterSeen(state: StopState, seen: Seen): StopState {
  switch (seen.type) {
    case 'answered':
      return { ...state, streak: [], answered: true };
    case 'no_answer':
      return {
        ...state,
        stoppedBy: state.stoppedBy ?? 'network',
        unanswered: new Set(state.unanswered).add(seen.key),
      };
    case 'failed': {
      const streak = [...state.streak.filter((key) => key !== seen.key), seen.key];
      const stoppedBy = state.stoppedBy ?? (streak.length >= STREAK_LIMIT ? 'failures' : undefined);
      return { ...state, streak, stoppedBy, answered: true };
    }
    default:
      return { ...state, stoppedBy: state.stoppedBy ?? seen.by };
  }
}

/**
 * Keys that got no answer although the connection was there, as far as one can tell: others got one, or only a
 * single key failed. They go last in the next flush (C32); a lost connection is nobody's own failure.
 */
export function failedAlone(state: StopState): ReadonlySet<string> {
  return state.answered || state.unanswered.size === 1 ? state.unanswered : new Set();
}
