/** What a row is replaced by when a person sends it again under a new id (R34, R29). Reads bodies, writes nothing. */
import type { Families } from '../../shared/family.ts';
import type { Row } from '../../shared/row.ts';
import type { Clock, Digest } from '../environment.ts';
import { type AdmittedBody, foldBodies, MAX_BODY_BYTES } from './admit-body.ts';
import { mergeOf } from './admitted-command.ts';
import { blockedDraft, outcomeOf } from './attempt.ts';
import { type Change, endRow } from './change.ts';
import { findFamily } from './check-command.ts';
import { readBodies } from './compose-write.ts';
import { deriveId } from './derive-id.ts';
import { draftInPlace, joined, tookOver } from './draft-row.ts';
import { hashRequest } from './hash-request.ts';
import type { AgainPlan } from './plan-person-choice.ts';
import type { RowStore } from './row-store.ts';

export interface AgainDeps {
  readonly store: Pick<RowStore, 'readBodies'>;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly families: Families;
}

/** The person's own edit, admitted, and the revision it was made on. */
export interface EditedBody extends AdmittedBody {
  readonly expectedRevision?: number | undefined;
}

/** R34: the old place, a new id; a creation takes its update intents into its body (R29). */
export async function composeAgain(
  deps: AgainDeps,
  change: Change,
  row: Row,
  { revision, fold, changes }: Extract<AgainPlan, { readonly type: 'replace' }>,
  edited: EditedBody | undefined,
): Promise<void> {
  const { digest, clock } = deps;
  const { kind, target, after } = row;
  const { content = row, taken, failed } = await foldIntents(deps, row, fold, edited);
  const expectedRevision = edited?.expectedRevision ?? revision;
  const { bodyDigest, bodySize } = content;
  // From the edit as it was given, so that its repeat is known by the id alone, whatever was folded under it (R9).
  const made = edited ?? { expectedRevision, bodyDigest };
  const id = await deriveId(digest, row.id, made.expectedRevision, made.bodyDigest);
  const requestHash = await hashRequest(digest, { kind, target, expectedRevision, bodyDigest, after });
  const bodyId = 'body' in content ? id : content.bodyId;
  change.write.push({
    ...draftInPlace(row, { id, requestHash, expectedRevision, bodyId, bodyDigest, bodySize }),
    ...changes,
    sourceRef: kind === 'create' ? id : row.sourceRef,
    tags: joined(...[row, ...taken].map(({ tags }) => tags)),
    replaces: tookOver([...taken, row]),
  });
  if ('body' in content) change.bodies.push({ bodyId: id, body: content.body });
  endRow(change, row, { type: 'replaced', by: id });
  for (const intent of taken) endRow(change, intent, { type: 'merged', by: id });
  const code = 'successor_unprepared';
  for (const intent of failed) {
    change.write.push(blockedDraft(intent, code, false, clock.now()));
    change.outcomes.push(outcomeOf(intent, { type: 'blocked', code }));
  }
}

interface FoldedIntents {
  /** A new body, or that of a row that is stored already; absent: the row's own. */
  readonly content: AdmittedBody | Row | undefined;
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
  const bodies = await readBodies(store, [row, ...fold]);
  // Nothing to merge into: the intents wait, unless the person has just written it anew.
  if (!bodies.has(row.id)) return { content: edited, taken: [], failed: edited ? fold : [] };
  const max = family?.maxBodyBytes ?? MAX_BODY_BYTES;
  let content: AdmittedBody | undefined;
  const taken: Row[] = [];
  for (const intent of fold) {
    try {
      if (!bodies.has(intent.id)) break;
      const under = content ? content.body : bodies.get(row.id);
      content = await foldBodies(digest, row.owner, merge, [under, bodies.get(intent.id)], max);
      taken.push(intent);
    } catch {
      break;
    }
  }
  if (edited)
    content = content ? await foldBodies(digest, row.owner, merge, [content.body, edited.body], max) : edited;
  return { content, taken, failed: fold.slice(taken.length) };
}
