/**
 * The live view's rows with their content: bodies are read when a row first shows, and once, since they never change.
 * A row that has gone stays until its outcome has been dealt with, so that nothing blinks out of the log in between.
 */
import type { DemoOutbox } from './connect-session.ts';
import type { ServerCopy } from './server-copy.ts';
import { createStore, type Readable } from './store.ts';
import type { WaitingChange } from './waiting-change.ts';

export interface Changes extends Readable<readonly WaitingChange[]> {
  /** Of a row that shows or has shown here. */
  bodyOf(rowId: string): unknown;
  /** What this page has just stored need not be read. Only where it is the row's whole body. */
  noteBody(rowId: string, body: unknown): void;
  /** The outcomes of these rows have been dealt with. */
  release(rowIds: readonly string[]): void;
  close(): void;
}

/** Of a long queue only so many contents are read; the rest shows by its kind. */
const READ_LIMIT = 500;
/** Contents of rows that are gone are kept this long, for outcomes that come just after. */
const REMEMBERED = 1_000;
/** An outcome that asks nothing of the page releases nothing: past this a row that is gone is gone. */
const LEAVING_MS = 3_000;

export function watchChanges(outbox: DemoOutbox, copy: ServerCopy): Changes {
  const bodies = new Map<string, unknown>();
  const store = createStore<readonly WaitingChange[]>([]);
  const leaving = new Map<string, WaitingChange>();
  let asked = new Set<string>();

  function publish(): void {
    const { rows } = outbox.view.getSnapshot();
    const known = new Map(copy.getSnapshot().workouts.map((workout) => [workout.id, workout]));
    const present = rows.map((row) => ({
      row,
      body: bodies.get(row.id),
      base: row.target.type === 'id' ? known.get(row.target.id) : undefined,
    }));
    store.set([...leaving.values(), ...present].sort((a, b) => a.row.seq - b.row.seq));
  }

  async function readMissing(): Promise<void> {
    const { rows } = outbox.view.getSnapshot();
    const ids = rows
      .filter((row) => row.bodyId !== undefined && !bodies.has(row.id) && !asked.has(row.id))
      .slice(0, READ_LIMIT)
      .map(({ id }) => id);
    if (ids.length === 0) return;
    for (const id of ids) asked.add(id);
    try {
      for (const { id, body } of await outbox.bodies(ids)) bodies.set(id, body);
      for (const id of bodies.keys()) if (bodies.size > REMEMBERED) bodies.delete(id);
    } finally {
      asked = new Set([...asked].filter((id) => !ids.includes(id)));
    }
    publish();
  }

  const release = (rowIds: readonly string[]): void => {
    if (rowIds.map((id) => leaving.delete(id)).includes(true)) publish();
  };
  const follow = (): void => {
    const ids = new Set(outbox.view.getSnapshot().rows.map(({ id }) => id));
    for (const change of store.getSnapshot()) {
      if (ids.has(change.row.id) || change.isLeaving) continue;
      leaving.set(change.row.id, { ...change, isLeaving: true });
      setTimeout(() => release([change.row.id]), LEAVING_MS);
    }
    publish();
    // A row that could not be read now is asked for with the next change.
    readMissing().catch(() => undefined);
  };
  const ends = [outbox.view.subscribe(follow), copy.subscribe(publish)];
  follow();

  return {
    subscribe: store.subscribe,
    getSnapshot: store.getSnapshot,
    bodyOf: (rowId) => bodies.get(rowId),
    noteBody(rowId, body) {
      bodies.set(rowId, body);
      publish();
    },
    release,
    close() {
      for (const end of ends) end();
    },
  };
}
