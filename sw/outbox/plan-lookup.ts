/**
 * Rows that need the server's word before anything else (C23, R34, S37, W62): what a flush does with each, and what
 * the word changes. Pure; whoever asks the server has judged its answer, so that a receipt here is a matching one.
 */
import type { BlockedCode } from '../../shared/blocked-code.ts';
import { keyToken, sameKey } from '../../shared/key.ts';
import type { OutcomeEnd } from '../../shared/outcome.ts';
import type { Receipt } from '../../shared/receipt.ts';
import { isIntent, keyOf, type Row } from '../../shared/row.ts';
import { blockedDraft, outcomeOf } from './attempt.ts';
import type { Material, Needs } from './material.ts';
import { type AcceptanceContext, planAcceptance } from './plan-acceptance.ts';
import {
  type AcknowledgementPlan,
  base,
  drops,
  intentsOf,
  planNote,
  writes,
} from './plan-acknowledgement.ts';
import { isAhead } from './plan-claim.ts';
import { canConvert, keysOfConversion, neededOrigins, planConversion } from './plan-intent.ts';
import type { FactWrite, RowDraft } from './row-store.ts';
import { isInDoubt, isInFlight, isNoted, isUnproven, type StandingContext } from './standing.ts';

export type AskingPlan =
  /** Its receipt is noted: accept it (C11). */
  | { readonly type: 'settle' }
  /** A later clock shows that it has not expired: plan a claim of its key (W62). */
  | { readonly type: 'claim' }
  /** Ask for the row's own receipt. */
  | { readonly type: 'ask' }
  /** Ask for the receipts of what it waits for, the journal first (C23). */
  | { readonly type: 'ask_predecessors'; readonly origins: readonly string[] }
  | { readonly type: 'wait'; readonly until?: number | undefined };

export interface AskingContext extends StandingContext {
  readonly longestWaitMs: number;
  readonly canAsk: (row: Pick<Row, 'family' | 'kind'>) => boolean;
  readonly waits: 'all' | 'server';
}

/** What a flush does with a row of the `asking` lane, or with an intent whose predecessor is not stored. */
export function planAsking(row: Row, context: AskingContext): AskingPlan {
  const { now } = context;
  if (isInFlight(row, context)) return { type: 'wait', until: row.claim?.expiresAt };
  if (isNoted(row)) return { type: 'settle' };
  const wait = row.notBefore;
  if (wait && isAhead(wait.at, context) && (wait.by === 'server' || context.waits === 'all'))
    return { type: 'wait', until: wait.at };
  const doubt = isInDoubt(row);
  if (row.blockedCode === 'expired' && !doubt)
    return row.expiresAt !== undefined && row.expiresAt > now ? { type: 'claim' } : { type: 'wait' };
  if (isUnproven(row) || doubt) {
    // "None" proves nothing while the last request may still be under way (R34).
    const ripe = ripeAt(row, context);
    if (ripe > now) return { type: 'wait', until: ripe };
    return context.canAsk(row) ? { type: 'ask' } : { type: 'wait' };
  }
  if (isIntent(row) && canConvert(row)) return { type: 'ask_predecessors', origins: neededOrigins(row) };
  return { type: 'wait' };
}

/** The word of the server on a row's own id. */
export type OwnWord =
  | {
      readonly type: 'receipt';
      readonly receipt: Receipt;
      readonly duplicate?: boolean | undefined;
      readonly facts?: readonly FactWrite[] | undefined;
    }
  /** Refused for good (D45). */
  | { readonly type: 'refused'; readonly code: BlockedCode }
  | { readonly type: 'none' };

/** @param againAt when to ask again, where the word changes nothing (epoch ms). */
export function planOwnWord(
  id: string,
  word: OwnWord,
  againAt: number,
  material: Material,
  context: AcceptanceContext,
): AcknowledgementPlan {
  const row = material.rows.find((other) => other.id === id);
  if (!row) return { type: 'nothing', reason: 'gone' };
  if (isNoted(row)) return { type: 'nothing', reason: 'noted_already' };
  const inFlight = isInFlight(row, context);
  if (word.type === 'receipt') {
    const { receipt, duplicate, facts } = word;
    // Somebody sends it meanwhile: as for any answer under another's claim, the receipt is noted (C11).
    if (inFlight) return planNote(row, { receipt, duplicate, facts }, material);
    const plan = planAcceptance(
      { row, receipt, duplicate, told: 'now', facts, reason: 'settle' },
      material,
      context,
    );
    return plan.type === 'needs'
      ? plan
      : { ...plan, outcomes: plan.commit.outcomes.map(({ outcome }) => outcome) };
  }
  if (inFlight) return { type: 'nothing', reason: 'claim_lost' };
  const { now } = context;
  if (word.type === 'refused') {
    const { code } = word;
    const intents = row.kind === 'create' ? intentsOf(row, material.rows) : [];
    if (intents.some((intent) => intent.kind === 'delete'))
      return drops([row, ...intents], material, undefined);
    const write = { ...blockedDraft(row, code, false, now), recovery: asked(row) };
    return commitOf(row, write, [{ type: 'blocked', code }], material);
  }
  const again: RowDraft = { ...row, notBefore: { at: againAt, by: 'engine' } };
  // A ledger that has forgotten the key says "none" of what it once applied (V1).
  const proves = row.blockedCode !== 'ledger_expired' && ripeAt(row, context) <= now;
  if (!proves) return commitOf(row, again, [], material);
  const known: RowDraft = {
    ...row,
    doubt: false,
    deferredAt: undefined,
    notBefore: undefined,
    recovery: asked(row),
    evidence: { ...row.evidence, doubtSince: undefined },
  };
  if (!isUnproven(row)) return commitOf(row, { ...known, lookupNone: true }, [], material);
  const younger = material.rows.some(
    (other) => other.id !== row.id && other.seq > row.seq && sameKey(keyOf(other), keyOf(row)),
  );
  // S37: what it would be sent behind, or what it waits for, may have moved on: a person decides.
  if (younger || isIntent(row)) {
    const { state, blockedAt = now, blockedCode = 'recovery_receipt_unknown' } = row;
    const first: OutcomeEnd[] = state === 'blocked' ? [] : [{ type: 'blocked', code: blockedCode }];
    return commitOf(row, { ...known, state: 'blocked', blockedAt, blockedCode }, first, material);
  }
  const free = { ...known, state: 'queued', blockedAt: undefined, blockedCode: undefined } as const;
  return commitOf(row, free, [], material);
}

