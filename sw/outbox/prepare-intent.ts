/**
 * The work that conversions need before their commit (C21): receipts looked up, the family's `prepareSuccessor`
 * asked within a time limit, bodies digested, ids derived. Reads, but writes nothing; a failure of the app's
 * function is an answer here (`failed`), a failure of the store is thrown.
 */
import type { Families } from '../../shared/family.ts';
import type { Target } from '../../shared/key.ts';
import type { Receipt } from '../../shared/receipt.ts';
import type { Row } from '../../shared/row.ts';
import type { Digest, Timers } from '../environment.ts';
import { copyBody, foldBodies, MAX_BODY_BYTES } from './admit-body.ts';
import { mergeOf } from './admitted-command.ts';
import { findFamily } from './check-command.ts';
import { deriveId } from './derive-id.ts';
import { fillBody, readParents } from './fill-body.ts';
import { digestBody, hashRequest } from './hash-request.ts';
import type { Accepted, Fold, NewIdentity, Preparation, PreparedRequest } from './material.ts';
import { neededOrigins } from './plan-intent.ts';
import type { PredecessorEnd } from './plan-lookup.ts';
import type { RowStore } from './row-store.ts';
import { inTime } from './time-limit.ts';

/** The family's own port, as far as an outbox knows it (C21). */
export type PrepareSuccessorPort = (input: {
  readonly intent: {
    readonly id: string;
    readonly kind: Row['kind'];
    readonly target: Target;
    readonly body: unknown;
    readonly tags: readonly string[];
    readonly expectedRevision?: number | undefined;
  };
  readonly predecessor: { readonly id: string; readonly body: unknown } | undefined;
  readonly receipt: Receipt;
  readonly receipts: ReadonlyMap<string, Receipt>;
}) => unknown;

export interface PrepareDeps {
  readonly store: Pick<RowStore, 'readBodies' | 'findByOrigin' | 'findEndOfOrigin' | 'findOutcome'>;
  readonly digest: Digest;
  readonly timers: Timers;
  readonly families: Families;
  readonly prepareSuccessor: (family: string) => PrepareSuccessorPort | undefined;
  /** How long an app's function may take, in ms (D4). */
  readonly appLimitMs: number;
}

export async function prepareIntent(
  deps: PrepareDeps,
  intent: Row,
  accepted: Accepted | undefined,
  known: ReadonlyMap<string, PredecessorEnd>,
): Promise<Preparation> {
  const receipts = new Map<string, Receipt>();
  const on: Row[] = [];
  let waits: Preparation | undefined;
  for (const origin of neededOrigins(intent)) {
    const end =
      accepted?.row.origin === origin
        ? ({ type: 'receipt', receipt: accepted.receipt } as const)
        : (known.get(origin) ?? (await readEnd(deps, origin)));
    if (end?.type === 'receipt') receipts.set(origin, end.receipt);
    else if (end?.type === 'stored') {
      if (end.row) on.push(end.row);
      waits ??= { type: 'waits', on };
    } else waits = { type: 'unknown' };
  }
  if (waits) return waits;
  const creation = intent.target.type === 'pending' ? receipts.get(intent.target.origin) : undefined;
  const receipt = creation ?? accepted?.receipt ?? [...receipts.values()].at(-1);
  const prepareSuccessor = deps.prepareSuccessor(intent.family);
  if (!receipt || !prepareSuccessor) return { type: 'failed' };
  const predecessor = accepted?.row;
  const ids = [intent.bodyId, predecessor?.bodyId].filter((id) => id !== undefined);
  const reads = ids.length > 0 ? await deps.store.readBodies(ids) : [];
  const bodyOf = (bodyId: string | undefined) => {
    const read = bodyId === undefined ? undefined : reads[ids.indexOf(bodyId)];
    return read?.type === 'body' ? read.body : undefined;
  };
  if (intent.bodyId !== undefined && reads[0]?.type !== 'body') return { type: 'failed' };
  const parents = await readParents(deps.store, deps.families, intent, predecessor, receipts);
  try {
    const { id, kind, target, tags = [], expectedRevision } = intent;
    const own = bodyOf(intent.bodyId);
    const filled = fillBody(findFamily(deps.families, intent.family), own, parents);
    const answer = await inTime(deps.timers, deps.appLimitMs, () =>
      prepareSuccessor({
        intent: { id, kind, target, tags, expectedRevision, body: filled },
        predecessor: predecessor && { id: predecessor.id, body: bodyOf(predecessor.bodyId) },
        receipt,
        receipts,
      }),
    );
    const prepared = readPrepared(answer, intent);
    if (!prepared) return { type: 'failed' };
    const body = prepared.body ?? (filled === own ? undefined : filled);
    return { type: 'prepared', request: await requestOf(deps, intent, { ...prepared, body }) };
  } catch {
    // The app's function threw, took too long, or gave a body that cannot be stored: C22.
    return { type: 'failed' };
  }
}

