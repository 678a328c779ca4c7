/**
 * Carries commits out (R40, S10, S11): together first, and one by one where that failed; each at most twice, and
 * one whose end went unseen is judged by what stands there.
 */
import { CommitUnknownError, StoreTimeoutError } from '../../shared/errors.ts';
import { toKeyArray } from '../../shared/key.ts';
import type { Commit, CommitResult } from '../outbox/row-store.ts';
import type { CommitCall } from './group-commit.ts';
import { judgeInside, storesOf } from './idb-commit.ts';
import { findEndsOf, findOutcomeOf } from './idb-journal.ts';
import { readableRows, readRecords } from './idb-rows.ts';
import { readOwner } from './idb-state.ts';
import type { IdbTransactions } from './idb-transactions.ts';
import { bySeq, type JudgeOptions, NEW_OWNER } from './judge.ts';
import { judgeCommit } from './judge-commit.ts';
import { IDS, JOURNAL, KEY, META, ROWS } from './schema.ts';
import { isLasting, toStoreError } from './store-failure.ts';
import type { WriteEnd, WriteResult } from './write-transaction.ts';

export interface CommitRunnerDeps {
  readonly transactions: IdbTransactions;
  readonly keyRange: typeof IDBKeyRange;
  readonly judgeOptions: () => JudgeOptions;
  /** What to tell a person whose device is full (S16). */
  readonly usageOf: (owner: string) => Promise<Readonly<Record<string, unknown>>>;
}

type Results = readonly CommitResult[];

/** Answers one result per commit and never rejects. */
export function createCommitRunner(deps: CommitRunnerDeps): CommitCall {
  const { transactions, keyRange } = deps;

  function attempt(commits: readonly Commit[]): Promise<WriteResult<Results>> {
    const isStrict = commits.some(({ durability }) => durability === 'strict');
    return transactions.write(storesOf(commits), isStrict ? 'strict' : 'relaxed', (transaction) =>
      judgeInside(transaction, commits, { ...deps.judgeOptions(), keyRange }),
    );
  }

  /** Its last attempts. `failure`: why the one before, if it was this commit's own, did not land. */
  async function runAlone(commit: Commit, attempts: number, failure?: unknown): Promise<CommitResult> {
    let why = failure;
    for (let left = attempts; left > 0 && !isLasting(why); left--) {
      const end = await attempt([commit]);
      if (end.type === 'committed') return only(end.value);
      if (end.type === 'aborted') why = end.error;
      else {
        const known = await judgeUnknown(commit, end.settled, 0);
        if (known) return known;
        why = new StoreTimeoutError('A commit did not land', { reason: commit.reason });
      }
    }
    const isFull = why instanceof DOMException && why.name === 'QuotaExceededError';
    throw toStoreError(why, isFull ? await deps.usageOf(commit.owner) : {});
  }

  /**
   * S11. `undefined`: it did not land and may be tried again. A late end of the transaction itself counts too.
   * @throws CommitUnknownError where re-reading fails as well.
   */
  function judgeUnknown(
    commit: Commit,
    settled: Promise<WriteEnd<Results>>,
    place: number,
  ): Promise<CommitResult | undefined> {
    const ended = settled.then((end) => (end.type === 'committed' ? end.value[place] : undefined));
    const judged = judgeByReading(commit).catch((cause: unknown) => {
      const ids = commit.write.map(({ id }) => id);
      const data = { reason: commit.reason, ids };
      throw new CommitUnknownError('Whether this was stored could not be found out', data, { cause });
    });
    return Promise.race([ended, judged]);
  }

  function judgeByReading(commit: Commit): Promise<CommitResult | undefined> {
    return transactions.read([ROWS, JOURNAL, IDS, META], async (transaction) => {
      const byKey = transaction.objectStore(ROWS).index(KEY);
      const ended = new Set(commit.outcomes.map(({ outcome }) => outcome.row.id));
      const [records, ends, outcomes, record = NEW_OWNER] = await Promise.all([
        Promise.all(commit.keys.map((key) => readRecords(byKey, keyRange.only(toKeyArray(key))))),
        Promise.all([...commit.write.map(({ id }) => id), ...ended].map((id) => findEndsOf(transaction, id))),
        Promise.all([...ended].map((id) => findOutcomeOf(transaction, id))),
        readOwner(transaction, commit.owner),
      ]);
      const byId = new Map(records.flatMap(readableRows).map((row) => [row.id, row]));
      const rows = [...byId.values()].sort(bySeq);
      const told = outcomes.flatMap((entry) => entry ?? []);
      const verdict = judgeCommit(commit, { rows, ends: ends.flat(), told });
      if (verdict === 'not_applied') return undefined;
      if (verdict === 'stale') return { type: 'stale', reason: 'rows', rows };
      return {
        type: 'committed',
        rows: commit.write.flatMap(({ id }) => byId.get(id) ?? []),
        entries: told.map(({ n, at, outcome }) => ({ n, at, outcome })),
        generation: record.generation,
        counts: record.counts,
      };
    });
  }

  return async (commits) => {
    const results: CommitResult[] = [];
    try {
      const first = await attempt(commits);
      if (first.type === 'committed') return first.value;
      const isShared = commits.length > 1;
      for (const [place, commit] of commits.entries())
        try {
          const known = first.type === 'unknown' && (await judgeUnknown(commit, first.settled, place));
          const isOwn = first.type === 'aborted' && !isShared;
          // What a neighbour's content did to the shared attempt is not held against this one.
          const attempts = isShared && isContentFault(first) ? 2 : 1;
          results.push(known || (await runAlone(commit, attempts, isOwn ? first.error : undefined)));
        } catch (error) {
          if (!isOwnFault(error)) throw error;
          results.push({ type: 'failed', error });
        }
      return results;
    } catch (error) {
      // A store that does not answer would make each of the others wait as long again.
      const rest = commits.slice(results.length);
      return [...results, ...rest.map((): CommitResult => ({ type: 'failed', error }))];
    }
  };
}

function isContentFault(end: WriteResult<Results>): boolean {
  return end.type === 'aborted' && isLasting(end.error);
}

/** The commit's own content, or its size, was at fault: the others may still land. */
function isOwnFault(error: unknown): boolean {
  return isLasting(error) || (error instanceof Error && isLasting(error.cause));
}

function only(results: Results): CommitResult {
  const [result] = results;
  if (result === undefined) throw new Error('Holdfast invariant broken: a commit without a result');
  return result;
}
