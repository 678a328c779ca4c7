/** What a page shows of the server, on TanStack Query: a list, derived numbers, and one workout at a time. */
import { QueryClient, type QueryKey, QueryObserver } from '@tanstack/query-core';
import type { Outbox } from '../../../client/outbox.ts';
import { applyToQueryCache } from '../../../client/query-cache.ts';
import { runReactions } from '../../../client/run-reactions.ts';
import { SENTENCES } from '../../../client/sentences.ts';
import type { AppFamilies } from './definition.ts';

export interface ShownWorkout {
  readonly id: string;
  readonly exercise: string;
  readonly revision: number;
}

export interface ShownWorkouts {
  readonly list: readonly ShownWorkout[];
  readonly statistics: { readonly generation: number; readonly workouts: number } | undefined;
  /** The one that `open` was called with. */
  readonly detail: ShownWorkout | undefined;
  /** What the person was told in this page. */
  readonly told: readonly string[];
  /** Reads of the server, by their keys. */
  readonly reads: readonly string[];
  /** Ids of rows that this page marks as blocked. */
  readonly badges: readonly string[];
}

export interface WorkoutsPage {
  shown(): ShownWorkouts;
  /** Shows one workout in detail. */
  open(id: string): Promise<void>;
  subscribe(listener: () => void): void;
}

export async function showWorkouts(outbox: Outbox<AppFamilies>): Promise<WorkoutsPage> {
  const client = new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } },
  });
  const told: string[] = [];
  const reads: string[] = [];
  const badges: string[] = [];
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  let detailKey: QueryKey = [];

  async function show(queryKey: QueryKey, path: string, pick: (json: unknown) => unknown): Promise<void> {
    const observer = new QueryObserver(client, {
      queryKey,
      async queryFn() {
        reads.push(queryKey.join('/'));
        const response = await fetch(path);
        if (!response.ok) throw new Error(`${response.status}`);
        return pick(await response.json());
      },
    });
    observer.subscribe(tell);
    await client.ensureQueryData({ queryKey });
  }

  await show(['workout', 'list'], '/api/workouts', (json) => (json as { readonly items: unknown }).items);
  await show(['workout', 'derived'], '/api/statistics', (json) => json);
  runReactions(outbox, {
    async apply(steps) {
      for (const step of steps) if (step.type === 'badge') badges.push(step.id);
      await applyToQueryCache(steps, client, {
        withRevision: (cached, revision) => ({ ...(cached as ShownWorkout), revision }),
        without: (list, target) => (list as readonly ShownWorkout[]).filter(({ id }) => id !== target),
      });
      tell();
    },
    readAgain: () => client.invalidateQueries(),
    tell({ type, ids }) {
      told.push(SENTENCES[type](ids.length));
      tell();
    },
  });
  return {
    shown: () => ({
      list: client.getQueryData(['workout', 'list']) ?? [],
      statistics: client.getQueryData(['workout', 'derived']),
      detail: client.getQueryData(detailKey),
      told,
      reads,
      badges,
    }),
    async open(id) {
      detailKey = ['workout', 'detail', id];
      await show(detailKey, `/api/workouts/${id}`, (json) => json);
    },
    subscribe: (listener) => void listeners.add(listener),
  };
}
