/** Carries out what a person does with a row (R9, R34, R35, C33); `plan-person-choice.ts` decides. */
import type { Cancelled, Enqueued } from '../../shared/answers.ts';
import {
  IdentityConflictError,
  InvalidCommandError,
  OvertakenError,
  UnknownRowError,
  WrongStateError,
} from '../../shared/errors.ts';
import type { Key } from '../../shared/key.ts';
import type { OutcomeEnd } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import { admitBody, copyBody, MAX_BODY_BYTES } from './admit-body.ts';
import { type Change, commitChange, createChange, endRow, takeIn } from './change.ts';
import { findFamily, hasBody, schemaOf } from './check-command.ts';
import { composeAgain, type EditedBody } from './compose-again.ts';
import { deriveId } from './derive-id.ts';
import { answerFollowed, type EnqueueDeps, type Round } from './enqueue.ts';
import { type FollowedId, followId, settledBy } from './follow-id.ts';
import { readDependants } from './gather-rows.ts';
import { hashRequest } from './hash-request.ts';
import type { CallOptions, PersonChoices } from './outbox-calls.ts';
import {
  planAgain,
  planCancel,
  planDiscard,
  type RemovalPlan,
  type WrongState,
} from './plan-person-choice.ts';

interface Turns {
  inTurn<T>(key: Key, deadlineAt: number, round: () => Round<T>): Promise<T>;
  deadlineOf(options: CallOptions): number;
}

