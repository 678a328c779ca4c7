/**
 * What one accepted row changes, in one commit: it goes (C11), what waited for it is prepared (C21, W60), and a
 * later edit made on the same revision is moved to the new one (D34). Pure: whatever needs a read, a hash or an
 * app's function is asked for with `needs` and comes back as `material`.
 */
import { type Key, keyToken, sameKey } from '../../shared/key.ts';
import type { Receipt } from '../../shared/receipt.ts';
import { isIntent, keyOf, type Row } from '../../shared/row.ts';
import { outcomeOf, replacesOf } from './attempt.ts';
import type { Material, Needs } from './material.ts';
import { canConvert, keysOfConversion, planConversion } from './plan-intent.ts';
import type { BodyWrite, Commit, FactWrite, IdNote, OutcomeDraft, RowDraft } from './row-store.ts';
import { isInDoubt, type StandingContext } from './standing.ts';

export interface Acceptance {
  readonly row: Row;
  /** Absent for `already_gone`. */
  readonly receipt: Receipt | undefined;
  /** `already`: its outcome was told when the receipt was noted (C11), so nothing is told again. */
  readonly told: 'now' | 'already';
  readonly duplicate?: boolean | undefined;
  readonly facts?: readonly FactWrite[] | undefined;
  readonly reason: 'acknowledge' | 'settle';
}

/**
 * What one acceptance prepares of the rows that wait for it (C21): the rest follows one by one. A body that is filled is
 * written anew, and a transaction has a limit (S10).
 */
const MOST_PREPARED = 1_000;
const MOST_PREPARED_BYTES = 8 * 1_048_576;

export interface AcceptanceContext extends StandingContext {
  /** Whether bodies of the family are patches (R36). */
  readonly foldsBodies: (family: string) => boolean;
}

export interface AcceptancePlan {
  readonly type: 'commit';
  readonly commit: Commit;
  /** The origin for which rows wait that were too much for this commit. */
  readonly left?: string | undefined;
}

export function planAcceptance(
  acceptance: Acceptance,
  material: Material,
  context: AcceptanceContext,
): AcceptancePlan | Needs {
  const { row, receipt } = acceptance;
  const key = keyOf(row);
  const beside = material.rows.filter((other) => other.id !== row.id && sameKey(keyOf(other), key));
  const write: RowDraft[] = [];
  const remove: string[] = [row.id];
  const outcomes: OutcomeDraft[] = [];
  const bodies: BodyWrite[] = [];
  const keys = new Map<string, Key>([[keyToken(key), key]]);
  let makesIds = false;

  const movable =
    // A server without receipts may not have said which revision it made (0).
    receipt && receipt.revision > 0 && receipt.revision !== row.expectedRevision
      ? beside.filter((other) => isMovable(other, row))
      : [];
  const rehash = movable.filter((other) => !material.rehashed?.has(other.id));
  const waitingFor = receipt && row.awaited && material.waiting === undefined ? row.origin : undefined;
  const wasRead = (needed: Key) => material.keys.some((read) => sameKey(read, needed));
  // The rows stored now count, not those that a look-up saw: a dependant's own key is re-read by the commit.
  const { now: preparable, left } = firstOf(material.waiting ?? []);
  const dependants = preparable.flatMap((seen) => {
    if (sameKey(keyOf(seen), key)) return [];
    if (!wasRead(keyOf(seen))) return [seen];
    return material.rows.filter((stored) => stored.id === seen.id);
  });
  const intents = receipt ? [...beside.filter(isIntent), ...dependants].filter(canConvert) : [];
  const needKeys = keysOfConversion(intents, material);
  const prepare = intents.filter((intent) => {
    const preparation = material.prepared?.get(intent.id);
    if (preparation?.type !== 'waits') return preparation === undefined;
    const isGone = (parent: Row) =>
      wasRead(keyOf(parent)) && !material.rows.some(({ origin }) => origin === parent.origin);
    return preparation.on?.some(isGone);
  });
  const missing = needKeys.filter((needed) => !wasRead(needed));
  for (const needed of needKeys) keys.set(keyToken(needed), needed);
  if (rehash.length + prepare.length + missing.length > 0 || waitingFor !== undefined)
    return {
      type: 'needs',
      keys: missing,
      waitingFor,
      rehash,
      accepted: receipt && { row, receipt },
      prepare,
      fold: [],
    };

  const conversion = planConversion(intents, material, context);
  if (conversion.type === 'fold')
    return { type: 'needs', keys: [], rehash: [], prepare: [], fold: conversion.fold };
  write.push(...conversion.write);
  remove.push(...conversion.remove);
  outcomes.push(...conversion.outcomes);
  bodies.push(...conversion.bodies);
  makesIds ||= conversion.makesIds;

  for (const other of movable) {
    const identity = material.rehashed?.get(other.id);
    if (!identity || identity === 'keep' || !receipt) continue;
    makesIds = true;
    remove.push(other.id);
    write.push({ ...other, ...identity, expectedRevision: receipt.revision, replaces: replacesOf(other) });
    outcomes.push(outcomeOf(other, { type: 'rebased', by: identity.id }));
  }

  const ids: IdNote[] = [];
  if (acceptance.told === 'now') outcomes.unshift(outcomeOf(row, endOf(acceptance)));
  else ids.push(idNoteOf(row));
  return {
    type: 'commit',
    commit: {
      owner: row.owner,
      reason: acceptance.reason,
      keys: [...keys.values()],
      expected: material.rows.filter((other) => keys.has(keyToken(keyOf(other)))),
      write,
      remove,
      outcomes,
      ...(bodies.length > 0 && { bodies }),
      ...(ids.length > 0 && { ids }),
      ...(acceptance.facts && { facts: acceptance.facts }),
      durability: makesIds ? 'strict' : 'relaxed',
    },
    ...(left && { left: row.origin }),
  };
}

