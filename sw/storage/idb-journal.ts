/**
 * Outcomes and ended ids on IndexedDB (D41, R9), a record per transaction: a drain of a thousand rows writes a
 * few dozen records, not two thousand.
 */
import type { JournalPlace } from '../../shared/answers.ts';
import type { IdEntry, JournalEntry } from '../../shared/outcome.ts';
import type { JournalPage, ToldOutcome } from '../outbox/row-store.ts';
import { tried } from './idb-request.ts';
import { ownerIn, putState, readState } from './idb-state.ts';
import {
  endOf,
  ID_ENTRIES,
  ID_MS,
  isPlaceLost,
  JOURNAL_ENTRIES,
  JOURNAL_MS,
  NEW_OWNER,
  type StoredEntry,
} from './judge.ts';
import { above, IDS, type IdChunk, JOURNAL, type JournalChunk, NAMES, namesOf } from './schema.ts';

/** Records looked at in one slice of trimming, and read ahead while paging. */
const SLICE = 16;

export function writeJournal(
  transaction: IDBTransaction,
  owner: string,
  entries: readonly StoredEntry[],
): void {
  const last = entries.at(-1);
  if (last === undefined) return;
  const names = namesOf(entries.map(({ outcome }) => outcome.row));
  const chunk: JournalChunk = { owner, n: last.n, at: last.at, names, entries };
  transaction.objectStore(JOURNAL).put(chunk);
}

export function writeIds(
  transaction: IDBTransaction,
  entries: readonly IdEntry[],
  n: number,
  at: number,
): void {
  const chunk: IdChunk = { n, at, names: namesOf(entries), entries };
  transaction.objectStore(IDS).put(chunk);
}

/** The ends remembered of an id (R9), newest last. */
export async function findIdsOf(transaction: IDBTransaction, id: string): Promise<readonly IdEntry[]> {
  const chunks = await readChunks<IdChunk>(transaction.objectStore(IDS).index(NAMES).getAll(id));
  return chunks.flatMap(({ entries }) => entries.filter((entry) => entry.id === id));
}

/** The ends known of a name (an id or an origin), from what outcomes are kept too, newest last. */
export async function findEndsOf(transaction: IDBTransaction, name: string): Promise<readonly IdEntry[]> {
  const [journal, ids] = await Promise.all([
    readChunks<JournalChunk>(transaction.objectStore(JOURNAL).index(NAMES).getAll(name)),
    readChunks<IdChunk>(transaction.objectStore(IDS).index(NAMES).getAll(name)),
  ]);
  // Ids are forgotten sooner than outcomes, and what they hold is the newer.
  return [
    ...journal.flatMap(({ entries }) => entries.flatMap((entry) => endOf(entry) ?? [])),
    ...ids.flatMap(({ entries }) => entries),
  ].filter(({ id, origin }) => id === name || origin === name);
}

export async function findOutcomeOf(
  transaction: IDBTransaction,
  id: string,
): Promise<ToldOutcome | undefined> {
  const chunks = await readChunks<JournalChunk>(transaction.objectStore(JOURNAL).index(NAMES).getAll(id));
  return chunks.flatMap(({ entries }) => entries).findLast(({ outcome }) => outcome.row.id === id);
}

export async function readJournalPage(
  transaction: IDBTransaction,
  keyRange: typeof IDBKeyRange,
  owner: string,
  after: JournalPlace | undefined,
  limit: number,
): Promise<JournalPage> {
  const state = await readState(transaction);
  const { epoch } = state;
  const { journalLast, journalGone } = ownerIn(state, owner) ?? NEW_OWNER;
  const journal = transaction.objectStore(JOURNAL);
  const madeAt = async (number: number): Promise<number | undefined> => {
    const range = keyRange.bound([owner, number], above([owner]));
    const [chunk] = await readChunks<JournalChunk>(journal.getAll(range, 1));
    return chunk?.entries.find(({ n }) => n === number)?.at;
  };
  const [seenAt, lastAt] = await Promise.all([after && madeAt(after.n), madeAt(journalLast)]);
  const isLost = isPlaceLost(after, { epoch, journalLast, seenAt });
  const from = isLost ? 0 : (after?.n ?? 0);
  const entries: StoredEntry[] = [];
  let next = Math.max(from, journalGone) + 1;
  while (entries.length < limit && next <= journalLast) {
    const range = keyRange.bound([owner, next], above([owner]));
    const chunks = await readChunks<JournalChunk>(journal.getAll(range, SLICE));
    entries.push(...chunks.flatMap((chunk) => chunk.entries.filter(({ n }) => n >= next)));
    next = (chunks.at(-1)?.n ?? journalLast) + 1;
  }
  return {
    epoch,
    entries: entries.slice(0, limit).map(entryOf),
    truncated: isLost || from < journalGone,
    last: journalLast,
    lastAt,
  };
}

/** Forgets what is past its bounds, a slice; answers whether more may be left. */
export async function trimSlice(
  transaction: IDBTransaction,
  keyRange: typeof IDBKeyRange,
  owner: string,
  now: number,
): Promise<boolean> {
  const journal = transaction.objectStore(JOURNAL);
  const ids = transaction.objectStore(IDS);
  const [state, oldIds] = await Promise.all([
    readState(transaction),
    readChunks<IdChunk>(ids.getAll(keyRange.lowerBound(0), SLICE)),
  ]);
  const record = ownerIn(state, owner) ?? NEW_OWNER;
  const passedIds = oldIds.filter(({ at }) => at <= now - ID_MS);
  const lastGoneId = Math.max(state.ids - ID_ENTRIES, passedIds.at(-1)?.n ?? 0);
  if (lastGoneId > 0) ids.delete(keyRange.upperBound(lastGoneId));

  const crowded = Math.max(record.journalGone, record.journalLast - JOURNAL_ENTRIES);
  const oldest = await readChunks<JournalChunk>(
    journal.getAll(keyRange.bound([owner, crowded + 1], above([owner])), SLICE),
  );
  const passed = oldest.filter(({ at }) => at <= now - JOURNAL_MS);
  const gone = Math.max(crowded, passed.at(-1)?.n ?? 0);
  if (gone > record.journalGone) {
    journal.delete(keyRange.bound([owner], [owner, gone]));
    putState(transaction, state, { owners: new Map([[owner, { ...record, journalGone: gone }]]) });
  }
  return passedIds.length === SLICE || passed.length === SLICE;
}

/** A damaged record, or one of another shape, costs what it remembered and stops nothing. */
async function readChunks<Chunk extends JournalChunk | IdChunk>(
  request: IDBRequest<Chunk[]>,
): Promise<readonly Chunk[]> {
  const read = await tried(request);
  return read.type === 'value' ? read.value.filter(({ entries }) => Array.isArray(entries)) : [];
}

function entryOf({ n, at, outcome }: StoredEntry): JournalEntry {
  return { n, at, outcome };
}
