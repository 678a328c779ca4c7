/** An engine that answers at once and notes what it was asked; tests replace the calls they look at. */
import type { StateCounts } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import type { DrainProgress, Engine, OwnerChange } from '../../sw/engine.ts';
import { rowFixture } from './row-fixture.ts';

export const NO_COUNTS: StateCounts = { queued: 0, sending: 0, held: 0, blocked: 0 };

export interface FakeEngine extends Engine {
  readonly asked: readonly (readonly [name: string, ...args: unknown[]])[];
  readonly stored: Map<string, Row>;
  owner: string | undefined;
  emitChange(change: Partial<OwnerChange>): void;
  emitProgress(progress: Partial<DrainProgress>): void;
  readonly listenerCount: number;
}

let hosts = 0;

export function createFakeEngine(overrides: Partial<Engine> = {}): FakeEngine {
  const asked: (readonly [string, ...unknown[]])[] = [];
  const stored = new Map<string, Row>();
  const changes = new Set<(change: OwnerChange) => void>();
  const progresses = new Set<(progress: DrainProgress) => void>();
  let generation = 0;
  const note =
    <A extends unknown[], R>(name: string, answer: (...args: A) => R) =>
    async (...args: A): Promise<R> => {
      asked.push([name, ...args]);
      return answer(...args);
    };
  const subscribe =
    <T>(listeners: Set<(value: T) => void>) =>
    (listener: (value: T) => void) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    };
  const enqueue: Engine['enqueue'] = note('enqueue', (command) => {
    const known = stored.get(command.id);
    if (known) return { action: 'existing' as const, row: known, removed: [] };
    const { id, owner, family, kind } = command;
    const target = command.target ?? { type: 'pending' as const, origin: id };
    const row = rowFixture({ id, origin: id, owner, family, kind, target, seq: stored.size + 1 });
    stored.set(id, row);
    return { action: 'queued' as const, row, removed: [] };
  });
  const engine: FakeEngine = {
    locked: Promise.resolve(true),
    host: `host-${++hosts}`,
    asked,
    stored,
    owner: 'ann',
    get listenerCount() {
      return changes.size + progresses.size;
    },
    enqueue,
    cancel: note('cancel', () => ({ type: 'cancelled' as const, removed: [] })),
    discard: note('discard', () => ({ removed: [] })),
    retry: note('retry', () => ({ action: 'queued' as const, row: undefined, removed: [] })),
    recover: note('recover', () => ({ action: 'queued' as const, row: undefined, removed: [] })),
    flush: note('flush', (owner: string) => ({ owner, outcomes: [], remaining: NO_COUNTS })),
    flushActive: note('flushActive', () =>
      engine.owner === undefined ? undefined : { owner: engine.owner, outcomes: [], remaining: NO_COUNTS },
    ),
    signIn: note('signIn', (owner: string) => {
      engine.owner = owner;
    }),
    signOut: note('signOut', () => {
      engine.owner = undefined;
      return { waiting: NO_COUNTS };
    }),
    activeOwner: async () => engine.owner,
    discarded: async () => [],
    pause: note('pause', () => undefined),
    resume: note('resume', () => undefined),
    rows: note(
      'rows',
      (owner: string, { after = 0, limit }: { after?: number | undefined; limit: number }) => ({
        rows: [...stored.values()].filter((row) => row.owner === owner && row.seq > after).slice(0, limit),
        generation,
        epoch: 'e1',
        counts: { ...NO_COUNTS, queued: stored.size },
      }),
    ),
    epoch: async () => 'e1',
    witnessRows: note('witnessRows', () => undefined),
    bodies: note('bodies', (_owner: string, ids: readonly string[]) =>
      ids.map((id) => ({ id, body: { of: id } })),
    ),
    journal: note('journal', () => ({ epoch: 'e1', entries: [], truncated: false, last: 0 })),
    settled: note('settled', (_owner: string, id: string) =>
      stored.has(id) ? { type: 'waiting' as const, id } : { type: 'not_found' as const, id },
    ),
    explain: note('explain', () => undefined),
    waiting: note('waiting', () => NO_COUNTS),
    conflicts: note('conflicts', () => []),
    exportOwner: note('exportOwner', (owner: string) => ({
      format: 1 as const,
      owner,
      exportedAt: 0,
      rows: [],
      unreadable: [],
    })),
    awaitsSnapshot: note('awaitsSnapshot', () => false),
    offerSnapshot: note('offerSnapshot', () => ({ restored: 0 })),
    readSnapshot: note('readSnapshot', () => ({ epoch: 'e1', generation, rows: [] })),
    compareWitness: note('compareWitness', () => ({ mirrored: 0, buried: 0, unburied: 0, unreadable: 0 })),
    storage: () => ({ mirror: { setAside: false }, reserveGone: false }),
    progress: (owner) => ({ owner, running: false, done: 0, total: 0 }),
    onChange: subscribe(changes),
    onProgress: subscribe(progresses),
    onStorage: () => () => undefined,
    stop: async () => undefined,
    emitChange(change) {
      const full: OwnerChange = {
        owner: 'ann',
        epoch: 'e1',
        generation: ++generation,
        reason: 'enqueue',
        written: [],
        removed: [],
        entries: [],
        passing: [],
        counts: NO_COUNTS,
        ...change,
      };
      for (const listener of changes) listener(full);
    },
    emitProgress(progress) {
      for (const listener of progresses)
        listener({ owner: 'ann', running: false, done: 0, total: 0, ...progress });
    },
    ...overrides,
  };
  return engine;
}
