/** A live view that a test sets by hand, and the rows in it. */
import { emptySnapshot, type LiveView, type ViewSnapshot } from '../../client/view-snapshot.ts';
import type { ViewRow } from '../../shared/protocol.ts';
import type { Row } from '../../shared/row.ts';
import { toViewRow } from '../../shared/view-row.ts';
import { rowFixture } from './row-fixture.ts';

export const viewRow = (id: string, overrides: Partial<Row> = {}): ViewRow =>
  toViewRow(rowFixture({ id, target: { type: 'id', id: `w-${id}` }, ...overrides }));

/** Everything sent, ann signed in. */
export function snapshotFixture(overrides: Partial<ViewSnapshot> = {}): ViewSnapshot {
  const empty = emptySnapshot({
    protocol: 1,
    release: 'r1',
    host: 'h1',
    kind: 'worker',
    activeOwner: 'ann',
    awaitsSnapshot: false,
    triggers: { sync: 'idle', periodicSync: false },
  });
  return { ...empty, owner: 'ann', isReady: true, ...overrides };
}

export interface HandView extends LiveView {
  set(overrides: Partial<ViewSnapshot>): void;
  readonly listenerCount: number;
}

export function createHandView(first: Partial<ViewSnapshot> = {}): HandView {
  const listeners = new Set<() => void>();
  let snapshot = snapshotFixture(first);
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    getSnapshot: () => snapshot,
    set(overrides) {
      snapshot = { ...snapshot, ...overrides };
      for (const listener of listeners) listener();
    },
    get listenerCount() {
      return listeners.size;
    },
  };
}
