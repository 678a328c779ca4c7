/** Which rows are listed, and which of them wait for which. Pure. */
import type { ViewRow } from '../../shared/protocol.ts';
import type { RowState } from '../../shared/row.ts';

/** Rows on one page: enough to look over, and so few that 10,000 cost no more than 20. */
export const PAGE_ROWS = 20;

export interface RowFilter {
  readonly state: RowState | undefined;
  readonly family: string | undefined;
  /** Looked for in ids, targets, tags and codes. */
  readonly text: string;
}

export const NO_FILTER: RowFilter = { state: undefined, family: undefined, text: '' };

export interface RowPage {
  readonly rows: readonly ViewRow[];
  /** From 0; that of the last page where there are not so many any more. */
  readonly page: number;
  readonly pages: number;
  /** Rows that match. */
  readonly total: number;
}

export function filterRows(rows: readonly ViewRow[], { state, family, text }: RowFilter): readonly ViewRow[] {
  const wanted = text.trim().toLowerCase();
  if (state === undefined && family === undefined && wanted === '') return rows;
  return rows.filter(
    (row) =>
      (state === undefined || row.state === state) &&
      (family === undefined || row.family === family) &&
      (wanted === '' || wordsOf(row).some((word) => word?.toLowerCase().includes(wanted))),
  );
}

const wordsOf = (row: ViewRow): readonly (string | undefined)[] => [
  row.id,
  row.origin,
  row.target.type === 'id' ? row.target.id : row.target.origin,
  row.blockedCode,
  row.lastErrorCode,
  ...(row.tags ?? []),
];

export function pageOf(rows: readonly ViewRow[], wanted: number): RowPage {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const page = Math.min(Math.max(0, wanted), pages - 1);
  const from = page * PAGE_ROWS;
  return { rows: rows.slice(from, from + PAGE_ROWS), page, pages, total: rows.length };
}

export function familiesOf(rows: readonly ViewRow[]): readonly string[] {
  return [...new Set(rows.map(({ family }) => family))].sort();
}

/** Origins without whose receipts it cannot be sent: a creation that has no id yet (C20), and `after` (W60). */
function neededBy({ kind, target, after = [] }: ViewRow): readonly string[] {
  return kind !== 'create' && target.type === 'pending' ? [target.origin, ...after] : after;
}

export interface RowLinks {
  row(origin: string): ViewRow | undefined;
  /** Origins that this row waits for, each once; not all of them need be rows of this device. */
  waitsFor(row: ViewRow): readonly string[];
  /** Rows that wait for this one, directly. */
  behind(row: ViewRow): readonly ViewRow[];
  /** Rows that could never be sent without this one, also by way of others: giving it up takes them along (R35). */
  lostWith(row: ViewRow): readonly ViewRow[];
}

export function linkRows(rows: readonly ViewRow[]): RowLinks {
  const byOrigin = new Map(rows.map((row) => [row.origin, row]));
  const followers = new Map<string, ViewRow[]>();
  const dependants = new Map<string, ViewRow[]>();
  const add = (map: Map<string, ViewRow[]>, origin: string, row: ViewRow): void => {
    const list = map.get(origin);
    if (list) list.push(row);
    else map.set(origin, [row]);
  };
  const waitsFor = (row: ViewRow): readonly string[] => {
    const needed = neededBy(row);
    const { successorOf } = row;
    return successorOf === undefined ? needed : [...new Set([successorOf, ...needed])];
  };
  for (const row of rows) {
    for (const origin of waitsFor(row)) add(followers, origin, row);
    for (const origin of neededBy(row)) add(dependants, origin, row);
  }
  return {
    row: (origin) => byOrigin.get(origin),
    waitsFor,
    behind: ({ origin }) => followers.get(origin) ?? [],
    lostWith(row) {
      const lost = new Set<ViewRow>();
      const visit = ({ origin }: ViewRow): void => {
        for (const next of dependants.get(origin) ?? []) {
          if (lost.has(next) || next === row) continue;
          lost.add(next);
          visit(next);
        }
      };
      visit(row);
      return [...lost];
    },
  };
}
