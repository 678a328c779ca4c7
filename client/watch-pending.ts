/**
 * What waits, with its content, ready to be laid over what the server said (C20), and without a gap: a change that has
 * left stays in it until a read of the server that began after its end has brought it. Reads payloads once, since they
 * never change. The server's copy itself is the app's, and nothing is ever written into it from here (D43).
 */
import type { Outcome } from '../shared/outcome.ts';
import type { ViewRow } from '../shared/protocol.ts';
import { toViewRow } from '../shared/view-row.ts';
import type { Handle } from './handle.ts';
import { isJson } from './is-json.ts';
import type { OutboxMethods } from './outbox.ts';
import type { EndedChange } from './overlay-pending.ts';
import type { PageRealm } from './page-realm.ts';
import { type ReactionOptions, runReactions } from './run-reactions.ts';

export interface PendingSnapshot {
  readonly owner: string | undefined;
  /** The live view's. */
  readonly rows: readonly ViewRow[];
  /** Of those rows and those in `ended`, as far as they have been read. */
  readonly bodies: readonly { readonly id: string; readonly body: unknown }[];
  readonly ended: readonly EndedChange[];
  readonly originOf: (id: string) => string | undefined;
}

/** A `subscribe`/`getSnapshot` store; its snapshot is what `overlayPending` takes, but for the items. */
export interface PendingView {
  subscribe(listener: () => void): () => void;
  getSnapshot(): PendingSnapshot;
  /** Reads the server again, through `refetch`. Calls that come while one runs share the one after it. */
  refetch(): Promise<void>;
  /** What this page has just stored need not be read back: it shows at once. */
  note(handle: Pick<Handle, 'action' | 'row' | 'removed'>, body: unknown): void;
  close(): void;
}

export interface PendingOptions extends Partial<Pick<ReactionOptions, 'apply' | 'tell' | 'name'>> {
  /** Reads again whatever is shown. Resolves when the app's copy has it; rejects where it could not be read. */
  readonly refetch: () => Promise<unknown>;
  /**
   * Whether what was accepted and not read back yet may be kept over a reload: in clear text, per owner, in
   * `localStorage`, until it has been read or its owner signs out. Asked at each write. Without it nothing is
   * written, as suits an app that encrypts what is on the device (W63).
   */
  readonly mayKeep?: (() => boolean) | undefined;
  /** Given by tests. */
  readonly realm?: (NonNullable<ReactionOptions['realm']> & Pick<PageRealm, 'clearTimeout'>) | undefined;
}

/** Of a long queue so many contents are read at once. */
const READ_LIMIT = 500;
/** Contents of rows that are gone are kept this long, for outcomes that come just after. */
const REMEMBERED = 1_000;
/** An outcome that asks nothing of a page is not told to it: past this a row that is gone is gone, in ms. */
const LEAVING_MS = 3_000;

/**
 * Reacts to outcomes as `runReactions` does, which need not be called beside it. Where `mayKeep` says so, what was
 * accepted and not read back is kept over a reload.
 */
