/**
 * Turns the plan of a command into rows to write: reads and merges bodies (R36), hashes, derives ids (R6). Its
 * result depends only on what it is given, so that a step done twice makes the same ids.
 */
import type { Key } from '../../shared/key.ts';
import type { CommandKind, Row } from '../../shared/row.ts';
import type { Digest } from '../environment.ts';
import { type AdmittedBody, foldBodies, MAX_BODY_BYTES } from './admit-body.ts';
import { type AdmittedCommand, mergeOf, noteOf } from './admitted-command.ts';
import { type Change, endRow } from './change.ts';
import { deriveId } from './derive-id.ts';
import { draftInPlace, draftRow, joined, tookOver } from './draft-row.ts';
import { hashRequest } from './hash-request.ts';
import type { CommandPlan, WritePlan } from './plan-command.ts';
import type { RowDraft, RowStore } from './row-store.ts';

export interface ComposeTools {
  readonly store: Pick<RowStore, 'readBodies'>;
  readonly digest: Digest;
  /** Epoch ms. */
  readonly now: number;
  /** Ids of rows whose body could not be read: the command is planned again with them kept (R3). */
  readonly unreadable: Set<string>;
}

/** A request as it is stored if nothing is folded into it. */
export interface Request {
  readonly id: string;
  readonly requestHash: string;
  readonly key: Key;
  readonly kind: CommandKind;
  readonly expectedRevision?: number | undefined;
  readonly after?: readonly string[] | undefined;
  /** With `bodyId`, where the body has one already. */
  readonly content: (AdmittedBody & { readonly bodyId?: string | undefined }) | undefined;
}

export function requestOf({ input, key, content, requestHash }: AdmittedCommand): Request {
  return { ...input, key, content, requestHash };
}

/** R8, R14, R15, R19, R20, R22, R28-R32, R37: a row at the end of the order. `undefined`: a body is unreadable. */
export async function composeWrite(
  tools: ComposeTools,
  change: Change,
  plan: WritePlan,
  request: Request,
  command: AdmittedCommand,
): Promise<RowDraft | undefined> {
  const { fold, remove, line } = plan;
  const folds = fold.length > 0;
  const content = await foldOver(tools, fold, request.content, command);
  if (content === 'unreadable') return undefined;
  const { id, requestHash, expectedRevision, after } = folds
    ? await refit(tools.digest, request, fold, content)
    : request;
  const { key, kind } = request;
  const bodyId = content && (folds ? id : (request.content?.bodyId ?? id));
  const own = id === command.input.id;
  const joins = folds || key.target.type === 'pending';
  const row: RowDraft = {
    ...draftRow(
      {
        ...command.input,
        kind,
        after,
        tags: joined(...(joins ? remove.map(tagsOf) : []), command.input.tags),
      },
      key,
      {
        id,
        requestHash,
        expectedRevision,
        bodyId,
        bodyDigest: content?.bodyDigest,
        bodySize: content?.bodySize,
      },
      tools.now,
    ),
    ...(line !== undefined && { origin: line, awaited: true }),
    ...(plan.before !== undefined && { seq: plan.before - 1 }),
    successorOf: plan.successorOf,
    orphanedAt: plan.orphaned ? tools.now : undefined,
    replaces: tookOver(remove, ...(own ? [] : [command.input.id])),
  };
  change.write.push(row, ...plan.adopt.map((intent) => ({ ...intent, orphanedAt: undefined })));
  for (const gone of remove)
    endRow(change, gone, { type: fold.includes(gone) ? 'merged' : 'replaced', by: id });
  if (content && bodyId) change.bodies.push({ bodyId, body: content.body });
  if (!own) change.ids.push(noteOf(command, folds ? 'merged' : 'converted', id));
  return row;
}

/** R16: a creation with the merged body, a new id and hash, in the old one's place. */
export async function composeRewrite(
  tools: ComposeTools,
  change: Change,
  { create, fold, remove }: Extract<CommandPlan, { readonly type: 'rewrite' }>,
  command: AdmittedCommand,
): Promise<RowDraft | undefined> {
  const content = await foldOver(tools, fold, command.content, command);
  if (content === 'unreadable') return undefined;
  const { kind, target, after } = create;
  const { bodyDigest, bodySize } = content ?? {};
  const id = await deriveId(tools.digest, create.id, undefined, bodyDigest);
  const requestHash = await hashRequest(tools.digest, { kind, target, bodyDigest, after });
  const row: RowDraft = {
    ...draftInPlace(create, { id, requestHash, bodyId: id, bodyDigest, bodySize }),
    tags: joined(...remove.map(tagsOf), command.input.tags),
    urgent: create.urgent || command.input.urgent || undefined,
    replaces: tookOver([...remove.filter((gone) => gone !== create), create], command.input.id),
  };
  change.write.push(row);
  for (const gone of remove) endRow(change, gone, { type: 'merged', by: id });
  change.bodies.push({ bodyId: id, body: content?.body });
  change.ids.push(noteOf(command, 'merged', id));
  return row;
}

/** The bodies of `fold` with the command's own on top. */
export async function foldOver(
  tools: ComposeTools,
  fold: readonly Row[],
  content: AdmittedBody | undefined,
  { family, key }: Pick<AdmittedCommand, 'family' | 'key'>,
): Promise<AdmittedBody | 'unreadable' | undefined> {
  const merge = mergeOf(family);
  if (fold.length === 0 || merge === undefined || content === undefined) return content;
  const bodies = await readBodies(tools.store, fold);
  for (const { id } of fold) if (!bodies.has(id)) tools.unreadable.add(id);
  if (bodies.size < fold.length) return 'unreadable';
  const all = [...bodies.values(), content.body];
  return foldBodies(tools.digest, key.owner, merge, all, family.maxBodyBytes ?? MAX_BODY_BYTES);
}

/** The bodies that can be read, by the ids of their rows, in the order of `rows`. */
export async function readBodies(
  store: Pick<RowStore, 'readBodies'>,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, unknown>> {
  const reads = await store.readBodies(rows.map((row) => row.bodyId ?? ''));
  const bodies = new Map<string, unknown>();
  for (const [index, { id }] of rows.entries()) {
    const read = reads[index];
    if (read?.type === 'body') bodies.set(id, read.body);
  }
  return bodies;
}

/** The request with folded content: a derived id, and the revision and dependencies of all that it now holds. */
async function refit(
  digest: Digest,
  { id, key, kind, ...request }: Request,
  fold: readonly Row[],
  content: AdmittedBody | undefined,
) {
  // The earliest revision: nothing that came between the edits may be overwritten unseen.
  const expectedRevision = [...fold, request].find(
    (row) => row.expectedRevision !== undefined,
  )?.expectedRevision;
  const after = joined(...[...fold, request].map((row) => row.after));
  const bodyDigest = content?.bodyDigest;
  return {
    id: await deriveId(digest, fold.at(-1)?.id ?? id, expectedRevision, bodyDigest),
    requestHash: await hashRequest(digest, { kind, target: key.target, expectedRevision, bodyDigest, after }),
    expectedRevision,
    after,
  };
}

function tagsOf({ tags }: Row): Row['tags'] {
  return tags;
}
