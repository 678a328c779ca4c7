/**
 * Puts commits that come while a transaction runs into the next one (R40), so that answers share transactions
 * without ever waiting for each other (C10). Each caller gets the result of its own commit.
 */
import type { Commit, CommitResult, RowStore } from './row-store.ts';

export type SettledCommit = Exclude<CommitResult, { readonly type: 'failed' }>;

export interface CommitQueue {
  /** Rejects with what the store says of this very commit. */
  commit(commit: Commit): Promise<SettledCommit>;
}

interface Waiting {
  readonly commit: Commit;
  readonly resolve: (result: SettledCommit) => void;
  readonly reject: (error: unknown) => void;
}

/** The most commits in one transaction: beyond it a failure would repeat too much, and memory would grow. */
const MAX_BATCH = 64;

export function createCommitQueue(store: Pick<RowStore, 'commit'>): CommitQueue {
  const queue: Waiting[] = [];
  let running = false;

  async function run(): Promise<void> {
    running = true;
    while (queue.length > 0) {
      // Whatever was asked for in this very turn rides along.
      await Promise.resolve();
      const batch = queue.splice(0, MAX_BATCH);
      try {
        const results = await store.commit(batch.map(({ commit }) => commit));
        for (const [place, { resolve, reject }] of batch.entries()) {
          const result = results[place];
          if (result === undefined) reject(new Error('The store gave no result'));
          else if (result.type === 'failed') reject(result.error);
          else resolve(result);
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return {
    commit: (commit) =>
      new Promise((resolve, reject) => {
        queue.push({ commit, resolve, reject });
        if (!running) void run();
      }),
  };
}
