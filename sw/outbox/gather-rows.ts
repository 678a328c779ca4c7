/**
 * Rows of other keys that a commit must look at: what waits for a row by name (W60), and what a command names. Few
 * commands have any; `awaited` says so of a row, so that the others read nothing.
 */
import { isIntent, type Row } from '../../shared/row.ts';
import { neededOrigins } from './plan-intent.ts';
import type { RowStore } from './row-store.ts';

/** What goes with removed rows: intents of a creation, and rows that name one of them in `after`, and theirs. */
export async function readDependants(
  store: Pick<RowStore, 'findWaiting'>,
  removed: readonly Row[],
): Promise<readonly Row[]> {
  const found = new Map(removed.map((row) => [row.id, row]));
  // A map that grows while it is walked is walked to its end.
  for (const row of found.values()) {
    if (!row.awaited && row.kind !== 'create') continue;
    // A mere successor can go on without it.
    for (const other of await store.findWaiting(row.origin))
      if (other.owner === row.owner && isIntent(other) && neededOrigins(other).includes(row.origin))
        if (!found.has(other.id)) found.set(other.id, other);
  }
  return [...found.values()].slice(removed.length);
}

export interface Named {
  /** The rows that the origins name. */
  readonly stored: readonly Row[];
  /** The origins and everything they wait for in turn. */
  readonly all: ReadonlySet<string>;
}

/** Rows of other owners are not seen. */
export async function readNamed(
  store: Pick<RowStore, 'findByOrigin'>,
  owner: string,
  origins: readonly string[],
): Promise<Named> {
  const all = new Set(origins);
  const stored: Row[] = [];
  for (const origin of all) {
    const [row] = await store.findByOrigin([origin]);
    if (row?.owner !== owner) continue;
    if (origins.includes(origin)) stored.push(row);
    for (const next of [...neededOrigins(row), row.successorOf]) if (next !== undefined) all.add(next);
  }
  return { stored, all };
}
