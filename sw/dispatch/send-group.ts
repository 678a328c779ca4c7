/**
 * Sends claimed rows, one request or a batch (V7), and judges the answers (D4, D10, C5, C7). What an answer says
 * about going on is noted at once; what it does to its row is carried out by `settle-answer.ts`.
 */
import type { Family } from '../../shared/family.ts';
import { wireKindOf } from '../../shared/family.ts';
import { keyToken } from '../../shared/key.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import { isLarge } from '../outbox/lease.ts';
import { isClaimFresh } from '../outbox/plan-claim.ts';
import type { DispatchDeps } from './dispatch-deps.ts';
import type { LoadedAttempt } from './drain.ts';
import type { FlushState } from './flush-state.ts';
import { type Judgement, judgeAnswer } from './judge-answer.ts';
import { sendWithin } from './send-attempt.ts';
import type { Answer, SendRequest } from './sender.ts';
import type { Seen } from './stop-rules.ts';

/** `undefined`: too little is left of a lease, so nothing was sent. Never rejects. */
export function sendGroup(
  group: readonly LoadedAttempt[],
  state: FlushState,
  { clock, timers, settings }: DispatchDeps,
): Promise<readonly Judgement[]> | undefined {
  const startedAt = clock.now();
  const rows = group.map(({ attempt }) => attempt.claimed);
  if (!group.every(({ attempt }) => isClaimFresh(attempt, startedAt, settings.leaseMs(attempt.claimed))))
    return undefined;
  const left = rows.map(({ claim }) => (claim?.expiresAt ?? startedAt) - startedAt);
  const timeoutMs = Math.min(settings.attemptTimeoutMs, ...left);
  const requests = group.map(({ attempt, body }) => requestOf(attempt.claimed, body, state.headers));
  const { sender } = settings;
  const [first] = requests;
  const send = async (signal: AbortSignal): Promise<readonly Answer[]> => {
    if (requests.length > 1 && sender.sendBatch) return sender.sendBatch(requests, signal);
    return first ? [await sender.send(first, signal)] : [];
  };
  const limits = { timers, timeoutMs, cut: state.flight.cut };
  return sendWithin(send, group.length, limits).then((answers) => {
    const now = clock.now();
    // A lost connection fails at once and says nothing about the server's pace.
    // Nor does a large body, which takes the link's time and is never claimed ahead.
    if (!rows.some(isLarge) && answers.some((answer) => answer.type === 'response' || answer.timedOut))
      state.tookMs(now - startedAt);
    return rows.map((row, place) => {
      const answer = answers[place] ?? { type: 'failure', error: undefined, timedOut: true };
      const judged = judge(answer, row, state, settings.familyOf(row.family), { now, settings });
      const seen = seenOf(judged, row);
      if (seen) state.see(seen);
      return judged;
    });
  });
}

/**
 * How many of `loaded`, from the first one, may share a request: one family, up to the sender's own limit (V7), and
 * together no more than what is large on its own, since the request ends with the first of their leases.
 */
export function sizeOfGroup(loaded: readonly LoadedAttempt[], { settings }: DispatchDeps): number {
  const { sender } = settings;
  const family = loaded[0]?.attempt.claimed.family;
  if (!sender.sendBatch || family === undefined) return 1;
  const most = Math.max(1, sender.batchLimit?.(family) ?? 1);
  let bytes = 0;
  const other = loaded.findIndex(({ attempt: { claimed } }, place) => {
    bytes += claimed.bodySize ?? 0;
    return claimed.family !== family || (place > 0 && isLarge({ bodySize: bytes }));
  });
  return Math.min(most, other < 0 ? loaded.length : other);
}

function judge(
  answer: Answer,
  row: Row,
  state: FlushState,
  family: Family | undefined,
  { now, settings }: { readonly now: number; readonly settings: DispatchDeps['settings'] },
): Judgement {
  const { mapFailure } = settings.portsOf(row.family);
  const sent = { ...row, wireKind: wireKindOf(row.family, row.kind) };
  const longestWaitMs = settings.retry.believedMs;
  return judgeAnswer(answer, sent, {
    owner: state.owner,
    family: family ?? { type: 'record' },
    mapFailure,
    now,
    longestWaitMs,
  });
}

/** D3, D5: what the answer says about going on. */
function seenOf(judged: Judgement, row: Row): Seen | undefined {
  const key = keyToken(keyOf(row));
  if (judged.type === 'signed_out') return { type: 'stop', by: 'auth' };
  if (judged.type !== 'transient') return { type: 'answered' };
  switch (judged.scope) {
    case 'network':
      return { type: 'no_answer', key };
    case 'owner':
    case 'everyone':
      return { type: 'stop', by: 'rest' };
    case 'key':
      return { type: 'failed', key };
    default:
      return undefined;
  }
}

function requestOf(row: Row, body: unknown, headers: Readonly<Record<string, string>>): SendRequest {
  const { id, requestHash, owner, family, kind, target, expectedRevision, sourceRef, evidence } = row;
  return {
    id,
    requestHash,
    owner,
    family,
    kind,
    wireKind: wireKindOf(family, kind),
    target,
    expectedRevision,
    sourceRef,
    body,
    headers,
    attempt: evidence.attemptCount,
  };
}
