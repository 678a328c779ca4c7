/**
 * One round of an enqueue: draft, commit, and what the store answered (R9, R41). The usual command costs one strict
 * transaction: its first round expects nothing stored, and a stale result brings the rows.
 */
import type { Enqueued } from '../../shared/answers.ts';
import {
  CancelledError,
  IdentityConflictError,
  NoSuchTargetError,
  SignedOutError,
  TargetDeletedError,
} from '../../shared/errors.ts';
import { sameKey, toKeyArray } from '../../shared/key.ts';
import type { IdEntry } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import type { Clock } from '../environment.ts';
import type { AdmittedCommand } from './admitted-command.ts';
import type { CommitQueue } from './commit-queue.ts';
import { type DraftDeps, draftCommand } from './draft-command.ts';
import { type FollowedId, followId, settledBy } from './follow-id.ts';
import { sameContent } from './same-row.ts';

export interface EnqueueDeps extends DraftDeps {
  readonly queue: CommitQueue;
  readonly clock: Clock;
  /** Awaited before anything is read for a command: what was lost comes back first (S31). */
  readonly ready?: (() => Promise<void>) | undefined;
}

export type Round<T> =
  | { readonly type: 'done'; readonly value: T }
  /** It did not land; the rows of the command's key now, where the store said. */
  | { readonly type: 'stale'; readonly rows?: readonly Row[] | undefined };

/** Most keys hold nothing; a command that looks around must know what is there. */
export async function readFirst(deps: EnqueueDeps, { input, key }: AdmittedCommand): Promise<readonly Row[]> {
  const looksAround = (input.kind !== 'create' && key.target.type === 'pending') || input.after?.length;
  return looksAround ? readRows(deps, { key }) : [];
}

export async function readRows(
  { store }: EnqueueDeps,
  { key }: Pick<AdmittedCommand, 'key'>,
): Promise<readonly Row[]> {
  return (await store.readKeys([key]))[0] ?? [];
}

/** @throws TargetDeletedError, NoSuchTargetError, IdentityConflictError, CancelledError, SignedOutError */
export async function enqueueRound(
  deps: EnqueueDeps,
  command: AdmittedCommand,
  rows: readonly Row[],
): Promise<Round<Enqueued>> {
  const { key, requestHash, input } = command;
  const { owner } = key;
  const draft = await draftCommand(deps, command, rows, deps.clock.now());
  if (draft.type === 'stale') return draft;
  if (draft.type === 'refuse') {
    // R9 comes before the table: a repeat is answered, whatever its key has come to hold.
    const known = await findKnown(deps, command);
    if (known) return { type: 'done', value: known };
    const Refusal = draft.refusal === 'target_deleted' ? TargetDeletedError : NoSuchTargetError;
    throw new Refusal(`${input.kind} of ${JSON.stringify(toKeyArray(key))}: ${draft.refusal}`, {
      id: input.id,
      target: key.target,
    });
  }
  const { write, remove, outcomes, bodies, ids } = draft.composed;
  const removed = remove.map(({ id }) => id);
  const result = await deps.queue.commit({
    owner,
    reason: 'enqueue',
    keys: [key, ...draft.keys],
    expected: [...rows, ...draft.rows],
    write,
    remove: removed,
    outcomes,
    bodies,
    ids,
    identity: { id: input.id, key, requestHash },
    activeOwner: owner,
    durability: 'strict',
  });
  switch (result.type) {
    case 'committed': {
      const { action, stands } = draft;
      return { type: 'done', value: { action, row: stands ?? result.rows[0], removed } };
    }
    case 'known':
      return { type: 'done', value: await answerKnown(deps, command, result.entry) };
    case 'identity_conflict':
      throw identityConflict(result.id);
    case 'stale': {
      if (result.reason === 'rows')
        return { type: 'stale', rows: result.rows.filter((row) => sameKey(keyOf(row), key)) };
      throw new SignedOutError(`${JSON.stringify(owner)} is not signed in here`, { owner });
    }
  }
}

/** What R9 answers without a commit, for a command that writes nothing. */
async function findKnown(deps: EnqueueDeps, command: AdmittedCommand): Promise<Enqueued | undefined> {
  const { id } = command.input;
  const [[row], [entry]] = await Promise.all([deps.store.findRows([id]), deps.store.findEnds([id])]);
  if (row === undefined && entry === undefined) return undefined;
  const key = row ? toKeyArray(keyOf(row)) : entry?.key;
  const hash = row ? row.requestHash : entry?.requestHash;
  const isSame = sameContent(key, toKeyArray(command.key)) && hash === command.requestHash;
  if (!isSame && !isEarlyCancel(entry)) throw identityConflict(id);
  return answerKnown(deps, command, row ? undefined : entry);
}

/** R9: writes nothing and answers what became of the id. */
async function answerKnown(
  { store }: EnqueueDeps,
  { input, key }: AdmittedCommand,
  entry: IdEntry | undefined,
): Promise<Enqueued> {
  if (isEarlyCancel(entry))
    throw new CancelledError(`${input.id} was cancelled before it arrived`, { id: input.id });
  return answerFollowed(store, await followId(store, key.owner, input.id));
}

export async function answerFollowed(store: EnqueueDeps['store'], followed: FollowedId): Promise<Enqueued> {
  if (followed.type === 'row') return { action: 'existing', row: followed.row, removed: [] };
  const settled = await settledBy(store, followed);
  return {
    action: 'existing',
    row: undefined,
    removed: [],
    settled: settled.type === 'waiting' ? undefined : settled,
  };
}

/** A cancel of an id that had not arrived knew neither key nor hash. */
function isEarlyCancel(entry: IdEntry | undefined): boolean {
  return entry?.end === 'cancelled' && entry.requestHash === '';
}

function identityConflict(id: string): IdentityConflictError {
  return new IdentityConflictError(`${id} was used for other content`, { id });
}
