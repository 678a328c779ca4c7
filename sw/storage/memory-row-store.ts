/**
 * The in-memory twin of the IndexedDB store (R45), for tests and for apps' own tests. It judges with the same
 * code, and can fail, hang and lose power on command. Nothing here survives the realm.
 */
import { type Key, keyToken } from '../../shared/key.ts';
import type { IdEntry, JournalEntry } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import { decodeRow } from '../../shared/row-codec.ts';
import type { Clock, Ids } from '../environment.ts';
import {
  type Commit,
  type CommitReason,
  type CommitResult,
  FACTS,
  type FactName,
  type Lane,
  type LanePlace,
  type RowStore,
  type UnreadableRow,
} from '../outbox/row-store.ts';
import { sameContent } from '../outbox/same-row.ts';
import { laneOf } from '../outbox/standing.ts';
import {
  bySeq,
  checkCommit,
  endOf,
  ID_ENTRIES,
  ID_MS,
  JOURNAL_ENTRIES,
  JOURNAL_MS,
  type JudgeReads,
  judge,
  NEW_OWNER,
  type OwnerRecord,
  type Place,
  planReads,
  type StoredEntry,
  type StoreWrites,
} from './judge.ts';

export interface MemoryCounters {
  /** Readwrite transactions, and how many of them were strict. */
  readonly transactions: number;
  readonly strict: number;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly bodiesRead: number;
  readonly bodiesWritten: number;
}

export interface Fault {
  /** Absent: whatever comes next. */
  readonly reason?: CommitReason | undefined;
  readonly error: Error;
  /** The commit lands all the same, and nobody is told (S10's `unknown`). */
  readonly landed?: boolean | undefined;
}

/** A transaction that stands still until it is released. */
export interface Hold {
  /** Resolves when a commit has got there. */
  readonly reached: Promise<void>;
  release(): void;
}

export interface MemoryRowStore extends RowStore {
  readonly counters: MemoryCounters;
  /** The next commit of that reason rejects; a batch it rode in is run again one by one (R40). */
  failNext(fault: Fault): void;
  /** The next commit of that reason waits before its transaction. */
  holdNext(reason?: CommitReason): Hold;
  /** Reads reject from now on, until called without an error (S15). */
  failReads(error: Error | undefined): void;
  /** A power cut: of the transactions since the last strict one, the last `count` are gone (S14). All by default. */
  forgetRelaxed(count?: number): void;
  /** Stores a value as it is, as another release or a bad disk may have left it (R3). */
  plant(place: Place, value: unknown, id?: string): void;
  /** Removes or replaces the body behind an id, as a bad disk would. `unreadable`: reading it fails. */
  spoilBody(bodyId: string, how: 'missing' | 'unreadable'): void;
}

export interface MemoryRowStoreDeps {
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
}

export interface MemoryRowStoreOptions {
  /** Whether commits note touched ids for the mirror (S22). Default true. */
  readonly notesUnmirrored?: boolean | undefined;
}

interface Stored {
  readonly place: Place;
  readonly id: string | undefined;
  readonly value: unknown;
  readonly row: Row | undefined;
}
interface RememberedId {
  readonly entry: IdEntry;
  readonly at: number;
}

