/**
 * The promises of callers who wait for the end of a command (W17, D42). They follow to the row that took over, and
 * ask again when changes may have been missed.
 */
import type { Waiting } from '../shared/answers.ts';
import type { Outcome, Settled } from '../shared/outcome.ts';
import { callerHears } from './page-reactions.ts';

export interface SettledOptions {
  /** Goes on past `held` and `deferred`, to the row's end or to what needs a person. */
  readonly final?: boolean | undefined;
}

export interface Settling {
  wait(id: string, options?: SettledOptions): Promise<Settled>;
  hear(outcomes: readonly Outcome[]): void;
  askAgain(): void;
  /**
   * Another owner is shown: what waits of this one is held until it signs in again. Or this one is signed out, by one
   * fact about all of its rows (D5): then who waits for the end goes on.
   */
  hold(isShown?: boolean): void;
}

interface Waiter {
  id: string;
  via: readonly string[];
  readonly isFinal: boolean;
  /** The host has said that it waits; until then its answer is to come. */
  isKnown: boolean;
  readonly resolve: (settled: Settled) => void;
}

/** `later` runs something in a while: a question that nobody has answered is asked again. */
export function createSettling(
  ask: (id: string) => Promise<Settled | Waiting>,
  later: (run: () => void) => void,
): Settling {
  const waiters = new Set<Waiter>();

  const tell = (waiter: Waiter, { via = [], ...word }: Settled | Waiting): void => {
    waiter.via = [...waiter.via, ...via];
    waiter.id = word.id;
    waiter.isKnown = true;
    if (word.type === 'waiting' || (waiter.isFinal && (word.type === 'held' || word.type === 'deferred')))
      return;
    waiters.delete(waiter);
    waiter.resolve(waiter.via.length > 0 ? { ...word, via: waiter.via } : word);
  };
  const again = (waiter: Waiter): void => {
    // Who waits has been told nothing wrong, so nothing ends for him because a host is slow.
    askFor(waiter, () => later(() => waiters.has(waiter) && again(waiter)));
  };
  const askFor = (waiter: Waiter, failed: (error: unknown) => void): void => {
    const { id } = waiter;
    ask(id).then(
      // It may have moved on meanwhile, and then it listens in the right place.
      (word) => waiter.id === id && tell(waiter, word),
      (error: unknown) => waiter.id === id && failed(error),
    );
  };

  return {
    wait: (id, { final: isFinal = false } = {}) =>
      new Promise((resolve, reject) => {
        const waiter: Waiter = { id, via: [], isFinal, isKnown: false, resolve };
        // Before the question, so that an end that comes in between is heard.
        waiters.add(waiter);
        askFor(waiter, (error) => {
          waiters.delete(waiter);
          reject(error);
        });
      }),
    hear(outcomes) {
      for (const waiter of waiters) {
        for (const outcome of outcomes) {
          const { id } = outcome.row;
          if (id !== waiter.id) continue;
          const word = callerHears(outcome);
          tell(waiter, word.type === 'follow' ? { type: 'waiting', id: word.by, via: [id] } : word);
        }
      }
    },
    askAgain() {
      waiters.forEach(again);
    },
    hold(isShown = false) {
      for (const waiter of waiters) {
        if (isShown) {
          if (waiter.isKnown) tell(waiter, { type: 'held', id: waiter.id });
        } else {
          waiters.delete(waiter);
          waiter.resolve({ type: 'held', id: waiter.id });
        }
      }
    },
  };
}
