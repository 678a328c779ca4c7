/**
 * Keeps one snapshot per owner in localStorage, as a witness that shares nothing with IndexedDB (S20-S23). It is
 * rewritten 1.5 s after the last change, at the end of a drain and when the page is hidden; a constant number
 * of times per drain, never per row. It decides nothing: hosts read it only to recover (S31).
 */
import {
  SNAPSHOT_CHARACTERS,
  type SnapshotOffer,
  type SnapshotPage,
  type SnapshotRow,
} from '../shared/snapshot.ts';
import { readHead, readSnapshot } from './read-snapshot.ts';

export interface SnapshotWitnessDeps {
  /** `localStorage`, or anything with its manner of failing. */
  readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  /** Runs `write` under a lock named `name`, or answers `false` at once if another page holds it. */
  readonly exclusively: (name: string, write: () => void) => Promise<boolean>;
  /** Rows as stored, with bodies: those of `ids` that still stand, or from the first one as many as have room. */
  readonly read: (ids: readonly string[] | undefined) => Promise<SnapshotPage>;
  /** Hands over what stands in storage, where the host still awaits it (S31). */
  readonly offer: (snapshot: SnapshotOffer) => Promise<unknown>;
  readonly after: (ms: number, callback: () => void) => () => void;
  readonly now: () => number;
}

export interface Noted {
  readonly epoch: string;
  /** Of the change, or of the last one of several. */
  readonly generation: number;
  /** Rows that changed and still stand. */
  readonly ids: readonly string[];
  /** Rows that went. */
  readonly gone: readonly string[];
}

export interface SnapshotWitness {
  /** What a change touched. Cheap: nothing is read or written yet. */
  note(change: Noted): void;
  /** Everything may have changed (a gap, another database): the next rewrite reads anew. */
  noteAll(): void;
  /** Rewrites now if anything changed: at the end of a drain, on `pagehide`, when hidden. */
  rewrite(): Promise<void>;
  stop(): void;
}

interface Part {
  readonly seq: number;
  readonly json: string;
}

/** Asked for by id at most; of more the host reads in order what has room, so that its memory stays bounded (S3). */
const MOST_IDS = 200;
const QUIET_MS = 1_500;

