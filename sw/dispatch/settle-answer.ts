/**
 * Carries a judged answer to its row (C10-C14, D30-D32, D46): with the wait and the facts that the answer brings,
 * and, for a conflict, with the family's resolver asked first.
 */
import { unreachable } from '../../shared/assert.ts';
import type { Receipt } from '../../shared/receipt.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import type { Acknowledged } from '../outbox/acknowledger.ts';
import { type Attempt, tell } from '../outbox/attempt.ts';
import { deriveId } from '../outbox/derive-id.ts';
import { digestBody, hashRequest } from '../outbox/hash-request.ts';
import type { JudgedAnswer } from '../outbox/plan-acknowledgement.ts';
import type { Resend } from '../outbox/plan-resend.ts';
import type { FactWrite } from '../outbox/row-store.ts';
import { wasAdopted } from '../receipts/was-adopted.ts';
import { noteConflict } from './conflict-summaries.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import type { FlushState } from './flush-state.ts';
import type { Judgement } from './judge-answer.ts';
import { deviceFailure, type Resolution, resolveConflict } from './resolve-conflict.ts';
import { planWait } from './retry-policy.ts';
import { heldFact, restFact } from './sending-facts.ts';
import { withinLimit } from './time-limit.ts';

type Conflict = Extract<Judgement, { readonly type: 'conflict' }>;
type Plain = Exclude<Judgement, Conflict>;

/** Whether the key rests for the rest of this flush, and the rows that the commit wrote. */
export interface SettledAnswer {
  readonly acknowledged: Acknowledged;
  readonly written: readonly Row[];
  readonly rests: boolean;
}

/** Never rejects: what the device's own store refuses leaves the row to a later flush (D46). */
export async function settleAnswer(
  attempt: Attempt,
  judged: Judgement,
  state: FlushState,
  deps: DispatchDeps,
): Promise<SettledAnswer> {
  const { acknowledger } = deps;
  if (judged.type !== 'conflict') {
    const answer = answerOf(judged, attempt.claimed, state, deps);
    if (answer.type === 'transient') state.noteTried(attempt.claimed);
    const acknowledged = await acknowledger.acknowledge(attempt, answer);
    if (judged.type === 'accepted' && acknowledged.type === 'nothing')
      await tellDuplicate(attempt.claimed, judged.receipt, state, deps);
    return finish(acknowledged, answer, state, deps);
  }
  const { row, resolution, facts } = await resolve(attempt, judged, state, deps).catch((error: unknown) => ({
    row: attempt.claimed,
    resolution: deviceFailure('successor_persist_failed', judged.applied, error),
    facts: [],
  }));
  if (resolution.type === 'transient') {
    const answer = answerOf(resolution, row, state, deps);
    state.noteTried(row);
    return finish(await acknowledger.acknowledge(attempt, answer), answer, state, deps);
  }
  if (resolution.type !== 'resend') {
    const { summary: _, ...end } = resolution;
    return finish(await acknowledger.acknowledge(attempt, { ...end, facts }), undefined, state, deps);
  }
  const resend = await resendOf(row, resolution, facts, state, deps);
  const acknowledged = resend ? await acknowledger.resend(attempt, resend) : undefined;
  if (acknowledged?.type === 'committed') {
    state.rounds.set(row.origin, (state.rounds.get(row.origin) ?? 0) + 1);
    return finish(acknowledged, undefined, state, deps);
  }
  if (acknowledged && !(acknowledged.type === 'nothing' && isUndecided(acknowledged.reason)))
    return finish(acknowledged, undefined, state, deps);
  if (acknowledged?.type === 'nothing' && acknowledged.reason === 'overtaken') {
    const { failure, applied } = judged;
    const refused = { type: 'refused', code: 'conflict', applied, failure } as const;
    return finish(await acknowledger.acknowledge(attempt, refused), undefined, state, deps);
  }
  const code = acknowledged ? 'conflict_storm' : 'successor_persist_failed';
  const answer = answerOf(deviceFailure(code, judged.applied), row, state, deps);
  state.noteTried(row);
  return finish(await acknowledger.acknowledge(attempt, answer), answer, state, deps);
}

/** D29: another host has adopted this receipt before. Who waits hears so; the page has reacted already. */
async function tellDuplicate(
  row: Row,
  receipt: Receipt,
  state: FlushState,
  { store }: DispatchDeps,
): Promise<void> {
  const isDuplicate = await wasAdopted(store, row.id).catch(() => false);
  if (isDuplicate) state.tell(tell(row, { type: 'committed', receipt, duplicate: true }));
}

function isUndecided(reason: string): boolean {
  return reason === 'overtaken' || reason === 'storm';
}

