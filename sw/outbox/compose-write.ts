/**
 * Turns the plan of a command into what its commit writes: reads and merges bodies (R36), hashes, derives ids
 * (R6). Reads bodies, writes nothing. Its result depends only on what it is given, so that a step done twice
 * makes the same ids.
 */
import type { Key } from '../../shared/key.ts';
import type { IdEntry, OutcomeEnd } from '../../shared/outcome.ts';
import type { CommandKind, Row } from '../../shared/row.ts';
import type { Digest } from '../environment.ts';
import { type AdmittedBody, foldBodies, MAX_BODY_BYTES } from './admit-body.ts';
import { type AdmittedCommand, mergeOf, noteOf } from './admitted-command.ts';
import { outcomeOf } from './attempt.ts';
import { deriveId } from './derive-id.ts';
import { draftInPlace, draftRow, joined, tookOver } from './draft-row.ts';
import { hashRequest } from './hash-request.ts';
import type { CommandPlan, WritePlan } from './plan-command.ts';
import type { BodyWrite, OutcomeDraft, RowDraft, RowStore } from './row-store.ts';

/** What one commit carries; the row that stands for the command is the first of `write`. */
export interface Composed {
  readonly write: readonly RowDraft[];
  readonly remove: readonly Row[];
  readonly outcomes: readonly OutcomeDraft[];
  readonly bodies: readonly BodyWrite[];
  readonly ids: readonly IdEntry[];
}

/** These bodies cannot be read: the rows are kept, and the command is planned again. */
export interface Unreadable {
  readonly type: 'unreadable';
  readonly ids: readonly string[];
}

export interface ComposeDeps {
  readonly store: Pick<RowStore, 'readBodies'>;
  readonly digest: Digest;
  /** Epoch ms. */
  readonly now: number;
}

/** The request as it would be stored if nothing were folded into it. */
export interface Request {
  readonly id: string;
  readonly requestHash: string;
  readonly key: Key;
  readonly kind: CommandKind;
  readonly expectedRevision: number | undefined;
  readonly after: readonly string[] | undefined;
  readonly content: (AdmittedBody & { readonly bodyId?: string | undefined }) | undefined;
}

export function requestOf(command: AdmittedCommand): Request {
  const { input, key, content, requestHash } = command;
  const { id, kind, expectedRevision, after } = input;
  return { id, requestHash, key, kind, expectedRevision, after, content };
}

/** R8, R14, R15, R19, R20, R22, R28-R32, R37: a row at the end of the order. */
export async function composeWrite(
  deps: ComposeDeps,
  plan: WritePlan,
  request: Request,
  command: AdmittedCommand,
): Promise<Composed | Unreadable> {
  const { fold, remove, adopt, line } = plan;
  const folded = await foldOver(deps, fold, request, command);
  if (folded && 'type' in folded) return folded;
  const final = folded ? await refit(deps, request, fold, folded) : request;
  const { id, key, requestHash, expectedRevision, content } = final;
  const inPending = key.target.type === 'pending';
  const shared = folded || inPending ? remove.map((row) => row.tags) : [];
  const tags = joined(...shared, command.input.tags);
  const bodyId = content && (content.bodyId ?? id);
  const own = id === command.input.id;
  const draft = draftRow(
    { ...command.input, kind: final.kind, after: final.after, tags },
    key,
    {
      id,
      requestHash,
      expectedRevision,
      bodyId,
      bodyDigest: content?.bodyDigest,
      bodySize: content?.bodySize,
    },
    deps.now,
  );
  return {
    write: [
      {
        ...draft,
        origin: line ?? draft.origin,
        awaited: line === undefined ? undefined : true,
        successorOf: plan.successorOf,
        orphanedAt: plan.orphaned ? deps.now : undefined,
        replaces: tookOver(remove, ...(own ? [] : [command.input.id])),
      },
      ...adopt.map((row) => ({ ...row, orphanedAt: undefined })),
    ],
    remove,
    outcomes: ended(remove, fold, id),
    bodies: content && bodyId ? [{ bodyId, body: content.body }] : [],
    ids: own ? [] : [noteOf(command, folded ? 'merged' : 'converted', id)],
  };
}

