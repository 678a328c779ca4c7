/** How well what waits is kept, as a person may want to know it (S15-S17): the outbox's state and the browser's word. */
import { isUnreadable } from '../shared/is-unreadable.ts';
import type { WorkerApi } from '../shared/protocol.ts';
import type { PageRealm } from './page-realm.ts';
import type { StorageView } from './view-snapshot.ts';

export interface StorageWatch {
  /** Asks host and browser anew, a moment later and once for several calls. */
  look(): void;
  /** Where the rows came from that were read last. */
  noteRows(mode: 'ok' | 'read_only'): void;
  /** What the host says of its room. */
  noteFull(isFull: boolean): void;
  /** A row has left, and so there may be room again. */
  noteLeft(): void;
  noteFailure(error: unknown): void;
  /** Asks the browser not to evict this origin; answers what it said, `false` where it cannot be asked. */
  persist(): Promise<boolean>;
}

export interface StorageWatchDeps {
  readonly realm: Pick<PageRealm, 'navigator' | 'setTimeout'>;
  readonly own: <T>(use: (api: WorkerApi, owner: string) => Promise<T>) => Promise<T>;
  readonly current: () => StorageView;
  readonly changed: (storage: StorageView) => void;
}

/** A drain of many small flushes is one occasion to ask. */
const GATHER_MS = 300;

export function createStorageWatch({ realm, own, current, changed }: StorageWatchDeps): StorageWatch {
  const manager = realm.navigator.storage;

  const note = (part: Partial<StorageView>): void => {
    const before = current();
    const after = { ...before, ...part };
    const names = Object.keys(after) as (keyof StorageView)[];
    if (names.some((name) => after[name] !== before[name])) changed(after);
  };
  /** Something was refused for want of room, and nothing has left since. */
  let wasRefused = false;
  const noteFull = (isFull: boolean): void => {
    const { mode } = current();
    if (mode === 'ok' || mode === 'full') note({ mode: isFull || wasRefused ? 'full' : 'ok' });
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

  let isAsking = false;

  return {
    look() {
      if (isAsking) return;
      isAsking = true;
      realm.setTimeout(() => {
        isAsking = false;
        void ask();
      }, GATHER_MS);
    },
    noteRows(mode) {
      // What is full stays full until a drain or the host says otherwise.
      if (mode === 'read_only' || current().mode !== 'full') note({ mode });
    },
    noteFull,
    noteLeft() {
      wasRefused = false;
    },
    noteFailure(error) {
      if (Object(error).code === 'quota') {
        wasRefused = true;
        note({ mode: 'full' });
      } else if (isUnreadable(error) && current().mode !== 'read_only') note({ mode: 'no_database' });
    },
    async persist() {
      // An app may ask again whenever it likes: the browser remembers the answer.
      const isPersisted = (await manager?.persist?.()) ?? false;
      note({ isPersisted });
      return isPersisted;
    },
  };
}
