/**
 * The row store with a witness beside it (S20-S23): the same port, so that nobody who commits knows of it. A
 * tombstone goes before every commit that removes a row the server accepted; everything else is mirrored after
 * the fact, in slices, beside the work. A ledger that fails or hangs is set aside and never delays the outbox
 * by more than one short wait.
 */
import { CommitUnknownError } from '../../shared/errors.ts';
import type { Clock, Timers } from '../environment.ts';
import { type BodyRead, type Commit, type CommitResult, FACTS, type RowStore } from '../outbox/row-store.ts';
import type { Ledger, LedgerBatch, Manifest, NamedTombstone } from './ledger.ts';
import { type MirrorView, planMirrorWrite, type UnmirroredNote } from './plan-mirror-write.ts';
import { planSlice, readRecord } from './plan-slice.ts';

export interface MirrorOptions {
  /** This bundle's release, for the manifest. */
  readonly release: string;
  /** Larger bodies are listed by hash and size only (S23). Default 1 MB. */
  readonly maxBodyBytes?: number | undefined;
  /** How long an acceptance waits for its tombstone, in ms (S20). Default 500. */
  readonly tombstoneLimitMs?: number | undefined;
  /** How long a mirror step may take before the ledger is set aside, in ms. Default 8,000. */
  readonly stepLimitMs?: number | undefined;
  /** How long the store must have been quiet before changes are mirrored, in ms. Default 250. */
  readonly stepDelayMs?: number | undefined;
  /** While it never is, a slice is mirrored this often, in ms. Default 2,000. */
  readonly busyDelayMs?: number | undefined;
  /** While this says so nothing is mirrored: the device is full and the outbox needs its last room (S17). */
  readonly isPaused?: (() => boolean) | undefined;
  /** It was set aside, or answers again. */
  readonly onStatus?: (() => void) | undefined;
  /** Ids per step. Default 200. */
  readonly slice?: number | undefined;
}

export interface MirrorStatus {
  /** The ledger failed or hung, and has not answered since. */
  readonly setAside: boolean;
  readonly lastError?: string | undefined;
  readonly lastStepAt?: number | undefined;
}

export interface Mirror {
  /** The store to use in place of the one given. */
  readonly store: RowStore;
  /** Takes up what an earlier host left: pending tombstones, then notes. Run beside the work, after recovery (S30). */
  start(): Promise<void>;
  /** Mirrors everything noted so far; for tests, for the end of a flush, and before a host ends. */
  settle(): Promise<void>;
  status(): MirrorStatus;
}

export interface MirrorDeps {
  readonly store: RowStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly timers: Timers;
}

const PROBE_EVERY_MS = 30_000;
const PENDING_AT_START = 1_000;
const MANIFEST_IDS = 1_000;
/** Of a row that is sent soon after it was stored, the acceptance is among them, and spares mirroring it before. */
const RECORDS_AHEAD = 64;
const BODY_CACHE_BYTES = 4_000_000;
const DAY_MS = 86_400_000;
const TOMBSTONE_DAYS = 30;
const TOMBSTONES_KEPT = 20_000;

type Turn = (isMarked: boolean) => Promise<unknown>;

class LedgerLate extends Error {}

