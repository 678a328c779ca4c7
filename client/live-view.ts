/**
 * What an owner's outbox looks like right now, as a `subscribe`/`getSnapshot` store (W18). Follows the numbered
 * changes that hosts broadcast, reads everything anew when one is missing, and publishes at most once per frame. It
 * knows rows and counts; outcomes and payloads are elsewhere.
 */
import type { Broadcast, ViewPage, ViewRow } from '../shared/protocol.ts';
import type { PageRealm } from './page-realm.ts';
import type { LiveView, ViewSnapshot } from './view-snapshot.ts';

export type ChangeMessage = Extract<Broadcast, { readonly type: 'change' }>;

export interface OwnerView extends LiveView {
  /** Answers whether changes before this one were missed. */
  take(change: ChangeMessage): boolean;
  /** The same question to the host: one was gone, or this page was frozen. */
  check(): Promise<boolean>;
  /** Merges what is known from elsewhere. */
  note(part: Partial<ViewSnapshot>): void;
  /** Begins anew for another owner. */
  show(owner: string | undefined): void;
}

const PAGE = 1_000;
const FRAME_MS = 16;
const TRY_AGAIN_MS = 5_000;

/** A patch names all that may have changed and is set; what it leaves out is unset, or as a claim sets it. */
const UNSET = {
  state: 'sending',
  doubt: true,
  blockedCode: undefined,
  successorOf: undefined,
  notBefore: undefined,
  overtakenBy: undefined,
  conflict: undefined,
  recovery: undefined,
  noticed: undefined,
  lastErrorCode: undefined,
} as const;

