/** What a live view shows (W18), and what it shows before anything has been read. */
import type { StateCounts, StoppedBy } from '../shared/outcome.ts';
import type { HostFacts, Triggers, ViewRow } from '../shared/protocol.ts';

export interface ViewSnapshot {
  /** `undefined` while nobody is signed in. */
  readonly owner: string | undefined;
  /** False until the rows have been read once. */
  readonly isReady: boolean;
  /** In their order. The same array until something in it changed. */
  readonly rows: readonly ViewRow[];
  readonly counts: StateCounts;
  /** Of the drain that runs, or the last one. */
  readonly progress: { readonly running: boolean; readonly done: number; readonly total: number };
  readonly connection: 'online' | 'offline';
  readonly storage: 'ok' | 'full' | 'unavailable';
  /** When the oldest row that still waits was saved (epoch ms). */
  readonly oldestWaitingAt?: number | undefined;
  /** Why the last drain ended before everything was sent. */
  readonly stoppedBy?: StoppedBy | undefined;
  /** Until when nothing leaves by itself, where that is known (epoch ms). */
  readonly wakeAt?: number | undefined;
  /** Since when rows were tried again and again and not one ended (epoch ms): something is wrong (W19). */
  readonly stuckSince?: number | undefined;
  /** Rows the server has accepted while this device's store does not answer: not failed, not gone yet (D46). */
  readonly accepted?: readonly string[] | undefined;
  /** What may wake the queue besides this page (W20). */
  readonly triggers: Triggers;
  /** Where the engine runs (W40). */
  readonly host: HostFacts['kind'];
}

/** A `subscribe`/`getSnapshot` store, as React's `useSyncExternalStore` takes it. */
export interface LiveView {
  /** Calls back after a change, at most once per frame; the returned function ends it. */
  subscribe(listener: () => void): () => void;
  getSnapshot(): ViewSnapshot;
}

export const emptySnapshot = ({ kind, triggers }: HostFacts): ViewSnapshot => ({
  owner: undefined,
  isReady: false,
  rows: [],
  counts: { queued: 0, sending: 0, held: 0, blocked: 0 },
  progress: { running: false, done: 0, total: 0 },
  connection: 'online',
  storage: 'ok',
  triggers,
  host: kind,
});
