/**
 * Owns sending (D1-D5): flushes on request, one at a time per owner, tells progress, and stops when told to. What
 * is sent comes from the store and nowhere else.
 */
import type { DrainProgress } from '../../shared/answers.ts';
import type { FlushResult, StateCounts, StoppedBy } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import type { Commit } from '../outbox/row-store.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import type { FlushMemory } from './drain-ready.ts';
import type { FlushState } from './flush-state.ts';
import { UNKNOWN_PACE } from './pace.ts';
import type { Report } from './report.ts';
import { createRestingRows } from './resting-rows.ts';
import { overridesEngineWait, planWait } from './retry-policy.ts';
import { type FlushEnd, runFlush } from './run-flush.ts';
import { createScheduler, type Flight, type Trigger } from './scheduler.ts';
import { tellAll } from './tell-all.ts';

export interface Dispatcher {
  flush(owner: string, trigger: Trigger): Promise<FlushResult>;
  /** An urgent row was stored (W61). */
  noteUrgent(owner: string): void;
  progress(owner: string): DrainProgress;
  onProgress(listener: (progress: DrainProgress) => void): () => void;
  /** Counts changed although no flush is running, or outside of it. */
  noteCounts(owner: string, counts: StateCounts): void;
  /** A commit of this host landed. */
  noteCommit(commit: Pick<Commit, 'owner' | 'expected'>, written: readonly Row[]): void;
  /** The answer to a row waits for the store, or no longer does (D46). */
  noteWaiting(row: Row, waits: boolean): void;
  /**
   * Stops an owner's sending and resolves when its attempts have ended, those still open after `graceMs` cut (W30).
   */
  quiet(owner: string, by: StoppedBy, graceMs: number): Promise<void>;
  /** Starts nothing new of a running flush; what is open goes on. */
  pause(owner: string): void;
  /** Quiets every owner, and starts nothing any more. */
  stop(): Promise<void>;
}

interface OwnerState {
  readonly memory: FlushMemory;
  running: FlushState | undefined;
  isRunning: boolean;
  /** Rows ended by flushes since the queue was last empty. */
  done: number;
  /** As last heard. */
  counts: StateCounts;
  stoppedBy: StoppedBy | undefined;
  wakeAt: number | undefined;
  /** Flushes in a row that tried rows and ended none, and when the first of them began. */
  fruitless: { readonly since: number; readonly flushes: number } | undefined;
  /** Flushes in a row that found the device offline, since one was asked to look again. */
  offline: number;
  /** Flushes in a row that the store or the credentials port stopped. */
  troubles: number;
  /** Ended since the journal was last trimmed. */
  untrimmed: number;
  readonly waiting: Set<string>;
}

/** Slices of trimming after a flush, and the number of endings that make it worth while (D41). */
const TRIM_SLICES = 4;
const TRIM_EVERY = 64;

/** Flushes that try in vain before that is called stuck (W19). */
const STUCK_AFTER = 3;

const NO_ROWS: StateCounts = { queued: 0, sending: 0, held: 0, blocked: 0 };

export interface DispatcherDeps extends Omit<DispatchDeps, 'report' | 'onProgress'> {
  /** Counts as they are shown: while an owner is signed out, rows that wait count as held (D5). */
  readonly readCounts: (owner: string) => Promise<StateCounts>;
}

