/**
 * Which row of a key may leave now (C1-C4, C6, C15, C30, C31, C33), judged from all stored rows of that key.
 * It may be called with just the row that a lane gave: if the key holds more, the commit is stale and its
 * result carries all of them to plan again. Pure; it knows no sender and no receipt rules.
 */
import { isIntent, keyOf, type Row } from '../../shared/row.ts';
import { type Attempt, blockedDraft, isHeldBy, outcomeOf } from './attempt.ts';
import type { Commit, RowDraft } from './row-store.ts';
import { isInDoubt, isInFlight, isNoted, isUnproven, type StandingContext } from './standing.ts';

export interface ClaimContext extends StandingContext {
  readonly host: string;
  readonly release: string;
  /** Waits further ahead than this are not believed (C4), in ms. */
  readonly longestWaitMs: number;
  /** Reconnecting, `flush()` and a sync event respect the server's waits only (D3). */
  readonly waits: 'all' | 'server';
  /** Before this instant (epoch ms) no row of this owner leaves (D3). */
  readonly restUntil?: number | undefined;
  readonly isKnownFamily: (family: string) => boolean;
  /** Whether the family can ask the server for a receipt (`findReceipt`). */
  readonly canAsk: (row: Pick<Row, 'family' | 'kind'>) => boolean;
  /** Ids for which `findReceipt` was asked in this flush and said "none", a lease or more after the last attempt. */
  readonly saidNone: ReadonlySet<string>;
  /** Families whose server gives no receipts: their claims end with the lease alone, whatever the locks say. */
  readonly lacksReceipts?: ((family: string) => boolean) | undefined;
  /** For how many days the server remembers a key of this family (V1); `undefined`: for good. */
  readonly ledgerDays: (family: string) => number | undefined;
}

export type ClaimPlan =
  /** `commit.write[0]` is the claimed row; `attemptOf` makes the attempt from the row as stored. */
  | { readonly type: 'claim'; readonly row: Row; readonly commit: Commit }
  /** The row is too late to be sent: this commit blocks it, and the key is planned again. */
  | { readonly type: 'block'; readonly row: Row; readonly commit: Commit }
  /** The server must be asked about this row before anything of the key leaves. */
  | { readonly type: 'ask'; readonly row: Row; readonly why: 'doubtful_head' | 'expired' }
  /** Its receipt is noted: accept it first (`planSettle`), then plan the key again. */
  | { readonly type: 'settle'; readonly row: Row }
  | ClaimSkip;

export type ClaimSkip =
  | { readonly type: 'skip'; readonly reason: 'no_rows' | 'blocked' }
  | {
      readonly type: 'skip';
      readonly reason: 'held' | 'intent' | 'unproven' | 'unknown_family';
      readonly row: Row;
    }
  | { readonly type: 'skip'; readonly reason: 'predecessor'; readonly row: Row; readonly predecessor: Row }
  /** `until`: when the lease ends, at the latest (epoch ms). */
  | {
      readonly type: 'skip';
      readonly reason: 'in_flight';
      readonly row: Row;
      readonly host: string | undefined;
      readonly until: number;
    }
  | {
      readonly type: 'skip';
      readonly reason: 'not_before';
      readonly row: Row;
      readonly at: number;
      readonly by: 'server' | 'engine';
    }
  | { readonly type: 'skip'; readonly reason: 'rest'; readonly row: Row; readonly at: number };

const DAY_MS = 86_400_000;

/** Decides which row of one key leaves now, or what keeps the key. `rows` in any order. */
export function planClaim(rows: readonly Row[], context: ClaimContext): ClaimPlan {
  const ordered = rows.length > 1 ? rows.toSorted((a, b) => a.seq - b.seq) : rows;
  // C31: whatever is in flight keeps its whole key, a later row as well as an earlier one.
  const [first] = ordered;
  const locksCount = first === undefined || !context.lacksReceipts?.(first.family);
  const standing = locksCount ? context : { ...context, goneHosts: undefined };
  for (const row of ordered) if (isInFlight(row, standing)) return inFlight(row, context);
  const noted = ordered.find(isNoted);
  if (noted) return { type: 'settle', row: noted };
  const passed: Row[] = [];
  for (const row of ordered) {
    // W62: a later clock may show that a row was not too late after all.
    if (row.state === 'blocked' && !isReleased(row, context)) passed.push(row);
    else return planHead(row, ordered, passed, context);
  }
  return { type: 'skip', reason: ordered.length === 0 ? 'no_rows' : 'blocked' };
}

