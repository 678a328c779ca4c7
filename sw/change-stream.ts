/**
 * Every commit that landed, as a numbered change of its owner (W18, D41). It watches the store's own answers, so that
 * nothing is told that is not on disk, and nothing on disk is left untold by this host.
 */
import type { StateCounts } from '../shared/outcome.ts';
import type { Row } from '../shared/row.ts';
import { tellAll } from './dispatch/tell-all.ts';
import type { OwnerChange } from './engine.ts';
import {
  type Commit,
  type CommitResult,
  FACTS,
  type OwnerCounts,
  type RowStore,
} from './outbox/row-store.ts';

export interface ChangeStream {
  /** The store, watched. */
  readonly store: RowStore;
  onChange(listener: (change: OwnerChange) => void): () => void;
  /** Tells that something landed of which the store did not say what: pages find a gap and read again. */
  tellUnseen(owner: string): Promise<void>;
  /** Read anew each time; changes are told under the epoch that was read last. */
  readEpoch(): Promise<string>;
  /** Counts as they are shown: while the owner is signed out, rows that wait count as held (D5). */
  readCounts(owner: string): Promise<StateCounts>;
}

type Committed = Extract<CommitResult, { readonly type: 'committed' }>;

/** `onCounts` hears every count at once, in the order of the commits, `onCommit` every commit that landed. */
export function createChangeStream(
  inner: RowStore,
  onCounts: (owner: string, counts: StateCounts) => void,
  onCommit?: (commit: Commit, written: readonly Row[]) => void,
): ChangeStream {
  const listeners = new Set<(change: OwnerChange) => void>();
  /** Whether an owner is signed out, as far as it was read or written here. */
  const heldOwners = new Map<string, boolean>();
  let telling: Promise<void> = Promise.resolve();
  let epoch: string | undefined;

  inner.onFresh?.(() => {
    epoch = undefined;
    heldOwners.clear();
  });

  const readEpoch = async (): Promise<string> => {
    epoch = await inner.epoch();
    return epoch;
  };

  const isHeld = async (owner: string): Promise<boolean> => {
    const held = (await inner.readFact(FACTS.heldOwner(owner))) !== undefined;
    heldOwners.set(owner, held);
    return held;
  };

  const tell = async (change: Omit<OwnerChange, 'epoch' | 'counts'>, counts: StateCounts): Promise<void> => {
    const { owner } = change;
    const held = heldOwners.get(owner) ?? (await isHeld(owner));
    const full = { ...change, epoch: epoch ?? (await readEpoch()), counts: countsShown(counts, held) };
    tellAll(listeners, full);
  };

  const noteCommitted = (commit: Commit, result: Committed): void => {
    const { owner, reason, passing = [] } = commit;
    for (const { name, value } of commit.facts ?? [])
      if (name[0] === FACTS.heldOwner(owner)[0]) heldOwners.set(owner, value !== undefined);
    onCommit?.(commit, result.rows);
    onCounts(owner, result.counts);
    if (listeners.size === 0) return;
    const written = new Set(result.rows.map(({ id }) => id));
    const change = {
      owner,
      generation: result.generation,
      reason,
      written: result.rows,
      removed: commit.remove.filter((id) => !written.has(id)),
      entries: result.entries,
      passing,
    };
    // A listener that throws, or a store that cannot name its epoch now, must not hold back later changes: whoever
    // misses one finds the gap.
    telling = telling.then(() => tell(change, result.counts)).catch(() => undefined);
  };

  return {
    store: {
      ...inner,
      async commit(commits) {
        const results = await inner.commit(commits);
        for (const [place, result] of results.entries()) {
          const commit = commits[place];
          if (commit && result.type === 'committed') noteCommitted(commit, result);
        }
        return results;
      },
    },
    onChange(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    async tellUnseen(owner) {
      const nothing = { written: [], removed: [], entries: [], passing: [] };
      telling = telling
        .then(async () => {
          const { counts, generation } = await inner.ownerFacts(owner);
          onCounts(owner, counts);
          await tell({ owner, generation, reason: 'settle', ...nothing }, counts);
        })
        // A store that cannot be read now is found out by whoever reads next.
        .catch(() => undefined);
      await telling;
    },
    readEpoch,
    async readCounts(owner) {
      const [{ counts }, held] = await Promise.all([inner.ownerFacts(owner), isHeld(owner)]);
      return countsShown(counts, held);
    },
  };
}

function countsShown(
  { queued, sending, held, blocked }: StateCounts | OwnerCounts,
  isHeld: boolean,
): StateCounts {
  return isHeld ? { queued: 0, sending, held: held + queued, blocked } : { queued, sending, held, blocked };
}
