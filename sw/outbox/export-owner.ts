/** A copy of everything an owner has waiting, with the bodies, for a person to keep. Reads page by page. */
import type { ExportedOutbox } from '../../shared/answers.ts';
import type { RowStore } from './row-store.ts';

const PAGE = 64;
const MOST_UNREADABLE = 1_000;

export async function exportOwner(
  store: Pick<RowStore, 'index' | 'readBodies' | 'unreadable'>,
  owner: string,
  now: number,
): Promise<ExportedOutbox> {
  const exported: ExportedOutbox['rows'][number][] = [];
  for (let after: number | undefined; ; ) {
    const rows = await store.index(owner, { after, limit: PAGE });
    const ids = rows.flatMap(({ bodyId }) => bodyId ?? []);
    const bodies = ids.length > 0 ? await store.readBodies(ids) : [];
    for (const row of rows) {
      const read = row.bodyId === undefined ? undefined : bodies[ids.indexOf(row.bodyId)];
      exported.push(read?.type === 'body' ? { row, body: read.body } : { row });
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) break;
    after = last.seq;
  }
  const unreadable = await store.unreadable(MOST_UNREADABLE);
  return {
    format: 1,
    owner,
    exportedAt: now,
    rows: exported,
    // The place of a value that cannot be read begins with its owner; whose it is otherwise cannot be known.
    unreadable: unreadable
      .filter(({ place }) => Array.isArray(place) && place[0] === owner)
      .map(({ value }) => value),
  };
}
