/** Reading `rows`: values that do not read are stepped over, and one damaged record does not hide its neighbours (R3). */
import type { Row } from '../../shared/row.ts';
import { decodeRow } from '../../shared/row-codec.ts';
import type { UnreadableRow } from '../outbox/row-store.ts';
import { tried } from './idb-request.ts';
import type { Place } from './judge.ts';
import { NAMES, ROWS } from './schema.ts';

export interface ReadRecord {
  readonly place: Place;
  readonly names: readonly unknown[];
  /** Where it stands in the source it was read from. */
  readonly at: IDBValidKey;
  readonly row: Row | undefined;
  /** What is stored, where it does not read. */
  readonly unreadable: UnreadableRow | undefined;
}

/** What the records of a range hold, in the order of `source`, which is `rows` or one of its indexes. */
export async function readRecords(
  source: IDBObjectStore | IDBIndex,
  range: IDBValidKey | IDBKeyRange,
  limit?: number,
): Promise<readonly ReadRecord[]> {
  const all = await tried<unknown[]>(source.getAll(range, limit));
  if (all.type === 'value')
    return all.value.map((value) => {
      const stored = toFields(value);
      return toRecord(stored, keyIn(stored, source.keyPath ?? []));
    });
  // One record the browser cannot give fails the request for all: they are read one by one instead.
  const rows = 'objectStore' in source ? source.objectStore : source;
  const places = await keysOf(source, range, limit);
  const each = await Promise.all(places.map(({ primaryKey }) => tried<unknown>(rows.get(primaryKey))));
  return places.map(({ key, primaryKey }, place) => {
    const one = each[place];
    const [owner, seq] = Array.isArray(primaryKey) ? primaryKey : [];
    return toRecord(one?.type === 'value' ? toFields(one.value) : { owner, seq }, key);
  });
}

interface KeyPair {
  readonly key: IDBValidKey;
  readonly primaryKey: IDBValidKey;
}

function keysOf(
  source: IDBObjectStore | IDBIndex,
  range: IDBValidKey | IDBKeyRange,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly KeyPair[]> {
  return new Promise((resolve, reject) => {
    const found: KeyPair[] = [];
    const request = source.openKeyCursor(range);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (cursor === null || found.length >= limit) return resolve(found);
      found.push({ key: cursor.key, primaryKey: cursor.primaryKey });
      cursor.continue();
    };
  });
}

export function readableRows(records: readonly ReadRecord[]): readonly Row[] {
  return records.flatMap(({ row }) => row ?? []);
}

/** The record of an id, told from rows whose origin it is. */
export async function findRecord(transaction: IDBTransaction, id: string): Promise<ReadRecord | undefined> {
  const records = await readRecords(transaction.objectStore(ROWS).index(NAMES), id);
  return (
    records.find(({ row }) => row?.id === id) ?? records.find(({ row, names }) => !row && names[0] === id)
  );
}

type Fields = Readonly<Record<string, unknown>>;

function toRecord(stored: Fields, at: IDBValidKey): ReadRecord {
  const owner = String(stored['owner']);
  const seq = Number(stored['seq']);
  const decoded = decodeRow(stored['row']);
  const isRow = decoded.type === 'row';
  return {
    place: { owner, seq },
    names: Array.isArray(stored['names']) ? stored['names'] : [],
    at,
    row: isRow ? decoded.row : undefined,
    unreadable: isRow ? undefined : { place: [owner, seq], value: stored['row'], reason: decoded.reason },
  };
}

function toFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** The key of a record by its source's key path. An index of several keys per record is never paged through. */
function keyIn(stored: Fields, path: string | readonly string[]): IDBValidKey {
  const part = (name: string): IDBValidKey => {
    const value = stored[name];
    return Array.isArray(value) ? value : typeof value === 'number' ? value : String(value);
  };
  return typeof path === 'string' ? part(path) : path.map(part);
}
