/** An outbox of 10,000 rows that no server has seen, for what the inspector costs with them. */
import type { InspectedOutbox } from '../../client/inspector/index.ts';
import type { ViewSnapshot } from '../../client/view-snapshot.ts';
import type { ViewRow } from '../../shared/protocol.ts';

export interface ManyRows {
  readonly outbox: InspectedOutbox;
  /** One row has been tried once more. */
  touch(place: number): void;
}

const DAY_MS = 86_400_000;
const NOT_HERE = new Error('Not in this outbox');
const refuse = (): Promise<never> => Promise.reject(NOT_HERE);

export function createManyRows(count: number): ManyRows {
  const listeners = new Set<() => void>();
  let rows: readonly ViewRow[] = Array.from({ length: count }, (_, n) => {
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    return {
      id,
      origin: id,
      seq: n + 1,
      family: n % 3 === 0 ? 'plan' : 'workout',
      kind: 'update',
      target: { type: 'id', id: `w${n}` },
      // So long ago that no age changes while somebody looks.
      savedAt: Date.now() - 40.5 * DAY_MS,
      state: 'queued',
      version: 1,
      attemptCount: 0,
    };
  });
  const snapshotOf = (): ViewSnapshot => ({
    owner: 'ann',
    isReady: true,
    rows,
    counts: { queued: rows.length, sending: 0, held: 0, blocked: 0 },
    progress: { running: false, done: 0, total: 0 },
    connection: 'online',
    storage: { mode: 'ok' },
    triggers: { sync: 'idle', periodicSync: false },
    host: 'worker',
  });
  let snapshot = snapshotOf();
  return {
    touch(place) {
      rows = rows.map((row, n) => (n === place ? { ...row, attemptCount: row.attemptCount + 1 } : row));
      snapshot = snapshotOf();
      for (const listener of listeners) listener();
    },
    outbox: {
      view: {
        getSnapshot: () => snapshot,
        subscribe(listener) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
      },
      journal: async () => ({ epoch: 'e', entries: [], truncated: false, last: 0 }),
      explain: async () => undefined,
      bodies: async () => [],
      retry: refuse,
      recover: refuse,
      discard: refuse,
      cancel: refuse,
      flush: refuse,
      pause: refuse,
      resume: refuse,
      export: refuse,
      persist: refuse,
    },
  };
}