export function createMirror(deps: MirrorDeps, options: MirrorOptions): Mirror {
  const { store, ledger, clock, timers } = deps;
  const slice = options.slice ?? 200;
  const maxBodyBytes = options.maxBodyBytes ?? 1_000_000;
  const tombstoneLimitMs = options.tombstoneLimitMs ?? 500;
  const stepLimitMs = options.stepLimitMs ?? 8_000;
  const stepDelayMs = options.stepDelayMs ?? 250;
  const busyDelayMs = options.busyDelayMs ?? 2_000;
  /** Bodies of recent enqueues, so that mirroring them needs no reading; bounded, and only a convenience. */
  const recentBodies = new Map<string, { readonly body: unknown; readonly bytes: number }>();
  let cachedBytes = 0;
  let status: MirrorStatus = { setAside: false };
  let probedAt = 0;
  let scheduled: (() => void) | undefined;
  let changedAt = 0;
  /** Someone waits for all of it. */
  let isSettling = false;
  let running: Promise<void> | undefined;

  function become(next: MirrorStatus): void {
    const isNews = next.setAside !== status.setAside;
    status = next;
    if (isNews) options.onStatus?.();
  }

  /** Runs a ledger operation under a limit; `undefined` if the ledger failed, which sets it aside (S22). */
  async function guarded<T>(
    limitMs: number,
    operation: () => Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    let cancel = () => {};
    const late = new Promise<never>((_, reject) => {
      cancel = timers.after(limitMs, () =>
        reject(new LedgerLate(`The ledger did not answer in ${limitMs} ms`)),
      );
    });
    try {
      const value = await Promise.race([operation(), late]);
      if (status.setAside) become({ setAside: false, lastStepAt: status.lastStepAt });
      return { value };
    } catch (error) {
      probedAt = clock.now();
      become({ ...status, setAside: true, lastError: error instanceof Error ? error.name : 'unknown' });
      return undefined;
    } finally {
      cancel();
    }
  }

  let next: { readonly marks: NamedTombstone[]; readonly turns: Turn[] } | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /**
   * Runs `turn` once the ledger has the tombstones, or has been set aside. Acceptances that come while others are
   * under way go together when those are done: one transaction there, and one here.
   */
  function afterMarking<T>(
    tombstones: readonly NamedTombstone[],
    turn: (isMarked: boolean) => Promise<T>,
  ): Promise<T> {
    if (next === undefined) {
      const marks: NamedTombstone[] = [];
      const turns: Turn[] = [];
      next = { marks, turns };
      last = last.then(async () => {
        next = undefined;
        const written =
          !status.setAside && (await guarded(tombstoneLimitMs, () => ledger.markPending(marks)));
        await Promise.allSettled(turns.map((run) => run(Boolean(written))));
      });
    }
    const { marks, turns } = next;
    marks.push(...tombstones);
    return new Promise((resolve, reject) => {
      turns.push(async (isMarked) => turn(isMarked).then(resolve, reject));
    });
  }

  /** A row that is claimed and gone before its turn comes costs a tombstone and nothing else. */
  function isBusy(): boolean {
    const quietMs = clock.now() - changedAt;
    return quietMs >= 0 && quietMs < stepDelayMs;
  }

  function schedule(busyMs = busyDelayMs): void {
    if (scheduled !== undefined) return;
    const delayMs = status.setAside ? PROBE_EVERY_MS : Math.min(stepDelayMs, busyMs);
    scheduled = timers.after(delayMs, () => {
      scheduled = undefined;
      if (!status.setAside && busyMs > delayMs && isBusy()) schedule(busyMs - delayMs);
      else void drainNotes();
    });
  }

  function remember(commits: readonly Commit[], results: readonly CommitResult[]): void {
    commits.forEach((commit, i) => {
      if (results[i]?.type !== 'committed') return;
      for (const { bodyId, body } of commit.bodies ?? []) {
        const bytes = commit.write.find((row) => row.bodyId === bodyId)?.bodySize ?? 0;
        if (bytes > maxBodyBytes || cachedBytes + bytes > BODY_CACHE_BYTES) continue;
        recentBodies.set(bodyId, { body, bytes });
        cachedBytes += bytes;
      }
    });
  }

  function forgetBody(bodyId: string): void {
    cachedBytes -= recentBodies.get(bodyId)?.bytes ?? 0;
    recentBodies.delete(bodyId);
  }

  async function commit(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    const marks = commits.map((one) => acceptanceMarks(one, clock.now()));
    const all = marks.flat();
    const results = await (all.length === 0
      ? store.commit(commits)
      : // S20: before the removing commit, so that a row the server accepted cannot come back if we die here.
        afterMarking(all, (isMarked) => commitMarked(commits, marks, isMarked)));
    remember(commits, results);
    changedAt = clock.now();
    schedule();
    return results;
  }

  async function commitMarked(
    commits: readonly Commit[],
    marks: readonly (readonly NamedTombstone[])[],
    isMarked: boolean,
  ): Promise<readonly CommitResult[]> {
    const takeBack = (named: readonly NamedTombstone[]) => {
      if (isMarked && named.length > 0) {
        void guarded(stepLimitMs, () => ledger.write({ removePending: named.map(({ id }) => id) }));
      }
    };
    try {
      const results = await store.commit(commits);
      takeBack(marks.flatMap((named, i) => (results[i]?.type === 'committed' ? [] : named)));
      return results;
    } catch (error) {
      // An unknown end may yet turn out to have landed: the next start judges it against the rows.
      if (!(error instanceof CommitUnknownError)) takeBack(marks.flat());
      throw error;
    }
  }

  async function view(notes: readonly UnmirroredNote[]): Promise<readonly MirrorView[] | undefined> {
    const rows = await store.findRows(notes.map(({ id }) => id));
    // Of a row that is gone nothing is asked: what the ledger has of it goes as well.
    const living = notes.flatMap((note, i) => (rows[i] ? { note, row: rows[i] } : []));
    const found =
      living.length === 0
        ? { value: [] }
        : await guarded(stepLimitMs, () => ledger.findFingerprints(living.map(({ note }) => note)));
    if (found === undefined) return undefined;
    const seen = new Map(living.map(({ row }, i) => [row, found.value[i]]));
    const needed = living.flatMap(({ row }) => {
      const { bodyId, bodySize = 0 } = row;
      const isNeeded = bodyId !== undefined && seen.get(row) === undefined && bodySize <= maxBodyBytes;
      return isNeeded ? bodyId : [];
    });
    const unread = needed.filter((bodyId) => !recentBodies.has(bodyId));
    const read = unread.length > 0 ? await store.readBodies(unread) : [];
    const bodies = new Map<string | undefined, BodyRead | undefined>([
      ...needed.map((bodyId) => [bodyId, recentBody(bodyId)] as const),
      ...unread.map((bodyId, i) => [bodyId, read[i]] as const),
    ]);
    return notes.map((note, i) => {
      const row = rows[i];
      return { note, row, fingerprint: row && seen.get(row), body: bodies.get(row?.bodyId) };
    });
  }

  function recentBody(bodyId: string): BodyRead | undefined {
    const recent = recentBodies.get(bodyId);
    return recent && { type: 'body', body: recent.body };
  }

  /** One slice; answers whether more is left. */
  async function step(): Promise<boolean> {
    const limit = slice + RECORDS_AHEAD;
    const records = (await store.readFacts([UNMIRRORED], limit)).map(readRecord);
    const { taken, now, later } = planSlice(records, slice);
    if (taken.length === 0) return false;
    const views = await view(now);
    if (views === undefined) return false;
    const batch = planMirrorWrite(views, { now: clock.now(), maxBodyBytes });
    const manifests = manifestsOf(
      taken.flatMap(({ notes }) => notes),
      later,
    );
    const written = await guarded(stepLimitMs, () =>
      ledger.write({ ...batch, manifests } satisfies LedgerBatch),
    );
    if (written === undefined) return false;
    for (const { row } of views) if (row?.bodyId !== undefined) forgetBody(row.bodyId);
    // A later change of the same rows is noted in a record of its own.
    await store.writeFacts(
      taken.map(({ name }) => ({ name, value: undefined })),
      'relaxed',
    );
    become({ setAside: false, lastStepAt: clock.now() });
    return records.length > taken.length || records.length === limit;
  }

  function manifestsOf(
    now: readonly UnmirroredNote[],
    later: readonly UnmirroredNote[],
  ): readonly Manifest[] {
    return [...new Set(now.map(({ owner }) => owner))].map((owner) => ({
      owner,
      generation: Math.max(...now.filter((note) => note.owner === owner).map(({ g }) => g)),
      at: clock.now(),
      writer: options.release,
      unmirrored: later.flatMap((note) => (note.owner === owner ? note.id : [])).slice(0, MANIFEST_IDS),
    }));
  }

  function drainNotes(): Promise<void> {
    running ??= takeNotes().finally(() => {
      running = undefined;
      if (status.setAside) schedule();
    });
    return running;
  }

  async function takeNotes(): Promise<void> {
    if (options.isPaused?.() || (status.setAside && clock.now() - probedAt < PROBE_EVERY_MS)) return;
    try {
      // A slice at a time, so that the work goes first.
      while (await step()) if (!isSettling && isBusy()) return schedule();
      if (!isBusy()) {
        recentBodies.clear();
        cachedBytes = 0;
      }
      await trimDaily();
    } catch {
      // The outbox's own store failed; what is noted stays noted, and the next change tries again (S22).
    }
  }

  async function trimDaily(): Promise<void> {
    const trimmed = await store.readFact(TRIMMED);
    const now = clock.now();
    if (typeof trimmed === 'number' && trimmed <= now && now - trimmed < DAY_MS) return;
    const done = await guarded(stepLimitMs, () =>
      ledger.trimTombstones(now - TOMBSTONE_DAYS * DAY_MS, TOMBSTONES_KEPT),
    );
    if (done !== undefined) await store.writeFacts([{ name: TRIMMED, value: now }], 'relaxed');
  }

  async function resolvePending(): Promise<void> {
    const pending = await guarded(stepLimitMs, () => ledger.pendingTombstones(PENDING_AT_START));
    if (pending === undefined || pending.value.length === 0) return;
    const rows = await store.findRows(pending.value.map(({ id }) => id));
    const standing = pending.value.filter((_, i) => rows[i] !== undefined).map(({ id }) => id);
    const landed = pending.value.filter((_, i) => rows[i] === undefined);
    await guarded(stepLimitMs, () => ledger.write({ removePending: standing, tombstones: landed }));
  }

  return {
    store: { ...store, commit },
    async start() {
      await resolvePending();
      await drainNotes();
    },
    async settle() {
      scheduled?.();
      scheduled = undefined;
      isSettling = true;
      await running;
      await drainNotes();
      isSettling = false;
    },
    status: () => status,
  };
}

const UNMIRRORED = FACTS.unmirrored('', 0)[0];
const TRIMMED = ['mirror_trimmed'] as const;

/** The ids whose removal means that the server accepted them, and the ids they took over (S20). */
export function acceptanceMarks(commit: Commit, now: number): readonly NamedTombstone[] {
  if (commit.remove.length === 0) return [];
  const accepted = new Set(
    commit.outcomes
      .filter(({ outcome }) => outcome.type === 'committed' || outcome.type === 'already_gone')
      .map(({ outcome }) => outcome.row.id),
  );
  const written = new Set(commit.write.map(({ id }) => id));
  return commit.expected.flatMap((row) => {
    const goes = commit.remove.includes(row.id) && !written.has(row.id);
    if (!goes || !(accepted.has(row.id) || row.receipt !== undefined)) return [];
    const tombstone = { owner: row.owner, generation: 0, at: now, reason: 'uploaded' } as const;
    return [row.id, ...(row.replaces ?? [])].map((id) => ({ id, tombstone }));
  });
}
