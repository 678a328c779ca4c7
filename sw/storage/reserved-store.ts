/**
 * Room to drain when the device has none (S17). In a full origin even a claim fails, and deleting rows does not
 * give space back at once; so one Blob is kept to be given up. Only commits that lead to fewer rows may use it;
 * an enqueue never does. The same port as the store it wraps.
 */
import { QuotaError } from '../../shared/errors.ts';
import type { Commit, CommitResult, FactName, RowStore } from '../outbox/row-store.ts';

export interface ReserveOptions {
  /** Bytes to keep. Default 4 MB. */
  readonly bytes?: number | undefined;
  /** Bytes the origin may use in all, where the browser tells: the reserve is at most a sixteenth of it. */
  readonly quota?: (() => Promise<number | undefined>) | undefined;
}

export interface ReservedStore extends RowStore {
  /**
   * Stores the reserve again, smaller if need be. Called at start and at the end of a flush that leaves nothing
   * sendable; cheap where it stands.
   */
  restoreReserve(): Promise<void>;
  /** Whether it was given up and could not be stored again yet: the live view says so, and mirrors write nothing. */
  isReserveGone(): boolean;
}

const RESERVE: FactName = ['reserve'];
/** The size alone, so that asking for it reads no Blob. */
const RESERVE_SIZE: FactName = ['reserve_size'];
const LEAST = 64 * 1024;

export function createReservedStore(store: RowStore, options: ReserveOptions = {}): ReservedStore {
  const bytes = options.bytes ?? 4 * 1024 * 1024;
  let isGone = false;
  let restoring: Promise<void> | undefined;

  async function giveUp(): Promise<boolean> {
    const size = await store.readFact(RESERVE_SIZE);
    isGone = true;
    if (size === undefined) return false;
    await store.writeFacts(
      [RESERVE, RESERVE_SIZE].map((name) => ({ name, value: undefined })),
      'relaxed',
    );
    return true;
  }

  /** One at a time: the smaller the transaction, the likelier it fits. */
  async function commitAlone(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    const results: CommitResult[] = [];
    for (const commit of commits) {
      const [result] = await store
        .commit([commit])
        .catch((error: unknown) => [{ type: 'failed', error } as const]);
      if (result) results.push(result);
    }
    const failed = results.filter((result) => result.type === 'failed');
    if (failed.length < results.length) return results;
    // Closing the connection lets the browser compact; the next trigger finds the room (S17).
    store.reconnect?.();
    throw failed[0]?.error;
  }

  async function refuseWhileGone({ owner }: Commit): Promise<void> {
    if (!isGone) return;
    const { counts } = await store.ownerFacts(owner);
    if (counts.queued + counts.sending === 0) return;
    throw new QuotaError('The device is full; rows that wait are sent first', { owner, waiting: counts });
  }

  async function drain(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    let results: readonly CommitResult[];
    try {
      results = await store.commit(commits);
    } catch (error) {
      if (!(error instanceof QuotaError)) throw error;
      await giveUp();
      return commitAlone(commits);
    }
    const lacking = commits.filter((_, i) => isQuotaFailure(results[i]));
    if (lacking.length === 0) return results;
    await giveUp();
    const again = await commitAlone(lacking).catch((error: unknown) =>
      lacking.map((): CommitResult => ({ type: 'failed', error })),
    );
    return results.map((result, i) => {
      const commit = commits[i];
      return (commit && again[lacking.indexOf(commit)]) ?? result;
    });
  }

  async function storeReserve(): Promise<void> {
    if ((await store.readFact(RESERVE_SIZE)) !== undefined) {
      isGone = false;
      return;
    }
    const quota = (await options.quota?.().catch(() => undefined)) ?? Number.POSITIVE_INFINITY;
    for (let size = Math.min(bytes, Math.floor(quota / 16)); size >= LEAST; size = Math.floor(size / 2)) {
      try {
        const facts = [
          { name: RESERVE, value: new Blob([new Uint8Array(size)]) },
          { name: RESERVE_SIZE, value: size },
        ];
        await store.writeFacts(facts, 'relaxed');
        isGone = false;
        return;
      } catch (error) {
        if (!(error instanceof QuotaError)) return;
      }
    }
    isGone = true;
  }

  return {
    ...store,
    async commit(commits) {
      const enqueues = commits.filter(({ reason }) => reason === 'enqueue');
      for (const commit of enqueues) await refuseWhileGone(commit);
      return enqueues.length > 0 ? store.commit(commits) : drain(commits);
    },
    async writeFacts(facts, durability) {
      try {
        await store.writeFacts(facts, durability);
      } catch (error) {
        // Who is signed in, what rests until when: little, and a drain does not go on without it.
        if (!(error instanceof QuotaError) || !(await giveUp())) throw error;
        await store.writeFacts(facts, durability);
      }
    },
    restoreReserve() {
      restoring ??= storeReserve().finally(() => {
        restoring = undefined;
      });
      return restoring;
    },
    isReserveGone: () => isGone,
  };
}

function isQuotaFailure(result: CommitResult | undefined): boolean {
  return result?.type === 'failed' && result.error instanceof QuotaError;
}
