/**
 * The engine's composition root: puts store, outbox, acknowledger and dispatcher together behind `Engine`. It names
 * the parts and decides nothing about rows. The store is given, so that a test can give one in memory.
 */
import type { Row } from '../shared/row.ts';
import { createAccounts } from './accounts.ts';
import { NO_ENCRYPTION } from './body-encryption.ts';
import { createChangeStream } from './change-stream.ts';
import { readConflicts } from './dispatch/conflict-summaries.ts';
import { createDispatcher, type Dispatcher } from './dispatch/dispatcher.ts';
import { tellAll } from './dispatch/tell-all.ts';
import type { Engine } from './engine.ts';
import { type EngineOptions, readOptions } from './engine-options.ts';
import type { Connection, Digest, Environment } from './environment.ts';
import { createExplain } from './explain.ts';
import type { Ledger } from './mirror/ledger.ts';
import { createMirror } from './mirror/mirrored-store.ts';
import { createWitness, NO_WITNESS, readSnapshotPage, type Witness } from './mirror/witness.ts';
import { createAcknowledger } from './outbox/acknowledger.ts';
import { createCommitQueue } from './outbox/commit-queue.ts';
import { exportOwner } from './outbox/export-owner.ts';
import { settledOf } from './outbox/follow-id.ts';
import { holdsLock, takeHostId } from './outbox/host-id.ts';
import { mayMove } from './outbox/may-move.ts';
import { createOutbox } from './outbox/outbox.ts';
import { FACTS, type RowStore } from './outbox/row-store.ts';
import type { ReservedStore } from './storage/reserved-store.ts';

export interface EngineDeps extends Environment {
  readonly store: RowStore;
  /** The host's own witness (S20); without one a lost database is lost. */
  readonly ledger?: Ledger | undefined;
  /** Room kept to drain with (S17), where the store has one. */
  readonly reserve?: Pick<ReservedStore, 'restoreReserve' | 'isReserveGone'> | undefined;
  /** Default: always taken for online. */
  readonly connection?: Connection | undefined;
}

/** How long an answer waits for a store that fails before the next flush takes it up again (D46), in ms. */
const PATIENCE_MS = 15_000;
const ALWAYS_ONLINE: Connection = { online: () => true };

