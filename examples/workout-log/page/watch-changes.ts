/** The live view's rows with their content: bodies are read when a row first shows, and once, since they never change. */
import type { DemoOutbox } from './connect-session.ts';
import type { ServerCopy } from './server-copy.ts';
import { createStore, type Readable } from './store.ts';
import type { WaitingChange } from './waiting-change.ts';

export interface Changes extends Readable<readonly WaitingChange[]> {
  /** Of a row that shows or has shown here. */
  bodyOf(rowId: string): unknown;
  close(): void;
}

/** Of a long queue only so many contents are read; the rest shows by its kind. */
const READ_LIMIT = 500;
/** Contents of rows that are gone are kept this long, for outcomes that come just after. */
const REMEMBERED = 1_000;

export function watchChanges(outbox: DemoOutbox, copy: ServerCopy): Changes {
  const bodies = new Map<string, unknown>();
  const store = createStore<readonly WaitingChange[]>([]);
  let asked = new Set<string>();

  function publish(): void {
    const { rows } = outbox.view.getSnapshot();
    const names = new Map(copy.getSnapshot().workouts.map(({ id, exercise }) => [id, exercise]));
    store.set(
      rows.map((row) => ({
        row,
        body: bodies.get(row.id),
        name: row.target.type === 'id' ? names.get(row.target.id) : undefined,
      })),
    );
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

  const follow = (): void => {
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
    close() {
      for (const end of ends) end();
    },
  };
}
