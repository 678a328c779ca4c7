/** An outbox over the in-memory store with a clock that stands still; owner `ann` is signed in. */
import type { CommandInput } from '../../shared/command.ts';
import { document, type Families, record } from '../../shared/family.ts';
import type { Receipt } from '../../shared/receipt.ts';
import type { Row } from '../../shared/row.ts';
import { type CommitQueue, createCommitQueue } from '../../sw/outbox/commit-queue.ts';
import type { EnqueueDeps } from '../../sw/outbox/enqueue.ts';
import { createOutbox } from '../../sw/outbox/outbox.ts';
import type { Outbox } from '../../sw/outbox/outbox-calls.ts';
import type { PrepareSuccessorPort } from '../../sw/outbox/prepare-intent.ts';
import { FACTS, type RowDraft } from '../../sw/outbox/row-store.ts';
import { createMemoryRowStore, type MemoryRowStore } from '../../sw/storage/memory-row-store.ts';
import { createManualClock, type ManualClock } from '../../sw/testing/manual-clock.ts';
import { sha256Hex } from './sha256-hex.ts';

export const LEASE_MS = 10_000;

export interface OutboxFixture {
  readonly outbox: Outbox;
  readonly deps: EnqueueDeps;
  readonly store: MemoryRowStore;
  readonly clock: ManualClock;
  readonly queue: CommitQueue;
  /** A second host over the same store. */
  readonly other: Outbox;
  enqueue(input: Partial<CommandInput>): ReturnType<Outbox['enqueue']>;
  /** All of an owner's rows, by seq. */
  rows(owner?: string): Promise<readonly Row[]>;
  row(id: string): Promise<Row>;
  body(row: Row | undefined): Promise<unknown>;
  /** Changes a stored row as a host would: raises its version. */
  change(id: string, changes: Partial<RowDraft>): Promise<Row>;
  /** Everything stored, for "byte for byte the same". */
  everything(owner?: string): Promise<unknown>;
  /** The server accepts a row: it goes, its receipt is journalled. */
  accept(id: string, receipt?: Partial<Receipt>): Promise<void>;
}

export interface FixtureOptions {
  readonly families?: Families | undefined;
  readonly prepareSuccessor?: PrepareSuccessorPort | undefined;
}

export const FAMILIES: Families = {
  // Whole bodies: the last one wins.
  workout: record(),
  // Patches.
  note: record({
    merge: (earlier, later) => Object.assign({}, earlier, later),
  }),
  plan: document(),
};

export const PREPARE: PrepareSuccessorPort = ({ receipt }) => ({
  target: receipt.target,
  expectedRevision: receipt.revision,
});