/** What became of a row that an intent waits for. */
export type PredecessorEnd =
  | { readonly type: 'receipt'; readonly receipt: Receipt }
  /** It is still stored. */
  | { readonly type: 'stored'; readonly row?: Row | undefined }
  /** The server's definite "none", or the journal knows that it ended without the server. */
  | { readonly type: 'none' }
  | { readonly type: 'no_port' }
  /** No network, no sign-in, no answer: never "none" (C23). */
  | { readonly type: 'no_answer' };

/** C23: an intent whose predecessors are not stored, once the journal and the server were asked. */
export function planIntentWord(
  id: string,
  ends: ReadonlyMap<string, PredecessorEnd>,
  againAt: number,
  material: Material,
  context: AcceptanceContext,
): AcknowledgementPlan {
  const intent = material.rows.find((other) => other.id === id);
  if (!intent) return { type: 'nothing', reason: 'gone' };
  if (!isIntent(intent) || !canConvert(intent)) return { type: 'nothing', reason: 'noted_already' };
  const origins = neededOrigins(intent);
  const of = (origin: string) => ends.get(origin)?.type ?? 'no_answer';
  if (origins.every((origin) => of(origin) === 'receipt')) return convert(intent, material, context);
  const creation = intent.target.type === 'pending' ? intent.target.origin : undefined;
  // After a loss the line may have gone on under an id that nobody knows here: then "none" of its first id is not proof.
  if (intent.kind === 'delete' && creation !== undefined && of(creation) === 'none' && !intent.recovery) {
    const outcome = outcomeOf(intent, { type: 'dropped', reason: 'table' });
    return {
      type: 'commit',
      commit: { ...base(intent, material), reason: 'settle', remove: [intent.id], outcomes: [outcome] },
      outcomes: [outcome.outcome],
    };
  }
  if (!origins.some((origin) => of(origin) === 'none' || of(origin) === 'no_port'))
    return { type: 'nothing', reason: 'unanswered' };
  const code = 'predecessor_receipt_unknown';
  const first: OutcomeEnd[] = intent.blockedCode === code ? [] : [{ type: 'blocked', code }];
  const write = {
    ...blockedDraft(intent, code, false, context.now),
    blockedAt: intent.blockedAt ?? context.now,
    orphanedAt: intent.orphanedAt ?? context.now,
    notBefore: { at: againAt, by: 'engine' },
  } as const;
  return commitOf(intent, write, first, material);
}

function convert(
  intent: Row,
  material: Material,
  context: AcceptanceContext,
): Needs | Extract<AcknowledgementPlan, { readonly type: 'commit' }> {
  const keys = [...new Map(keysOfConversion([intent], material).map((key) => [keyToken(key), key])).values()];
  const missing = keys.filter((key) => !material.keys.some((read) => sameKey(read, key)));
  const prepare = material.prepared?.has(intent.id) ? [] : [intent];
  if (missing.length + prepare.length > 0)
    return { type: 'needs', keys: missing, prepare, rehash: [], fold: [] };
  const conversion = planConversion([intent], material, context);
  if (conversion.type === 'fold')
    return { type: 'needs', keys: [], prepare: [], rehash: [], fold: conversion.fold };
  const { write, remove, outcomes, bodies, makesIds } = conversion;
  const tokens = new Set(keys.map(keyToken));
  return {
    type: 'commit',
    commit: {
      ...base(intent, material),
      reason: 'convert',
      keys,
      expected: material.rows.filter((row) => tokens.has(keyToken(keyOf(row)))),
      write,
      remove,
      outcomes,
      ...(bodies.length > 0 && { bodies }),
      durability: makesIds ? 'strict' : 'relaxed',
    },
    outcomes: outcomes.map(({ outcome }) => outcome),
  };
}

/** From when on a "none" counts: a lease after the last attempt, which a jumped clock cannot put off for ever. */
function ripeAt(row: Row, context: StandingContext): number {
  const { lastAttemptAt } = row.evidence;
  if (lastAttemptAt === undefined || lastAttemptAt > context.now) return context.now;
  return lastAttemptAt + context.leaseMs(row);
}

function asked(row: Row): Row['recovery'] {
  return row.recovery && { ...row.recovery, proof: isUnproven(row) ? 'asked' : row.recovery.proof };
}

function commitOf(
  row: Row,
  write: RowDraft,
  ends: readonly OutcomeEnd[],
  material: Material,
): AcknowledgementPlan {
  const plan = writes(row, write, [], ends, material, undefined);
  return { ...plan, commit: { ...plan.commit, reason: 'settle' } };
}
