/**
 * The row store on IndexedDB: what docs/storage.md promises, on the schema of schema.ts. It knows no policy: what
 * a commit does is judge.ts's business, when it is made is its caller's.
 */
import { CommitUnknownError } from '../../shared/errors.ts';
import { type Key, toKeyArray } from '../../shared/key.ts';
import type { IdEntry } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { isRecord } from '../../shared/row-codec.ts';
import type { BodyRead, FactName, RowStore } from '../outbox/row-store.ts';
import { sameContent } from '../outbox/same-row.ts';
import { createGroupCommit } from './group-commit.ts';
import { putFact } from './idb-commit.ts';
import { findEndsOf, findOutcomeOf, readJournalPage, trimSlice } from './idb-journal.ts';
import { answerOf, tried } from './idb-request.ts';
import { findRecord, readableRows, readRecords } from './idb-rows.ts';
import { readOwner, readState } from './idb-state.ts';
import { createTransactions } from './idb-transactions.ts';
import { checkCommit, NEW_OWNER } from './judge.ts';
import { createDatabase, type DatabaseDeps } from './open-database.ts';
import { createCommitRunner } from './run-commits.ts';
import {
  above,
  BODIES,
  IDS,
  JOURNAL,
  KEY,
  LANE,
  laneStart,
  META,
  NAMES,
  ROWS,
  toDbKey,
  WAITS,
} from './schema.ts';
import { isLasting, toStoreError } from './store-failure.ts';
import { STORE_LIMIT_MS, withLimit } from './time-limit.ts';

export interface IdbRowStoreDeps extends DatabaseDeps {
  readonly keyRange: typeof IDBKeyRange;
  /** What the origin uses, where the browser tells (S16). */
  readonly estimate?: (() => Promise<StorageEstimate>) | undefined;
}

export interface IdbRowStoreOptions {
  readonly name: string;
  /** For an opening, a read, a transaction (S10). Default 8,000. */
  readonly limitMs?: number | undefined;
  /** Whether commits note touched ids for the mirror (S22). Default true. */
  readonly notesUnmirrored?: boolean | undefined;
}

export interface IdbRowStore extends RowStore {
  /** Whether the opening made the database (S12). Opens it. */
  createdFresh(): Promise<boolean>;
}

