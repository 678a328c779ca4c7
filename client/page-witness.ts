/** The snapshot of whoever this page shows, kept in `localStorage` under a lock of all pages (S20, W32). */
import { SignedOutError } from '../shared/call-errors.ts';
import type { WorkerApi } from '../shared/protocol.ts';
import type { SnapshotOffer } from '../shared/snapshot.ts';
import type { ChangeMessage } from './live-view.ts';
import type { PageRealm } from './page-realm.ts';
import { snapshotName } from './read-snapshot.ts';
import { createSnapshotWitness, type SnapshotWitness } from './snapshot-witness.ts';

export interface PageWitness {
  /** Another owner is shown, or nobody: only the shown one's snapshot is ever written. */
  show(owner: string | undefined): void;
  note(change: ChangeMessage): void;
  /** Changes were missed. */
  noteAll(): void;
  /**
   * A flush is over. Rewrites at once where rows have ended since the last time; after one that moved nothing, as
   * every save without a connection starts one, a moment's quiet is waited for.
   */
  flushed(): void;
  /** The person's word was that this owner's rows may be lost: nothing must bring them back. */
  forget(owner: string): void;
}

export interface PageWitnessDeps {
  readonly name: string;
  readonly realm: PageRealm;
  readonly own: <T>(use: (api: WorkerApi, owner: string) => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

export function createPageWitness({ name, realm, own, signal }: PageWitnessDeps): PageWitness {
  let witness: SnapshotWitness | undefined;
  let hasEnds = false;
  // Reading `localStorage` throws where storage is forbidden: not before it is used.
  const storage = {
    getItem: (key: string) => realm.localStorage.getItem(key),
    setItem: (key: string, value: string) => realm.localStorage.setItem(key, value),
    removeItem: (key: string) => realm.localStorage.removeItem(key),
  };

  function witnessOf(owner: string): SnapshotWitness {
    const ask = <T>(use: (api: WorkerApi) => Promise<T>): Promise<T> =>
      own((api, shown) =>
        shown === owner ? use(api) : Promise.reject(new SignedOutError('Another owner is shown', { owner })),
      );
    const deps = {
      storage,
      exclusively: (lock: string, write: () => void) => exclusively(realm, lock, write),
      read: (ids: readonly string[] | undefined) => ask((api) => api.readSnapshot(owner, ids)),
      offer: (snapshot: SnapshotOffer) => ask((api) => api.offerSnapshot(owner, snapshot)),
      after(ms: number, callback: () => void) {
        const timer = realm.setTimeout(callback, ms);
        return () => realm.clearTimeout(timer);
      },
      now: () => realm.Date.now(),
    };
    return createSnapshotWitness(deps, snapshotName(name, owner));
  }

  const rewrite = (): void => void witness?.rewrite();
  signal.addEventListener('abort', () => witness?.stop());
  realm.addEventListener('pagehide', rewrite, { signal });
  realm.document.addEventListener('visibilitychange', () => realm.document.hidden && rewrite(), { signal });

  return {
    show(owner) {
      witness?.stop();
      witness = owner === undefined ? undefined : witnessOf(owner);
    },
    note({ epoch, generation, rows, removed, entries }) {
      const ended = entries.flatMap(({ stays, row }) => (stays ? [] : row.id));
      hasEnds ||= removed.length + ended.length > 0;
      witness?.note({ epoch, generation, ids: rows.map(({ id }) => id), gone: [...removed, ...ended] });
    },
    noteAll: () => witness?.noteAll(),
    flushed() {
      if (hasEnds) rewrite();
      hasEnds = false;
    },
    forget(owner) {
      try {
        storage.removeItem(snapshotName(name, owner));
      } catch {
        // Where nothing can be removed nothing was written.
      }
    },
  };
}

/** Under a lock of all pages, or not at all if another has it; where there are no locks, at once. */
async function exclusively({ navigator }: PageRealm, lock: string, write: () => void): Promise<boolean> {
  if (!navigator.locks) {
    write();
    return true;
  }
  return await navigator.locks.request(lock, { ifAvailable: true }, (held) => {
    if (held) write();
    return held !== null;
  });
}
