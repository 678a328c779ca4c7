/**
 * Rows that need the server's word before anything else (C11, C23, R34, S37): noted receipts are settled, the
 * others asked for with `findReceipt`. A page of them per flush, so that a long list costs every flush the same.
 */
import { wireKindOf } from '../../shared/family.ts';
import type { Row } from '../../shared/row.ts';
import type { Acknowledged } from '../outbox/acknowledger.ts';
import { findGoneHosts } from '../outbox/host-id.ts';
import { neededOrigins } from '../outbox/plan-intent.ts';
import { type PredecessorEnd, planAsking } from '../outbox/plan-lookup.ts';
import type { LanePlace } from '../outbox/row-store.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import { readMember } from './failure-signals.ts';
import type { FlushState } from './flush-state.ts';
import { judgeLookup, type LookupJudgement } from './judge-lookup.ts';
import { planWait } from './retry-policy.ts';
import type { ReceiptLookup } from './sender.ts';
import { withinLimit } from './time-limit.ts';

/** Rows looked at per flush, of each of the two lanes. */
const PAGE = 64;
/** Asking again waits as long as a row does after this many failures: the word rarely changes. */
const PATIENT = 8;

/** Where the owner's flushes have come in lanes that they go round. */
export interface AskingPlaces {
  asking?: LanePlace | undefined;
  waiting?: LanePlace | undefined;
}

/** Goes through one page of the asking lane and of the orphaned intents; answers rows whose keys may be claimed. */
export async function askReceipts(
  state: FlushState,
  places: AskingPlaces,
  deps: DispatchDeps,
): Promise<readonly Row[]> {
  const { store, acknowledger } = deps;
  const { owner } = state;
  const asking = await store.readLane(owner, 'asking', { after: places.asking, limit: PAGE });
  const last = asking.at(-1);
  places.asking =
    last && asking.length === PAGE ? { urgent: last.urgent === true, seq: last.seq } : undefined;
  const { orphans, next } = await acknowledger.findOrphans(owner, { after: places.waiting, limit: PAGE });
  places.waiting = next;
  // C6: a noted receipt may still stand under the claim of a host that is gone.
  for (const host of await findGoneHosts([...asking, ...orphans], await deps.host, deps.locks))
    state.hosts.gone.add(host);
  const claimable: Row[] = [];
  const atOnce = state.isProbing ? 1 : deps.settings.concurrency;
  await inParallel([...asking, ...orphans], atOnce, async (row) => {
    if (await askAbout(row, state, deps)) claimable.push(row);
  });
  return claimable;
}

/** C21: what acceptances of this flush left to be prepared, each by itself. Answers whether there was anything. */
export async function prepareLeft(state: FlushState, deps: DispatchDeps): Promise<boolean> {
  const { store, acknowledger, settings } = deps;
  const origins = state.takeLeft();
  for (const origin of origins)
    await inParallel(await store.findWaiting(origin), settings.concurrency, async (row) => {
      if (state.stoppedBy() !== undefined) return;
      // What waits for others as well, or for nobody who is known any more, is as it was.
      const ends = await acknowledger.readPredecessors(row);
      if (neededOrigins(row).every((needed) => ends.get(needed)?.type === 'receipt'))
        note(state, await acknowledger.hearPredecessors(row, ends, againAt(deps)));
    });
  return origins.length > 0;
}

/** Answers whether the row's key is to be claimed. */
async function askAbout(row: Row, state: FlushState, deps: DispatchDeps): Promise<boolean> {
  if (state.stoppedBy() !== undefined) return false;
  const { acknowledger } = deps;
  const plan = planAsking(row, state.claimContext(row.family));
  switch (plan.type) {
    case 'settle':
      note(state, await acknowledger.settle(row));
      return false;
    case 'ask':
      await askOwn(row, state, deps);
      return false;
    case 'ask_predecessors':
      await askPredecessors(row, plan.origins, state, deps);
      return false;
    case 'wait':
      state.wake(plan.until);
      return false;
    default:
      return true;
  }
}

/** Asks for a row's own receipt and carries the word out. Answers whether the word was a definite one. */
export async function askOwn(row: Row, state: FlushState, deps: DispatchDeps): Promise<boolean> {
  const word = await lookUp(row, state, deps);
  if (!word || word.type === 'no_answer') return false;
  if (word.type === 'none') {
    const now = deps.clock.now();
    const { lastAttemptAt = 0 } = row.evidence;
    const ripeAt = lastAttemptAt <= now ? lastAttemptAt + deps.settings.leaseMs(row) : now;
    // R34: said too early, "none" proves nothing.
    if (ripeAt > now) {
      state.wake(ripeAt);
      return false;
    }
    state.saidNone.add(row.id);
  }
  note(state, await deps.acknowledger.hear(row, word, againAt(deps)));
  return true;
}

