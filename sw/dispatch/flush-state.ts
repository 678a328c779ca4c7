/**
 * What one flush has seen so far: why to stop, what to tell, when to wake, whom it asked. It lives as long as the
 * flush and decides nothing about rows.
 */

import { keyToken } from '../../shared/key.ts';
import type { Outcome, OutcomeType, StoppedBy } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import type { Acknowledged } from '../outbox/acknowledger.ts';
import type { ClaimContext } from '../outbox/plan-claim.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import { notePace, type Pace } from './pace.ts';
import { reportable } from './report.ts';
import { overridesEngineWait } from './retry-policy.ts';
import type { Flight } from './scheduler.ts';
import type { SendingFacts } from './sending-facts.ts';
import { afterSeen, failedAlone, GOING_ON, type Seen } from './stop-rules.ts';

/** Outcomes in a flush's result are the latest; all of them are in the journal (D41). */
const MOST_OUTCOMES = 1_000;

/** Rows remembered as tried; three keys that fail in a row stop a flush, so few flushes see as many. */
const MOST_TRIED = 1_024;

/** What the owner's flushes remember of each other, in memory: nothing that a restart may not lose. */
export interface OwnerMemory {
  pace: Pace;
  /** Keys that alone got no answer in the last flush (C32). */
  failedAlone: ReadonlySet<string>;
}

export interface FlushState {
  readonly flight: Flight;
  readonly owner: string;
  readonly memory: OwnerMemory;
  readonly saidNone: Set<string>;
  /** How often each line was resent in this flush (D32). */
  readonly rounds: Map<string, number>;
  readonly hosts: { readonly asked: Set<string>; readonly gone: Set<string> };
  facts: SendingFacts;
  headers: Readonly<Record<string, string>>;
  /** The last answer was that nobody is signed in: one request finds out whether that has changed (W31). */
  isProbing: boolean;
  readonly outcomes: readonly Outcome[];
  readonly wakeAt: number | undefined;
  readonly done: number;
  /** Why nothing new may be sent now: what was seen, what was asked for, or circumstances that may pass. */
  stoppedBy(): StoppedBy | undefined;
  /** The first two alone: a reason that stands although nothing may be left to send. */
  readonly stoppedFor: StoppedBy | undefined;
  see(seen: Seen): void;
  /** After a renewal of credentials: goes on although it was signed out. */
  goOn(): void;
  note(acknowledged: Acknowledged): void;
  /** Origins whose acceptance left rows to be prepared, each once (C21). */
  takeLeft(): readonly string[];
  /** An outcome that no commit of this flush carries. */
  tell(outcome: Outcome): void;
  wake(at: number | undefined): void;
  /** The row rests until another flush (D3). */
  noteTried(row: Row): void;
  wasTried(row: Row): boolean;
  goesLast(row: Row): boolean;
  tookMs(ms: number): void;
  waits(): 'all' | 'server';
  claimContext(family: string): ClaimContext;
  /** Remembers for the next flush what this one learnt. */
  close(): void;
}

/** Failures that were not the key's own: they say nothing about what it will do next time (C32). */
const NOT_ITS_OWN: ReadonlySet<string | undefined> = new Set([
  undefined,
  'network',
  'too_many_requests',
  'aborted',
  'device',
]);

const ENDS: ReadonlySet<OutcomeType> = new Set([
  'committed',
  'already_gone',
  'blocked',
  'unknown',
  'dropped',
]);

export function createFlushState(
  flight: Flight,
  host: string,
  facts: SendingFacts,
  memory: OwnerMemory,
  deps: DispatchDeps,
): FlushState {
  const { clock, connection, settings } = deps;
  const { owner } = flight;
  const tried = new Set<string>();
  const outcomes: Outcome[] = [];
  const saidNone = new Set<string>();
  const left = new Set<string>();
  const hosts = { asked: new Set([host]), gone: new Set<string>() };
  let stop = GOING_ON;
  let wakeAt: number | undefined;
  let done = 0;

  const state: FlushState = {
    flight,
    owner,
    memory,
    saidNone,
    rounds: new Map(),
    hosts,
    facts,
    headers: {},
    isProbing: facts.held?.wasRefused ?? false,
    get outcomes() {
      return outcomes;
    },
    get wakeAt() {
      return wakeAt;
    },
    get done() {
      return done;
    },
    get stoppedFor() {
      return stop.stoppedBy ?? flight.stoppedBy;
    },
    stoppedBy() {
      if (state.stoppedFor !== undefined) return state.stoppedFor;
      // W22: known to be offline, so no request is made to find it out.
      if (!connection.online()) return 'network';
      return flight.until !== undefined && clock.now() >= flight.until ? 'time' : undefined;
    },
    see(seen) {
      stop = afterSeen(stop, seen);
    },
    goOn() {
      stop = { ...stop, stoppedBy: undefined };
    },
    note(acknowledged) {
      if (acknowledged.type !== 'committed') return;
      outcomes.push(...acknowledged.outcomes);
      if (outcomes.length > MOST_OUTCOMES) outcomes.splice(0, outcomes.length - MOST_OUTCOMES);
      done += acknowledged.outcomes.filter(({ type }) => ENDS.has(type)).length;
      if (!acknowledged.result) deps.onUnseen(owner);
      if (acknowledged.left !== undefined) left.add(acknowledged.left);
      for (const reported of reportable(acknowledged.outcomes)) deps.report(reported);
      deps.onProgress(owner);
    },
    takeLeft() {
      const taken = [...left];
      left.clear();
      return taken;
    },
    tell(outcome) {
      outcomes.push(outcome);
    },
    wake(at) {
      if (at !== undefined && at > clock.now()) wakeAt = Math.min(wakeAt ?? at, at);
    },
    noteTried({ id }) {
      tried.add(id);
      const [oldest] = tried;
      if (tried.size > MOST_TRIED && oldest !== undefined) tried.delete(oldest);
    },
    wasTried: ({ id }) => tried.has(id),
    goesLast: (row) =>
      (row.deferredAt !== undefined && !NOT_ITS_OWN.has(row.evidence.lastErrorCode)) ||
      memory.failedAlone.has(keyToken(keyOf(row))),
    tookMs(ms) {
      memory.pace = notePace(memory.pace, ms);
    },
    waits: () => (overridesEngineWait(flight.causes) ? 'server' : 'all'),
    claimContext: (family) => ({
      now: clock.now(),
      host,
      release: settings.release,
      leaseMs: settings.leaseMs,
      longestWaitMs: settings.retry.believedMs,
      waits: state.waits(),
      isKnownFamily: (name) => settings.familyOf(name) !== undefined,
      canAsk: (row) => settings.portsOf(row.family).findReceipt !== undefined,
      saidNone,
      ledgerDays: (name) => settings.familyOf(name)?.ledgerDays,
      // D29: without receipts a second application could not be told from the first, so the lease has to end.
      goneHosts: settings.familyOf(family)?.receipts === 'none' ? undefined : hosts.gone,
    }),
    close() {
      memory.failedAlone = failedAlone(stop);
    },
  };
  return state;
}
