/**
 * How long one attempt may take, by what it carries (C1, C5). From the row alone, so that every host of a release
 * judges a claim by the same lease (C3, C4). Pure.
 */
import type { Row } from '../../shared/row.ts';

/** The lease of a row, in ms. */
export type LeaseOf = (row: Pick<Row, 'family' | 'bodySize'>) => number;

/** A second for so many bytes: what even a slow link, of a quarter of a megabit, carries in one. */
const BYTES_PER_SECOND = 32_768;

/** Bodies from this size on leave one at a time: together each would have a part of the link, and all might be late. */
const LARGE_BYTES = 262_144;

export function isLarge({ bodySize = 0 }: Pick<Row, 'bodySize'>): boolean {
  return bodySize >= LARGE_BYTES;
}

/** What a body adds to its family's lease, in ms. */
export function leaseForBytes(bytes: number): number {
  return Math.floor(bytes / BYTES_PER_SECOND) * 1_000;
}
