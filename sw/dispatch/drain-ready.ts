/**
 * Drains what is ready: gives the loop of `drain.ts` its ports, and ties it to the triggers that come meanwhile and
 * to the limit of the events that carry it (W4).
 */
import type { StoppedBy } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { isAhead, planReclaim } from '../outbox/plan-claim.ts';
import { type AskingPlaces, askOwn } from './ask-receipts.ts';
import { claimKeys } from './claim-keys.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import { type DrainPorts, type LoadedAttempt, startDrain } from './drain.ts';
import type { FlushState, OwnerMemory } from './flush-state.ts';
import type { Judgement } from './judge-answer.ts';
import { createLaneReader, type LaneReader } from './lane-reader.ts';
import { claimsAhead } from './pace.ts';
import type { RestingRows } from './resting-rows.ts';
import { sendGroup, sizeOfGroup } from './send-group.ts';
import { judgeFacts, readSendingFacts } from './sending-facts.ts';
import { type SettledAnswer, settleAnswer } from './settle-answer.ts';

/** An answer that the store could not take; it is judged again by the next flush (D46). */
export interface Unsettled {
  readonly attempt: LoadedAttempt['attempt'];
  readonly judged: Judgement;
}

export interface FlushMemory extends OwnerMemory, AskingPlaces {
  unsettled: readonly Unsettled[];
  /** Ids the server has accepted and the store does not know of yet. */
  readonly accepting: Set<string>;
  readonly resting: RestingRows;
}

/** Rows claimed ahead at most, whatever the pace (S3). */
const MOST_AHEAD = 128;
/** For how long it stays sure that this owner may send, in ms (W30). This host's own sign-outs count at once. */
const SURE_MS = 250;

/** Carries one answer to its row; what the store cannot take is kept for the next flush (D46). */
export async function settleOne(
  attempt: Unsettled['attempt'],
  judged: Judgement,
  state: FlushState,
  memory: FlushMemory,
  deps: DispatchDeps,
): Promise<SettledAnswer> {
  const { id } = attempt.claimed;
  const isAccepted = judged.type === 'accepted' || judged.type === 'already_gone';
  if (isAccepted) memory.accepting.add(id);
  const settled = await settleAnswer(attempt, judged, state, deps);
  if (settled.acknowledged.type !== 'unsettled') memory.accepting.delete(id);
  if (settled.acknowledged.type === 'unsettled')
    memory.unsettled = [...memory.unsettled, { attempt, judged }];
  return settled;
}

/** Resolves with the reason for stopping, if it was stopped. Rejects on a defect. */
export async function drainReady(
  state: FlushState,
  claimable: readonly Row[],
  memory: FlushMemory,
  deps: DispatchDeps,
): Promise<StoppedBy | undefined> {
  const { clock, timers } = deps;
  const { flight } = state;
  const reader = createLaneReader(deps.store, flight.owner, {
    rows: memory.resting,
    isPassed: () => state.waits() === 'all',
    now: () => clock.now(),
    restsUntil({ notBefore }) {
      const context = { now: clock.now(), longestWaitMs: deps.settings.retry.believedMs };
      return notBefore && isAhead(notBefore.at, context) ? notBefore.at : undefined;
    },
    passed: state.wake,
  });
  const running = startDrain(portsOf(state, reader, memory, deps), claimable);
  let cancel = () => {};
  /** W4: what was claimed ahead is given back in time, also while every request is slow. */
  const watch = () => {
    cancel();
    if (flight.until !== undefined) cancel = timers.after(flight.until - clock.now(), running.nudge);
  };
  flight.listen((heard) => {
    if (heard === 'trigger') reader.lookAgain();
    if (heard === 'urgent') reader.lookForUrgent();
    watch();
    running.nudge();
  });
  watch();
  try {
    const leftBy = await running.ended;
    return state.stoppedFor ?? leftBy;
  } finally {
    cancel();
    flight.listen(() => undefined);
  }
}

