/**
 * One flush of one owner (D2, D5): may it send, with which credentials, what must be asked first, and then what is
 * ready. Each of these is a part of its own; here is their order.
 */
import type { StoppedBy } from '../../shared/outcome.ts';
import type { Lane } from '../outbox/row-store.ts';
import { askReceipts, prepareLeft } from './ask-receipts.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import { drainReady, type FlushMemory, settleOne } from './drain-ready.ts';
import { createFlushState, type FlushState } from './flush-state.ts';
import { offerCredentials, sameHeaders } from './offer-credentials.ts';
import { releaseHeld } from './release-held.ts';
import type { Flight } from './scheduler.ts';
import { heldFact, judgeFacts, readSendingFacts } from './sending-facts.ts';

export interface FlushEnd {
  readonly state: FlushState;
  readonly stoppedBy: StoppedBy | undefined;
  /** It was stopped while it ran, rather than kept from starting. */
  readonly hadBegun: boolean;
  /** When to try again, where that is known (epoch ms). */
  readonly wakeAt: number | undefined;
}

const LANES = ['ready', 'held', 'asking', 'waiting'] as const satisfies readonly Lane[];

export async function runFlush(
  flight: Flight,
  memory: FlushMemory,
  deps: DispatchDeps,
  onStart: (state: FlushState) => void,
): Promise<FlushEnd> {
  const { store, clock, connection, settings } = deps;
  const { owner } = flight;
  const host = await deps.host;
  const [facts, { generation }] = await Promise.all([
    readSendingFacts(store, owner),
    store.ownerFacts(owner),
  ]);
  memory.resting.check(generation, clock.now());
  const state = createFlushState(flight, host, facts, memory, deps);
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
  const lanes = await lookAround(owner, deps);
  if (lanes.size === 0) return end(undefined, true);

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
  if (held || lanes.has('held')) await release(state, deps);

  const mustAsk = lanes.has('asking') || lanes.has('waiting');
  const claimable = mustAsk ? await askReceipts(state, memory, deps) : [];
  // A look-up that was answered "signed out" holds the owner as any other request does.
  if (state.stoppedBy() === 'auth') await hold(owner, true, deps);
  let stoppedBy = await drainReady(state, claimable, memory, deps);
  if (stoppedBy === 'auth' && (await renew(state, deps)))
    stoppedBy = await drainReady(state, [], memory, deps);
  while (stoppedBy === undefined && (await prepareLeft(state, deps)))
    stoppedBy = await drainReady(state, [], memory, deps);
  state.close();
  return end(stoppedBy, true);
}

/** The lanes that hold anything a flush could move; four looks, whatever the queue's length. */
async function lookAround(owner: string, { store }: DispatchDeps): Promise<ReadonlySet<Lane>> {
  const rows = await Promise.all(LANES.map((lane) => store.readLane(owner, lane, { limit: 1 })));
  return new Set(LANES.filter((_, place) => rows[place]?.length));
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
  await releaseHeld(store, state.owner);
  state.facts = { ...state.facts, held: undefined };
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
  await release(state, deps);
  state.goOn();
  return true;
}

async function settleUnsettled(state: FlushState, memory: FlushMemory, deps: DispatchDeps): Promise<void> {
  const waiting = memory.unsettled;
  memory.unsettled = [];
  await Promise.all(waiting.map(({ attempt, judged }) => settleOne(attempt, judged, state, memory, deps)));
}
