/** How well what waits is kept, as a person may want to know it (S15-S17): the outbox's state and the browser's word. */
import { isUnreadable } from '../shared/is-unreadable.ts';
import type { WorkerApi } from '../shared/protocol.ts';
import type { PageRealm } from './page-realm.ts';
import type { StorageView } from './view-snapshot.ts';

export interface StorageWatch {
  /** Asks host and browser anew. Cheap: at the start, at the end of a drain, when a host comes. */
  look(): void;
  /** Where the rows came from that were read last. */
  noteRows(mode: 'ok' | 'read_only'): void;
  noteFull(isFull: boolean): void;
  noteFailure(error: unknown): void;
  /** Asks the browser not to evict this origin; answers what it said, `false` where it cannot be asked. */
  persist(): Promise<boolean>;
}

export interface StorageWatchDeps {
  readonly realm: Pick<PageRealm, 'navigator'>;
  readonly own: <T>(use: (api: WorkerApi, owner: string) => Promise<T>) => Promise<T>;
  readonly current: () => StorageView;
  readonly changed: (storage: StorageView) => void;
}

export function createStorageWatch({ realm, own, current, changed }: StorageWatchDeps): StorageWatch {
  const manager = realm.navigator.storage;

  const note = (part: Partial<StorageView>): void => {
    const before = current();
    const after = { ...before, ...part };
    const names = Object.keys(after) as (keyof StorageView)[];
    if (names.some((name) => after[name] !== before[name])) changed(after);
  };
  const noteFull = (isFull: boolean): void => {
    const { mode } = current();
    if (mode === 'ok' || mode === 'full') note({ mode: isFull ? 'full' : 'ok' });
  };
  const ask = async (): Promise<void> => {
    const [estimate, isPersisted, status] = await Promise.allSettled([
      manager?.estimate?.(),
      manager?.persisted?.(),
      own((api) => api.storage()),
    ]);
    if (estimate.status === 'fulfilled' && estimate.value) {
      const { usage, quota } = estimate.value;
      note({ usage, quota });
    }
    if (isPersisted.status === 'fulfilled') note({ isPersisted: isPersisted.value });
    if (status.status === 'fulfilled') {
      const { mirror, reserveGone } = status.value;
      note({ mirrorSetAside: mirror.setAside, reserveGone });
      noteFull(reserveGone);
    }
  };

  return {
    look: () => void ask(),
    noteRows(mode) {
      // What is full stays full until a drain or the host says otherwise.
      if (mode === 'read_only' || current().mode !== 'full') note({ mode });
    },
    noteFull,
    noteFailure(error) {
      if (error instanceof Error && 'code' in error && error.code === 'quota') note({ mode: 'full' });
      else if (isUnreadable(error) && current().mode !== 'read_only') note({ mode: 'no_database' });
    },
    async persist() {
      const isPersisted = (await manager?.persist?.()) ?? false;
      note({ isPersisted });
      return isPersisted;
    },
  };
}
