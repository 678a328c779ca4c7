/**
 * Intents become rows (C20-C22, W60): each with the request that was prepared for it, passed through the replace
 * table as the older command against rows that already aim at the server's id. Pure.
 */
import { type Key, sameKey } from '../../shared/key.ts';
import { isIntent, keyOf, type Row } from '../../shared/row.ts';
import { blockedDraft, outcomeOf, replacesOf } from './attempt.ts';
import type { Material, PreparedRequest } from './material.ts';
import type { BodyWrite, OutcomeDraft, RowDraft } from './row-store.ts';
import {
  isClean,
  isNoted,
  isResultUnknown,
  isUnproven,
  type StandingContext,
  standingOf,
} from './standing.ts';

export type Conversion =
  | { readonly type: 'fold'; readonly fold: readonly { readonly intent: Row; readonly later: Row }[] }
  | {
      readonly type: 'converted';
      readonly write: readonly RowDraft[];
      readonly remove: readonly string[];
      readonly outcomes: readonly OutcomeDraft[];
      readonly bodies: readonly BodyWrite[];
      readonly makesIds: boolean;
    };

/** Whether a receipt of what it waits for may turn this intent into a row. */
export function canConvert(intent: Row): boolean {
  // S37: an intent that only a witness knew needs a word of its own; a receipt of its creation is not that.
  if (isUnproven(intent) || isNoted(intent)) return false;
  return intent.state !== 'blocked' || intent.blockedCode === 'predecessor_receipt_unknown';
}

/** Origins whose receipts an intent needs before it can be prepared. */
export function neededOrigins(intent: Pick<Row, 'kind' | 'target' | 'after'>): readonly string[] {
  const { target, after = [] } = intent;
  const own = intent.kind !== 'create' && target.type === 'pending' ? [target.origin] : [];
  return [...new Set([...own, ...after])];
}

/** What a conversion depends on: the intents' own keys, and those that their requests aim at. */
export function keysOfConversion(intents: readonly Row[], material: Material): readonly Key[] {
  return intents.flatMap((intent) => {
    const preparation = material.prepared?.get(intent.id);
    const own = keyOf(intent);
    // Who accepts one of several parents must not overlook that another is accepted at the same moment.
    if (preparation?.type === 'waits') return [own, ...(preparation.on ?? []).map(keyOf)];
    return preparation?.type === 'prepared' ? [own, { ...own, target: preparation.request.target }] : [own];
  });
}

export function planConversion(
  intents: readonly Row[],
  material: Material,
  context: StandingContext & { readonly foldsBodies: (family: string) => boolean },
): Conversion {
  const write: RowDraft[] = [];
  const remove: string[] = [];
  const outcomes: OutcomeDraft[] = [];
  const bodies: BodyWrite[] = [];
  const fold: { intent: Row; later: Row }[] = [];
  let makesIds = false;
  const block = (intent: Row) => {
    write.push(blockedDraft(intent, 'successor_unprepared', false, context.now));
    outcomes.push(outcomeOf(intent, { type: 'blocked', code: 'successor_unprepared' }));
  };

  for (const intent of intents.toSorted((a, b) => a.seq - b.seq)) {
    const preparation = material.prepared?.get(intent.id);
    if (preparation === undefined || preparation.type === 'waits') continue;
    if (preparation.type === 'unknown') {
      if (intent.orphanedAt === undefined) write.push({ ...intent, orphanedAt: context.now });
      continue;
    }
    if (preparation.type === 'failed') {
      block(intent);
      continue;
    }
    const { request } = preparation;
    const key = { ...keyOf(intent), target: request.target };
    const place = placeAmong(intent, laterRows(intent, key, material), {
      ...context,
      isPassed: (edit) => intents.some((other) => isBetween(other, intent, edit, material)),
    });
    switch (place.type) {
      case 'write':
        makesIds = true;
        remove.push(intent.id);
        if (request.body) bodies.push(request.body);
        write.push({
          ...convertedDraft(intent, request),
          overtakenBy: place.overtakenBy ?? intent.overtakenBy,
        });
        outcomes.push(outcomeOf(intent, { type: 'converted', by: request.id }));
        break;
      case 'swallowed':
        remove.push(intent.id);
        outcomes.push(outcomeOf(intent, { type: place.as, by: place.by.id }));
        break;
      case 'fold': {
        const folded = material.folds?.get(intent.id);
        if (folded?.over !== place.over.id) fold.push({ intent, later: place.over });
        else if (folded.type === 'failed') block(intent);
        else {
          makesIds = true;
          remove.push(intent.id, place.over.id);
          if (folded.request.body) bodies.push(folded.request.body);
          const { body: _, ...identity } = folded.request;
          write.push({ ...place.over, ...identity, replaces: replacesOf(place.over, intent) });
          outcomes.push(
            outcomeOf(intent, { type: 'merged', by: identity.id }),
            outcomeOf(place.over, { type: 'merged', by: identity.id }),
          );
        }
        break;
      }
    }
  }
  if (fold.length > 0) return { type: 'fold', fold };
  return { type: 'converted', write, remove, outcomes, bodies, makesIds };
}