/** R16: a creation with the merged body, a new id and hash, in the old one's place. */
export async function composeRewrite(
  deps: ComposeDeps,
  { create, fold, remove }: Extract<CommandPlan, { readonly type: 'rewrite' }>,
  command: AdmittedCommand,
): Promise<Composed | Unreadable> {
  const request = requestOf(command);
  const folded = await foldOver(deps, fold, request, command);
  if (folded && 'type' in folded) return folded;
  const content = folded ?? command.content;
  const { kind, target, after } = create;
  const bodyDigest = content?.bodyDigest;
  const id = await deriveId(deps.digest, create.id, undefined, bodyDigest);
  const requestHash = await hashRequest(deps.digest, { kind, target, bodyDigest, after });
  const identity = {
    id,
    requestHash,
    bodyId: content && id,
    bodyDigest,
    bodySize: content?.bodySize,
  };
  return {
    write: [
      {
        ...draftInPlace(create, identity),
        tags: joined(...remove.map((row) => row.tags), command.input.tags),
        urgent: create.urgent || command.input.urgent || undefined,
        replaces: tookOver([...remove.filter((row) => row !== create), create], command.input.id),
      },
    ],
    remove,
    outcomes: ended(remove, remove, id),
    bodies: content ? [{ bodyId: id, body: content.body }] : [],
    ids: [noteOf(command, 'merged', id)],
  };
}

/** The bodies of `fold` with the command's own on top; `undefined` where there is nothing to fold. */
export async function foldOver(
  deps: ComposeDeps,
  fold: readonly Row[],
  request: Pick<Request, 'content'>,
  { family }: Pick<AdmittedCommand, 'family'>,
): Promise<AdmittedBody | Unreadable | undefined> {
  const merge = mergeOf(family);
  if (fold.length === 0 || merge === undefined || request.content === undefined) return undefined;
  const { bodies, unreadable } = await readBodies(deps.store, fold);
  if (unreadable.length > 0) return { type: 'unreadable', ids: unreadable };
  const all = [...bodies.values(), request.content.body];
  return foldBodies(deps.digest, merge, all, family.maxBodyBytes ?? MAX_BODY_BYTES);
}

/** The bodies of rows by id, in the order of `rows`, and the ids of those that have none to read. */
export async function readBodies(
  store: Pick<RowStore, 'readBodies'>,
  rows: readonly Row[],
): Promise<{ readonly bodies: ReadonlyMap<string, unknown>; readonly unreadable: readonly string[] }> {
  const reads = await store.readBodies(rows.map((row) => row.bodyId ?? ''));
  const bodies = new Map<string, unknown>();
  for (const [index, { id }] of rows.entries()) {
    const read = reads[index];
    if (read?.type === 'body') bodies.set(id, read.body);
  }
  return { bodies, unreadable: rows.map(({ id }) => id).filter((id) => !bodies.has(id)) };
}

/** The request with its folded content: a derived id, and the revision and dependencies of what it now holds. */
async function refit(
  { digest }: ComposeDeps,
  request: Request,
  fold: readonly Row[],
  content: AdmittedBody,
): Promise<Request> {
  const { key, kind } = request;
  // The earliest revision: nothing that came between the edits may be overwritten unseen.
  const expectedRevision =
    fold.find((row) => row.expectedRevision !== undefined)?.expectedRevision ?? request.expectedRevision;
  const after = joined(...fold.map((row) => row.after), request.after);
  const { bodyDigest } = content;
  return {
    ...request,
    content,
    expectedRevision,
    after,
    id: await deriveId(digest, fold.at(-1)?.id ?? request.id, expectedRevision, bodyDigest),
    requestHash: await hashRequest(digest, {
      kind,
      target: key.target,
      expectedRevision,
      bodyDigest,
      after,
    }),
  };
}

function ended(remove: readonly Row[], fold: readonly Row[], by: string): readonly OutcomeDraft[] {
  return remove.map((row) => {
    const end: OutcomeEnd = fold.includes(row) ? { type: 'merged', by } : { type: 'replaced', by };
    return outcomeOf(row, end);
  });
}
