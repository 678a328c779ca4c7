/**
 * Changes the server has accepted and this page has not read back yet. They are laid over the copy until a read
 * brings them, so that nothing flickers out of the log in between; kept in localStorage, so that going offline
 * right after does not hide them. The copy itself is never filled from here.
 */
import { createStore, type Readable } from './store.ts';

export interface AcceptedChange {
  readonly family: string;
  /** The server's id. */
  readonly target: string;
  /** From the receipt: the next edit needs no read to be based on it. */
  readonly revision: number;
  /** The whole body of a creation or a plan, the patch of an edit. */
  readonly body: unknown;
}

export interface Accepted extends Readable<readonly AcceptedChange[]> {
  /** `origin`: what a creation was known by before the server gave it an id. */
  add(change: AcceptedChange, origin: string): void;
  /** By what a workout that was created here is known on the screen, so that a form that is open on it stays open. */
  originOf(id: string): string | undefined;
  /** Call it before a read of the server; the answer forgets, once that read is in, what it must have seen. */
  beginRead(): () => void;
  clear(): void;
}

export function openAccepted(owner: string): Accepted {
  const place = `basement-log:accepted:${encodeURIComponent(owner)}`;
  const kept = localStorage.getItem(place);
  const store = createStore<readonly AcceptedChange[]>(
    kept === null ? [] : (JSON.parse(kept) as readonly AcceptedChange[]),
  );

  const origins = new Map<string, string>();

  function publish(changes: readonly AcceptedChange[]): void {
    store.set(changes);
    if (changes.length === 0) localStorage.removeItem(place);
    else localStorage.setItem(place, JSON.stringify(changes));
  }

  return {
    subscribe: store.subscribe,
    getSnapshot: store.getSnapshot,
    add(change, origin) {
      if (!origins.has(change.target)) origins.set(change.target, origin);
      publish([...store.getSnapshot(), change]);
    },
    originOf: (id) => origins.get(id),
    beginRead() {
      const before = new Set(store.getSnapshot());
      return () => publish(store.getSnapshot().filter((change) => !before.has(change)));
    },
    clear: () => publish([]),
  };
}
