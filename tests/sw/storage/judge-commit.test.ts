import { describe, expect, it } from 'vitest';
import type { IdEntry } from '../../../shared/outcome.ts';
import type { Row } from '../../../shared/row.ts';
import type { Commit } from '../../../sw/outbox/row-store.ts';
import { judgeCommit, type Verdict } from '../../../sw/storage/judge-commit.ts';
import { commitOf, draft, outcomeOf, uuid } from '../../support/commit-fixture.ts';
import { rowFixture } from '../../support/row-fixture.ts';

const row = rowFixture({ seq: 5 });
const claimed: Row = { ...row, state: 'sending', version: 2 };
const enqueue = commitOf([draft({ id: uuid(2) })], [row], { remove: [row.id] });
const written = rowFixture({ id: uuid(2), seq: 77 });
const end: IdEntry = {
  id: uuid(2),
  key: ['ann', 'workout', 'id', 'w1'],
  requestHash: 'h1',
  origin: uuid(2),
  end: 'committed',
};

describe('a commit whose end went unseen', () => {
  it.each([
    {
      when: 'its row stands there, whatever number it got',
      commit: enqueue,
      rows: [written],
      ends: [],
      verdict: 'applied',
    },
    { when: 'its row has come and ended', commit: enqueue, rows: [], ends: [end], verdict: 'applied' },
    {
      when: 'the rows are the expected ones',
      commit: enqueue,
      rows: [row],
      ends: [],
      verdict: 'not_applied',
    },
    {
      when: 'its row stands beside one it was to remove',
      commit: enqueue,
      rows: [row, written],
      ends: [],
      verdict: 'stale',
    },
    {
      when: 'its row was changed since',
      commit: enqueue,
      rows: [{ ...written, state: 'sending', version: 2 }],
      ends: [],
      verdict: 'stale',
    },
    {
      when: 'another row took the place',
      commit: enqueue,
      rows: [rowFixture({ id: uuid(3) })],
      ends: [],
      verdict: 'stale',
    },
    {
      when: 'its change stands there, with the version raised',
      commit: commitOf([{ ...row, state: 'sending' }], [row]),
      rows: [claimed],
      ends: [],
      verdict: 'applied',
    },
    {
      when: 'someone else made another change',
      commit: commitOf([{ ...row, state: 'sending' }], [row]),
      rows: [{ ...row, state: 'held', version: 2 }],
      ends: [],
      verdict: 'stale',
    },
    {
      when: 'what it removed is gone',
      commit: commitOf([], [row], { remove: [row.id] }),
      rows: [],
      ends: [],
      verdict: 'applied',
    },
    {
      when: 'what it was to remove is there',
      commit: commitOf([], [row], { remove: [row.id] }),
      rows: [row],
      ends: [],
      verdict: 'not_applied',
    },
    { when: 'it touched no row', commit: commitOf([], [row]), rows: [row], ends: [], verdict: 'not_applied' },
    {
      when: 'it touched no row, and another did',
      commit: commitOf([], [row]),
      rows: [claimed],
      ends: [],
      verdict: 'stale',
    },
  ] satisfies readonly {
    when: string;
    commit: Commit;
    rows: readonly Row[];
    ends: readonly IdEntry[];
    verdict: Verdict;
  }[])('[S11] is $verdict when $when', ({ commit, rows, ends, verdict }) => {
    expect(judgeCommit(commit, { rows, ends })).toBe(verdict);
  });

  it('[S11, R2] is applied where the row holds fields that only a newer release knows', () => {
    const newer = { ...row, ...{ mood: 'good' } };
    const commit = commitOf([{ ...row, state: 'sending' }], [newer]);
    expect(judgeCommit(commit, { rows: [{ ...claimed, ...{ mood: 'good' } }], ends: [] })).toBe('applied');
  });
});

it('[S11, R35] a removal whose end went unseen is not taken for done where its row has ended otherwise', () => {
  const cancel = commitOf([], [row], {
    remove: [row.id],
    outcomes: [outcomeOf(row, { type: 'cancelled' })],
  });
  const of = (ended: IdEntry['end']) => ({ rows: [], ends: [{ ...end, id: row.id, end: ended }] });
  expect(judgeCommit(cancel, of('committed'))).toBe('stale');
  expect(judgeCommit(cancel, of('cancelled'))).toBe('applied');
});

it('[S11, C11] nor for its own where another host has told the same end', () => {
  const [told] = [outcomeOf(row, { type: 'already_gone' })];
  const accept = commitOf([], [row], { remove: [row.id], outcomes: [{ ...told, host: 'a' }] });
  const by = (host: string | undefined) => ({
    rows: [],
    ends: [{ ...end, id: row.id, end: 'already_gone' as const }],
    told: [{ n: 1, at: 0, outcome: told.outcome, host }],
  });
  expect(judgeCommit(accept, by('b'))).toBe('stale');
  expect(judgeCommit(accept, by('a'))).toBe('applied');
});
