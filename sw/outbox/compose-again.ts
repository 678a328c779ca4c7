/** What a row is replaced by when a person sends it again under a new id (R34, R29). Reads bodies, writes nothing. */
import type { Families } from '../../shared/family.ts';
import type { Row } from '../../shared/row.ts';
import type { Clock, Digest } from '../environment.ts';
import { type AdmittedBody, foldBodies, MAX_BODY_BYTES } from './admit-body.ts';
import { mergeOf } from './admitted-command.ts';
import { blockedDraft, outcomeOf } from './attempt.ts';
import { findFamily } from './check-command.ts';
import { readBodies } from './compose-write.ts';
import { deriveId } from './derive-id.ts';
import { draftInPlace, joined, tookOver } from './draft-row.ts';
import { hashRequest } from './hash-request.ts';
import type { AgainPlan } from './plan-person-choice.ts';
import type { BodyWrite, OutcomeDraft, RowDraft, RowStore } from './row-store.ts';

export interface AgainDeps {
  readonly store: Pick<RowStore, 'readBodies'>;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly families: Families;
}

/** The person's own edit, admitted, and the revision it was made on. */
export interface EditedBody extends AdmittedBody {
  readonly expectedRevision: number | undefined;
}

export interface AgainChange {
  /** The row in its new form first. */
  readonly write: readonly RowDraft[];
  readonly remove: readonly Row[];
  readonly outcomes: readonly OutcomeDraft[];
  readonly bodies: readonly BodyWrite[];
}

/** R34: the old place, a new id; a creation takes its update intents into its body (R29). */
export async function composeAgain(
  deps: AgainDeps,
  row: Row,
  { revision, fold, changes }: Extract<AgainPlan, { readonly type: 'replace' }>,
  edited: EditedBody | undefined,
): Promise<AgainChange> {
  const { digest, clock } = deps;
  const { bodyId, bodyDigest, bodySize, kind, target, after } = row;
  const { content, taken, failed } = await foldIntents(deps, row, fold, edited);
  const expectedRevision = edited?.expectedRevision ?? revision;
  const own = content ?? { bodyId, bodyDigest, bodySize };
  const id = await deriveId(digest, row.id, expectedRevision, own.bodyDigest);
  const request = {
    id,
    requestHash: await hashRequest(digest, {
      kind,
      target,
      expectedRevision,
      bodyDigest: own.bodyDigest,
      after,
    }),
    expectedRevision,
    bodyId: content && content.bodyId === undefined ? id : own.bodyId,
    bodyDigest: own.bodyDigest,
    bodySize: own.bodySize,
  };
  const remove = [row, ...taken];
  const write = {
    ...draftInPlace(row, request),
    ...changes,
    sourceRef: kind === 'create' ? id : row.sourceRef,
    tags: joined(...remove.map((gone) => gone.tags)),
    replaces: tookOver([...taken, row]),
  };
  const code = 'successor_unprepared';
  return {
    write: [write, ...failed.map((intent) => blockedDraft(intent, code, false, clock.now()))],
    remove,
    outcomes: [
      outcomeOf(row, { type: 'replaced', by: id }),
      ...taken.map((intent) => outcomeOf(intent, { type: 'merged', by: id })),
      ...failed.map((intent) => outcomeOf(intent, { type: 'blocked', code })),
    ],
    bodies: content && 'body' in content ? [{ bodyId: id, body: content.body }] : [],
  };
}

interface FoldedIntents {
  /** Absent: the row's own body. With a `bodyId`: one that is stored already. */
  readonly content:
    | (AdmittedBody & { readonly bodyId?: undefined })
    | Pick<Row, 'bodyId' | 'bodyDigest' | 'bodySize'>
    | undefined;
  readonly taken: readonly Row[];
  /** D4: an intent that could not be merged, and those behind it: the person decides. */
  readonly failed: readonly Row[];
}

/** Intents first, the person's own edit on top (R29). */
async function foldIntents(
  { store, digest, families }: AgainDeps,
  row: Row,
  fold: readonly Row[],
  edited: AdmittedBody | undefined,
): Promise<FoldedIntents> {
  const family = findFamily(families, row.family);
  const merge = mergeOf(family);
  const last = fold.at(-1);
  if (last === undefined) return { content: edited, taken: fold, failed: [] };
  // Whole bodies: the last one wins.
  if (merge === undefined) return { content: edited ?? last, taken: fold, failed: [] };
  const { bodies } = await readBodies(store, [row, ...fold]);
  // Nothing to merge into: the intents wait, unless the person has just written it anew.
  if (!bodies.has(row.id)) return { content: edited, taken: [], failed: edited ? fold : [] };
  const max = family?.maxBodyBytes ?? MAX_BODY_BYTES;
  let content: AdmittedBody | undefined;
  const taken: Row[] = [];
  for (const intent of fold) {
    try {
      if (!bodies.has(intent.id)) break;
      const under = content ? content.body : bodies.get(row.id);
      content = await foldBodies(digest, merge, [under, bodies.get(intent.id)], max);
      taken.push(intent);
    } catch {
      break;
    }
  }
  if (edited) content = content ? await foldBodies(digest, merge, [content.body, edited.body], max) : edited;
  return { content, taken, failed: fold.slice(taken.length) };
}
