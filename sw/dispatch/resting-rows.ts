/**
 * Which stretches of the ready lane hold nothing but rows that rest (D3), as earlier flushes of this host found them,
 * so that a flush in a long outage passes over them instead of reading them again (S3). In memory and bounded; whatever
 * somebody else writes voids it, and what is written here is read again.
 */
import type { Row } from '../../shared/row.ts';
import type { LanePlace } from '../outbox/row-store.ts';

export interface RestingRows {
  /** At the start of a flush: void if others have committed since, or the clock was set back (C4). */
  check(generation: number, now: number): void;
  /** This host's own commit of this owner, with all rows of its keys, as they were and as they are. */
  noteCommit(rows: readonly Row[]): void;
  /** A page of the lane after `from`; `restsUntil` names the rows that rest by themselves. */
  noteRead(
    from: LanePlace | undefined,
    page: { readonly rows: readonly Row[]; readonly isLast: boolean },
    restsUntil: (row: Row) => number | undefined,
  ): void;
  /** These rows of a page just read rest until then (epoch ms), behind another of their key. */
  rest(rows: readonly Row[], until: number): void;
  /** Where to read on after `from`, and when the first of the rows passed over is due. */
  passOver(
    from: LanePlace | undefined,
    now: number,
  ): { readonly place: LanePlace | undefined; readonly until: number };
}

/** The rows after `from` up to and with `to`; the first of them is due at `until`. */
interface Span {
  readonly from: LanePlace | undefined;
  readonly to: LanePlace;
  readonly until: number;
  /** Rows, about. */
  readonly size: number;
}

/** A page of which something is not known to rest. */
interface OpenPage extends Span {
  readonly open: Set<number>;
  until: number;
}

const MOST_SPANS = 256;
const LARGEST_SPAN = 2 ** 30;
/** Pages read are judged soon or not at all. */
const MOST_OPEN_PAGES = 8;
const LANE_END: LanePlace = { urgent: false, seq: Number.POSITIVE_INFINITY };

export const placeOf = ({ urgent, seq }: Row): LanePlace => ({ urgent: urgent === true, seq });

/** Urgent rows stand before all others; `undefined` is the start of the lane. */
function isBefore(a: LanePlace | undefined, b: LanePlace | undefined): boolean {
  if (!a || !b) return a === undefined && b !== undefined;
  return a.urgent === b.urgent ? a.seq < b.seq : a.urgent;
}

export function createRestingRows(): RestingRows {
  let spans: readonly Span[] = [];
  let pages: readonly OpenPage[] = [];
  /** What the owner's generation is if nobody else has written. */
  let generation = -1;
  let checkedAt = 0;
  /** Rows that a span may hold. */
  let largest = 1;

  const clear = (): void => {
    spans = [];
    pages = [];
    largest = 1;
  };
  const holds = ({ from, to }: Span, place: LanePlace): boolean =>
    isBefore(from, place) && !isBefore(to, place);
  const forget = (from: LanePlace | undefined, to: LanePlace): void => {
    spans = spans.flatMap((span) => {
      if (!isBefore(span.from, to) || !isBefore(from, span.to)) return span;
      const before = from && isBefore(span.from, from) ? [{ ...span, to: from }] : [];
      return isBefore(to, span.to) ? [...before, { ...span, from: to }] : before;
    });
  };
  /** The longer the queue, the longer the spans; where they do not touch, the last are read again. */
  const bound = (): void => {
    for (let round = 0; spans.length > MOST_SPANS && largest < LARGEST_SPAN; round++) {
      if (round > 0) largest *= 2;
      const joined: Span[] = [];
      for (const span of spans) {
        const last = joined.at(-1);
        const size = span.size + (last?.size ?? 0);
        if (last && !isBefore(last.to, span.from) && size <= largest) {
          const until = Math.min(last.until, span.until);
          joined[joined.length - 1] = { from: last.from, to: span.to, until, size };
        } else joined.push(span);
      }
      spans = joined;
    }
    spans = spans.slice(0, MOST_SPANS);
  };
  const keep = ({ from, to, until, size }: Span): void => {
    const at = spans.findIndex((span) => isBefore(to, span.to));
    spans = spans.toSpliced(at < 0 ? spans.length : at, 0, { from, to, until, size });
    bound();
  };

  return {
    check(now, at) {
      if (now !== generation || at < checkedAt) clear();
      generation = now;
      checkedAt = at;
    },
    noteCommit(rows) {
      generation++;
      for (const row of rows) {
        const place = placeOf(row);
        forget({ ...place, seq: place.seq - 1 }, place);
        pages.find((page) => holds(page, place))?.open.add(row.seq);
      }
    },
    noteRead(from, { rows, isLast }, restsUntil) {
      const last = rows.at(-1);
      const to = last && placeOf(last);
      forget(from, isLast || !to ? LANE_END : to);
      if (!to) return;
      const open = new Set<number>();
      let until = Number.POSITIVE_INFINITY;
      for (const row of rows) {
        const at = restsUntil(row);
        if (at === undefined) open.add(row.seq);
        else until = Math.min(until, at);
      }
      const page = { from, to, until, open, size: rows.length };
      if (open.size === 0) keep(page);
      else pages = [...pages.slice(1 - MOST_OPEN_PAGES), page];
    },
    rest(rows, until) {
      for (const row of rows) {
        const page = pages.find((one) => holds(one, placeOf(row)));
        if (!page?.open.delete(row.seq)) continue;
        page.until = Math.min(page.until, until);
        if (page.open.size > 0) continue;
        pages = pages.filter((one) => one !== page);
        keep(page);
      }
    },
    passOver(from, now) {
      let place = from;
      let until = Number.POSITIVE_INFINITY;
      for (const span of spans) {
        if (isBefore(place, span.from)) break;
        if (!isBefore(place, span.to)) continue;
        if (span.until <= now) break;
        place = span.to;
        until = Math.min(until, span.until);
      }
      return { place, until };
    },
  };
}