/** In their order, so that of one line nothing goes ahead; the first of all, however large. */
function firstOf(waiting: readonly Row[]): { readonly now: readonly Row[]; readonly left: boolean } {
  let bytes = 0;
  const end = waiting.findIndex(({ bodySize = 0 }, place) => {
    bytes += bodySize;
    return place >= MOST_PREPARED || (place > 0 && bytes > MOST_PREPARED_BYTES);
  });
  return { now: end < 0 ? waiting : waiting.slice(0, end), left: end >= 0 };
}

/** The outcome that an acceptance tells. */
export function endOf(acceptance: Pick<Acceptance, 'row' | 'receipt' | 'duplicate'>) {
  const { row, receipt, duplicate } = acceptance;
  if (receipt === undefined) return { type: 'already_gone' } as const;
  return {
    type: 'committed',
    receipt,
    ...(row.conflict && { resolvedConflict: true }),
    ...(duplicate && { duplicate }),
    ...(row.noticed && { noticed: true }),
    ...(row.recovery && { recovered: true }),
  } as const;
}

/** A row whose outcome was told when its receipt was noted (C11). */
export function idNoteOf(row: Row): IdNote {
  const { owner, family, target } = row;
  return {
    id: row.id,
    key: [owner, family, target.type, target.type === 'id' ? target.id : target.origin],
    requestHash: row.requestHash,
    origin: row.origin,
    end: row.receipt ? 'committed' : 'already_gone',
  };
}

/**
 * D34: a later edit on the revision that `accepted` was made on, which never left. Not where the acceptance went
 * through a conflict: then somebody else's change lies between, and the resolver is asked.
 */
function isMovable(row: Row, accepted: Row): boolean {
  return (
    accepted.conflict === undefined &&
    accepted.expectedRevision !== undefined &&
    row.expectedRevision === accepted.expectedRevision &&
    row.seq > accepted.seq &&
    row.state === 'queued' &&
    row.evidence.attemptCount === 0 &&
    row.overtakenBy === undefined &&
    !isIntent(row) &&
    !isInDoubt(row)
  );
}
