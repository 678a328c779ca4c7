/** What is said of a row that a person has opened, in words. Pure. */
import type { Row } from '../../shared/row.ts';
import type { Explanation } from '../add-words.ts';
import type { Format } from './format.ts';
import type { RowWords } from './row-words.ts';
import { type Fact, shortId, targetOf } from './view-parts.ts';

export function reasonOf(reason: Explanation['reason'], words: RowWords, format: Format): string {
  switch (reason.type) {
    case 'blocked':
      return reason.sentence;
    case 'waits_until':
      return words.until(format.time(reason.at), reason.by === 'server');
    default:
      return words.reasons[reason.type];
  }
}

export function claimOf({ claim }: Row, words: RowWords, format: Format, now: number): readonly Fact[] {
  if (!claim) return [];
  const isOver = claim.expiresAt <= now;
  return [
    { name: words.holder, value: claim.host, isCode: true },
    { name: words.fence, value: String(claim.fence) },
    { name: words.lease, value: isOver ? words.leaseOver : words.leaseEnds(format.time(claim.expiresAt)) },
  ];
}

/** Everything worth a support person's eye; the content is not among it. */
export function rowFacts(row: Row, words: RowWords, format: Format): readonly Fact[] {
  const { conflict, recovery, writer, tags = [], replaces = [] } = row;
  const known = (name: string, value: string | number | undefined, isCode = false): readonly Fact[] =>
    value === undefined || value === '' ? [] : [{ name, value: String(value), isCode }];
  return [
    ...known(words.key, row.id, true),
    ...known(words.line, row.origin === row.id ? undefined : row.origin, true),
    ...known(words.place, row.seq),
    ...known(words.target, targetOf(row), true),
    ...known(words.savedAt, format.time(row.savedAt)),
    ...known(words.size, row.bodySize === undefined ? undefined : format.bytes(row.bodySize)),
    ...known(words.expects, row.expectedRevision),
    ...known(words.tags, tags.join(', ')),
    ...known(words.source, row.sourceRef),
    ...known(words.expires, row.expiresAt === undefined ? undefined : format.time(row.expiresAt)),
    ...known(words.tookOver, replaces.map(shortId).join(', '), true),
    ...known(
      words.conflict,
      conflict && words.conflictMore(`${conflict.expected ?? '?'}`, `${conflict.actual ?? '?'}`),
    ),
    ...known(words.restored, recovery && words.restoredMore(recovery.source, recovery.proof)),
    ...known(words.release, writer?.release),
  ];
}