export function watchPending(
  outbox: Pick<OutboxMethods<never>, 'view' | 'bodies' | 'journal'>,
  { refetch, apply, tell, name = 'holdfast', mayKeep, realm = window }: PendingOptions,
): PendingView {
  const { view } = outbox;
  const listeners = new Set<() => void>();
  const bodies = new Map<string, unknown>();
  const asked = new Set<string>();
  const origins = new Map<string, string>();
  /** Rows that may come and go between two frames, so that the live view never shows them. */
  const noted = new Map<string, ViewRow>();
  let rows: readonly ViewRow[] = [];
  let owner: string | undefined;
  let leaving = new Map<string, EndedChange>();
  let accepted: readonly EndedChange[] = [];
  let snapshot: PendingSnapshot | undefined;
  let hasClosed = false;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const place = (of: string): string => JSON.stringify(['holdfast', name, 'accepted', of]);
  const originOf = (id: string): string | undefined => origins.get(id);
  const publish = (): void => {
    snapshot = undefined;
    for (const listener of listeners) listener();
  };
  // A body that JSON does not hold, as a file, would come back as another one.
  const keep = (of: string, changes: readonly EndedChange[]): void => {
    const kept = mayKeep?.() === true ? changes.filter(({ body }) => isJson(body ?? null)) : [];
    writeAccepted(realm, place(of), kept);
  };
  const setAccepted = (changes: readonly EndedChange[]): void => {
    if (changes === accepted || (changes.length === 0 && accepted.length === 0)) return;
    accepted = changes;
    if (owner !== undefined) keep(owner, changes);
  };
  const bodyMember = (id: string): { readonly body?: unknown } =>
    bodies.has(id) ? { body: bodies.get(id) } : {};

  const show = (of: string | undefined): void => {
    // What an account had accepted is nobody's business once it has signed out.
    if (owner !== undefined) writeAccepted(realm, place(owner), []);
    owner = of;
    leaving = new Map();
    for (const map of [bodies, origins, noted]) map.clear();
    accepted = of === undefined ? [] : readAccepted(realm, place(of));
    if (of !== undefined) keep(of, accepted);
    for (const { row, accepted: made } of accepted) if (made) origins.set(made.target, row.origin);
  };
  const readMissing = async (): Promise<void> => {
    const missing = rows.filter(
      ({ id, bodyId }) => bodyId !== undefined && !bodies.has(id) && !asked.has(id),
    );
    const ids = missing.slice(0, READ_LIMIT).map(({ id }) => id);
    if (ids.length === 0) return;
    for (const id of ids) asked.add(id);
    const mine = owner;
    try {
      const read = await outbox.bodies(ids);
      if (mine !== owner) return;
      for (const { id, body } of read) bodies.set(id, body);
    } finally {
      for (const id of ids) asked.delete(id);
    }
    publish();
    if (missing.length > ids.length) await readMissing();
  };
  const forgetBodies = (): void => {
    if (bodies.size <= rows.length + REMEMBERED) return;
    const kept = new Set(rows.map(({ id }) => id));
    for (const id of bodies.keys()) if (!kept.has(id)) bodies.delete(id);
  };
  const release = (ids: readonly string[]): void => {
    if (ids.map((id) => leaving.delete(id)).includes(true)) publish();
  };
  const follow = (): void => {
    const { owner: mine, rows: present } = view.getSnapshot();
    const isOther = mine !== owner;
    if (!isOther && present === rows) return;
    if (isOther) show(mine);
    else {
      const ids = new Set(present.map(({ id }) => id));
      for (const row of rows) {
        if (ids.has(row.id)) continue;
        leaving.set(row.id, { row, ...bodyMember(row.id) });
        realm.setTimeout(() => release([row.id]), LEAVING_MS);
      }
    }
    rows = present;
    forgetBodies();
    publish();
    // A row that could not be read now is asked for with the next change.
    readMissing().catch(() => undefined);
  };

  const take = (outcomes: readonly Outcome[]): void => {
    // Once for all of them: a drain of a long queue brings many.
    const present = new Map(rows.map((row) => [row.id, row]));
    const made = outcomes.flatMap((outcome): EndedChange[] => {
      const { id } = outcome.row;
      const row = leaving.get(id)?.row ?? present.get(id) ?? noted.get(id);
      if (outcome.type !== 'committed' || !row) return [];
      const { target, revision } = outcome.receipt;
      const isDeletion = row.kind === 'delete' || row.kind === 'remove';
      if (!isDeletion && !bodies.has(row.id)) return [];
      if (!origins.has(target)) origins.set(target, row.origin);
      return [{ row, ...bodyMember(row.id), accepted: { target, revision } }];
    });
    if (made.length > 0) setAccepted([...accepted, ...made]);
    for (const { row } of outcomes) for (const map of [leaving, noted]) map.delete(row.id);
    publish();
  };
  const readServer = async (): Promise<void> => {
    const before = new Set(accepted);
    await refetch();
    // What ended while the server was being read may not be in the answer.
    setAccepted(accepted.filter((change) => !before.has(change)));
    publish();
  };
  const readOnce = (): Promise<void> => {
    if (running === undefined) {
      running = readServer().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return readOnce();
      });
    return next;
  };

  const endReactions = runReactions(outbox, {
    async apply(steps, outcomes) {
      take(outcomes);
      // Without a connection it stays as it is shown; the app reads again when there is one.
      readOnce().catch(() => undefined);
      await apply?.(steps, outcomes);
    },
    readAgain: () => readOnce().catch(() => undefined),
    tell: (step) => tell?.(step),
    name,
    realm,
  });
  const endView = view.subscribe(() => {
    if (!hasClosed) follow();
  });
  follow();

  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    getSnapshot() {
      snapshot ??= {
        owner,
        rows,
        bodies: [...bodies].map(([id, body]) => ({ id, body })),
        ended: [...accepted, ...leaving.values()].sort((a, b) => a.row.seq - b.row.seq),
        originOf,
      };
      return snapshot;
    },
    refetch: readOnce,
    note({ action, row, removed }, body) {
      // One that folded into an earlier change has another body than its own, which is then read.
      if (!row || action !== 'queued' || removed.length > 0) return;
      bodies.set(row.id, body);
      noted.set(row.id, toViewRow(row));
      publish();
    },
    close() {
      hasClosed = true;
      endReactions();
      endView();
      listeners.clear();
    },
  };
}

type Stored = Pick<PageRealm, 'localStorage'>;

function readAccepted({ localStorage }: Stored, key: string): readonly EndedChange[] {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '[]') as readonly EndedChange[];
  } catch {
    return [];
  }
}

function writeAccepted({ localStorage }: Stored, key: string, changes: readonly EndedChange[]): void {
  try {
    if (changes.length === 0) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(changes));
  } catch {
    // Full or forbidden: what is in memory is still right, and the next start reads the server.
  }
}
