/** What the list says of a row, in words. Pure. */

import type { ViewRow } from '../../shared/protocol.ts';
import type { Format } from './format.ts';
import type { RowWords } from './row-words.ts';
import { shortId, targetOf } from './view-parts.ts';
import type { ScreenWords } from './words.ts';

export interface RowTitle {
  readonly title: string;
  /** The server's id, shortened, or that there is none yet. */
  readonly target: string;
}

export function titleOf(row: ViewRow, words: ScreenWords & RowWords): RowTitle {
  const isNew = row.target.type === 'pending';
  return {
    title: `${words.kinds[row.kind]} ${row.family}`,
    target: isNew ? `${words.newTarget} · ${shortId(targetOf(row))}` : shortId(targetOf(row)),
  };
}

/** The small print: age, attempts, last failure. */
export function factsOf(row: ViewRow, words: ScreenWords & RowWords, format: Format): readonly string[] {
  return [
    words.saved(format.ago(row.savedAt)),
    ...(row.attemptCount > 0 ? [words.tried(row.attemptCount)] : []),
    ...(row.lastErrorCode === undefined ? [] : [row.lastErrorCode]),
    ...(row.urgent ? [words.urgent] : []),
  ];
}
