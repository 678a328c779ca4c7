/** Carries out what a person does with a row (R9, R34, R35, C33); `plan-person-choice.ts` decides. */
import type { Cancelled, Enqueued } from '../../shared/answers.ts';
import {
  IdentityConflictError,
  InvalidCommandError,
  OvertakenError,
  UnknownFamilyError,
  UnknownRowError,
  WrongStateError,
} from '../../shared/errors.ts';
import type { Key } from '../../shared/key.ts';
import type { OutcomeEnd } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import { type AdmittedBody, admitBody, copyBody, MAX_BODY_BYTES } from './admit-body.ts';
import { outcomeOf } from './attempt.ts';
import { findFamily, hasBody, schemaOf } from './check-command.ts';
import { composeAgain, type EditedBody } from './compose-again.ts';
import { answerFollowed, type EnqueueDeps, type Round } from './enqueue.ts';
import { followId, settledBy } from './follow-id.ts';
import { readAround, readDependants } from './gather-rows.ts';
import type { CallOptions, PersonChoices } from './outbox-calls.ts';
import { type AgainPlan, planAgain, planCancel, planDiscard, type WrongState } from './plan-person-choice.ts';
import type { Commit } from './row-store.ts';

interface Rounds {
  inTurn<T>(key: Key, deadlineAt: number, round: () => Promise<Round<T>>): Promise<T>;
  deadlineOf(options: CallOptions): number;
}

const DONE = <T>(value: T): Round<T> => ({ type: 'done', value });
const STALE = { type: 'stale' } as const;

