/**
 * The host's side of both witnesses in one place: mirrors what is committed (S20-S23), restores what was lost
 * (S31-S39), and compares on request (S30). Without a ledger none of it is there, and nothing else changes.
 */
import type { ComparisonResult } from '../../shared/answers.ts';
import { OutboxUnavailableError } from '../../shared/errors.ts';
import type { Row } from '../../shared/row.ts';
import {
  SNAPSHOT_BODY_BYTES,
  SNAPSHOT_CHARACTERS,
  type SnapshotOffer,
  type SnapshotPage,
  type SnapshotRow,
} from '../../shared/snapshot.ts';
import type { Clock, Timers } from '../environment.ts';
import { FACTS, type RowStore } from '../outbox/row-store.ts';
import { compareWitness } from './comparison.ts';
import type { Ledger } from './ledger.ts';
import { type LedgerRows, readLedgerRows } from './ledger-rows.ts';
import type { Mirror, MirrorStatus } from './mirrored-store.ts';
import { createRecovery } from './recovery.ts';

export interface Witness {
  /**
   * Resolves when the ledger's part of a recovery is over, or when it has taken longer than `patience` allows: a
   * person who saves waits briefly, whatever sends waits until the ledger has answered or failed (S22, S31).
   * Rejects where the outbox itself cannot be read.
   */
  ready(patience: 'brief' | 'full'): Promise<void>;
  awaitsSnapshot(owner: string): Promise<boolean>;
  offerSnapshot(owner: string, offer: SnapshotOffer): Promise<{ readonly restored: number }>;
  /** Takes up what an earlier host left, beside the work. Answers `false` where the ledger is not to be touched yet. */
  start(): Promise<boolean>;
  /** While something is still to be brought back, the ledger is not brought in line with what is there (S30). */
  isRestored(): boolean;
  /** @throws OutboxUnavailableError while what was lost has not been brought back: it would be buried. */
  compare(): Promise<ComparisonResult>;
  /** An owner's rows while the outbox cannot be read (S15); `undefined` where the ledger cannot be read either. */
  rows(
    owner: string,
    page: { readonly after?: number | undefined; readonly limit: number },
  ): Promise<LedgerRows | undefined>;
  /** Forgets an owner's rows, tombstones excepted (W32). */
  forgetOwner(owner: string): Promise<void>;
  status(): MirrorStatus;
}

