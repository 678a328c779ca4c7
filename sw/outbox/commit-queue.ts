/**
 * One commit at a time, for those who make one: its own result, or its own error. Commits that come while a
 * transaction runs share the next one, and one with a large body travels alone (R40); both are the store's business.
 */
import type { Commit, CommitResult, RowStore } from './row-store.ts';

export type SettledCommit = Exclude<CommitResult, { readonly type: 'failed' }>;

export interface CommitQueue {
  /** Rejects with what the store says of this very commit. */
  commit(commit: Commit): Promise<SettledCommit>;
}

export function createCommitQueue(store: Pick<RowStore, 'commit'>): CommitQueue {
  return {
    async commit(commit) {
      const [result] = await store.commit([commit]);
      if (result === undefined) throw new Error('The store gave no result');
      if (result.type === 'failed') throw result.error;
      return result;
    },
  };
}