function planHead(row: Row, rows: readonly Row[], passed: readonly Row[], context: ClaimContext): ClaimPlan {
  const { now } = context;
  if (!context.isKnownFamily(row.family)) return { type: 'skip', reason: 'unknown_family', row };
  if (row.state === 'held') return { type: 'skip', reason: 'held', row };
  if (isUnproven(row)) return { type: 'skip', reason: 'unproven', row };
  if (isIntent(row)) return { type: 'skip', reason: 'intent', row };
  const predecessor = rows.find(
    (other) => other.origin === row.successorOf && other.id !== row.id && other.state !== 'blocked',
  );
  if (predecessor && predecessor.origin !== row.origin)
    return { type: 'skip', reason: 'predecessor', row, predecessor };
  if (context.restUntil !== undefined && isAhead(context.restUntil, context))
    return { type: 'skip', reason: 'rest', row, at: context.restUntil };
  const wait = row.notBefore;
  if (wait && isAhead(wait.at, context) && (wait.by === 'server' || context.waits === 'all'))
    return { type: 'skip', reason: 'not_before', row, at: wait.at, by: wait.by };
  const unasked = (other: Row) => context.canAsk(other) && !context.saidNone.has(other.id);
  // A doubtful head may still be applied: nothing overtakes it before the server said that it has not (C31).
  const doubtful = passed.find((other) => isInDoubt(other) && unasked(other));
  if (doubtful) return { type: 'ask', row: doubtful, why: 'doubtful_head' };

  const doubt = isInDoubt(row);
  const days = context.ledgerDays(row.family);
  if (doubt && days !== undefined && now - (row.evidence.doubtSince ?? row.savedAt) > days * DAY_MS)
    return { type: 'block', row, commit: expiryCommit(row, rows, 'ledger_expired', true, now) };
  if (row.expiresAt !== undefined && row.expiresAt <= now) {
    if (doubt && unasked(row)) return { type: 'ask', row, why: 'expired' };
    const stays = doubt && !context.saidNone.has(row.id);
    return { type: 'block', row, commit: expiryCommit(row, rows, 'expired', stays, now) };
  }
  // C33: whoever steps over a blocked row says so on it, so that it never overwrites what overtook it.
  const marks = passed
    .filter((other) => other.overtakenBy === undefined)
    .map((other) => ({ ...other, overtakenBy: row.origin }));
  return {
    type: 'claim',
    row,
    commit: {
      owner: row.owner,
      reason: 'claim',
      keys: [keyOf(row)],
      expected: rows,
      write: [claimDraft(row, context), ...marks],
      remove: [],
      outcomes: [],
      activeOwner: row.owner,
      // S14: nothing may leave before the device surely remembers that it might have.
      durability: doubt ? 'relaxed' : 'strict',
    },
  };
}

/** The attempt of a claim that was committed; `stored` is the first row of its result. */
export function attemptOf(plan: Extract<ClaimPlan, { type: 'claim' }>, stored: Row): Attempt {
  return { before: plan.row, claimed: stored };
}

/**
 * C7: a row claimed ahead that has less than half of its lease left is claimed anew before it is sent. It never
 * left, so what it was before the first claim stays what a give-back restores. `undefined`: no longer ours.
 */
export function planReclaim(
  rows: readonly Row[],
  attempt: Attempt,
  context: ClaimContext,
): Commit | undefined {
  const row = rows.find((other) => other.id === attempt.claimed.id);
  if (!row || !isHeldBy(row, attempt) || isNoted(row)) return undefined;
  const draft = claimDraft(row, context);
  return {
    owner: row.owner,
    reason: 'claim',
    keys: [keyOf(row)],
    expected: rows,
    write: [{ ...draft, evidence: { ...draft.evidence, attemptCount: row.evidence.attemptCount } }],
    remove: [],
    outcomes: [],
    activeOwner: row.owner,
    durability: 'relaxed',
  };
}

/** C7: whether enough of the lease is left to start the attempt as it is claimed. */
export function isClaimFresh(attempt: Attempt, now: number, leaseMs: number): boolean {
  const left = (attempt.claimed.claim?.expiresAt ?? 0) - now;
  return left >= leaseMs / 2 && left <= leaseMs;
}

function claimDraft(row: Row, context: ClaimContext): RowDraft {
  const { now } = context;
  return {
    ...row,
    state: 'sending',
    sentAt: now,
    doubt: true,
    notBefore: undefined,
    blockedAt: undefined,
    blockedCode: undefined,
    lookupNone: undefined,
    claim: {
      host: context.host,
      expiresAt: now + context.leaseMs(row),
      fence: (row.claim?.fence ?? 0) + 1,
    },
    evidence: {
      ...row.evidence,
      attemptCount: row.evidence.attemptCount + 1,
      lastAttemptAt: now,
      doubtSince: isInDoubt(row) ? row.evidence.doubtSince : now,
    },
    writer: { release: context.release, at: now },
  };
}

function expiryCommit(
  row: Row,
  rows: readonly Row[],
  code: 'expired' | 'ledger_expired',
  doubt: boolean,
  now: number,
): Commit {
  return {
    owner: row.owner,
    reason: 'expire',
    keys: [keyOf(row)],
    expected: rows,
    write: [blockedDraft(row, code, doubt, now)],
    remove: [],
    outcomes: [outcomeOf(row, { type: 'blocked', code })],
    activeOwner: row.owner,
    durability: 'relaxed',
  };
}

/** C4: a wait further ahead than the longest one comes from a clock that jumped. */
export function isAhead(at: number, context: Pick<ClaimContext, 'now' | 'longestWaitMs'>): boolean {
  return at > context.now && at <= context.now + context.longestWaitMs;
}

function isReleased(row: Row, context: ClaimContext): boolean {
  return (
    row.blockedCode === 'expired' &&
    !isInDoubt(row) &&
    row.expiresAt !== undefined &&
    row.expiresAt > context.now
  );
}

function inFlight(row: Row, context: ClaimContext): ClaimSkip {
  const { claim, sentAt } = row;
  const leaseMs = context.leaseMs(row);
  const ends =
    claim !== undefined && claim.expiresAt > context.now ? claim.expiresAt : (sentAt ?? 0) + leaseMs;
  return { type: 'skip', reason: 'in_flight', row, host: claim?.host, until: ends };
}
