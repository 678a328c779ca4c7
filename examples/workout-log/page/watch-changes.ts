/**
 * What the screens lay over the copy of the server: the changes that wait, with their content, and those that the server
 * has accepted and this page has not read back. The library keeps both without a gap; this gives them the demo's shape.
 */
import type { PendingView } from 'holdfast/reactions';
import type { AcceptedChange } from './overlay.ts';
import type { ServerCopy } from './server-copy.ts';
import { createStore, type Readable } from './store.ts';
import type { WaitingChange } from './waiting-change.ts';

export interface Changes {
  readonly waiting: Readable<readonly WaitingChange[]>;
  readonly accepted: Readable<readonly AcceptedChange[]> & {
    /** By what a workout that was created here is known on the screen, so that a form that is open on it stays open. */
    originOf(id: string): string | undefined;
  };
  close(): void;
}

export function watchChanges(pending: PendingView, copy: ServerCopy): Changes {
  const waiting = createStore<readonly WaitingChange[]>([]);
  const accepted = createStore<readonly AcceptedChange[]>([]);

  function publish(): void {
    const { rows, bodies, ended } = pending.getSnapshot();
    const known = new Map(copy.getSnapshot().workouts.map((workout) => [workout.id, workout]));
    const bodyOf = new Map(bodies.map(({ id, body }) => [id, body]));
    const present = rows.map((row) => ({
      row,
      body: bodyOf.get(row.id),
      base: row.target.type === 'id' ? known.get(row.target.id) : undefined,
    }));
    // A photo is shown from here until the copy names it.
    const leaving = ended.flatMap((change) =>
      change.accepted && change.row.family !== 'photo' ? [] : { ...change, isLeaving: true },
    );
    accepted.set(
      ended.flatMap(({ row: { family }, body, accepted: made }) =>
        made && body !== undefined ? [{ family, body, ...made }] : [],
      ),
    );
    waiting.set([...leaving, ...present].sort((a, b) => a.row.seq - b.row.seq));
  }

  const ends = [pending.subscribe(publish), copy.subscribe(publish)];
  publish();
  return {
    waiting,
    accepted: { ...accepted, originOf: (id) => pending.getSnapshot().originOf(id) },
    close() {
      for (const end of ends) end();
    },
  };
}
