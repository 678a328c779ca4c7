/** What the ledger knows to wait, for a person to see while the outbox itself cannot be read (S15). Writes nothing. */
import type { StateCounts } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { decodeRow } from '../../shared/row-codec.ts';
import type { Ledger, LedgerRef } from './ledger.ts';

export interface LedgerRows {
  /** By seq. */
  readonly rows: readonly Row[];
  readonly counts: StateCounts;
}

const PAGE = 100;

/** One page of an owner's rows. The ledger is in the order of ids, so each page reads all of them through. */
export async function readLedgerRows(
  ledger: Ledger,
  owner: string,
  {
    after = Number.NEGATIVE_INFINITY,
    limit,
  }: { readonly after?: number | undefined; readonly limit: number },
): Promise<LedgerRows> {
  const counts = { queued: 0, sending: 0, held: 0, blocked: 0 };
  let rows: Row[] = [];
  for (let place: LedgerRef = { owner, id: '' }; ; ) {
    const entries = await ledger.entries(place, PAGE);
    const own = entries.filter(({ content }) => content.owner === owner);
    const tombstones = await ledger.findTombstones(own.map(({ content }) => content.id));
    for (const [i, { content, attempt }] of own.entries()) {
      if (tombstones[i] !== undefined) continue;
      const decoded = decodeRow({ ...content.row, ...attempt?.data });
      if (decoded.type !== 'row') continue;
      counts[decoded.row.state]++;
      if (decoded.row.seq > after) rows.push(decoded.row);
    }
    rows = rows.sort((a, b) => a.seq - b.seq).slice(0, limit);
    const last = entries.at(-1)?.content;
    if (last === undefined || entries.length < PAGE || last.owner !== owner) return { rows, counts };
    place = last;
  }
}
