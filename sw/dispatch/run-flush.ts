/**
 * One flush of one owner (D2, D5): may it send, with which credentials, what must be asked first, and then what is
 * ready. Each of these is a part of its own; here is their order.
 */
import type { StoppedBy } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { planReclaim } from '../outbox/plan-claim.ts';
import { type AskingPlaces, askOwn, askReceipts } from './ask-receipts.ts';
import { claimKeys } from './claim-keys.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import { type DrainPorts, type LoadedAttempt, startDrain } from './drain.ts';
import { createFlushState, type FlushState, type OwnerMemory } from './flush-state.ts';
import type { Judgement } from './judge-answer.ts';
import { createLaneReader, type LaneReader } from './lane-reader.ts';
import { offerCredentials, sameHeaders } from './offer-credentials.ts';
import { claimsAhead } from './pace.ts';
import { releaseHeld } from './release-held.ts';
import type { Flight } from './scheduler.ts';
import { sendGroup, sizeOfGroup } from './send-group.ts';
import { heldFact, judgeFacts, readSendingFacts } from './sending-facts.ts';
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
}

export interface FlushEnd {
  readonly state: FlushState;
  readonly stoppedBy: StoppedBy | undefined;
  /** It was stopped while it ran, rather than kept from starting. */
  readonly hadBegun: boolean;
  /** When to try again, where that is known (epoch ms). */
  readonly wakeAt: number | undefined;
}

/** Rows claimed ahead at most, whatever the pace (S3). */
const MOST_AHEAD = 128;
/** For how long it stays sure that this owner may send, in ms (W30). This host's own sign-outs count at once. */
const SURE_MS = 250;

export async function runFlush(
  flight: Flight,
  memory: FlushMemory,
  deps: DispatchDeps,
  onStart: (state: FlushState) => void,
): Promise<FlushEnd> {
  const { store, clock, connection, settings } = deps;
  const { owner } = flight;
  const host = await deps.host;
  const state = createFlushState(flight, host, await readSendingFacts(store, owner), memory, deps);
  onStart(state);
  const end = (stoppedBy: StoppedBy | undefined, hadBegun: boolean, wakeAt = state.wakeAt): FlushEnd => ({
    state,
    stoppedBy,
    hadBegun,
    wakeAt,
  });

  await settleUnsettled(state, memory, deps);
  const gate = judgeFacts(state.facts, owner, {
    now: clock.now(),
    overrides: state.waits() === 'server',
    policy: settings.retry,
  });
  if (gate) return end(gate.stoppedBy, false, gate.until);
  // W22: known to be offline, so not a single request is made.
  if (!connection.online()) return end('network', false);
  if (state.stoppedBy() !== undefined) return end(state.stoppedBy(), false);
  if (!(await hasWork(owner, deps))) return end(undefined, true);

  const { held } = state.facts;
  const offer = await offerCredentials(settings.credentials, owner, held?.wasRefused ?? false, {
    timers: deps.timers,
    appLimitMs: settings.appLimitMs,
  });
  if (offer.type === 'failed') return end('credentials', true);
  if (offer.type === 'none') {
    if (!held) await hold(owner, false, deps);
    return end('auth', held === undefined);
  }
  state.headers = offer.headers;
  await release(state, deps);

  const claimable = await askReceipts(state, memory, deps);
  // A look-up that was answered "signed out" holds the owner as any other request does.
  if (state.stoppedBy() === 'auth') await hold(owner, true, deps);
  let stoppedBy = await drain(state, claimable, memory, deps);
  if (stoppedBy === 'auth' && (await renew(state, deps))) stoppedBy = await drain(state, [], memory, deps);
  state.close();
  return end(stoppedBy, true);
}

/** Whether there is anything that a flush could move; four looks, whatever the queue's length. */
async function hasWork(owner: string, { store }: DispatchDeps): Promise<boolean> {
  const lanes = await Promise.all(
    (['ready', 'held', 'asking', 'waiting'] as const).map((lane) =>
      store.readLane(owner, lane, { limit: 1 }),
    ),
  );
  return lanes.some((rows) => rows.length > 0);
}

async function hold(owner: string, wasRefused: boolean, { store, clock }: DispatchDeps): Promise<void> {
  await store.commit([
    {
      owner,
      reason: 'acknowledge',
      keys: [],
      expected: [],
      write: [],
      remove: [],
      outcomes: [],
      facts: [heldFact(owner, clock.now(), wasRefused)],
      durability: 'relaxed',
    },
  ]);
}

async function release(state: FlushState, { store }: DispatchDeps): Promise<void> {
  const { owner, facts } = state;
  const [row] = facts.held ? [] : await store.readLane(owner, 'held', { limit: 1 });
  if (facts.held || row) await releaseHeld(store, owner);
  state.facts = { ...facts, held: undefined };
}

/**
 * Headers that were answered with a refusal may just have grown old: the port is asked once more, and only if it
 * has others to offer the flush goes on (D5, W31).
 */
async function renew(state: FlushState, deps: DispatchDeps): Promise<boolean> {
  const { settings, timers } = deps;
  const { appLimitMs } = settings;
  if (state.flight.stoppedBy !== undefined) return false;
  const offer = await offerCredentials(settings.credentials, state.owner, true, { timers, appLimitMs });
  if (offer.type !== 'headers' || sameHeaders(offer.headers, state.headers)) return false;
  state.headers = offer.headers;
  state.facts = { ...state.facts, held: { at: 0, wasRefused: true } };
  await release(state, deps);
  state.goOn();
  return true;
}

async function settleUnsettled(state: FlushState, memory: FlushMemory, deps: DispatchDeps): Promise<void> {
  const waiting = memory.unsettled;
  memory.unsettled = [];
  await Promise.all(waiting.map(({ attempt, judged }) => settleOne(attempt, judged, state, memory, deps)));
}

async function settleOne(
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

async function drain(
  state: FlushState,
  claimable: readonly Row[],
  memory: FlushMemory,
  deps: DispatchDeps,
): Promise<StoppedBy | undefined> {
  const { clock, timers } = deps;
  const { flight } = state;
  const reader = createLaneReader(deps.store, flight.owner);
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
    concurrency: settings.concurrency,
    claimsAhead: () =>
      claimsAhead(memory.pace, {
        leaseMs: settings.shortestLeaseMs,
        concurrency: settings.concurrency,
        most: MOST_AHEAD,
      }),
    stoppedBy: () => state.stoppedBy(),
    isStandingKnown: () => Math.abs(clock.now() - sureAt) < SURE_MS,
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
    send: (loaded) => sendGroup(loaded, state, deps),
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
    skipped({ skip }) {
      if (skip.reason === 'in_flight') state.wake(skip.until);
      if (skip.reason === 'not_before' || skip.reason === 'rest') state.wake(skip.at);
    },
    failed: ({ type }) => stop(type === 'not_active' ? 'owner' : 'store'),
  };
}