export interface WitnessDeps {
  /** Mirrored and watched, so that pages hear of what comes back. */
  readonly store: RowStore;
  readonly mirror: Mirror;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface WitnessOptions {
  readonly release: string;
  /** Larger bodies are not mirrored (S23), in bytes. */
  readonly maxBodyBytes: number;
}

const BRIEF_MS = 500;
const FULL_MS = 8_000;
/** Someone waits to see what there is, and has waited for the outbox before. */
const ROWS_MS = 4_000;
const TRIES = 3;
/** How long a ledger that did not answer is left alone. */
const AGAIN_MS = 30_000;
const COMPARE: readonly [string] = ['compare'];

export function createWitness(deps: WitnessDeps, options: WitnessOptions): Witness {
  const { store, mirror, ledger, clock, timers } = deps;
  const recovery = createRecovery({ store, ledger, clock });
  /** Whether all has been brought back; asked for once per database, and again a while after a ledger failed. */
  let asked: Promise<boolean> | undefined;
  let askAgainAt = Number.POSITIVE_INFINITY;
  let isRestored = false;
  store.onFresh?.(() => {
    asked = undefined;
    isRestored = false;
  });

  const passed = (ms: number) => new Promise<void>((resolve) => timers.after(ms, resolve));

  /** A ledger that does not answer is tried a few times; then the work goes on, and the next host asks again. */
  async function restore(): Promise<boolean> {
    if (!(await recovery.isPending())) return true;
    for (let tried = 0; tried < TRIES; tried++) {
      const restored = await Promise.race([
        recovery.restoreFromLedger().then(
          (result) => result,
          () => undefined,
        ),
        passed(FULL_MS),
      ]);
      if (restored === undefined) continue;
      if (restored.restored > 0) await store.writeFacts([{ name: COMPARE, value: true }], 'relaxed');
      return true;
    }
    return false;
  }

  function restored(): Promise<boolean> {
    const waitMs = askAgainAt - clock.now();
    // C4: further ahead than it was set comes from a clock that was set back since.
    if (waitMs <= 0 || (waitMs > AGAIN_MS && waitMs < Number.POSITIVE_INFINITY)) asked = undefined;
    if (asked !== undefined) return asked;
    const mine = restore();
    asked = mine;
    askAgainAt = Number.POSITIVE_INFINITY;
    const note = (isDone: boolean, againAt: number): void => {
      if (asked !== mine) return;
      isRestored = isDone;
      if (!isDone) askAgainAt = againAt;
    };
    mine.then(
      (isDone) => note(isDone, clock.now() + AGAIN_MS),
      // It is the outbox that cannot be read: nothing was learnt about the ledger.
      () => note(false, 0),
    );
    return mine;
  }

  const compare = async () => {
    if (!(await restored()))
      throw new OutboxUnavailableError('The ledger could not be read, so there is nothing to compare with');
    return await compareWitness({ store, ledger, clock }, options);
  };

  return {
    async ready(patience) {
      if (isRestored) return;
      const whole = restored();
      await (patience === 'full' ? whole : Promise.race([whole, passed(BRIEF_MS)]));
    },
    awaitsSnapshot: recovery.awaitsSnapshot,
    async offerSnapshot(owner, offer) {
      await restored();
      return recovery.offerSnapshot(owner, offer);
    },
    async start() {
      if (!(await restored())) return false;
      await mirror.start();
      if ((await store.readFact(COMPARE)) !== undefined || (await hasLostManifest(store, ledger))) {
        await compare();
        await store.writeFacts([{ name: COMPARE, value: undefined }], 'relaxed');
      }
      return true;
    },
    isRestored: () => isRestored,
    compare,
    rows: (owner, page) =>
      Promise.race([
        readLedgerRows(ledger, owner, page).catch(() => undefined),
        passed(ROWS_MS).then(() => undefined),
      ]),
    // Someone signs out: a ledger that hangs is not waited for, and is brought in line later (S22).
    forgetOwner: (owner) => Promise.race([ledger.forgetOwner(owner), passed(ROWS_MS)]),
    status: mirror.status,
  };
}

/** For a host without a ledger: a lost database is lost, and nothing waits for what cannot come. */
export const NO_WITNESS: Witness = {
  ready: async () => undefined,
  awaitsSnapshot: async () => false,
  offerSnapshot: async () => ({ restored: 0 }),
  start: async () => true,
  isRestored: () => true,
  compare: async () => ({ mirrored: 0, buried: 0, unburied: 0, unreadable: 0 }),
  rows: async () => undefined,
  forgetOwner: async () => undefined,
  status: () => ({ setAside: false }),
};

/** S30: an owner has a past here, nothing of it is noted for the mirror, and yet the ledger knows nothing of it. */
async function hasLostManifest(store: RowStore, ledger: Ledger): Promise<boolean> {
  for (const owner of await store.owners()) {
    const [{ generation }, manifest, noted] = await Promise.all([
      store.ownerFacts(owner),
      ledger.findManifest(owner),
      store.readFacts([FACTS.unmirrored('', 0)[0], owner], 1),
    ]);
    if (generation > 0 && manifest === undefined && noted.length === 0) return true;
  }
  return false;
}

const PAGE = 200;
/** What a row's JSON takes beside its body, about. */
const ROW_CHARACTERS = 1_000;

/** Rows with their bodies for a page's snapshot: those of `ids` that still stand, or as many as it has room for (S20). */
export async function readSnapshotPage(
  store: RowStore,
  owner: string,
  ids: readonly string[] | undefined,
): Promise<SnapshotPage> {
  // The number first: a row that changes in between is newer than the snapshot says, never older.
  const [{ generation }, epoch] = await Promise.all([store.ownerFacts(owner), store.epoch()]);
  const rows: SnapshotRow[] = [];
  const take = async (page: readonly Row[]) => {
    const small = page.filter(({ bodySize = 0 }) => bodySize <= SNAPSHOT_BODY_BYTES);
    const bodyIds = small.flatMap(({ bodyId }) => bodyId ?? []);
    const reads = bodyIds.length > 0 ? await store.readBodies(bodyIds) : [];
    const bodies = new Map(bodyIds.map((bodyId, i) => [bodyId, reads[i]]));
    // A row may go between the two readings, and its body with it: it would come back without its content.
    const bare = page.filter(({ bodyId = '' }) => bodies.get(bodyId)?.type === 'missing');
    const standing = bare.length > 0 ? await store.findRows(bare.map(({ id }) => id)) : [];
    const gone = new Set(bare.filter((_, i) => standing[i] === undefined));
    for (const row of page) {
      if (gone.has(row)) continue;
      const read = row.bodyId === undefined ? undefined : bodies.get(row.bodyId);
      rows.push({ row: { ...row }, ...(read?.type === 'body' ? { body: read.body } : {}) });
    }
  };
  if (ids !== undefined) {
    for (let i = 0; i < ids.length; i += PAGE) {
      const found = await store.findRows(ids.slice(i, i + PAGE));
      await take(found.flatMap((row) => (row?.owner === owner ? row : [])));
    }
    return { epoch, generation, rows };
  }
  let room = SNAPSHOT_CHARACTERS;
  for (let after: number | undefined; ; ) {
    const page = await store.index(owner, { after, limit: PAGE });
    const fitting = page.filter(({ bodySize = 0 }) => {
      room -= ROW_CHARACTERS + (bodySize <= SNAPSHOT_BODY_BYTES ? bodySize : 0);
      return room >= 0;
    });
    await take(fitting);
    after = fitting.at(-1)?.seq ?? after;
    if (fitting.length < page.length) return { epoch, generation, rows, until: after ?? 0 };
    if (page.length < PAGE) return { epoch, generation, rows };
  }
}
