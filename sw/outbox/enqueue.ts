/** The rounds of an enqueue: draft, commit, and what the store answered (R9, R41, R42). */
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
import { commitChange } from './change.ts';
import type { CommitQueue } from './commit-queue.ts';
import { type DraftDeps, draftCommand } from './draft-command.ts';
import { type FollowedId, followId, settledBy } from './follow-id.ts';
import type { Rule } from './replace-table.ts';
import { sameContent } from './same-row.ts';

export interface EnqueueDeps extends DraftDeps {
  readonly queue: CommitQueue;
  readonly clock: Clock;
  /** Awaited before anything is read for a command: what was lost comes back first (S31). */
  readonly ready?: (() => Promise<void>) | undefined;
}

/** A round of a call: its answer, or `undefined` where others changed the same rows meanwhile. */
export type Round<T> = Promise<T | undefined>;

/**
 * Rounds for one command. Most keys hold nothing, so the first expects nothing, unless the command looks around; a
 * stale commit brings the rows for the next.
 * @throws TargetDeletedError, NoSuchTargetError, IdentityConflictError, CancelledError, SignedOutError
 */
export function createEnqueue(deps: EnqueueDeps, admitted: Promise<AdmittedCommand>): () => Round<Enqueued> {
  let rows: readonly Row[] | undefined;
  return async () => {
    const command = await admitted;
    const { key, requestHash, input } = command;
    const { owner } = key;
    const looksAround = (input.kind !== 'create' && key.target.type === 'pending') || input.after?.length;
    rows ??= looksAround ? (await deps.store.readKeys([key]))[0] : [];
    const draft = await draftCommand(deps, command, rows ?? [], deps.clock.now());
    // R9 comes before the table: a repeat is answered, whatever its key has come to hold.
    if (draft?.type === 'refuse') return (await findKnown(deps, command)) ?? refuse(command, draft.refusal);
    rows = undefined;
    if (!draft) return undefined;
    const { change, action, stands } = draft;
    const identity = { id: input.id, key, requestHash };
    const rest = { owner, reason: 'enqueue', identity, activeOwner: owner } as const;
    const result = await commitChange(deps.queue, change, rest);
    switch (result.type) {
      case 'committed':
        return { action, row: stands ?? result.rows[0], removed: change.remove };
      case 'known':
        return answerKnown(deps, command, result.entry);
      case 'identity_conflict':
        throw identityConflict(result.id);
      case 'stale':
        if (result.reason === 'active_owner')
          throw new SignedOutError(`${owner} is not signed in here`, { owner });
        rows = result.rows.filter((row) => sameKey(keyOf(row), key));
        return undefined;
    }
  };
}

function refuse({ input, key }: AdmittedCommand, refusal: NonNullable<Rule['refusal']>): never {
  const Refusal = refusal === 'target_deleted' ? TargetDeletedError : NoSuchTargetError;
  throw new Refusal(`${input.id}: ${refusal}`, { id: input.id, target: key.target });
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