export function createIdbRowStore(deps: IdbRowStoreDeps, options: IdbRowStoreOptions): IdbRowStore {
  const { keyRange, timers, clock } = deps;
  const { name, limitMs = STORE_LIMIT_MS, notesUnmirrored = true } = options;
  const freshListeners = new Set<() => void>();
  const onFresh = () => freshListeners.forEach((listener) => void listener());
  const connection = createDatabase(deps, { name, limitMs, onFresh });
  const { read, write } = createTransactions(connection, timers, limitMs);

  /** Pages through `rows` until `limit` readable ones are found or the range ends: a short page is the last. */
  async function page(
    source: IDBObjectStore | IDBIndex,
    range: { readonly from: IDBValidKey; readonly to: IDBValidKey; readonly isAfter: boolean },
    limit: number,
  ): Promise<readonly Row[]> {
    const found: Row[] = [];
    let { from, isAfter } = range;
    for (;;) {
      const wanted = limit - found.length;
      const records = await readRecords(source, keyRange.bound(from, range.to, isAfter), wanted);
      found.push(...readableRows(records));
      const last = records.at(-1);
      if (last === undefined || records.length < wanted || found.length >= limit) return found;
      from = last.at;
      isAfter = true;
    }
  }

  /** How much is used, and by what (S16). Someone waits to be refused, so what is not known soon is left out. */
  async function usageOf(owner: string): Promise<Readonly<Record<string, unknown>>> {
    const soon = <T>(work: Promise<T>): Promise<T> => withLimit(timers, USAGE_LIMIT_MS, 'usage', work);
    const [estimate, facts] = await Promise.allSettled([
      soon(deps.estimate?.() ?? Promise.resolve({})),
      soon(store.ownerFacts(owner)),
    ]);
    return {
      owner,
      ...(estimate.status === 'fulfilled' ? estimate.value : {}),
      ...(facts.status === 'fulfilled' ? { waiting: facts.value.counts } : {}),
    };
  }

  /** A write that does no harm when it is done twice. */
  async function writeSafely<T>(
    stores: readonly string[],
    durability: 'strict' | 'relaxed',
    work: (transaction: IDBTransaction) => Promise<T>,
  ): Promise<T> {
    for (let isAgain = false; ; isAgain = true) {
      const end = await write(stores, durability, work);
      if (end.type === 'committed') return end.value;
      const error =
        end.type === 'aborted' ? end.error : new CommitUnknownError('A write did not end', { stores });
      if (isAgain || isLasting(error)) throw toStoreError(error);
    }
  }

  async function readKeysInside(transaction: IDBTransaction, keys: readonly Key[]) {
    const index = transaction.objectStore(ROWS).index(KEY);
    const records = await Promise.all(keys.map((key) => readRecords(index, keyRange.only(toKeyArray(key)))));
    return records.map(readableRows);
  }
  async function findEnd(transaction: IDBTransaction, id: string): Promise<IdEntry | undefined> {
    return (await findEndsOf(transaction, id)).findLast((entry) => entry.id === id);
  }
  const commit = createGroupCommit(
    createCommitRunner({
      transactions: { read, write },
      keyRange,
      judgeOptions: () => ({ now: clock.now(), notesUnmirrored }),
      usageOf,
    }),
  );

  const store: IdbRowStore = {
    async createdFresh() {
      return (await connection.connect()).createdFresh;
    },
    epoch: async () => (await read([META], readState)).epoch,
    async commit(commits) {
      for (const commit of commits) checkCommit(commit);
      return commits.length === 0 ? [] : commit(commits);
    },
    readKeys: (keys) => read([ROWS], (transaction) => readKeysInside(transaction, keys)),
    findRows: (ids) =>
      read([ROWS], async (transaction) => {
        const records = await Promise.all(ids.map((id) => findRecord(transaction, id)));
        return records.map((record) => record?.row);
      }),
    findByOrigin: (origins) =>
      read([ROWS], (transaction) =>
        Promise.all(
          origins.map(async (origin) => {
            const records = await readRecords(transaction.objectStore(ROWS).index(NAMES), origin);
            return readableRows(records).find((row) => row.origin === origin);
          }),
        ),
      ),
    findWaiting: (origin) =>
      read([ROWS], async (transaction) => {
        const records = await readRecords(transaction.objectStore(ROWS).index(WAITS), origin);
        return readableRows(records).toSorted((a, b) => a.seq - b.seq);
      }),
    readLane: (owner, lane, { after, limit }) =>
      read([ROWS], (transaction) => {
        const range = { from: laneStart(owner, lane, after), to: above([owner, lane]), isAfter: true };
        return page(transaction.objectStore(ROWS).index(LANE), range, limit);
      }),
    index: (owner, { after, limit }) =>
      read([ROWS], (transaction) => {
        const from = after === undefined ? [owner] : [owner, after];
        return page(transaction.objectStore(ROWS), { from, to: above([owner]), isAfter: true }, limit);
      }),
    readBodies: (bodyIds) =>
      read([BODIES], (transaction) =>
        Promise.all(
          bodyIds.map(async (bodyId): Promise<BodyRead> => {
            const read = await tried<unknown>(transaction.objectStore(BODIES).get(bodyId));
            if (read.type === 'error') return { type: 'unreadable' };
            if (read.value === undefined) return { type: 'missing' };
            return bodyOf(read.value);
          }),
        ),
      ),
    async ownerFacts(owner) {
      const record = await read([META], (transaction) => readOwner(transaction, owner));
      const { counts, generation, journalLast } = record ?? NEW_OWNER;
      return { owner, counts, generation, journalLast };
    },
    owners: async () => (await read([META], readState)).owners.map(([owner]) => owner),
    findEnds: (ids) =>
      read([JOURNAL, IDS], (transaction) => Promise.all(ids.map((id) => findEnd(transaction, id)))),
    findEndOfOrigin: (origin) =>
      read([JOURNAL, IDS], async (transaction) =>
        (await findEndsOf(transaction, origin)).findLast((entry) => entry.origin === origin),
      ),
    findOutcome: (id) => read([JOURNAL], (transaction) => findOutcomeOf(transaction, id)),
    readJournal: (owner, after, limit) =>
      read([JOURNAL, META], (transaction) => readJournalPage(transaction, keyRange, owner, after, limit)),
    trim: (owner, now) =>
      writeSafely([JOURNAL, IDS, META], 'relaxed', (transaction) =>
        trimSlice(transaction, keyRange, owner, now),
      ),
    readFact: (fact) =>
      read([META], (transaction) => answerOf<unknown>(transaction.objectStore(META).get(toDbKey(fact)))),
    readFacts: (prefix, limit) =>
      read([META], async (transaction) => {
        const meta = transaction.objectStore(META);
        const range = keyRange.bound(toDbKey(prefix), above(prefix));
        const [keys, values] = await Promise.all([
          answerOf(meta.getAllKeys(range, limit)),
          answerOf<unknown[]>(meta.getAll(range, limit)),
        ]);
        return keys.map((key, at) => ({ name: toFactName(key), value: values[at] }));
      }),
    writeFacts: (facts, durability) =>
      writeSafely([META], durability, async (transaction) => {
        const meta = transaction.objectStore(META);
        const before = await Promise.all(
          facts.map((fact) => ('was' in fact ? answerOf<unknown>(meta.get(toDbKey(fact.name))) : undefined)),
        );
        for (const [at, fact] of facts.entries())
          if (!('was' in fact) || sameContent(before[at], fact.was)) putFact(meta, fact);
      }),
    unreadable: (limit, after) =>
      read([ROWS], async (transaction) => {
        const found = [];
        let from = Array.isArray(after) ? toDbKey(after) : [];
        for (;;) {
          const range = keyRange.lowerBound(from, true);
          const records = await readRecords(transaction.objectStore(ROWS), range, SCAN_PAGE);
          found.push(...records.flatMap(({ unreadable }) => unreadable ?? []));
          const last = records.at(-1);
          if (last === undefined || records.length < SCAN_PAGE || found.length >= limit)
            return found.slice(0, limit);
          from = [last.place.owner, last.place.seq];
        }
      }),
    onFresh: (listener) => void freshListeners.add(listener),
    reconnect: () => connection.letGo(),
    close: () => connection.close(),
  };
  return store;
}

const USAGE_LIMIT_MS = 500;
/** Rows read at a time while looking for unreadable ones. */
const SCAN_PAGE = 200;

function bodyOf(value: unknown): BodyRead {
  if (isRecord(value))
    for (const form of ['body', 'sealed'])
      if (Object.hasOwn(value, form)) return { type: 'body', body: value[form] };
  return { type: 'unreadable' };
}

function toFactName(key: IDBValidKey): FactName {
  const [kind = '', ...rest] = Array.isArray(key) ? key.map(String) : [];
  return [kind, ...rest];
}
