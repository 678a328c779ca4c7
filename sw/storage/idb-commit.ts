/** The inside of a writing transaction: all its reads at once, the judge, all its writes (R41). */

import { toKeyArray } from '../../shared/key.ts';
import { type Commit, type CommitResult, FACTS, type FactWrite } from '../outbox/row-store.ts';
import { isSealed } from '../outbox/sealed-body.ts';
import { findIdsOf, writeIds, writeJournal } from './idb-journal.ts';
import { answerOf } from './idb-request.ts';
import { findRecord, readableRows, readRecords } from './idb-rows.ts';
import { ownerIn, putState, readState } from './idb-state.ts';
import {
  type JudgeOptions,
  type JudgeReads,
  judge,
  NEW_OWNER,
  type Place,
  planReads,
  type ReadPlan,
  type StoreWrites,
} from './judge.ts';
import {
  BODIES,
  IDS,
  JOURNAL,
  KEY,
  META,
  ROWS,
  type StoredBody,
  type StoreState,
  toDbKey,
  toStoredRow,
} from './schema.ts';

/** The stores a batch may touch: bodies only where one comes or may go, so that a claim never waits for one (S2). */
export function storesOf(commits: readonly Commit[]): readonly string[] {
  const touchesBodies = commits.some(({ remove, bodies = [] }) => remove.length > 0 || bodies.length > 0);
  return touchesBodies ? [ROWS, BODIES, JOURNAL, IDS, META] : [ROWS, JOURNAL, IDS, META];
}

export async function judgeInside(
  transaction: IDBTransaction,
  commits: readonly Commit[],
  options: JudgeOptions & { readonly keyRange: typeof IDBKeyRange },
): Promise<readonly CommitResult[]> {
  const { reads, state } = await readAll(transaction, commits, options.keyRange);
  const { results, writes } = judge(reads, commits, options);
  if (results.some(({ type }) => type === 'committed')) {
    writeAll(transaction, writes, state, options.now);
    await writeBodies(transaction, writes);
  }
  return results;
}

/** Every request is made before the first answer is awaited. */
async function readAll(
  transaction: IDBTransaction,
  commits: readonly Commit[],
  keyRange: typeof IDBKeyRange,
): Promise<{ readonly reads: JudgeReads; readonly state: StoreState }> {
  const plan = planReads(commits);
  const meta = transaction.objectStore(META);
  const byKey = transaction.objectStore(ROWS).index(KEY);
  const [rows, byId, ends, taken, activeOwner, guards, state] = await Promise.all([
    Promise.all(plan.keys.map((key) => readRecords(byKey, keyRange.only(toKeyArray(key))))),
    Promise.all(plan.ids.map((id) => findRecord(transaction, id))),
    Promise.all(plan.ends.map((id) => findIdsOf(transaction, id))),
    readTaken(transaction, plan, keyRange),
    plan.activeOwner ? answerOf<unknown>(meta.get(toDbKey(FACTS.activeOwner))) : undefined,
    Promise.all(plan.guards.map((name) => answerOf<unknown>(meta.get(toDbKey(name))))),
    readState(transaction),
  ]);
  const found = byId.flatMap((record, at) => (record ? [{ record, id: plan.ids[at] ?? '' }] : []));
  return {
    state,
    reads: {
      rows: [...rows.flatMap(readableRows), ...readableRows(found.map(({ record }) => record))],
      unreadableIds: found.flatMap(({ record, id }) => (record.row ? [] : id)),
      ends: ends.flat(),
      taken,
      owners: new Map(plan.owners.map((owner) => [owner, ownerIn(state, owner) ?? NEW_OWNER])),
      activeOwner,
      guards: plan.guards.map((name, at) => ({ name, value: guards[at] })),
      lastSeq: state.seq,
    },
  };
}

/** From each place downwards the numbers that are taken, until enough free ones were passed for all that ask. */
async function readTaken(
  transaction: IDBTransaction,
  { places }: ReadPlan,
  keyRange: typeof IDBKeyRange,
): Promise<readonly Place[]> {
  const rows = transaction.objectStore(ROWS);
  const runs = places.map(
    ({ owner, seq }) =>
      new Promise<readonly Place[]>((resolve, reject) => {
        const taken: Place[] = [];
        let next = seq;
        let free = 0;
        const request = rows.openKeyCursor(keyRange.bound([owner], [owner, seq]), 'prev');
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          const cursor = request.result;
          const at = Array.isArray(cursor?.primaryKey)
            ? Number(cursor.primaryKey[1])
            : Number.NEGATIVE_INFINITY;
          free += next - at;
          if (cursor === null || free >= places.length) return resolve(taken);
          taken.push({ owner, seq: at });
          next = at - 1;
          cursor.continue();
        };
      }),
  );
  return (await Promise.all(runs)).flat();
}

function writeAll(transaction: IDBTransaction, writes: StoreWrites, state: StoreState, now: number): void {
  const rows = transaction.objectStore(ROWS);
  const meta = transaction.objectStore(META);
  // A number may be freed and taken in one commit (R6): removals go first.
  for (const { owner, seq } of writes.removedRows) rows.delete([owner, seq]);
  for (const row of writes.rows) rows.put(toStoredRow(row));
  for (const [owner, entries] of writes.journal) writeJournal(transaction, owner, entries);
  for (const fact of writes.facts) putFact(meta, fact);
  const ids = state.ids + writes.ids.length;
  if (writes.ids.length > 0) writeIds(transaction, writes.ids, ids, now);
  putState(transaction, state, { seq: writes.lastSeq, ids, owners: writes.owners });
}

/**
 * A Blob is written beside the database, so its request is waited for: where the transaction is told to commit before it
 * has failed, WebKit commits all the rest without it, and the row would have no body.
 */
async function writeBodies(transaction: IDBTransaction, writes: StoreWrites): Promise<void> {
  for (const bodyId of writes.removedBodies) transaction.objectStore(BODIES).delete(bodyId);
  const blobs: Promise<unknown>[] = [];
  for (const { bodyId, body } of writes.bodies) {
    const stored: StoredBody = isSealed(body) ? { sealed: body } : { body };
    const request = transaction.objectStore(BODIES).put(stored, bodyId);
    if (holdsBlob(body)) blobs.push(answerOf(request));
  }
  await Promise.all(blobs);
}

/** A body nests no deeper than it can be encoded, and never holds itself (R4). */
function holdsBlob(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (value instanceof Blob) return true;
  if (value instanceof Map) return [...value].some(holdsBlob);
  return (value instanceof Set ? [...value] : Object.values(value)).some(holdsBlob);
}

export function putFact(meta: IDBObjectStore, { name, value }: FactWrite): void {
  if (value === undefined) meta.delete(toDbKey(name));
  else meta.put(value, toDbKey(name));
}
