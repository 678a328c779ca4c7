/**
 * Whether a trigger that no person gives could move anything of an owner (W21). What waits by name for a row that only
 * a person can free waits for that person too. Reads only.
 */
import { isIntent, type Row } from '../../shared/row.ts';
import { neededOrigins } from './plan-intent.ts';
import type { Lane, RowStore } from './row-store.ts';
import { isNoted, laneOf } from './standing.ts';

/** Rows looked at: where none of so many moves, the next one is taken to. */
const MOST = 1_024;
/** Rows that wait for each other, as a damaged store may have it, move nobody. */
const DEEPEST = 64;

export async function mayMove(
  store: Pick<RowStore, 'readLane' | 'findByOrigin'>,
  owner: string,
  canAsk: (row: Row) => boolean,
): Promise<boolean> {
  const moves = async (row: Row, depth: number): Promise<boolean> => {
    if (row.state === 'blocked') return isNoted(row) || (laneOf(row) === 'asking' && canAsk(row));
    if (row.state === 'held' || depth > DEEPEST) return false;
    const named = isIntent(row) ? await store.findByOrigin(neededOrigins(row)) : [];
    for (const other of named) if (other && !(await moves(other, depth + 1))) return false;
    return true;
  };
  const read = (lane: Lane, limit: number) => store.readLane(owner, lane, { limit });
  if ((await read('ready', 1)).length > 0) return true;
  const rows = [...(await read('asking', MOST)), ...(await read('waiting', MOST))];
  for (const row of rows) if (row.state !== 'blocked' && (await moves(row, 0))) return true;
  return rows.length >= MOST;
}
