/** Commits for tests of stores: the shortest way from a row to what a store is asked. */
import type { Outcome, OutcomeEnd } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import type { Commit, CommitResult, OutcomeDraft, RowDraft, RowStore } from '../../sw/outbox/row-store.ts';
import { rowFixture } from './row-fixture.ts';

export const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** A row that has no place yet. */
export function draft(overrides: Partial<Row> = {}): RowDraft {
  const { seq, version, ...row } = rowFixture(overrides);
  return {
    ...row,
    ...(overrides.seq === undefined ? {} : { seq }),
    ...(overrides.version === undefined ? {} : { version }),
  };
}

/** A commit that writes `write` where `expected` stood. */
export function commitOf(
  write: readonly RowDraft[],
  expected: readonly Row[] = [],
  overrides: Partial<Commit> = {},
): Commit {
  const first = write[0] ?? expected[0] ?? rowFixture();
  const rows = [...write, ...expected];
  return {
    owner: first.owner,
    reason: 'enqueue',
    keys:
      rows.length === 0
        ? [keyOf(rowFixture())]
        : rows.map(({ owner, family, target }) => ({ owner, family, target })),
    expected,
    write,
    remove: [],
    outcomes: [],
    bodies: write.flatMap(({ bodyId, id }) =>
      bodyId === id && !expected.some((row) => row.id === id) ? [{ bodyId, body: { of: id } }] : [],
    ),
    durability: 'relaxed',
    ...overrides,
  };
}

export function outcomeOf(row: Row, end: OutcomeEnd): OutcomeDraft {
  const { id, origin, seq, owner, family, kind, target } = row;
  const outcome: Outcome = { ...end, row: { id, origin, seq, owner, family, kind, target } };
  return { outcome, requestHash: row.requestHash };
}

export async function one(store: RowStore, commit: Commit): Promise<CommitResult> {
  const [result] = await store.commit([commit]);
  if (result === undefined) throw new Error('no result');
  return result;
}

/** Writes one row beside those of its key, and answers it as stored. */
export async function stored(store: RowStore, overrides: Partial<Row> = {}): Promise<Row> {
  const row = draft(overrides);
  const [expected] = await store.readKeys([row]);
  const result = await one(store, { ...commitOf([row]), expected: expected ?? [] });
  if (result.type !== 'committed' || result.rows[0] === undefined)
    throw new Error(`not stored: ${result.type}`);
  return result.rows[0];
}
