/**
 * What the server last said, per account. Filled by reads of the server only, never from changes that wait; kept
 * in localStorage, so that the log opens without a connection.
 */

import type { Plan, Workout } from '../definition/outbox.ts';
import type { Day } from './day.ts';
import { fetchHere } from './lab-switch.ts';
import { createStore, type Readable } from './store.ts';

export interface ServerWorkout extends Workout {
  readonly id: string;
  readonly revision: number;
  /** Ids of its photos. */
  readonly photos?: readonly string[] | undefined;
}

export interface ServerPlan extends Plan {
  readonly date: Day;
  readonly revision: number;
}

export interface Statistics {
  readonly generation: number;
  readonly workouts: number;
  readonly days: number;
  readonly volume: number;
}

export interface CopyContent {
  readonly workouts: readonly ServerWorkout[];
  readonly plans: readonly ServerPlan[];
  readonly statistics?: Statistics | undefined;
  /** Epoch ms of the last complete read; absent before the first. */
  readonly readAt?: number | undefined;
}

export interface ServerCopy extends Readable<CopyContent> {
  /** Reads again; answers whether it could. Calls that come while one runs share the one after it. */
  refresh(): Promise<boolean>;
  /** The server has said that it is gone. */
  drop(family: string, id: string): void;
  clear(): void;
}

export function openServerCopy(owner: string): ServerCopy {
  const place = `basement-log:copy:${encodeURIComponent(owner)}`;
  const kept = localStorage.getItem(place);
  const store = createStore<CopyContent>(
    kept === null ? { workouts: [], plans: [] } : (JSON.parse(kept) as CopyContent),
  );
  let running: Promise<boolean> | undefined;
  let next: Promise<boolean> | undefined;

  function publish(content: CopyContent): void {
    store.set(content);
    try {
      localStorage.setItem(place, JSON.stringify(content));
    } catch {
      // Full: the copy in memory is still right, and the next start reads the server again.
    }
  }

  async function read(): Promise<boolean> {
    try {
      const [workouts, plans, statistics] = await Promise.all([
        readJson<{ items: readonly ServerWorkout[] }>('/api/workouts'),
        readJson<{ items: readonly ServerPlan[] }>('/api/plans'),
        readJson<Statistics>('/api/statistics'),
      ]);
      publish({ workouts: workouts.items, plans: plans.items, statistics, readAt: Date.now() });
      return true;
    } catch {
      return false;
    }
  }

  function refresh(): Promise<boolean> {
    if (running === undefined) {
      running = read().finally(() => {
        running = undefined;
      });
      return running;
    }
    next ??= running.then(() => {
      next = undefined;
      return refresh();
    });
    return next;
  }

  return {
    subscribe: store.subscribe,
    getSnapshot: store.getSnapshot,
    refresh,
    drop(family, id) {
      const { workouts, plans, ...rest } = store.getSnapshot();
      publish({
        ...rest,
        workouts: family === 'workout' ? workouts.filter((one) => one.id !== id) : workouts,
        plans: family === 'plan' ? plans.filter(({ date }) => date !== id) : plans,
      });
    },
    clear() {
      localStorage.removeItem(place);
      store.set({ workouts: [], plans: [] });
    },
  };
}

async function readJson<T>(url: string): Promise<T> {
  const response = await fetchHere(url, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return (await response.json()) as T;
}