async function finish(
  acknowledged: Acknowledged,
  answer: JudgedAnswer | undefined,
  state: FlushState,
  { store }: DispatchDeps,
): Promise<SettledAnswer> {
  state.note(acknowledged);
  // D3: that the sender rests holds even where the claim was lost and the row is not ours. A refusal of credentials
  // does not: whoever has the row now may have been given others since, and hears for himself (C13, D5).
  if (acknowledged.type === 'nothing' && answer?.facts && answer.type !== 'signed_out')
    await store.writeFacts(answer.facts, 'relaxed').catch(() => state.see({ type: 'stop', by: 'store' }));
  if (acknowledged.type === 'unsettled') state.see({ type: 'stop', by: 'store' });
  if (answer?.type === 'transient') state.wake(answer.notBefore?.at);
  const isOver = acknowledged.type === 'committed';
  return {
    acknowledged,
    written: isOver ? (acknowledged.result?.rows ?? []) : [],
    rests: !isOver || answer?.type === 'transient' || answer?.type === 'signed_out',
  };
}

/** D3: what rests after a failure, and for how long. */
function answerOf(judged: Plain, row: Row, state: FlushState, deps: DispatchDeps): JudgedAnswer {
  const { clock, ids, settings } = deps;
  const now = clock.now();
  switch (judged.type) {
    case 'signed_out':
      return { ...judged, facts: [heldFact(row.owner, now, true)] };
    case 'transient': {
      const { failure, applied, scope, retryAt } = judged;
      // Cut by this device itself: nothing has to be waited for.
      if (failure.code === 'aborted') return { type: 'transient', failure, applied };
      const notBefore = planWait({
        now,
        attempt: row.evidence.attemptCount,
        random: ids.random(),
        serverAt: retryAt,
        policy: settings.retry,
      });
      if (scope !== 'owner' && scope !== 'everyone')
        return { type: 'transient', failure, applied, notBefore };
      const rest = restFact(scope, row.owner, notBefore, state.facts, { now, policy: settings.retry });
      return { type: 'transient', failure, applied, notBefore, facts: [rest] };
    }
    case 'accepted':
    case 'already_gone':
    case 'refused':
      return judged;
    default:
      return unreachable(judged);
  }
}

async function resolve(
  attempt: Attempt,
  conflict: Conflict,
  state: FlushState,
  { store, clock, timers, settings }: DispatchDeps,
): Promise<{ readonly row: Row; readonly resolution: Resolution; readonly facts: readonly FactWrite[] }> {
  // A later row may have overtaken this one since it was claimed (C33).
  const [rows = []] = await store.readKeys([keyOf(attempt.claimed)]);
  const row = rows.find(({ id }) => id === attempt.claimed.id) ?? attempt.claimed;
  const { bodyId, successorOf } = row;
  const [read] = bodyId === undefined ? [] : await store.readBodies([bodyId]);
  const end = successorOf === undefined ? undefined : await store.findEndOfOrigin(successorOf);
  const predecessor = end && (await store.findOutcome(end.id));
  const resolution = await resolveConflict(
    {
      row,
      body: read?.type === 'body' ? read.body : undefined,
      conflict,
      rounds: state.rounds.get(row.origin) ?? 0,
      predecessor: predecessor?.outcome,
      ports: settings.portsOf(row.family),
      headers: state.headers,
      now: clock.now(),
    },
    (run) => withinLimit(timers, settings.appLimitMs, run),
  );
  if (resolution.type === 'transient') return { row, resolution, facts: [] };
  return { row, resolution, facts: await noteConflict(store, row.owner, resolution.summary) };
}

/** `undefined`: the resolver's body cannot be stored (D32). */
async function resendOf(
  row: Row,
  { actual, newBody }: Extract<Resolution, { readonly type: 'resend' }>,
  facts: readonly FactWrite[],
  state: FlushState,
  { digest, settings }: DispatchDeps,
): Promise<Resend | undefined> {
  const { kind, target, after } = row;
  let content: { readonly bodyDigest?: string | undefined; readonly bodySize?: number | undefined } = row;
  if (newBody) {
    try {
      const maxBytes = settings.familyOf(row.family)?.maxBodyBytes;
      content = await digestBody(digest, newBody.body, maxBytes, row.owner);
    } catch {
      // What cannot be encoded is the resolver's mistake; the row waits with its own content.
      return undefined;
    }
  }
  const { bodyDigest, bodySize } = content;
  const id = await deriveId(digest, row.id, actual, bodyDigest);
  const requestHash = await hashRequest(digest, {
    kind,
    target,
    expectedRevision: actual,
    bodyDigest,
    after,
  });
  const rounds = state.rounds.get(row.origin) ?? 0;
  const resend: Resend = { identity: { id, requestHash }, actual, rounds, facts };
  if (!newBody || bodyDigest === undefined || bodySize === undefined) return resend;
  return { ...resend, body: { bodyId: id, body: newBody.body, bodyDigest, bodySize } };
}