/** What is known here, without the server, of the end of a line; `undefined` where nothing is. */
export async function readEnd(
  { store }: Pick<PrepareDeps, 'store'>,
  origin: string,
): Promise<PredecessorEnd | undefined> {
  const [row] = await store.findByOrigin([origin]);
  if (row?.receipt) return { type: 'receipt', receipt: row.receipt };
  if (row) return { type: 'stored', row };
  const end = await store.findEndOfOrigin(origin);
  if (!end) return undefined;
  if (end.end === 'committed') {
    const outcome = (await store.findOutcome(end.id))?.outcome;
    return outcome?.type === 'committed' ? { type: 'receipt', receipt: outcome.receipt } : undefined;
  }
  // Given up, cancelled or dropped here: the server never applied it and never will.
  return end.end === 'discarded' || end.end === 'cancelled' || end.end === 'dropped'
    ? { type: 'none' }
    : undefined;
}

/** D34: the identity of a row that expects another revision. Reads no body. */
export async function rehash(digest: Digest, row: Row, revision: number): Promise<NewIdentity> {
  const { kind, target, bodyDigest, after } = row;
  return {
    id: await deriveId(digest, row.id, revision, bodyDigest),
    requestHash: await hashRequest(digest, { kind, target, expectedRevision: revision, bodyDigest, after }),
  };
}

/** C21: a later clean patch folded over the prepared request, in the later row's place. */
export async function foldOver(deps: PrepareDeps, prepared: PreparedRequest, later: Row): Promise<Fold> {
  const family = findFamily(deps.families, later.family);
  const merge = mergeOf(family);
  const ids = [prepared.bodyId, later.bodyId].filter((id) => id !== undefined);
  const reads = await deps.store.readBodies(ids);
  const bodyOf = (bodyId: string | undefined) => {
    if (prepared.body && bodyId === prepared.bodyId) return prepared.body.body;
    const read = bodyId === undefined ? undefined : reads[ids.indexOf(bodyId)];
    return read?.type === 'body' ? read.body : undefined;
  };
  try {
    if (!merge) return { type: 'failed', over: later.id };
    const maxBytes = family?.maxBodyBytes ?? MAX_BODY_BYTES;
    const bodies = [bodyOf(prepared.bodyId), bodyOf(later.bodyId)];
    const { body } = await foldBodies(deps.digest, later.owner, merge, bodies, maxBytes);
    const prepares = { target: later.target, expectedRevision: prepared.expectedRevision, body };
    return { type: 'folded', over: later.id, request: await requestOf(deps, later, prepares) };
  } catch {
    return { type: 'failed', over: later.id };
  }
}

interface Prepared {
  readonly target: Target;
  readonly expectedRevision: number | undefined;
  /** `undefined`: the row's own body. */
  readonly body: unknown;
}

function readPrepared(answer: unknown, intent: Row): Prepared | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const body: unknown = Reflect.get(answer, 'body');
  const expectedRevision: unknown = Reflect.get(answer, 'expectedRevision');
  if (expectedRevision !== undefined && typeof expectedRevision !== 'number') return undefined;
  // A creation that waited for others is still a creation (W60): it has no id of the server's yet.
  if (intent.kind === 'create') return { target: intent.target, expectedRevision, body };
  const id: unknown = Reflect.get(answer, 'target');
  return typeof id === 'string' && id !== ''
    ? { target: { type: 'id', id }, expectedRevision, body }
    : undefined;
}

async function requestOf(deps: PrepareDeps, row: Row, prepared: Prepared): Promise<PreparedRequest> {
  const { digest, families } = deps;
  const { target, expectedRevision } = prepared;
  const { kind } = row;
  const maxBytes = findFamily(families, row.family)?.maxBodyBytes;
  // Whoever prepared it may keep it and change it later (A72).
  const body = copyBody(prepared.body);
  const own = { bodyId: row.bodyId, bodyDigest: row.bodyDigest, bodySize: row.bodySize };
  const content = body === undefined ? own : await digestBody(digest, body, maxBytes, row.owner);
  const { bodyDigest, bodySize } = content;
  const id = await deriveId(digest, row.id, expectedRevision, bodyDigest);
  const bodyId = body === undefined ? own.bodyId : id;
  return {
    id,
    requestHash: await hashRequest(digest, { kind, target, expectedRevision, bodyDigest }),
    target,
    expectedRevision,
    bodyId,
    bodyDigest,
    bodySize,
    ...(body !== undefined && bodyId !== undefined && { body: { bodyId, body } }),
  };
}