/** Rows that were stored on the server's id and come after the intent's place. */
function laterRows(intent: Row, key: Key, material: Material): readonly Row[] {
  return material.rows
    .filter((row) => row.id !== intent.id && row.seq > intent.seq && sameKey(keyOf(row), key))
    .toSorted((a, b) => a.seq - b.seq);
}

type Place =
  | { readonly type: 'write'; readonly overtakenBy?: string | undefined }
  | { readonly type: 'swallowed'; readonly by: Row; readonly as: 'replaced' | 'merged' }
  | { readonly type: 'fold'; readonly over: Row };

/** Whether `other` will stand behind `intent`, and not behind `edit`, which it may be itself. */
function isBetween(other: Row, intent: Row, edit: Row, material: Material): boolean {
  if (other.seq <= intent.seq || other.seq > edit.seq) return false;
  return keysOfConversion([other], material).some((key) => sameKey(key, keyOf(edit)));
}

/** The replace table with the prepared row as the older command (C21). */
function placeAmong(
  intent: Row,
  later: readonly Row[],
  context: StandingContext & {
    readonly foldsBodies: (family: string) => boolean;
    /** Another intent becomes a row between this one and the edit. */
    readonly isPassed: (edit: Row) => boolean;
  },
): Place {
  const left = later.find((row) => isResultUnknown(standingOf(row, context)));
  const written: Place = { type: 'write', overtakenBy: left?.origin };
  // Somebody else waits for this very line's receipt (W60), so it is sent itself, in its place.
  if (intent.awaited || intent.kind === 'create') return written;
  const standing = (row: Row) => standingOf(row, context);
  const removal = later.find(
    (row) => (row.kind === 'delete' || row.kind === 'remove') && standing(row) !== 'refused',
  );
  if (removal)
    return { type: 'swallowed', by: removal, as: intent.kind === removal.kind ? 'merged' : 'replaced' };
  if (intent.kind === 'delete' || intent.kind === 'remove') return written;
  const edit = later.findLast(
    (row) => (row.kind === 'update' || row.kind === 'put') && isClean(standing(row)),
  );
  if (!edit) return written;
  if (!context.foldsBodies(intent.family)) return { type: 'swallowed', by: edit, as: 'replaced' };
  // R36: older values must not come back on top of a patch that has left, or that leaves before the edit.
  return left || isIntent(edit) || context.isPassed(edit) ? written : { type: 'fold', over: edit };
}

function convertedDraft(intent: Row, request: PreparedRequest): RowDraft {
  const { body: _, ...identity } = request;
  return {
    ...intent,
    bodyId: undefined,
    bodyDigest: undefined,
    bodySize: undefined,
    ...identity,
    // Its receipts have been used: what was waited for is part of the request now (W60).
    after: undefined,
    orphanedAt: undefined,
    state: 'queued',
    doubt: false,
    blockedAt: undefined,
    blockedCode: undefined,
    heldAt: undefined,
    notBefore: undefined,
    replaces: replacesOf(intent),
  };
}
