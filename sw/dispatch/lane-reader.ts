/**
 * Reads the ready lane page by page, on and on (C30): each row once, and rows stored meanwhile as the lane grows.
 * It keeps a place, not the queue (S3).
 */
import type { Row } from '../../shared/row.ts';
import type { LanePlace, RowStore } from '../outbox/row-store.ts';
import { placeOf, type RestingRows } from './resting-rows.ts';

export const PAGE_ROWS = 64;

export interface LaneReader {
  /** The next rows in the order of sending; none where the lane ends for now. */
  next(): Promise<readonly Row[]>;
  /** Whether the last page reached the end. Rows stored since then are read after `lookAgain`. */
  readonly atEnd: boolean;
  /** Rows may have been stored since, behind the place that was reached. */
  lookAgain(): void;
  /** Urgent rows may have been stored since, before that place (W61). */
  lookForUrgent(): void;
}

/** What is known of rows that rest, and what this flush makes of it. */
export interface Resting {
  readonly rows: Pick<RestingRows, 'noteRead' | 'passOver'>;
  /** Whether rows that rest may be passed over (D3). */
  readonly isPassed: () => boolean;
  readonly now: () => number;
  readonly restsUntil: (row: Row) => number | undefined;
  /** Rows that are due at `until` (epoch ms) were passed over. */
  readonly passed: (until: number) => void;
}

export function createLaneReader(
  store: Pick<RowStore, 'readLane'>,
  owner: string,
  resting?: Resting,
): LaneReader {
  let place: LanePlace | undefined;
  /** Where among the urgent rows reading has come; they stand before all others. */
  let urgentPlace: LanePlace | undefined;
  let atEnd = false;
  let urgentAgain = false;

  const read = async (after: LanePlace | undefined) =>
    store.readLane(owner, 'ready', { after, limit: PAGE_ROWS });
  const passOver = (): void => {
    if (!resting?.isPassed()) return;
    const over = resting.rows.passOver(place, resting.now());
    if (over.place === place) return;
    place = over.place;
    if (Number.isFinite(over.until)) resting.passed(over.until);
  };

  return {
    async next() {
      if (urgentAgain && place && !place.urgent) {
        const rows = (await read(urgentPlace)).filter((row) => row.urgent);
        const last = rows.at(-1);
        if (last) urgentPlace = placeOf(last);
        urgentAgain = rows.length === PAGE_ROWS;
        if (rows.length > 0) return rows;
      }
      urgentAgain = false;
      if (atEnd) return [];
      passOver();
      const from = place;
      const rows = await read(from);
      for (const row of rows) {
        place = placeOf(row);
        if (row.urgent) urgentPlace = place;
      }
      atEnd = rows.length < PAGE_ROWS;
      resting?.rows.noteRead(from, { rows, isLast: atEnd }, resting.restsUntil);
      return rows;
    },
    get atEnd() {
      return atEnd && !urgentAgain;
    },
    lookAgain() {
      atEnd = false;
    },
    lookForUrgent() {
      urgentAgain = true;
    },
  };
}