export function createMemoryRowStore(
  { clock, ids }: MemoryRowStoreDeps,
  { notesUnmirrored = true }: MemoryRowStoreOptions = {},
): MemoryRowStore {
  const rows = new Map<string, Stored>();
  const rowsByKey = new Map<string, Map<string, Row>>();
  const rowsById = new Map<string, Stored>();
  const bodies = new Map<string, { readonly body: unknown } | 'unreadable'>();
  const journal = new Map<string, readonly StoredEntry[]>();
  const remembered = new Map<number, RememberedId>();
  const owners = new Map<string, OwnerRecord>();
  const facts = new Map<string, { readonly name: FactName; readonly value: unknown }>();
  const epoch = ids.uuid();
  let lastSeq = clock.now() * 1000;
  let lastId = 0;

  const counters = {
    transactions: 0,
    strict: 0,
    rowsRead: 0,
    rowsWritten: 0,
    bodiesRead: 0,
    bodiesWritten: 0,
  };
  const faults: Fault[] = [];
  const holds: { reason: CommitReason | undefined; reach(): void; released: Promise<void> }[] = [];
  let readError: Error | undefined;
  /** Per transaction since the last strict one: how to undo it. */
  const relaxed: (() => void)[][] = [];
  let undo: (() => void)[] = [];

  facts.set(JSON.stringify(FACTS.recovery), { name: FACTS.recovery, value: { type: 'pending' } });

  function set<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
    const before = map.get(key);
    undo.push(() => (before === undefined ? map.delete(key) : map.set(key, before)));
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }
  function setRow(place: Place, next: Stored | undefined): void {
    const token = JSON.stringify([place.owner, place.seq]);
    const before = rows.get(token);
    if (before) {
      if (before.id !== undefined) set(rowsById, before.id, undefined);
      if (before.row) set(byKey(keyOf(before.row)), before.row.id, undefined);
    }
    set(rows, token, next);
    if (next?.id !== undefined) set(rowsById, next.id, next);
    if (next?.row) set(byKey(keyOf(next.row)), next.row.id, next.row);
  }
  function byKey(key: Key): Map<string, Row> {
    const token = keyToken(key);
    const found = rowsByKey.get(token) ?? new Map<string, Row>();
    rowsByKey.set(token, found);
    return found;
  }
  function given(list: readonly Row[]): readonly Row[] {
    counters.rowsRead += list.length;
    return structuredClone(list);
  }
  function allRows(owner?: string): Row[] {
    return [...rows.values()]
      .flatMap(({ row }) => (row && (owner === undefined || row.owner === owner) ? row : []))
      .sort(bySeq);
  }
  function endsOf(match: (entry: { readonly id: string; readonly origin: string }) => boolean): IdEntry[] {
    const fromJournal = [...journal.values()].flat().flatMap((entry) => endOf(entry) ?? []);
    return [...fromJournal, ...rememberedIds()].filter(match);
  }
  function rememberedIds(): readonly IdEntry[] {
    return [...remembered.values()].map(({ entry }) => entry);
  }
  function fact(name: FactName): unknown {
    return facts.get(JSON.stringify(name))?.value;
  }

  function readsFor(commits: readonly Commit[]): JudgeReads {
    const plan = planReads(commits);
    const byId = plan.ids.flatMap((id) => rowsById.get(id) ?? []);
    const found = [
      ...plan.keys.flatMap((key) => [...byKey(key).values()]),
      ...byId.flatMap(({ row }) => row ?? []),
    ];
    counters.rowsRead += found.length;
    const ends = new Set(plan.ends);
    const askedOwners = new Set(plan.places.map(({ owner }) => owner));
    return {
      rows: found,
      unreadableIds: byId.flatMap(({ row, id }) => (row === undefined && id !== undefined ? id : [])),
      ends: ends.size === 0 ? [] : rememberedIds().filter(({ id }) => ends.has(id)),
      taken: [...rows.values()].flatMap(({ place }) => (askedOwners.has(place.owner) ? place : [])),
      owners,
      activeOwner: fact(FACTS.activeOwner),
      guards: plan.guards.map((name) => ({ name, value: fact(name) })),
      lastSeq,
    };
  }

  function apply(writes: StoreWrites, strict: boolean): void {
    undo = [];
    const before = { lastSeq, lastId };
    undo.push(() => {
      ({ lastSeq, lastId } = before);
    });
    lastSeq = writes.lastSeq;
    for (const place of writes.removedRows) setRow(place, undefined);
    for (const row of writes.rows) {
      const copy = structuredClone(row);
      setRow(row, { place: row, id: row.id, value: copy, row: copy });
    }
    for (const bodyId of writes.removedBodies) set(bodies, bodyId, undefined);
    for (const { bodyId, body } of writes.bodies) set(bodies, bodyId, { body: structuredClone(body) });
    for (const [owner, entries] of writes.journal)
      set(journal, owner, [...(journal.get(owner) ?? []), ...structuredClone(entries)]);
    for (const entry of writes.ids)
      set(remembered, ++lastId, { entry: structuredClone(entry), at: clock.now() });
    for (const [owner, record] of writes.owners) set(owners, owner, record);
    for (const { name, value } of writes.facts) setFact(name, value);
    counters.rowsWritten += writes.rows.length;
    counters.bodiesWritten += writes.bodies.length;
    ended(strict);
  }
  function setFact(name: FactName, value: unknown): void {
    const copy = value === undefined ? undefined : { name, value: structuredClone(value) };
    set(facts, JSON.stringify(name), copy);
  }
  function ended(strict: boolean): void {
    counters.transactions++;
    if (strict) {
      counters.strict++;
      relaxed.length = 0;
    } else relaxed.push(undo);
    undo = [];
  }

  function run(commits: readonly Commit[]): readonly CommitResult[] {
    const fault = faults.find(({ reason }) => commits.some((commit) => !reason || commit.reason === reason));
    if (fault && commits.length > 1) throw fault.error;
    if (fault) faults.splice(faults.indexOf(fault), 1);
    if (fault && !fault.landed) throw fault.error;
    // A clone that fails (an uncloneable body) must fail before anything is written.
    for (const commit of commits) structuredClone(commit.bodies);
    const { results, writes } = judge(readsFor(commits), commits, { now: clock.now(), notesUnmirrored });
    if (results.some((result) => result.type === 'committed'))
      apply(
        writes,
        commits.some(({ durability }) => durability === 'strict'),
      );
    if (fault) throw fault.error;
    return structuredClone(results);
  }

  async function runAlone(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    const results = commits.map((commit): CommitResult => {
      try {
        const [result] = run([commit]);
        return result ?? { type: 'failed', error: new Error('no result') };
      } catch (error) {
        return { type: 'failed', error };
      }
    });
    const failed = results.filter((result) => result.type === 'failed');
    if (failed.length === results.length) throw failed[0]?.error;
    return results;
  }

  /** Every read and every transaction is a turn later, as in a browser. */
  async function turn(): Promise<void> {
    await Promise.resolve();
    if (readError) throw readError;
  }

  return {
    counters,
    failNext(fault) {
      faults.push(fault);
    },
    holdNext(reason) {
      let reach = (): void => undefined;
      let release = (): void => undefined;
      const reached = new Promise<void>((resolve) => {
        reach = resolve;
      });
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      holds.push({ reason, reach, released });
      return { reached, release };
    },
    failReads(error) {
      readError = error;
    },
    forgetRelaxed(count = relaxed.length) {
      for (const steps of relaxed.splice(Math.max(0, relaxed.length - count)).reverse())
        for (const step of steps.reverse()) step();
    },
    plant(place, value, id) {
      const decoded = decodeRow(value);
      const row = decoded.type === 'row' ? decoded.row : undefined;
      setRow(place, { place, id: row?.id ?? id, value: structuredClone(value), row });
      undo = [];
    },
    spoilBody(bodyId, how) {
      if (how === 'missing') bodies.delete(bodyId);
      else bodies.set(bodyId, 'unreadable');
    },

    async epoch() {
      await turn();
      return epoch;
    },
    async commit(commits) {
      for (const commit of commits) checkCommit(commit);
      await turn();
      const held = holds.findIndex(({ reason }) =>
        commits.some((commit) => !reason || commit.reason === reason),
      );
      const [hold] = held < 0 ? [] : holds.splice(held, 1);
      if (hold) {
        hold.reach();
        await hold.released;
      }
      if (commits.length < 2) return runAlone(commits);
      try {
        return run(commits);
      } catch {
        return runAlone(commits);
      }
    },
    async readKeys(keys) {
      await turn();
      return keys.map((key) => given([...byKey(key).values()].sort(bySeq)));
    },
    async findRows(wanted) {
      await turn();
      return wanted.map((id) => given([rowsById.get(id)?.row].flatMap((row) => row ?? []))[0]);
    },
    async findByOrigin(origins) {
      await turn();
      const all = allRows();
      return origins.map((origin) => given(all.filter((row) => row.origin === origin).slice(0, 1))[0]);
    },
    async findWaiting(origin) {
      await turn();
      return given(allRows().filter((row) => row.successorOf === origin || row.after?.includes(origin)));
    },
    async readLane(owner, lane, { after, limit }) {
      await turn();
      return given(laneRows(allRows(owner), lane, after).slice(0, limit));
    },
    async index(owner, { after, limit }) {
      await turn();
      const from = after ?? Number.NEGATIVE_INFINITY;
      return given(
        allRows(owner)
          .filter(({ seq }) => seq > from)
          .slice(0, limit),
      );
    },
    async readBodies(bodyIds) {
      await turn();
      counters.bodiesRead += bodyIds.length;
      return bodyIds.map((bodyId) => {
        const found = bodies.get(bodyId);
        if (found === undefined) return { type: 'missing' };
        if (found === 'unreadable') return { type: 'unreadable' };
        return { type: 'body', body: structuredClone(found.body) };
      });
    },
    async ownerFacts(owner) {
      await turn();
      const { counts, generation, journalLast } = owners.get(owner) ?? NEW_OWNER;
      return { owner, counts, generation, journalLast };
    },
    async owners() {
      await turn();
      return [...owners.keys()];
    },
    async findEnds(wanted) {
      await turn();
      return wanted.map((id) => endsOf((entry) => entry.id === id).at(-1));
    },
    async findEndOfOrigin(origin) {
      await turn();
      return endsOf((entry) => entry.origin === origin).at(-1);
    },
    async findOutcome(id) {
      await turn();
      const found = [...journal.values()].flat().findLast(({ outcome }) => outcome.row.id === id);
      return found && entryOf(found);
    },
    async readJournal(owner, after, limit) {
      await turn();
      const { journalLast, journalGone } = owners.get(owner) ?? NEW_OWNER;
      const lost = after !== undefined && (after.epoch !== epoch || after.n > journalLast);
      const from = lost ? 0 : (after?.n ?? 0);
      const entries = (journal.get(owner) ?? []).filter(({ n }) => n > from).slice(0, limit);
      return {
        epoch,
        entries: entries.map(entryOf),
        truncated: lost || from < journalGone,
        last: journalLast,
      };
    },
    async trim(owner, now) {
      await turn();
      const record = owners.get(owner) ?? NEW_OWNER;
      const kept = (journal.get(owner) ?? []).filter(
        ({ n, at }) => n > record.journalLast - JOURNAL_ENTRIES && at > now - JOURNAL_MS,
      );
      const gone = (kept[0]?.n ?? record.journalLast + 1) - 1;
      undo = [];
      if (gone > record.journalGone) {
        set(journal, owner, kept);
        set(owners, owner, { ...record, journalGone: gone });
      }
      for (const [number, { at }] of remembered)
        if (number <= lastId - ID_ENTRIES || at <= now - ID_MS) set(remembered, number, undefined);
      ended(false);
      return false;
    },
    async readFact(name) {
      await turn();
      return structuredClone(fact(name));
    },
    async readFacts(prefix, limit) {
      await turn();
      const found = [...facts.values()].filter(({ name }) =>
        prefix.every((part, place) => name[place] === part),
      );
      return structuredClone(found.sort((a, b) => compareNames(a.name, b.name)).slice(0, limit));
    },
    async writeFacts(writes, durability) {
      await turn();
      undo = [];
      for (const write of writes)
        if (!('was' in write) || sameContent(fact(write.name), write.was)) setFact(write.name, write.value);
      ended(durability === 'strict');
    },
    async unreadable(limit, after) {
      await turn();
      const all = [...rows.values()].flatMap(({ row, place, value }): UnreadableRow[] => {
        if (row) return [];
        const decoded = decodeRow(value);
        const reason = decoded.type === 'unreadable' ? decoded.reason : '';
        return [{ place: [place.owner, place.seq], value: structuredClone(value), reason }];
      });
      const from = all.findIndex(({ place }) => sameContent(place, after)) + 1;
      return all.slice(from, from + limit);
    },
    close() {},
  };
}

/** As IndexedDB orders arrays of strings. */
function compareNames(a: FactName, b: FactName): number {
  const place = a.findIndex((part, at) => part !== b[at]);
  const [x, y] = place < 0 ? [undefined, undefined] : [a[place], b[place]];
  if (x === undefined || y === undefined) return a.length - b.length;
  return x < y ? -1 : 1;
}

function entryOf({ n, at, outcome }: StoredEntry): JournalEntry {
  return structuredClone({ n, at, outcome });
}

function laneRows(rows: readonly Row[], lane: Lane, after: LanePlace | undefined): readonly Row[] {
  const rank = (row: Pick<Row, 'seq'> & { readonly urgent?: boolean | undefined }): number =>
    row.urgent ? 0 : 1;
  const isPast = (row: Row): boolean =>
    after === undefined || rank(row) > rank(after) || (rank(row) === rank(after) && row.seq > after.seq);
  return rows
    .filter((row) => laneOf(row) === lane && isPast(row))
    .sort((a, b) => rank(a) - rank(b) || bySeq(a, b));
}
