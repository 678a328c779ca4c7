/**
 * Keeps one snapshot per owner in localStorage, as a witness that shares nothing with IndexedDB (S20-S23). It is
 * rewritten 1.5 s after the last change, at the end of a drain and when the page is hidden; a constant number
 * of times per drain, never per row. It decides nothing: hosts read it only to recover (S31).
 */
import type { Snapshot, SnapshotOffer, SnapshotPage, SnapshotRow } from '../shared/snapshot.ts';

export interface SnapshotWitnessDeps {
  /** `localStorage`, or anything with its manner of failing. */
  readonly storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  /** Runs `write` under a lock named `name`, or answers `false` at once if another page holds it. */
  readonly exclusively: (name: string, write: () => void) => Promise<boolean>;
  /** Rows as stored, with bodies: all of them, or those of `ids` that still stand. */
  readonly read: (ids: readonly string[] | undefined) => Promise<SnapshotPage>;
  readonly after: (ms: number, callback: () => void) => () => void;
  readonly now: () => number;
}

export interface SnapshotWitness {
  /** Rows that changed or went, with the number of the change. Cheap: nothing is read or written yet. */
  note(change: {
    readonly epoch: string;
    readonly generation: number;
    readonly ids: readonly string[];
  }): void;
  /** Everything may have changed (a gap, another epoch): the next rewrite reads all again. */
  noteAll(): void;
  /** Rewrites now if anything changed: at the end of a drain, on `pagehide`, when hidden. */
  rewrite(): Promise<void>;
  /** Forgets and removes the snapshot: the owner's rows were discarded (W32). */
  clear(): void;
  stop(): void;
}

const QUIET_MS = 1_500;
/** localStorage holds about five million characters for a whole origin; the app needs some, too. */
const MAX_CHARACTERS = 3_000_000;
const HEAD = /^\{"epoch":"([^"]*)","generation":(\d+),/;

export function snapshotName(outbox: string, owner: string): string {
  return JSON.stringify(['holdfast', outbox, 'snapshot', owner]);
}

/** What this page can say of an owner's snapshot when a host asks for it (S31). */
export function readSnapshot(storage: Pick<Storage, 'getItem'>, name: string): SnapshotOffer {
  try {
    const text = storage.getItem(name);
    if (text === null) return { type: 'none' };
    const value = JSON.parse(text) as Partial<Snapshot> | null;
    if (typeof value?.generation !== 'number' || !Array.isArray(value.rows)) return { type: 'unreadable' };
    return {
      type: 'snapshot',
      epoch: String(value.epoch),
      generation: value.generation,
      at: Number(value.at),
      rows: value.rows,
      listed: value.listed ?? [],
    };
  } catch {
    return { type: 'unreadable' };
  }
}

export function createSnapshotWitness(deps: SnapshotWitnessDeps, name: string): SnapshotWitness {
  /** Each row's JSON, made once per version, so that a rewrite joins strings and encodes nothing again. */
  const parts = new Map<string, string>();
  let changed: Set<string> | 'all' = 'all';
  let seen: { epoch: string; generation: number } | undefined;
  let cancel: (() => void) | undefined;
  let writing: Promise<void> = Promise.resolve();
  let stopped = false;

  function soon(): void {
    cancel?.();
    cancel = deps.after(QUIET_MS, () => {
      cancel = undefined;
      void rewrite();
    });
  }

  async function take(): Promise<void> {
    const ids = changed === 'all' ? undefined : [...changed];
    if (ids?.length === 0) return;
    changed = new Set();
    try {
      const page = await deps.read(ids);
      if (ids === undefined) parts.clear();
      for (const id of ids ?? []) parts.delete(id);
      for (const row of page.rows) parts.set(String(row.row['id']), encode(row));
      seen = page;
    } catch (error) {
      changed = 'all';
      throw error;
    }
  }

  function write(): void {
    if (seen === undefined || stopped) return;
    const head = HEAD.exec(deps.storage.getItem(name)?.slice(0, 200) ?? '');
    // Never over a later state of the same database that another page wrote.
    if (head?.[1] === seen.epoch && Number(head[2]) > seen.generation) return;
    const text = assemble(seen, deps.now(), parts);
    try {
      deps.storage.setItem(name, text);
    } catch {
      // No room: an old snapshot would tell of rows that are gone, so none is better (S34).
      deps.storage.removeItem(name);
    }
  }

  function rewrite(): Promise<void> {
    writing = writing.then(async () => {
      if (stopped || (changed !== 'all' && changed.size === 0)) return;
      try {
        await take();
        if (!(await deps.exclusively(name, write))) soon();
      } catch {
        // The host could not be asked, or storage is closed to this page: the next change tries again (S22).
      }
    });
    return writing;
  }

  return {
    note({ ids }) {
      if (changed !== 'all') for (const id of ids) changed.add(id);
      soon();
    },
    noteAll() {
      changed = 'all';
      soon();
    },
    rewrite,
    clear() {
      parts.clear();
      changed = 'all';
      deps.storage.removeItem(name);
    },
    stop() {
      stopped = true;
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

function assemble(
  { epoch, generation }: { readonly epoch: string; readonly generation: number },
  at: number,
  parts: ReadonlyMap<string, string>,
): string {
  const rows: string[] = [];
  const listed: string[] = [];
  let size = 0;
  for (const [id, part] of parts) {
    size += part.length;
    if (size <= MAX_CHARACTERS) rows.push(part);
    else listed.push(id);
  }
  const tail = JSON.stringify(listed);
  return `{"epoch":${JSON.stringify(epoch)},"generation":${generation},"at":${at},"listed":${tail},"rows":[${rows.join(',')}]}`;
}