export function createDispatcher(given: DispatcherDeps): Dispatcher {
  const { store, clock, ids, settings } = given;
  const owners = new Map<string, OwnerState>();
  const listeners = new Set<(progress: DrainProgress) => void>();
  const telling = new Set<string>();
  let isStopped = false;

  const report: Report = (reported) => {
    try {
      settings.report(reported);
    } catch {
      // Telemetry that throws never stops the outbox (D48).
    }
  };

  const stateOf = (owner: string): OwnerState => {
    const found = owners.get(owner);
    if (found) return found;
    const state: OwnerState = {
      memory: {
        pace: UNKNOWN_PACE,
        failedAlone: new Set(),
        unsettled: [],
        accepting: new Set(),
        resting: createRestingRows(),
      },
      running: undefined,
      isRunning: false,
      done: 0,
      counts: NO_ROWS,
      stoppedBy: undefined,
      wakeAt: undefined,
      fruitless: undefined,
      offline: 0,
      troubles: 0,
      untrimmed: 0,
      waiting: new Set(),
    };
    owners.set(owner, state);
    return state;
  };

  const progress = (owner: string): DrainProgress => {
    const state = stateOf(owner);
    const { isRunning, running, done, counts, stoppedBy, wakeAt, memory, waiting, fruitless } = state;
    const late = new Set([...waiting, ...memory.unsettled.map(({ attempt }) => attempt.claimed.id)]);
    const accepted = [...late].filter((id) => memory.accepting.has(id));
    const ended = done + (running?.done ?? 0);
    return {
      owner,
      running: isRunning,
      done: ended,
      total: ended + counts.queued + counts.sending,
      ...(stoppedBy && { stoppedBy }),
      ...(wakeAt !== undefined && { wakeAt }),
      ...(fruitless && fruitless.flushes >= STUCK_AFTER && { stuckSince: fruitless.since }),
      ...(accepted.length > 0 && { accepted }),
    };
  };

  /** At most once per turn: what happens together is told together. */
  const tell = (owner: string): void => {
    if (telling.has(owner)) return;
    telling.add(owner);
    void Promise.resolve().then(() => {
      telling.delete(owner);
      tellAll(listeners, progress(owner));
    });
  };

  const deps: DispatchDeps = { ...given, report, onProgress: tell };

  const nextWake = (
    state: OwnerState,
    stoppedBy: StoppedBy | undefined,
    wakeAt: number | undefined,
  ): number | undefined => {
    const isTrouble = stoppedBy === 'store' || stoppedBy === 'credentials';
    state.troubles = isTrouble ? state.troubles + 1 : 0;
    if (stoppedBy === 'owner' || stoppedBy === 'paused' || stoppedBy === 'auth') return undefined;
    // W4: the rest is for the next event; a page that is open brings it at once.
    if (stoppedBy === 'time') return clock.now();
    const input = { now: clock.now(), random: ids.random(), serverAt: undefined, policy: settings.retry };
    const waitFor = (attempt: number): number => planWait({ ...input, attempt }).at;
    if (stoppedBy === 'network' || stoppedBy === 'failures') {
      // W22: the connection coming back is heard of, so with nothing to send nobody is woken to look.
      if (state.offline > 0 && state.counts.queued + state.counts.sending === 0) return wakeAt;
      // Of a long queue some row is always due: trying one after the other would be a loop against a server that
      // is in trouble. So the wait grows with every flush in vain, as a single row's does.
      return Math.max(waitFor(Math.max(state.fruitless?.flushes ?? 1, state.offline)), wakeAt ?? 0);
    }
    if (!isTrouble) return wakeAt;
    const at = waitFor(state.troubles);
    return Math.min(at, wakeAt ?? at);
  };

  const nextFruitless = (
    { fruitless, counts }: OwnerState,
    flush: FlushState | undefined,
    startedAt: number,
  ): OwnerState['fruitless'] => {
    if (!flush || flush.done > 0 || counts.queued + counts.sending === 0) return undefined;
    // Nothing was tried: nothing was learnt.
    if (flush.outcomes.length === 0) return fruitless;
    return { since: fruitless?.since ?? startedAt, flushes: (fruitless?.flushes ?? 0) + 1 };
  };

  const trim = async (owner: string, state: OwnerState): Promise<void> => {
    if (state.untrimmed < TRIM_EVERY) return;
    state.untrimmed = 0;
    for (let slice = 0; slice < TRIM_SLICES; slice++) if (!(await store.trim(owner, clock.now()))) return;
  };

  const run = async (flight: Flight, state: OwnerState): Promise<FlushEnd> => {
    const { owner } = flight;
    const end = await runFlush(flight, state.memory, deps, (running) => {
      state.running = running;
      tell(owner);
    });
    state.untrimmed += end.state.done;
    await trim(owner, state);
    return end;
  };

  /** Never rejects: whatever goes wrong on this device, the rows wait for another flush. */
  const scheduler = createScheduler(async (flight): Promise<FlushResult> => {
    const { owner } = flight;
    const state = stateOf(owner);
    if (isStopped) return { owner, outcomes: [], remaining: state.counts, stoppedBy: 'paused' };
    Object.assign(state, { isRunning: true, stoppedBy: undefined, wakeAt: undefined });
    const startedAt = clock.now();
    const ran = await run(flight, state).catch((error: unknown) => ({ error }));
    const counts = await given.readCounts(owner).catch((error: unknown) => ({ error }));
    const isUncounted = 'error' in counts;
    if (!isUncounted) state.counts = counts;
    const end = isUncounted && !('error' in ran) ? counts : ran;
    const { running } = state;
    const ended = 'error' in end ? undefined : end;
    const stoppedBy = ended ? ended.stoppedBy : 'store';
    state.fruitless = nextFruitless(state, stoppedBy === 'auth' ? undefined : running, startedAt);
    const isOffline = stoppedBy === 'network' && !given.connection.online();
    state.offline = isOffline ? (overridesEngineWait(flight.causes) ? 1 : state.offline + 1) : 0;
    Object.assign(state, {
      running: undefined,
      isRunning: false,
      stoppedBy,
      wakeAt: nextWake(state, stoppedBy, ended?.wakeAt),
      // A drain that left nothing is over: the next one counts from nought.
      done: state.counts.queued + state.counts.sending === 0 ? 0 : state.done + (running?.done ?? 0),
    } satisfies Partial<OwnerState>);
    if (stoppedBy !== undefined && stoppedBy !== 'network' && ended?.hadBegun !== false)
      report({ type: 'stopped', owner, by: stoppedBy, ...('error' in end && { error: end.error }) });
    tell(owner);
    const outcomes = running?.outcomes ?? [];
    return {
      owner,
      outcomes,
      remaining: state.counts,
      ...(isUncounted && { isUncounted }),
      ...(stoppedBy && { stoppedBy }),
    };
  });

  const quiet = async (owner: string, by: StoppedBy, graceMs: number): Promise<void> => {
    const cancel = given.timers.after(graceMs, () => scheduler.cut(owner));
    try {
      await scheduler.stop(owner, by);
    } finally {
      cancel();
    }
  };

  return {
    flush: (owner, trigger) => scheduler.request(owner, trigger),
    noteUrgent: scheduler.noteUrgent,
    progress,
    onProgress(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    noteCounts(owner, counts) {
      stateOf(owner).counts = counts;
      tell(owner);
    },
    noteCommit({ owner, expected }, written) {
      stateOf(owner).memory.resting.noteCommit([...expected, ...written]);
    },
    noteWaiting(row, waits) {
      const { waiting } = stateOf(row.owner);
      if (waits) waiting.add(row.id);
      else waiting.delete(row.id);
      tell(row.owner);
    },
    quiet,
    pause(owner) {
      void scheduler.stop(owner, 'paused');
      const state = stateOf(owner);
      if (state.isRunning) return;
      // Where nothing is under way no drain would end and say so.
      Object.assign(state, { stoppedBy: 'paused', wakeAt: undefined } satisfies Partial<OwnerState>);
      tell(owner);
    },
    async stop() {
      isStopped = true;
      await Promise.all(scheduler.owners.map((owner) => quiet(owner, 'paused', settings.longestLeaseMs)));
    },
  };
}