async function askPredecessors(
  intent: Row,
  origins: readonly string[],
  state: FlushState,
  deps: DispatchDeps,
): Promise<void> {
  const { store, acknowledger, settings } = deps;
  const ends = new Map<string, PredecessorEnd>(await acknowledger.readPredecessors(intent));
  for (const origin of origins) {
    if (ends.has(origin)) continue;
    // An origin is the first id of its line; the journal may know a later one, under its own family.
    const end = await store.findEndOfOrigin(origin);
    const isOwn = intent.target.type === 'pending' && intent.target.origin === origin;
    const of = end?.key[1] ?? intent.family;
    // Where nothing is known of a row that is waited for by name, it may be of any family and kind (W60).
    const others = end || isOwn ? [] : settings.familyNames.filter((family) => family !== of);
    const families = [of, ...others].filter((family) => settings.portsOf(family).findReceipt);
    const { owner, sourceRef } = intent;
    const asked = { id: end?.id ?? origin, owner, target: { type: 'pending', origin } } as const;
    const own = isOwn ? ({ kind: 'create', sourceRef } as const) : {};
    let said: PredecessorEnd = { type: families.length > 0 ? 'none' : 'no_port' };
    for (const family of families) {
      const word = await lookUp({ ...asked, ...own, family }, state, deps);
      if (word?.type === 'receipt') said = word;
      else if (!word || word.type === 'no_answer') said = { type: 'no_answer' };
      if (said.type !== 'none') break;
    }
    ends.set(origin, said);
  }
  note(state, await acknowledger.hearPredecessors(intent, ends, againAt(deps)));
}

type Asked = Pick<Row, 'id' | 'owner' | 'family' | 'target'> &
  Partial<Pick<Row, 'kind' | 'requestHash' | 'sourceRef' | 'expectedRevision'>>;

/** Never rejects. `undefined`: the flush has stopped, or there is nobody to ask. */
async function lookUp(
  asked: Asked,
  state: FlushState,
  { clock, timers, settings }: DispatchDeps,
): Promise<LookupJudgement | undefined> {
  const { findReceipt } = settings.portsOf(asked.family);
  if (!findReceipt || state.stoppedBy() !== undefined) return undefined;
  const { owner, id, sourceRef } = asked;
  const request = { owner, id, family: asked.family, sourceRef, headers: state.headers };
  const lookup = await withinLimit(timers, settings.appLimitMs, (signal) =>
    findReceipt(request, signal),
  ).catch(
    (error: unknown) => ({ type: 'no_answer', answer: { type: 'failure', error, timedOut: false } }) as const,
  );
  const kind = asked.kind ?? 'create';
  const named = asked.kind === undefined ? commandNamed(kindOf(lookup), settings) : undefined;
  const command = { ...asked, kind, wireKind: wireKindOf(asked.family, kind), ...named };
  const family = settings.familyOf(command.family);
  if (!family) return undefined;
  const { mapFailure } = settings.portsOf(command.family);
  const word = judgeLookup(lookup, command, {
    owner: state.owner,
    family,
    mapFailure,
    now: clock.now(),
    longestWaitMs: settings.retry.believedMs,
  });
  if (word.type === 'no_answer') {
    state.wake(word.retryAt);
    if (word.isSignedOut) state.see({ type: 'stop', by: 'auth' });
    else if (word.failure.code === 'network') state.see({ type: 'no_answer', key: id });
  }
  return word;
}

function kindOf(lookup: ReceiptLookup): unknown {
  return readMember(readMember(lookup, 'receipt'), 'kind');
}

/** The family and kind that a receipt says it is for. */
function commandNamed(wireKind: unknown, { familyNames, familyOf }: DispatchDeps['settings']) {
  if (typeof wireKind !== 'string') return undefined;
  for (const family of familyNames)
    for (const kind of ['create', 'update', 'delete', 'put', 'remove'] as const) {
      const older = familyOf(family)?.wireKinds?.[kind] ?? [];
      if (wireKindOf(family, kind) === wireKind || older.includes(wireKind))
        return { family, kind, wireKind };
    }
  return undefined;
}

function note(state: FlushState, acknowledged: Acknowledged): void {
  state.note(acknowledged);
  if (acknowledged.type === 'unsettled') state.see({ type: 'stop', by: 'store' });
}

/** When to ask again, where the word changes nothing (epoch ms). */
function againAt({ clock, ids, settings }: DispatchDeps): number {
  const input = { now: clock.now(), attempt: PATIENT, random: ids.random(), serverAt: undefined };
  return planWait({ ...input, policy: settings.retry }).at;
}

/** Runs `step` for every item, at most `limit` at a time, in order. */
async function inParallel<T>(
  items: readonly T[],
  limit: number,
  step: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const run = async () => {
    for (const item of rest) await step(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, run));
}