export function createPersonChoices(deps: EnqueueDeps, { inTurn, deadlineOf }: Turns): PersonChoices {
  const { store, queue, clock } = deps;

  async function findRow(owner: string, id: string): Promise<Row | undefined> {
    const [row] = await store.findRows([id]);
    return row?.owner === owner ? row : undefined;
  }

  /** Rounds over the row and its key, or over its absence, in the key's turn. */
  async function withRow<T>(
    owner: string,
    id: string,
    options: CallOptions,
    present: (row: Row, rows: readonly Row[]) => Round<T>,
    absent: () => Round<T>,
  ): Promise<T> {
    const seen = await findRow(owner, id);
    return inTurn(seen ? keyOf(seen) : strayKey(owner, id), deadlineOf(options), async () => {
      const now = await findRow(owner, id);
      if (now === undefined) return absent();
      const [rows = []] = await store.readKeys([keyOf(now)]);
      const row = rows.find((other) => other.id === id);
      return row && present(row, rows);
    });
  }

  async function commit<T>(change: Change, row: Row, answer: (written: Row | undefined) => T): Round<T> {
    const result = await commitChange(queue, change, { owner: row.owner, reason: 'person' });
    if (result.type === 'committed') return answer(result.rows[0]);
    if (result.type === 'stale') return undefined;
    throw new IdentityConflictError(`${row.id} cannot be stored anew`, { id: row.id });
  }

  /** With what could never be sent without it. */
  async function remove<T>(
    row: Row,
    rows: readonly Row[],
    end: OutcomeEnd,
    answer: (removed: readonly string[]) => T,
  ): Round<T> {
    const change = createChange(keyOf(row), rows);
    const along = await takeIn(store, change, await readDependants(store, [row]));
    if (!along) return undefined;
    for (const gone of [row, ...along]) endRow(change, gone, end);
    return commit(change, row, () => answer(change.remove));
  }

  function removeBy<T>(
    plan: (row: Row) => RemovalPlan,
    answer: (removed: readonly string[]) => T,
  ): (row: Row, rows: readonly Row[]) => Round<T> {
    return async (row, rows) => {
      const planned = plan(row);
      if (planned.type === 'wrong_state') throw wrongState(row, planned);
      return remove(row, rows, { type: planned.end }, answer);
    };
  }

  async function again(
    owner: string,
    id: string,
    options: CallOptions & { readonly overwrite?: boolean | undefined },
    admitted?: Promise<EditedBody>,
  ): Promise<Enqueued> {
    return withRow(
      owner,
      id,
      options,
      async (row, rows): Round<Enqueued> => {
        const plan = planAgain(row, rows, {
          now: clock.now(),
          leaseMs: deps.leaseMs,
          document: row.kind === 'put' || row.kind === 'remove',
          overwrite: options.overwrite === true,
          edited: admitted !== undefined,
        });
        const change = createChange(keyOf(row), rows);
        switch (plan.type) {
          case 'wrong_state':
            throw wrongState(row, plan);
          case 'overtaken':
            throw new OvertakenError(`A later change took the place of ${id}`, { id, by: row.overtakenBy });
          case 'answer':
            return { action: 'existing', row, removed: [] };
          case 'drop':
            return remove(row, rows, { type: 'dropped', reason: 'table' }, (removed) => ({
              action: 'dropped',
              row: undefined,
              removed,
            }));
          case 'again':
            change.write.push(plan.write);
            break;
          case 'replace':
            await composeAgain(deps, change, row, plan, await admitted);
        }
        return commit(change, row, (written) => ({ action: 'queued', row: written, removed: change.remove }));
      },
      async () => {
        const followed = await followId(store, owner, id);
        if (followed.type === 'unknown') throw unknownRow(id);
        if (admitted && (await isOtherEdit(id, followed, await admitted))) throw otherEdit(id);
        return answerFollowed(store, followed);
      },
    );
  }

  /**
   * A repeat is known by what stands for it: the id made from its own content, or the request that has ended. An edit
   * of another page must not go unsaid, whatever has become of the row since.
   */
  async function isOtherEdit(id: string, followed: FollowedId, edited: EditedBody): Promise<boolean> {
    const [entry] = await store.findEnds([id]);
    // As whoever came first heard it (R29).
    if (entry?.end === 'dropped') return false;
    const { bodyDigest, expectedRevision } = edited;
    if (entry?.by !== undefined) {
      const isOwn =
        followed.type === 'row' && followed.via.length === 1 && followed.row.bodyDigest === bodyDigest;
      return !isOwn && entry.by !== (await deriveId(deps.digest, id, expectedRevision, bodyDigest));
    }
    const row = (await store.findOutcome(id))?.outcome.row;
    return (
      row === undefined || entry?.requestHash !== (await hashRequest(deps.digest, { ...row, ...edited }))
    );
  }

  async function admitEdited(
    row: Pick<Row, 'owner' | 'family' | 'kind'>,
    copy: unknown,
    limitMs: number,
  ): Promise<EditedBody> {
    const family = findFamily(deps.families, row.family);
    if (!family || !hasBody(row.kind) || copy === undefined)
      throw new InvalidCommandError(`A ${row.kind} cannot be given this body`, { path: 'body' });
    const maxBytes = family.maxBodyBytes ?? MAX_BODY_BYTES;
    const schema = schemaOf(family, row.kind);
    return admitBody(deps, copy, { owner: row.owner, schema, maxBytes, limitMs });
  }

  return {
    cancel: (owner, id, options = {}) =>
      withRow<Cancelled>(
        owner,
        id,
        options,
        removeBy(
          (row) => planCancel(row, { now: clock.now(), leaseMs: deps.leaseMs }),
          (removed) => ({ type: 'cancelled', removed }),
        ),
        () => cancelUnknown(owner, id),
      ),
    discard: (owner, id, options = {}) =>
      withRow(
        owner,
        id,
        options,
        removeBy(planDiscard, (removed) => ({ removed })),
        async () => {
          const followed = await followId(store, owner, id);
          // A repeat of a call that was not answered finds it done.
          if (followed.type !== 'ended' || followed.entry.end !== 'discarded') throw unknownRow(id);
          return { removed: [id] };
        },
      ),
    retry: (owner, id, options = {}) => again(owner, id, options),
    async recover(owner, id, edited, options = {}) {
      if (edited === undefined) return again(owner, id, options);
      const copy = copyBody(edited.body);
      const { expectedRevision } = edited;
      const followed = await followId(store, owner, id);
      if (followed.type === 'unknown') throw unknownRow(id);
      const row = followed.type === 'row' ? followed.row : (await store.findOutcome(id))?.outcome.row;
      if (row === undefined) throw otherEdit(id);
      const limitMs = Math.max(1, deadlineOf(options) - clock.now());
      const admitted = admitEdited(row, copy, limitMs).then((body) => ({ ...body, expectedRevision }));
      admitted.catch(() => undefined);
      return again(owner, id, options, admitted);
    },
  };

  /** R9: what ended says so; what nobody knows leaves an entry that refuses it if it comes. */
  async function cancelUnknown(owner: string, id: string): Round<Cancelled> {
    const followed = await followId(store, owner, id);
    if (followed.type === 'row') return { type: 'ended', by: followed.row.id };
    if (followed.type === 'ended' && followed.entry.requestHash !== '') {
      const settled = await settledBy(store, followed);
      return { type: 'ended', settled: settled.type === 'waiting' ? undefined : settled };
    }
    const [[stored], [entry]] = await Promise.all([store.findRows([id]), store.findEnds([id])]);
    // Cancelled before, or another owner's: it is not this one's to withdraw, nor to know of.
    if (stored !== undefined || entry !== undefined) return { type: 'unknown_id' };
    const key = strayKey(owner, id);
    const change = { ...createChange(key, []), keys: [] };
    change.ids.push({ id, key: [owner, '', 'id', id], requestHash: '', origin: id, end: 'cancelled' });
    const identity = { id, key, requestHash: '' };
    const result = await commitChange(queue, change, { owner, reason: 'person', identity });
    if (result.type === 'committed') return { type: 'unknown_id' };
    // It arrived at this very moment: cancelled as what it is, in the next round.
    if (result.type === 'identity_conflict' && !(await findRow(owner, id))) throw unknownRow(id);
    return undefined;
  }
}

/** A key of its own for an id that is not stored. */
function strayKey(owner: string, id: string): Key {
  return { owner, family: '', target: { type: 'id', id } };
}

function unknownRow(id: string): UnknownRowError {
  return new UnknownRowError(`No row has the id ${id}`, { id });
}

function otherEdit(id: string): IdentityConflictError {
  return new IdentityConflictError(`${id} was sent again with other content`, { id });
}

function wrongState(row: Row, { instead }: WrongState): WrongStateError {
  const { id, state } = row;
  return new WrongStateError(`${id} is ${state}: ${instead} instead`, { id, state, instead });
}