function portsOf(
  state: FlushState,
  reader: LaneReader,
  memory: FlushMemory,
  deps: DispatchDeps,
): DrainPorts<Judgement> {
  const { store, clock, settings, acknowledger } = deps;
  const { owner } = state;
  let sureAt = clock.now();

  const stop = (by: StoppedBy): void => state.see({ type: 'stop', by });

  return {
    reader,
    concurrency: () => (state.isProbing ? 1 : settings.concurrency),
    claimsAhead: () =>
      state.isProbing
        ? 0
        : claimsAhead(memory.pace, {
            leaseMs: settings.shortestLeaseMs,
            concurrency: settings.concurrency,
            most: MOST_AHEAD,
          }),
    stoppedBy: () => state.stoppedBy(),
    standing() {
      const age = Math.abs(clock.now() - sureAt);
      return age < SURE_MS / 2 ? 'known' : age < SURE_MS ? 'ageing' : 'unknown';
    },
    async checkStanding() {
      try {
        state.facts = { ...(await readSendingFacts(store, owner)), held: undefined };
        sureAt = clock.now();
        const context = { now: sureAt, overrides: state.waits() === 'server', policy: settings.retry };
        const gate = judgeFacts(state.facts, owner, context);
        if (gate) stop(gate.stoppedBy);
        state.wake(gate?.until);
      } catch {
        stop('store');
      }
    },
    async claim(keys) {
      try {
        return await claimKeys(keys, {
          store,
          locks: deps.locks,
          context: (family) => state.claimContext(family),
          wasTried: (row) => state.wasTried(row),
          onBlocked: (commit, result) => {
            const outcomes = commit.outcomes.map(({ outcome }) => outcome);
            state.note({ type: 'committed', outcomes, commit, result });
          },
          hosts: state.hosts,
        });
      } catch {
        // What may have been claimed is let go by its lease; nothing of it left.
        stop('store');
        return new Map();
      }
    },
    goesLast: (row) => state.goesLast(row),
    together: (loaded) => sizeOfGroup(loaded, deps),
    send: (loaded) =>
      sendGroup(loaded, state, deps)?.then((judged) => {
        state.isProbing = false;
        return judged;
      }),
    async reclaim(stale) {
      const commits = stale.flatMap((loaded) => {
        const { claimed } = loaded.attempt;
        const commit = planReclaim([claimed], loaded.attempt, state.claimContext(claimed.family));
        return commit ? { loaded, commit } : [];
      });
      try {
        const results = await store.commit(commits.map(({ commit }) => commit));
        return commits.flatMap(({ loaded }, place) => {
          const result = results[place];
          const [claimed] = result?.type === 'committed' ? result.rows : [];
          return claimed ? { ...loaded, attempt: { ...loaded.attempt, claimed } } : [];
        });
      } catch {
        stop('store');
        return [];
      }
    },
    unreadable: () => ({ type: 'refused', code: 'body_unreadable', applied: 'not_this_attempt' }),
    settle: ({ attempt, judged }) => settleOne(attempt, judged, state, memory, deps),
    async giveBack(attempts) {
      for (const given of await acknowledger.giveBack(attempts)) state.note(given);
    },
    async free(step) {
      try {
        if (step.type === 'settle') state.note(await acknowledger.settle(step.row));
        else if (!(await askOwn(step.row, state, deps))) return [];
        return (await store.readKeys([step.key])).flat();
      } catch {
        stop('store');
        return [];
      }
    },
    skipped({ skip }, rows) {
      // Whose lease holds it may be gone sooner (C6), so nothing is noted of it.
      if (skip.reason === 'in_flight') state.wake(skip.until);
      if (skip.reason === 'not_before' || skip.reason === 'rest') state.wake(skip.at);
      if (skip.reason === 'not_before') memory.resting.rest(rows, skip.at);
      if (skip.reason === 'unknown_family') memory.resting.rest(rows, Number.POSITIVE_INFINITY);
    },
    failed: ({ type }) => stop(type === 'not_active' ? 'owner' : 'store'),
  };
}
