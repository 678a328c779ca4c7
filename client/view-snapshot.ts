/** What a live view shows (W18), and what it shows before anything has been read. */
import type { StateCounts, StoppedBy } from '../shared/outcome.ts';
import type { HostFacts, Triggers, ViewRow } from '../shared/protocol.ts';

/** How well what waits is kept. */
export interface StorageView {
  /**
   * `full`: the device has no room; what waits is sent first (S17). `read_only`: the outbox cannot be opened, so the
   * rows shown are a witness's and nothing is accepted (S15). `no_database`: there is not even a witness.
   */
  readonly mode: 'ok' | 'full' | 'read_only' | 'no_database';
  /** Whether the browser has promised not to evict this origin. Absent where it does not say. */
  readonly isPersisted?: boolean | undefined;
  /** Bytes, as the browser estimates them for the whole origin. */
  readonly usage?: number | undefined;
  readonly quota?: number | undefined;
  /** The second copies are not being written: the ledger fails or does not answer. */
  readonly mirrorSetAside?: boolean | undefined;
  /** The room kept to drain with was given up (S17). */
  readonly reserveGone?: boolean | undefined;
}

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
  readonly storage: StorageView;
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
  storage: { mode: 'ok' },
  triggers,
  host: kind,
});
