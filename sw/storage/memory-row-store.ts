/**
 * The in-memory twin of the IndexedDB store (R45), for tests and for apps' own tests. It judges with the same
 * code, and can fail, hang and lose power on command. Nothing here survives the realm.
 */
import type { JournalEntry } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { decodeRow } from '../../shared/row-codec.ts';
import type {
  Commit,
  CommitReason,
  CommitResult,
  FactName,
  Lane,
  LanePlace,
  RowStore,
  UnreadableRow,
} from '../outbox/row-store.ts';
import { sameContent } from '../outbox/same-row.ts';
import { laneOf } from '../outbox/standing.ts';
import {
  bySeq,
  checkCommit,
  ID_ENTRIES,
  ID_MS,
  isPlaceLost,
  JOURNAL_ENTRIES,
  JOURNAL_MS,
  judge,
  type Place,
  type StoredEntry,
} from './judge.ts';
import { createMemoryState, type MemoryRowStoreDeps } from './memory-state.ts';
import { tokenOf } from './memory-table.ts';

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

export interface MemoryRowStoreOptions {
  /** Whether commits note touched ids for the mirror (S22). Default true. */
  readonly notesUnmirrored?: boolean | undefined;
}

export function createMemoryRowStore(
  deps: MemoryRowStoreDeps,
  { notesUnmirrored = true }: MemoryRowStoreOptions = {},
): MemoryRowStore {
  const { clock } = deps;
  const state = createMemoryState(deps);
  const { rows, bodies, journal, remembered, owners, facts, numbers, epoch, counters } = state;
  const { given, rowsBy, rowsOfKey, entriesBy, findEnd, fact, setFact, ownerOf, ended } = state;
  const faults: Fault[] = [];
  const holds: { reason: CommitReason | undefined; reach(): void; released: Promise<void> }[] = [];
  let readError: Error | undefined;

  function run(commits: readonly Commit[]): readonly CommitResult[] {
    const fault = faults.find(({ reason }) => commits.some((commit) => !reason || commit.reason === reason));
    if (fault && commits.length > 1) throw fault.error;
    if (fault) faults.splice(faults.indexOf(fault), 1);
    if (fault && !fault.landed) throw fault.error;
    // A clone that fails (an uncloneable body) must fail before anything is written.
    for (const commit of commits) structuredClone(commit.bodies);
    const { results, writes } = judge(state.readsFor(commits), commits, {
      now: clock.now(),
      notesUnmirrored,
    });
    if (results.some((result) => result.type === 'committed'))
      state.apply(writes, commits.some(({ durability }) => durability === 'strict') ? 'strict' : 'relaxed');
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
    if (failed.length > 0 && failed.length === results.length) throw failed[0]?.error;
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
    forgetRelaxed: (count) => state.forget(count),
    plant({ owner, seq }, value, id) {
      const decoded = decodeRow(structuredClone(value));
      const row = decoded.type === 'row' ? decoded.row : undefined;
      rows.set(tokenOf(owner, seq), {
        place: { owner, seq },
        id: row?.id ?? id,
        value: structuredClone(value),
        row,
      });
      state.planted();
    },
    spoilBody(bodyId, how) {
      bodies.set(bodyId, how === 'missing' ? undefined : how);
      state.planted();
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
      return keys.map((key) => given(rowsOfKey(key)));
    },
    async findRows(wanted) {
      await turn();
      return wanted.map((id) => given(rowsBy('id', id))[0]);
    },
    async findByOrigin(origins) {
      await turn();
      return origins.map((origin) => given(rowsBy('origin', origin))[0]);
    },
    async findWaiting(origin) {
      await turn();
      return given(rowsBy('waits', origin));
    },
    async readLane(owner, lane, { after, limit }) {
      await turn();
      const page = laneRows(rowsBy('owner', owner), lane, after).slice(0, limit);
      counters.rowsRead += page.length;
      return structuredClone(page);
    },
    async index(owner, { after, limit }) {
      await turn();
      const behind = rowsBy('owner', owner).filter(({ seq }) => after === undefined || seq > after);
      return given([...behind].sort(bySeq).slice(0, limit));
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
      const { counts, generation, journalLast } = ownerOf(owner);
      return { owner, counts, generation, journalLast };
    },
    async owners() {
      await turn();
      return owners.all().map(({ owner }) => owner);
    },
    async findEnds(wanted) {
      await turn();
      return wanted.map((id) => findEnd('id', id));
    },
    async findEndOfOrigin(origin) {
      await turn();
      return findEnd('origin', origin);
    },
    async findOutcome(id) {
      await turn();
      return structuredClone(entriesBy('id', id).findLast(({ outcome }) => outcome.row.id === id));
    },
    async readJournal(owner, after, limit) {
      await turn();
      const { journalLast, journalGone } = ownerOf(owner);
      const all = entriesBy('owner', owner);
      const seenAt = all.find(({ n }) => n === after?.n)?.at;
      const isLost = isPlaceLost(after, { epoch, journalLast, seenAt });
      const from = isLost ? 0 : (after?.n ?? 0);
      const entries = all.filter(({ n }) => n > from);
      return {
        epoch,
        entries: entries.slice(0, limit).map(entryOf),
        truncated: isLost || from < journalGone,
        last: journalLast,
        lastAt: all.at(-1)?.at,
      };
    },
    async trim(owner, now) {
      await turn();
      const record = ownerOf(owner);
      const isPast = ({ n, at }: StoredEntry): boolean =>
        n <= record.journalLast - JOURNAL_ENTRIES || at <= now - JOURNAL_MS;
      const past = entriesBy('owner', owner).filter(isPast);
      for (const { n } of past) journal.set(tokenOf(owner, n), undefined);
      const journalGone = Math.max(record.journalGone, past.at(-1)?.n ?? 0);
      if (past.length > 0) owners.set(owner, { owner, record: { ...record, journalGone } });
      const lastGone = (numbers.get('ids') ?? 0) - ID_ENTRIES;
      for (const { number, at } of remembered.all())
        if (number <= lastGone || at <= now - ID_MS) remembered.set(tokenOf(number), undefined);
      ended('relaxed');
      return false;
    },
    async readFact(name) {
      await turn();
      return structuredClone(fact(name));
    },
    async readFacts(prefix, limit) {
      await turn();
      const found = facts.all().filter(({ name }) => prefix.every((part, place) => name[place] === part));
      return structuredClone([...found].sort((a, b) => compareNames(a.name, b.name)).slice(0, limit));
    },
    async writeFacts(writes, durability) {
      await turn();
      for (const write of writes)
        if (!('was' in write) || sameContent(fact(write.name), write.was)) setFact(write.name, write.value);
      ended(durability);
    },
    async unreadable(limit, after) {
      await turn();
      const all = rows.all().flatMap(({ row, place, value }): readonly UnreadableRow[] => {
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