export function createLiveView(
  empty: ViewSnapshot,
  readPage: (after: number | undefined, limit: number) => Promise<ViewPage>,
  realm: Pick<PageRealm, 'setTimeout'>,
): OwnerView {
  const listeners = new Set<() => void>();
  let rows = new Map<string, ViewRow>();
  /** Ids of rows that differ from the snapshot's. */
  const touched = new Set<string>();
  /** Changes that came during a reading; `undefined` while none is under way. */
  let held: ChangeMessage[] | undefined;
  let isStale = true;
  let isPublishing = false;
  let epoch = '';
  let generation = 0;
  let snapshot = empty;
  let wasHeld = false;
  /** The same object for the same row. */
  const heldRows = new WeakMap<ViewRow, ViewRow>();

  const note = (part: Partial<ViewSnapshot>): void => {
    snapshot = { ...snapshot, ...part };
    if (isPublishing) return;
    isPublishing = true;
    realm.setTimeout(() => {
      isPublishing = false;
      for (const listener of listeners) listener();
    }, FRAME_MS);
  };
  const drop = (id: string): void => {
    rows.delete(id);
    touched.add(id);
  };
  const asHeld = (row: ViewRow): ViewRow => {
    if (row.state !== 'queued') return row;
    const shown = heldRows.get(row) ?? { ...row, state: 'held' };
    heldRows.set(row, shown);
    return shown;
  };
  /** Beside what went since the snapshot was made, which nobody has looked at yet. */
  const touchAll = (): void => {
    for (const id of rows.keys()) touched.add(id);
  };
  const apply = (change: ChangeMessage): void => {
    for (const row of change.rows) {
      const { id } = row;
      const known = rows.get(id);
      if ((known?.version ?? 0) >= row.version) continue;
      touched.add(id);
      if ('seq' in row) rows.set(id, row);
      else if (known) rows.set(id, { ...known, ...UNSET, ...row });
      else refresh();
    }
    change.removed.forEach(drop);
    for (const { stays, row } of change.entries) if (!stays) drop(row.id);
  };

  const read = async (): Promise<void> => {
    if (held || listeners.size === 0 || snapshot.owner === undefined) return;
    const mine: ChangeMessage[] = [];
    held = mine;
    isStale = false;
    const found = new Map<string, ViewRow>();
    let first: ViewPage | undefined;
    let after: number | undefined;
    let waitMs = 0;
    try {
      do {
        const page = await readPage(after, PAGE);
        if (held !== mine) return;
        first ??= page;
        // The database was made anew in the middle.
        if (page.epoch !== first.epoch) isStale = true;
        for (const row of page.rows) found.set(row.id, row);
        after = page.rows.length < PAGE ? undefined : page.rows.at(-1)?.seq;
      } while (after !== undefined);
    } catch {
      // Of the owner before: another reading is under way.
      if (held !== mine) return;
      isStale = true;
      waitMs = TRY_AGAIN_MS;
    }
    held = undefined;
    if (!isStale && first) {
      ({ epoch, generation } = first);
      touchAll();
      rows = found;
      touchAll();
      note({ counts: first.counts, isReady: true });
      for (const change of mine) if (change.epoch !== epoch || change.generation > generation) follow(change);
      // A witness's rows stand still; the outbox may be back.
      if (first.isReadOnly) {
        isStale = true;
        waitMs = TRY_AGAIN_MS;
      }
    }
    // Something was missed while it read: then there is nothing to wait for.
    if (isStale) waitMs > 0 ? realm.setTimeout(() => void read(), waitMs) : void read();
  };
  /** Whether there is something behind the last change that was heard. */
  const isBehind = (change: Pick<ViewPage, 'epoch' | 'generation'>): boolean => {
    const heard = held?.at(-1) ?? { epoch, generation };
    return change.epoch !== heard.epoch || change.generation > heard.generation;
  };
  const refresh = (): void => {
    isStale = true;
    void read();
  };
  /** Answers whether changes before this one were missed. */
  const follow = (change: ChangeMessage): boolean => {
    const isMissed = isBehind({ ...change, generation: change.after });
    if (change.epoch !== epoch || change.generation > generation) ({ epoch, generation } = change);
    const [queued, sending, onHold, blocked] = change.counts;
    note({ counts: { queued, sending, held: onHold, blocked } });
    if (!isStale) apply(change);
    if (isMissed) refresh();
    return isMissed;
  };

  return {
    subscribe(listener) {
      listeners.add(listener);
      if (isStale) void read();
      return () => void listeners.delete(listener);
    },
    getSnapshot() {
      const { counts } = snapshot;
      // D5: signed out is one fact about all of them, and only the counts tell it.
      const isHeld = counts.held > 0 && counts.queued === 0;
      if (touched.size > 0 || isHeld !== wasHeld) {
        if (isHeld !== wasHeld) touchAll();
        wasHeld = isHeld;
        const list: ViewRow[] = [];
        const show = (row: ViewRow | undefined): void => {
          if (row) list.push(isHeld ? asHeld(row) : row);
        };
        for (const row of snapshot.rows) show(touched.delete(row.id) ? rows.get(row.id) : row);
        for (const id of touched) show(rows.get(id));
        // Nearly always in order already, which costs one look at each.
        list.sort((a, b) => a.seq - b.seq);
        touched.clear();
        const oldest = list.find(({ state }) => state !== 'blocked');
        snapshot = { ...snapshot, rows: list, oldestWaitingAt: oldest?.savedAt };
      }
      return snapshot;
    },
    take(change) {
      if (!held) return follow(change);
      const isMissed = isBehind({ ...change, generation: change.after });
      held.push(change);
      return isMissed;
    },
    async check() {
      // The first reading of all: nothing has been missed yet.
      if (held && epoch === '') return false;
      const now = await readPage(undefined, 1);
      const isMissed = isBehind(now);
      if (isMissed) {
        if (!held) ({ epoch, generation } = now);
        refresh();
      }
      return isMissed;
    },
    note,
    show(owner) {
      held = undefined;
      epoch = '';
      generation = 0;
      touchAll();
      rows = new Map();
      // The rows leave the old list one by one when the next is made.
      const { rows: list, triggers, storage } = snapshot;
      note({ ...empty, rows: list, triggers, storage, owner });
      refresh();
    },
  };
}