export function createPersonChoices(deps: EnqueueDeps, { inTurn, deadlineOf }: Rounds): PersonChoices {
  const { store, queue, clock } = deps;

  async function findRow(owner: string, id: string): Promise<Row | undefined> {
    const [row] = await store.findRows([id]);
    return row?.owner === owner ? row : undefined;
  }

  /** A round over the row and its key, or over its absence. */
  function withRow<T>(
    owner: string,
    id: string,
    options: CallOptions,
    key: Key,
    round: (row: Row | undefined, rows: readonly Row[]) => Promise<Round<T>>,
  ): Promise<T> {
    return inTurn(key, deadlineOf(options), async () => {
      const row = await findRow(owner, id);
      if (row === undefined) return round(undefined, []);
      const [rows = []] = await store.readKeys([keyOf(row)]);
      return rows.some((other) => other.id === id)
        ? round(
            rows.find((other) => other.id === id),
            rows,
          )
        : STALE;
    });
  }

  /** The key whose turn a call takes; for an id that is not stored, one of its own. */
  async function turnOf(owner: string, id: string): Promise<Key> {
    const row = await findRow(owner, id);
    return row ? keyOf(row) : { owner, family: '', target: { type: 'id', id } };
  }

  async function commit(
    row: Row,
    rows: readonly Row[],
    change: Pick<Commit, 'write' | 'outcomes' | 'bodies'> & { readonly remove: readonly Row[] },
  ): Promise<Round<{ readonly rows: readonly Row[]; readonly removed: readonly string[] }>> {
    const key = keyOf(row);
    const around = await readAround(store, change.remove, [key]);
    const all = [...rows, ...around.rows];
    if (!change.remove.every(({ id }) => all.some((other) => other.id === id))) return STALE;
    const removed = change.remove.map(({ id }) => id);
    const result = await queue.commit({
      ...change,
      owner: row.owner,
      reason: 'person',
      keys: [key, ...around.keys],
      expected: all,
      remove: removed,
      durability: 'strict',
    });
    if (result.type === 'committed') return DONE({ rows: result.rows, removed });
    if (result.type === 'stale') return STALE;
    throw new IdentityConflictError(`${row.id} cannot be stored anew`, { id: row.id });
  }

  async function removeWith(
    row: Row,
    rows: readonly Row[],
    end: 'cancelled' | 'discarded' | 'dropped',
  ): Promise<Round<readonly string[]>> {
    const remove = [row, ...(await readDependants(store, [row]))];
    const how: OutcomeEnd = end === 'dropped' ? { type: end, reason: 'table' } : { type: end };
    const outcomes = remove.map((gone) => outcomeOf(gone, how));
    const round = await commit(row, rows, { write: [], remove, outcomes });
    return round.type === 'done' ? DONE(round.value.removed) : round;
  }

  async function again(
    row: Row,
    rows: readonly Row[],
    plan: Exclude<AgainPlan, WrongState | { readonly type: 'overtaken' }>,
    edited: EditedBody | undefined,
  ): Promise<Round<Enqueued>> {
    switch (plan.type) {
      case 'answer':
        return DONE({ action: 'existing', row, removed: [] });
      case 'drop': {
        const round = await removeWith(row, rows, 'dropped');
        return round.type === 'done'
          ? DONE({ action: 'dropped', row: undefined, removed: round.value })
          : round;
      }
      case 'again': {
        const round = await commit(row, rows, { write: [plan.write], remove: [], outcomes: [] });
        return round.type === 'done'
          ? DONE({ action: 'queued', row: round.value.rows[0], removed: [] })
          : round;
      }
      case 'replace': {
        const change = await composeAgain(deps, row, plan, edited);
        const round = await commit(row, rows, change);
        return round.type === 'done'
          ? DONE({ action: 'queued', row: round.value.rows[0], removed: round.value.removed })
          : round;
      }
    }
  }

  async function sendAgain(
    owner: string,
    id: string,
    options: CallOptions & { readonly overwrite?: boolean | undefined },
    admitted: Promise<AdmittedBody> | undefined,
    expectedRevision?: number,
  ): Promise<Enqueued> {
    const key = await turnOf(owner, id);
    return withRow(owner, id, options, key, async (row, rows): Promise<Round<Enqueued>> => {
      if (row === undefined) {
        const followed = await followId(store, owner, id);
        if (followed.type === 'unknown' && followed.via.length === 0) throw unknownRow(id);
        return DONE(await answerFollowed(store, followed));
      }
      const plan = planAgain(row, rows, {
        now: clock.now(),
        leaseMs: deps.leaseMs,
        document: row.kind === 'put' || row.kind === 'remove',
        overwrite: options.overwrite === true,
        edited: admitted !== undefined,
      });
      if (plan.type === 'wrong_state') throw wrongState(row, plan);
      if (plan.type === 'overtaken')
        throw new OvertakenError(`A later change took the place of ${id}`, { id, by: row.overtakenBy });
      const content = await admitted;
      return again(row, rows, plan, content && { ...content, expectedRevision });
    });
  }

  return {
    async cancel(owner, id, options = {}) {
      const key = await turnOf(owner, id);
      return withRow(owner, id, options, key, async (row, rows): Promise<Round<Cancelled>> => {
        if (row === undefined) return cancelUnknown(owner, id);
        const plan = planCancel(row, { now: clock.now(), leaseMs: deps.leaseMs });
        if (plan.type === 'wrong_state') throw wrongState(row, plan);
        const round = await removeWith(row, rows, plan.end);
        return round.type === 'done' ? DONE({ type: 'cancelled', removed: round.value }) : round;
      });
    },
    async discard(owner, id, options = {}) {
      const key = await turnOf(owner, id);
      return withRow(owner, id, options, key, async (row, rows) => {
        if (row === undefined) {
          const followed = await followId(store, owner, id);
          // A repeat of a call that was not answered finds it done.
          if (followed.type === 'ended' && followed.entry.end === 'discarded') return DONE({ removed: [id] });
          throw unknownRow(id);
        }
        const plan = planDiscard(row);
        if (plan.type === 'wrong_state') throw wrongState(row, plan);
        const round = await removeWith(row, rows, plan.end);
        return round.type === 'done' ? DONE({ removed: round.value }) : round;
      });
    },
    retry: (owner, id, options = {}) => sendAgain(owner, id, options, undefined),
    async recover(owner, id, edited, options = {}) {
      if (edited === undefined) return sendAgain(owner, id, options, undefined);
      const copy = copyBody(edited.body);
      const row = await findRow(owner, id);
      const admitted = row && admitEdited(row, copy, deadlineOf(options));
      admitted?.catch(() => undefined);
      return sendAgain(owner, id, options, admitted, edited.expectedRevision);
    },
  };

  async function admitEdited(row: Row, copy: unknown, deadlineAt: number): Promise<AdmittedBody> {
    const family = findFamily(deps.families, row.family);
    if (family === undefined)
      throw new UnknownFamilyError(`No family is named ${JSON.stringify(row.family)}`, { path: 'family' });
    if (!hasBody(row.kind) || copy === undefined)
      throw new InvalidCommandError(
        `body of a ${row.kind} ${hasBody(row.kind) ? 'is missing' : 'is not possible'}`,
        {
          path: 'body',
        },
      );
    const limitMs = Math.max(1, deadlineAt - clock.now());
    const maxBytes = family.maxBodyBytes ?? MAX_BODY_BYTES;
    return admitBody(deps, copy, { schema: schemaOf(family, row.kind), maxBytes, limitMs });
  }

  /** R9: what ended says so; what nobody knows leaves an entry that refuses it if it comes. */
  async function cancelUnknown(owner: string, id: string): Promise<Round<Cancelled>> {
    const followed = await followId(store, owner, id);
    if (followed.type === 'row') return DONE({ type: 'ended', by: followed.row.id });
    if (followed.type === 'ended') {
      if (followed.entry.requestHash === '') return DONE({ type: 'unknown_id' });
      const settled = await settledBy(store, followed);
      return DONE({ type: 'ended', settled: settled.type === 'waiting' ? undefined : settled });
    }
    const [[stored], [entry]] = await Promise.all([store.findRows([id]), store.findEnds([id])]);
    // Another owner's: it is not this one's to withdraw, nor to know of.
    if (stored !== undefined || entry !== undefined) return DONE({ type: 'unknown_id' });
    const key: Key = { owner, family: '', target: { type: 'id', id } };
    const result = await queue.commit({
      owner,
      reason: 'person',
      keys: [],
      expected: [],
      write: [],
      remove: [],
      outcomes: [],
      ids: [{ id, key: [owner, '', 'id', id], requestHash: '', origin: id, end: 'cancelled' }],
      identity: { id, key, requestHash: '' },
      durability: 'strict',
    });
    if (result.type === 'committed') return DONE({ type: 'unknown_id' });
    // It arrived at this very moment: cancelled as what it is, in the next round.
    const [row] = await store.findRows([id]);
    if (row === undefined && result.type === 'identity_conflict') throw unknownRow(id);
    return STALE;
  }
}

function unknownRow(id: string): UnknownRowError {
  return new UnknownRowError(`No row has the id ${id}`, { id });
}

function wrongState(row: Row, { instead }: WrongState): WrongStateError {
  const { id, state } = row;
  return new WrongStateError(`${id} is ${state}: ${instead} instead`, { id, state, instead });
}
