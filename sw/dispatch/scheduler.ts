/**
 * Every trigger ends in the same flush (W20, D2): one per owner at a time, and whatever comes during a flush causes
 * exactly one more. It starts flushes and tells a running one what came meanwhile; it knows nothing of rows.
 */
import type { FlushCause } from '../../shared/answers.ts';
import type { FlushResult, StoppedBy } from '../../shared/outcome.ts';

export interface Trigger {
  readonly cause: FlushCause;
  /** Epoch ms after which nothing new is sent for the event that carries this trigger (W4); absent: no limit. */
  readonly until?: number | undefined;
}

/** What a running flush hears: a trigger that came, an urgent row that was stored (W61), or that it has to stop. */
export type Heard = 'trigger' | 'urgent' | 'stop';

/** A running flush, as its triggers see it. */
export interface Flight {
  readonly owner: string;
  readonly causes: ReadonlySet<FlushCause>;
  /** The latest of its triggers' limits; `undefined` where one has no limit (W4). */
  readonly until: number | undefined;
  /** Why it has to stop, if so. */
  readonly stoppedBy: StoppedBy | undefined;
  /** Fires when requests in flight have to end too (W30). */
  readonly cut: AbortSignal;
  /** One listener; the latest one hears. */
  listen(listener: (heard: Heard) => void): void;
}

export interface Scheduler {
  /** Resolves with the result of the flush that takes this trigger in: the one that starts, or the one after it. */
  request(owner: string, trigger: Trigger): Promise<FlushResult>;
  /** An urgent row was stored: a running flush does not wait for its turn in the lane to find it. */
  noteUrgent(owner: string): void;
  /** Stops new sends of a running flush; resolves when it has ended. What was requested meanwhile runs after it. */
  stop(owner: string, by: StoppedBy): Promise<void>;
  /** Ends the requests in flight, too. */
  cut(owner: string): void;
  isRunning(owner: string): boolean;
  readonly owners: readonly string[];
}

interface Waiting {
  readonly triggers: Trigger[];
  readonly result: Promise<FlushResult>;
  resolve(result: Promise<FlushResult>): void;
}

interface Running {
  readonly causes: Set<FlushCause>;
  until: number | undefined;
  stoppedBy: StoppedBy | undefined;
  readonly controller: AbortController;
  listener: (heard: Heard) => void;
  next: Waiting | undefined;
  ended: Promise<unknown>;
}

function latest(until: number | undefined, other: number | undefined): number | undefined {
  return until === undefined || other === undefined ? undefined : Math.max(until, other);
}

export function createScheduler(run: (flight: Flight) => Promise<FlushResult>): Scheduler {
  const running = new Map<string, Running>();

  const start = (owner: string, triggers: readonly Trigger[]): Promise<FlushResult> => {
    const state: Running = {
      causes: new Set(triggers.map(({ cause }) => cause)),
      until: triggers.map(({ until }) => until).reduce(latest),
      stoppedBy: undefined,
      controller: new AbortController(),
      listener: () => undefined,
      next: undefined,
      ended: Promise.resolve(),
    };
    running.set(owner, state);
    const flight: Flight = {
      owner,
      causes: state.causes,
      get until() {
        return state.until;
      },
      get stoppedBy() {
        return state.stoppedBy;
      },
      cut: state.controller.signal,
      listen(listener) {
        state.listener = listener;
      },
    };
    // Ending and starting the next one is one synchronous step: a trigger finds either this flush or none (A05).
    const end = () => {
      running.delete(owner);
      const { next } = state;
      if (next) next.resolve(start(owner, next.triggers));
    };
    const result = run(flight).finally(end);
    state.ended = result.catch(() => undefined);
    return result;
  };

  return {
    request(owner, trigger) {
      const state = running.get(owner);
      if (!state) return start(owner, [trigger]);
      state.until = latest(state.until, trigger.until);
      if (!state.next) {
        let resolve: Waiting['resolve'] = () => undefined;
        const result = new Promise<FlushResult>((settle) => {
          resolve = settle;
        });
        state.next = { triggers: [trigger], result, resolve };
      } else state.next.triggers.push(trigger);
      state.listener('trigger');
      return state.next.result;
    },
    noteUrgent(owner) {
      running.get(owner)?.listener('urgent');
    },
    async stop(owner, by) {
      const state = running.get(owner);
      if (!state) return;
      state.stoppedBy ??= by;
      state.listener('stop');
      await state.ended;
    },
    cut(owner) {
      running.get(owner)?.controller.abort();
    },
    isRunning: (owner) => running.has(owner),
    get owners() {
      return [...running.keys()];
    },
  };
}
