/**
 * Rows of other keys that a commit must take in: what waits for a row by name (W60). Few commands have any, and
 * `awaited` says so, so that the others read nothing.
 */
import { type Key, keyToken } from '../../shared/key.ts';
import type { IdEntry } from '../../shared/outcome.ts';
import { isIntent, keyOf, type Row } from '../../shared/row.ts';
import type { RowStore } from './row-store.ts';

type Reads = Pick<RowStore, 'findByOrigin' | 'findEndOfOrigin' | 'findWaiting' | 'readKeys'>;

/** What goes with removed rows: intents of a creation, and rows that name one of them in `after`, and theirs. */
export async function readDependants(store: Reads, removed: readonly Row[]): Promise<readonly Row[]> {
  const found = new Map<string, Row>();
  const gone = new Set(removed.map(({ id }) => id));
  for (let next = removed; next.length > 0; ) {
    const waiting = await Promise.all(
      next.map(async (row) => {
        if (!row.awaited && row.kind !== 'create') return [];
        return (await store.findWaiting(row.origin)).filter((other) => dependsOn(other, row));
      }),
    );
    next = waiting.flat().filter((row) => !gone.has(row.id) && !found.has(row.id));
    for (const row of next) found.set(row.id, row);
  }
  return [...found.values()];
}

/** Whether a row can never be sent once `row` is gone. A mere successor can. */
export function dependsOn(other: Row, row: Row): boolean {
  if (other.owner !== row.owner) return false;
  const aimsAt = other.kind !== 'create' && other.target.type === 'pending' ? other.target.origin : undefined;
  return isIntent(other) && (other.after?.includes(row.origin) || aimsAt === row.origin);
}

export interface Named {
  /** Origins that are stored, with their rows. */
  readonly stored: readonly Row[];
  /** Origins that are not, with what is known of their end. */
  readonly ended: ReadonlyMap<string, IdEntry | undefined>;
  /** The origins and everything they wait for in turn. */
  readonly all: ReadonlySet<string>;
}

/** The rows that these origins name, and what those wait for. Rows of other owners are not seen. */
export async function readNamed(store: Reads, owner: string, origins: readonly string[]): Promise<Named> {
  const all = new Set(origins);
  const ended = new Map<string, IdEntry | undefined>();
  let stored: readonly Row[] | undefined;
  for (let next = [...all]; next.length > 0; ) {
    const rows = await store.findByOrigin(next);
    const own = rows.flatMap((row) => (row?.owner === owner ? row : []));
    if (stored === undefined) {
      stored = own;
      for (const origin of next.filter((name) => !own.some((row) => row.origin === name))) {
        const end = await store.findEndOfOrigin(origin);
        ended.set(origin, end?.key[0] === owner ? end : undefined);
      }
    }
    next = [...new Set(own.flatMap(waitsFor))].filter((origin) => !all.has(origin));
    for (const origin of next) all.add(origin);
  }
  return { stored: stored ?? [], ended, all };
}

function waitsFor(row: Row): readonly string[] {
  const { successorOf, after = [], target, kind } = row;
  const creation = kind !== 'create' && target.type === 'pending' ? [target.origin] : [];
  return [...after, ...creation, ...(successorOf === undefined ? [] : [successorOf])];
}

/** The other keys of `rows`, and everything stored under them: what a commit that touches them must expect. */
export async function readAround(
  store: Reads,
  rows: readonly Row[],
  known: readonly Key[],
): Promise<{ readonly keys: readonly Key[]; readonly rows: readonly Row[] }> {
  const had = new Set(known.map(keyToken));
  const keys = [...new Map(rows.map((row) => [keyToken(keyOf(row)), keyOf(row)])).values()].filter(
    (key) => !had.has(keyToken(key)),
  );
  return { keys, rows: keys.length > 0 ? (await store.readKeys(keys)).flat() : [] };
}
