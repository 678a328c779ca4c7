/**
 * Tells pages what changed (W18): numbered changes, packed so that a drained row costs a few hundred bytes, and the
 * progress of a drain, of which only the newest counts. What comes within a moment goes as one message. A host may
 * die before it posts; the numbers tell, and a new host announces itself.
 */
import type { JournalEntry, Outcome } from '../../shared/outcome.ts';
import type { Broadcast, WireEntry, WireOutcome } from '../../shared/protocol.ts';
import { toViewPatch, toViewRow } from '../../shared/view-row.ts';
import type { DrainProgress, OwnerChange } from '../engine.ts';
import type { Timers } from '../environment.ts';

export interface Broadcaster {
  change(change: OwnerChange): void;
  progress(progress: DrainProgress): void;
  /** Anything else, at once and after what waits. */
  tell(message: Broadcast): void;
  /** Resolves when nothing waits to be told. An event that ends before may be the worker's last: an update ends it at once. */
  told(): Promise<void>;
}

export interface BroadcasterDeps {
  readonly channel: { postMessage(message: readonly Broadcast[]): void };
  readonly timers: Timers;
  /** Whether the device is full (S17). */
  readonly isFull?: (() => boolean) | undefined;
}

/** A frame: long enough to gather a burst, and nobody would see it sooner. */
const GATHER_MS = 16;
/** Between two words about a drain that goes on; its changes carry the counts. */
const PROGRESS_MS = 100;

export function createBroadcaster({ channel, timers, isFull }: BroadcasterDeps): Broadcaster {
  let waiting: Broadcast[] = [];
  /** The newest word about each owner's drain that has not been told. */
  const untold = new Map<string, DrainProgress>();
  const running = new Set<string>();
  let cancel: (() => void) | undefined;
  let listeners: (() => void)[] = [];
  let cancelProgress: (() => void) | undefined;

  const post = (): void => {
    cancel?.();
    cancel = undefined;
    const messages = waiting;
    waiting = [];
    channel.postMessage(messages);
    for (const listener of listeners) listener();
    listeners = [];
  };
  const gather = (): void => {
    cancel ??= timers.after(GATHER_MS, post);
  };
  const tellProgress = (): void => {
    cancelProgress?.();
    cancelProgress = undefined;
    for (const progress of untold.values())
      waiting.push({ type: 'progress', ...progress, ...(isFull?.() && { isFull: true }) });
    untold.clear();
    gather();
  };

  return {
    change(change) {
      const last = waiting.findLast((message) => message.type === 'change' && message.owner === change.owner);
      const next = packChange(change);
      if (last?.type === 'change' && last.epoch === next.epoch && last.generation + 1 === next.generation) {
        waiting[waiting.indexOf(last)] = merge(last, next);
      } else waiting.push(next);
      gather();
    },
    progress(progress) {
      const { owner } = progress;
      untold.set(owner, progress);
      // The start and the end of a drain at once, the middle now and then.
      if (progress.running && running.has(owner)) {
        cancelProgress ??= timers.after(PROGRESS_MS, tellProgress);
        return;
      }
      if (progress.running) running.add(owner);
      else running.delete(owner);
      tellProgress();
    },
    tell(message) {
      waiting.push(message);
      post();
    },
    told: () => (cancel ? new Promise((resolve) => listeners.push(resolve)) : Promise.resolve()),
  };
}

type ChangeMessage = Extract<Broadcast, { readonly type: 'change' }>;

export function packChange(change: OwnerChange): ChangeMessage {
  const removed = new Set(change.removed);
  const entries = change.entries.map((entry) => packEntry(entry, removed));
  const { owner, epoch, generation, counts } = change;
  return {
    type: 'change',
    owner,
    epoch,
    after: generation - 1,
    generation,
    counts: [counts.queued, counts.sending, counts.held, counts.blocked],
    // A row with a claim was written before, so pages know its identity, which never changes; else they read anew.
    rows: change.written.map((row) => (row.claim && row.version > 1 ? toViewPatch(row) : toViewRow(row))),
    removed: [...removed],
    entries,
    passing: change.passing.map(packOutcome),
  };
}

/** The later one's word stands: what it removed, or tells of a row again, need not be told twice. */
function merge(earlier: ChangeMessage, later: ChangeMessage): ChangeMessage {
  const gone = new Set(later.removed);
  for (const { stays, row } of later.entries) if (!stays) gone.add(row.id);
  const told = new Set(later.rows.map(({ id }) => id));
  // A row's identity is told once, so what carries it stays.
  const kept = earlier.rows.filter((row) => !gone.has(row.id) && ('seq' in row || !told.has(row.id)));
  return {
    ...later,
    after: earlier.after,
    rows: [...kept, ...later.rows],
    removed: [...earlier.removed, ...later.removed],
    entries: [...earlier.entries, ...later.entries],
    passing: [...earlier.passing, ...later.passing],
  };
}

function packEntry({ n, at, outcome }: JournalEntry, removed: Set<string>): WireEntry {
  const packed = { n, at, ...packOutcome(outcome) };
  return removed.delete(outcome.row.id) ? packed : { ...packed, stays: true };
}

function packOutcome(outcome: Outcome): WireOutcome {
  const { owner: _, origin, ...rest } = outcome.row;
  const row = origin === rest.id ? rest : { ...rest, origin };
  if (outcome.type !== 'committed') return { ...outcome, row };
  const { id, kind, target, ...receipt } = outcome.receipt;
  return {
    ...outcome,
    row,
    receipt: {
      ...receipt,
      ...(id !== rest.id && { id }),
      ...(kind !== `${rest.family}.${rest.kind}` && { kind }),
      ...((rest.target.type !== 'id' || target !== rest.target.id) && { target }),
    },
  };
}