export async function outboxFixture({
  families = FAMILIES,
  prepareSuccessor = PREPARE,
}: FixtureOptions = {}): Promise<OutboxFixture> {
  const clock = createManualClock();
  let made = 0;
  const store = createMemoryRowStore({ clock, ids: { uuid: () => `epoch-${made++}` } });
  const queue = createCommitQueue(store);
  const deps: EnqueueDeps = {
    store,
    queue,
    clock,
    timers: clock,
    digest: { sha256: sha256Hex },
    families,
    leaseMs: () => LEASE_MS,
    appLimitMs: 8_000,
    prepareSuccessor: () => prepareSuccessor,
  };
  const outbox = createOutbox(deps);
  await store.writeFacts([{ name: FACTS.activeOwner, value: 'ann' }], 'strict');

  const rows = (owner = 'ann') => store.index(owner, { limit: 1_000 });
  const row = async (id: string): Promise<Row> => {
    const [found] = await store.findRows([id]);
    if (!found) throw new Error(`no row ${id}`);
    return found;
  };
  return {
    outbox,
    deps,
    other: createOutbox(deps),
    store,
    clock,
    queue,
    enqueue: (input) =>
      outbox.enqueue({
        id: 'u1',
        owner: 'ann',
        family: 'workout',
        kind: 'update',
        ...(input.kind === 'create' ? {} : { target: { type: 'id', id: 'w1' } }),
        ...(input.kind === 'delete' || input.kind === 'remove' ? {} : { body: { v: input.id ?? 'u1' } }),
        ...input,
      }),
    rows,
    row,
    async body(of) {
      const [read] = await store.readBodies([of?.bodyId ?? '']);
      return read?.type === 'body' ? read.body : read?.type;
    },
    async change(id, changes) {
      const stored = await row(id);
      const { owner, family, target } = stored;
      const key = { owner, family, target };
      const [expected = []] = await store.readKeys([key]);
      const [result] = await store.commit([
        {
          owner,
          reason: 'claim',
          keys: [key],
          expected,
          write: [{ ...stored, ...changes }],
          remove: [],
          outcomes: [],
          durability: 'relaxed',
        },
      ]);
      if (result?.type !== 'committed' || !result.rows[0]) throw new Error(`cannot change ${id}`);
      return result.rows[0];
    },
    async everything(owner = 'ann') {
      const all = await rows(owner);
      const epoch = await store.epoch();
      return {
        rows: all,
        bodies: await store.readBodies(all.map(({ bodyId }) => bodyId ?? '')),
        journal: await store.readJournal(owner, { epoch, n: 0 }, 10_000),
        facts: await store.ownerFacts(owner),
        notes: await store.readFacts(['unmirrored'], 10_000),
      };
    },
    async accept(id, receipt = {}) {
      const accepted = await row(id);
      const { owner, family, target, requestHash, kind, origin, seq } = accepted;
      const key = { owner, family, target };
      const [expected = []] = await store.readKeys([key]);
      const full: Receipt = {
        id,
        requestHash,
        kind: `${family}.${kind}`,
        target: target.type === 'id' ? target.id : 'server-1',
        revision: 1,
        generation: 1,
        committedAt: clock.now(),
        ...receipt,
      };
      const [result] = await store.commit([
        {
          owner,
          reason: 'acknowledge',
          keys: [key],
          expected,
          write: [],
          remove: [id],
          outcomes: [
            {
              outcome: {
                type: 'committed',
                receipt: full,
                row: { id, origin, seq, owner, family, kind, target },
              },
              requestHash,
            },
          ],
          durability: 'relaxed',
        },
      ]);
      if (result?.type !== 'committed') throw new Error(`cannot accept ${id}`);
    },
  };
}

const ended = (now: number) => ({
  sentAt: undefined,
  claim: { host: 'h', expiresAt: now, fence: 1 },
  evidence: { attemptCount: 1, attempts: [{ at: now, host: 'h', fence: 1, end: 'deferred' }] },
});

/** The conditions that the replace table tells apart, as a host would have left them (A58). */
export const CONDITIONS = {
  unsent: () => ({}),
  'in flight': (now: number) => ({
    state: 'sending',
    doubt: true,
    sentAt: now,
    claim: { host: 'h', expiresAt: now + LEASE_MS, fence: 1 },
    writer: { release: 'r', at: now },
  }),
  'in flight without a claim': (now: number) => ({ state: 'sending', doubt: undefined, sentAt: now - 1 }),
  'lease expired': (now: number) => ({
    state: 'sending',
    doubt: true,
    sentAt: now - LEASE_MS,
    claim: { host: 'h', expiresAt: now, fence: 1 },
    writer: { release: 'r', at: now - LEASE_MS },
  }),
  'deferred in doubt': (now: number) => ({
    doubt: true,
    deferredAt: now,
    ...ended(now),
  }),
  'deferred without doubt': (now: number) => ({
    doubt: false,
    deferredAt: now,
    notBefore: { at: now + 5_000, by: 'server' },
    ...ended(now),
  }),
  'held in doubt': (now: number) => ({ state: 'held', doubt: true, heldAt: now, ...ended(now) }),
  'held without doubt': (now: number) => ({ state: 'held', doubt: false, heldAt: now, ...ended(now) }),
  'blocked refused': (now: number) => ({
    state: 'blocked',
    doubt: false,
    blockedAt: now,
    blockedCode: 'rejected',
    ...ended(now),
  }),
  'blocked doubtful': (now: number) => ({
    state: 'blocked',
    doubt: true,
    blockedAt: now,
    blockedCode: 'receipt_missing',
    ...ended(now),
  }),
} as const satisfies Record<string, (now: number) => Partial<Row>>;

export type Condition = keyof typeof CONDITIONS;
