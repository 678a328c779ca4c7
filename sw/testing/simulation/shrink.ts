/** Makes a failing story short enough to read: drops what it fails without, then makes its runs of steps shorter. */
import { type Played, play } from './play.ts';
import type { Action, Script } from './script.ts';
import type { Subject } from './subject.ts';

/** Stories played at most. */
const MOST_TRIES = 3_000;

/** A story that breaks the same promise; the clause is what counts. */
export async function shrink(failed: Played, subject?: Subject | undefined): Promise<Script> {
  const clause = clauseOf(failed);
  let script = failed.script;
  let tries = 0;
  const take = async (smaller: Script): Promise<boolean> => {
    if (tries++ >= MOST_TRIES) return false;
    const played = await play(smaller, subject);
    if (clauseOf(played) !== clause) return false;
    script = smaller;
    return true;
  };
  const withActions = (actions: readonly Action[]): Script => ({ ...script, actions });

  for (let before = -1; before !== script.actions.length && tries < MOST_TRIES; ) {
    before = script.actions.length;
    for (let size = Math.ceil(before / 2); size >= 1; size = Math.floor(size / 2))
      for (let from = script.actions.length - size; from >= 0; from -= size)
        await take(withActions(script.actions.filter((_, place) => place < from || place >= from + size)));
    for (let place = 0; place < script.actions.length; place++) await shorten(place);
    if (script.hosts > 1) await take({ ...script, hosts: script.hosts - 1 });
  }
  return script;

  async function shorten(place: number): Promise<void> {
    for (;;) {
      const action = script.actions[place];
      if (action?.type !== 'steps' || action.count <= 1) return;
      const tryCount = (count: number) =>
        take(withActions(script.actions.map((other, at) => (at === place ? { ...action, count } : other))));
      if (!(await tryCount(Math.floor(action.count / 2))) && !(await tryCount(action.count - 1))) return;
    }
  }
}

function clauseOf({ broken }: Played): string {
  return broken[0]?.split(':')[0] ?? '';
}
