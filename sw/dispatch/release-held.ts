/** Releases an owner's held rows, and the fact that held all others, once credentials are there (D5). */
import { keyOf, type Row } from '../../shared/row.ts';
import { type Commit, FACTS, type RowStore } from '../outbox/row-store.ts';

const PAGE = 64;
const MAX_ROUNDS = 3;

/** Fence, evidence and doubt stay; only where the row stands changes. */
export function planRelease(id: string, rows: readonly Row[]): Commit | undefined {
  const row = rows.find((other) => other.id === id);
  if (row?.state !== 'held') return undefined;
  return {
    owner: row.owner,
    reason: 'release_held',
    keys: [keyOf(row)],
    expected: rows,
    write: [{ ...row, state: 'queued', heldAt: undefined }],
    remove: [],
    outcomes: [],
    durability: 'relaxed',
  };
}

export async function releaseHeld(store: RowStore, owner: string): Promise<void> {
  // The fact goes first and in a commit of its own, so that pages hear of it even where no row is held.
  const cleared: Commit = {
    owner,
    reason: 'release_held',
    keys: [],
    expected: [],
    write: [],
    remove: [],
    outcomes: [],
    facts: [{ name: FACTS.heldOwner(owner), value: undefined }],
    durability: 'relaxed',
  };
  await store.commit([cleared]);
  for (;;) {
    const held = await store.readLane(owner, 'held', { limit: PAGE });
    let open = held.map((row) => ({ id: row.id, rows: [row] as readonly Row[] }));
    for (let round = 0; round < MAX_ROUNDS && open.length > 0; round++) {
      const planned = open.flatMap(({ id, rows }) => {
        const commit = planRelease(id, rows);
        return commit ? { id, commit } : [];
      });
      if (planned.length === 0) break;
      const results = await store.commit(planned.map(({ commit }) => commit));
      open = planned.flatMap(({ id }, place) => {
        const result = results[place];
        return result?.type === 'stale' ? { id, rows: result.rows } : [];
      });
    }
    // What others keep changing is left to the next flush.
    if (held.length < PAGE || open.length > 0) return;
  }
}