/** @throws InvalidOptionError */
export function createEngine(deps: EngineDeps, options: EngineOptions): Engine {
  const settings = readOptions(options);
  const { clock, timers, ids, locks, connection = ALWAYS_ONLINE } = deps;
  const { families } = settings.definition;
  const { leaseMs, appLimitMs, longestLeaseMs } = settings;

  let host = ids.uuid();
  const hostId = takeHostId({ ids: { uuid: () => host }, locks }).then((id) => {
    host = id;
    return id;
  });

  const { ledger, reserve } = deps;
  const storageListeners = new Set<() => void>();
  const isReserveGone = (): boolean => reserve?.isReserveGone() ?? false;
  /** Beside the work. */
  const restoreReserve = async (): Promise<void> => {
    const wasGone = isReserveGone();
    await reserve?.restoreReserve();
    if (wasGone && !isReserveGone()) tellAll(storageListeners, undefined);
  };
  const mirrorOptions = { release: settings.release, maxBodyBytes: settings.maxMirroredBytes };
  const mirror =
    ledger &&
    createMirror(
      { store: deps.store, ledger, clock, timers },
      {
        ...mirrorOptions,
        isPaused: () => !witness.isRestored() || isReserveGone(),
        onStatus: () => tellAll(storageListeners, undefined),
      },
    );
  const changes = createChangeStream(
    mirror?.store ?? deps.store,
    (owner, counts) => dispatcher.noteCounts(owner, counts),
    (commit, written) => dispatcher.noteCommit(commit, written),
  );
  const { store: stored, readCounts } = changes;
  const { store, ofBody, forgetKeys } = (options.encryption ?? NO_ENCRYPTION)({
    store: stored,
    ledger,
    ids,
    timers,
  });
  const digest: Digest = { ...deps.digest, ofBody };
  // Both witnesses hold bodies as they are stored (W63).
  const witness: Witness =
    ledger && mirror
      ? createWitness({ store: stored, mirror, ledger, clock, timers }, mirrorOptions)
      : NO_WITNESS;
  const shared = {
    store,
    queue: createCommitQueue(store),
    clock,
    timers,
    digest,
    families,
    leaseMs,
    appLimitMs,
    prepareSuccessor: (family: string) => settings.portsOf(family).prepareSuccessor,
  };
  const outbox = createOutbox({ ...shared, ready: () => witness.ready('brief') });
  const acknowledger = createAcknowledger({
    ...shared,
    host: () => host,
    patienceMs: PATIENCE_MS,
    onWaiting: (row, waits) => dispatcher.noteWaiting(row, waits),
  });
  const dispatcher: Dispatcher = createDispatcher({
    host: hostId,
    store,
    acknowledger,
    clock,
    timers,
    ids,
    locks,
    digest,
    connection,
    settings,
    readCounts,
    onUnseen: (owner) => void changes.tellUnseen(owner),
  });
  let hasTakenUp = false;
  /** Beside the work, once: what an earlier host left to discard or to the mirror, and the room to drain with. */
  const takeUp = (): void => {
    if (hasTakenUp) return;
    hasTakenUp = true;
    void restoreReserve()
      .then(() => accounts.finishDiscards().catch(() => undefined))
      .then(witness.start)
      .then((isDone) => {
        hasTakenUp &&= isDone;
      })
      .catch(() => undefined);
  };
  store.onFresh?.(() => {
    hasTakenUp = false;
  });
  const flush: Engine['flush'] = async (owner, cause, { until } = {}) => {
    await witness.ready('full');
    takeUp();
    const result = await dispatcher.flush(owner, { cause, until });
    const { remaining, isUncounted } = result;
    if (!isUncounted && remaining.queued + remaining.sending === 0) void restoreReserve();
    return result;
  };
  const accounts = createAccounts({
    host: () => host,
    store,
    clock,
    timers,
    locks,
    leaseMs,
    longestLeaseMs,
    readCounts,
    flush: (owner) => flush(owner, 'flush'),
    quiet: dispatcher.quiet,
    async forget(owner) {
      await forgetKeys?.(owner);
      await witness.forgetOwner(owner);
    },
  });
  const explain = createExplain({ host: () => host, store, clock, locks, settings });

  return {
    get host() {
      return host;
    },
    locked: hostId.then(holdsLock),
    async enqueue(command, callOptions) {
      const enqueued = await outbox.enqueue(command, callOptions);
      if (enqueued.row?.urgent) dispatcher.noteUrgent(enqueued.row.owner);
      return enqueued;
    },
    cancel: outbox.cancel,
    discard: outbox.discard,
    retry: outbox.retry,
    recover: outbox.recover,
    flush,
    async flushActive(cause, flushOptions) {
      // Also with nobody signed in, as after a loss: what comes back shows with the first page (S31).
      await witness.ready('full');
      const owner = await accounts.activeOwner();
      if (owner !== undefined) return flush(owner, cause, flushOptions);
      takeUp();
      return undefined;
    },
    ...accounts,
    async pause(owner) {
      await store.writeFacts([{ name: FACTS.paused(owner), value: { at: clock.now() } }], 'strict');
      dispatcher.pause(owner);
    },
    async resume(owner) {
      await store.writeFacts([{ name: FACTS.paused(owner), value: undefined }], 'strict');
    },
    async rows(owner, page) {
      await witness.ready('brief');
      // Facts first: a page that hears a change in between finds it again in the rows, and never the other way.
      const [{ generation }, counts, epoch] = await Promise.all([
        store.ownerFacts(owner),
        readCounts(owner),
        changes.readEpoch(),
      ]);
      return { rows: await store.index(owner, page), generation, epoch, counts };
    },
    witnessRows: witness.rows,
    epoch: store.epoch,
    async bodies(owner, rowIds) {
      const rows = (await store.findRows(rowIds)).filter((row) => row?.owner === owner);
      const wanted = rows.flatMap((row) =>
        row?.bodyId === undefined ? [] : { id: row.id, bodyId: row.bodyId },
      );
      const reads = await store.readBodies(wanted.map(({ bodyId }) => bodyId));
      return wanted.flatMap(({ id }, place) => {
        const read = reads[place];
        return read?.type === 'body' ? { id, body: read.body } : [];
      });
    },
    journal: store.readJournal,
    async settled(owner, id) {
      const word = await settledOf(store, owner, id);
      // D5: signed out is one fact about all that waits.
      const isHeld = word.type === 'waiting' && (await store.readFact(FACTS.heldOwner(owner))) !== undefined;
      return isHeld ? { ...word, type: 'held' } : word;
    },
    explain,
    async waiting(owner) {
      const counts = await readCounts(owner);
      if (counts.queued === 0) return counts;
      const isPaused = (await store.readFact(FACTS.paused(owner))) !== undefined;
      const canAsk = ({ family }: Row) => settings.portsOf(family).findReceipt !== undefined;
      return isPaused || !(await mayMove(store, owner, canAsk)) ? { ...counts, queued: 0 } : counts;
    },
    awaitsSnapshot: witness.awaitsSnapshot,
    offerSnapshot: witness.offerSnapshot,
    async readSnapshot(owner, rowIds) {
      const [page, isAwaited] = await Promise.all([
        readSnapshotPage(stored, owner, rowIds),
        witness.awaitsSnapshot(owner),
      ]);
      return isAwaited ? { ...page, isAwaited } : page;
    },
    compareWitness: witness.compare,
    storage: () => ({ mirror: witness.status(), reserveGone: isReserveGone() }),
    exportOwner: (owner) => exportOwner(store, owner, clock.now()),
    conflicts: (owner) => readConflicts(store, owner),
    progress: dispatcher.progress,
    onChange: changes.onChange,
    onStorage(listener) {
      storageListeners.add(listener);
      return () => {
        storageListeners.delete(listener);
      };
    },
    onProgress: dispatcher.onProgress,
    stop: dispatcher.stop,
  };
}