export function createSnapshotWitness(deps: SnapshotWitnessDeps, name: string): SnapshotWitness {
  /** Each row's JSON, made once per change, so that a rewrite joins strings and encodes nothing again. */
  const parts = new Map<string, Part>();
  /** Rows to read again; `all` before the first reading. */
  let changed: Set<string> | 'all' = 'all';
  /** Rows that went while a reading was under way. */
  let gone = new Set<string>();
  /** What the parts reflect. */
  let seen: { readonly epoch: string; readonly generation: number } | undefined;
  /** The newest change that was told. */
  let told: { readonly epoch: string; readonly generation: number } | undefined;
  /** Rows with a higher seq have no room. */
  let until = Number.POSITIVE_INFINITY;
  let isDirty = true;
  let cancel: (() => void) | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isStopped = false;

  function soon(): void {
    cancel?.();
    cancel = deps.after(QUIET_MS, () => {
      cancel = undefined;
      void rewrite();
    });
  }

  function noteAll(): void {
    changed = 'all';
    isDirty = true;
    soon();
  }

  /** Whether the snapshot in storage says all that there is to say, whoever wrote it. */
  function isUpToDate(now: { readonly epoch: string; readonly generation: number }): boolean {
    const head = readHead(deps.storage, name);
    return head?.epoch === now.epoch && head.generation >= now.generation;
  }

  function put(rows: readonly SnapshotRow[]): void {
    for (const { row, body } of rows) {
      const id = String(row['id']);
      if (!gone.has(id)) parts.set(id, { seq: Number(row['seq']), json: encode({ row, body }) });
    }
  }

  /** Answers whether there is anything to write. */
  async function take(): Promise<boolean> {
    if (changed === 'all') {
      const now = await deps.read([]);
      // After a loss the host needs what stands in storage, and this would be written over it (S31).
      if (now.isAwaited) await deps.offer(readSnapshot(deps.storage, name));
      else if (isUpToDate(now)) return false;
    } else if (told && isUpToDate(told)) return false;
    const ids = changed === 'all' ? undefined : [...changed];
    changed = new Set();
    gone = new Set();
    try {
      const page = ids?.length === 0 && seen ? { ...seen, rows: [] } : await deps.read(ids);
      if (ids === undefined) {
        parts.clear();
        until = page.until ?? Number.POSITIVE_INFINITY;
      } else if (seen?.epoch !== page.epoch) throw new Error('The database was made anew');
      for (const id of ids ?? []) parts.delete(id);
      put(page.rows);
      // All that was told since the reading were rows that went, and they have been dropped.
      const isCurrent = changed.size === 0 && told?.epoch === page.epoch;
      seen = isCurrent && told && told.generation > page.generation ? told : page;
      return true;
    } catch (error) {
      changed = 'all';
      throw error;
    }
  }

  function write(): void {
    if (seen === undefined || isStopped || isUpToDate(seen)) return;
    const text = assemble(seen, fitting());
    try {
      deps.storage.setItem(name, text);
    } catch {
      // No room: an old snapshot would tell of rows that are gone, so none is better (S34).
      deps.storage.removeItem(name);
    }
  }

  /** In their order, as many as have room; the rest is forgotten. */
  function fitting(): readonly string[] {
    const inOrder = [...parts].sort(([, a], [, b]) => a.seq - b.seq);
    let size = 0;
    const kept = inOrder.filter(([id, { seq, json }]) => {
      size += json.length;
      if (size > SNAPSHOT_CHARACTERS) until = Math.min(until, seq - 1);
      if (seq > until) parts.delete(id);
      return seq <= until;
    });
    // Room again for rows that had none: they are looked at with the next change.
    if (until < Number.POSITIVE_INFINITY && size < SNAPSHOT_CHARACTERS / 2) changed = 'all';
    return kept.map(([, { json }]) => json);
  }

  function assemble(
    { epoch, generation }: { readonly epoch: string; readonly generation: number },
    rows: readonly string[],
  ): string {
    const bound = until < Number.POSITIVE_INFINITY ? `"until":${until},` : '';
    const head = `{"epoch":${JSON.stringify(epoch)},"generation":${generation},"at":${deps.now()},`;
    return `${head}${bound}"rows":[${rows.join(',')}]}`;
  }

  function rewrite(): Promise<void> {
    writing = writing.then(async () => {
      if (isStopped || !isDirty) return;
      isDirty = false;
      try {
        if ((await take()) && !(await deps.exclusively(name, write))) isDirty = true;
      } catch {
        // The host could not be asked, or storage is closed to this page: the next change tries again (S22).
        isDirty = true;
        return;
      }
      if (isDirty) soon();
    });
    return writing;
  }

  soon();
  return {
    note({ epoch, generation, ids, gone: went }) {
      told = { epoch, generation };
      if (seen && seen.epoch !== epoch) changed = 'all';
      for (const id of went) {
        parts.delete(id);
        gone.add(id);
      }
      if (changed !== 'all') {
        for (const id of ids) changed.add(id);
        for (const id of went) changed.delete(id);
        if (changed.size > MOST_IDS) changed = 'all';
      }
      isDirty = true;
      soon();
    },
    noteAll,
    rewrite,
    stop() {
      isStopped = true;
      cancel?.();
    },
  };
}

/** A row with its body, or without one that JSON cannot express (S23): a Blob would become `{}`. */
function encode({ row, body }: SnapshotRow): string {
  return JSON.stringify(isPlain(body) ? { row, body } : { row });
}

function isPlain(value: unknown): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (Array.isArray(value)) return value.every(isPlain);
  if (typeof value !== 'object') return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && Object.values(value).every(isPlain);
}
