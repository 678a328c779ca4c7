import { QueryClient, QueryObserver } from '@tanstack/query-core';
import { afterEach, describe, expect, it } from 'vitest';
import type { PageStep } from '../../client/page-reactions.ts';
import { applyToQueryCache, type QueryCacheOptions } from '../../client/query-cache.ts';

interface Workout {
  readonly id: string;
  readonly weightKg: number;
  readonly revision: number;
}

class MissingError extends Error {}

const resource = { family: 'workout', target: 'w1' };
const options: QueryCacheOptions = {
  withRevision: (cached, revision) => ({ ...(cached as Workout), revision }),
  without: (list, target) => (list as readonly Workout[]).filter(({ id }) => id !== target),
  isMissing: (error) => error instanceof MissingError,
};

/** A page that shows workout `w1` and the list, over a server that can be changed. */
async function setUp() {
  const server = new Map<string, Workout>([['w1', { id: 'w1', weightKg: 60, revision: 1 }]]);
  const reads: string[] = [];
  const client = new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } },
  });
  const watch = (queryKey: readonly unknown[], queryFn: () => unknown) => {
    const observer = new QueryObserver(client, {
      queryKey,
      queryFn: async () => {
        reads.push(queryKey.join('/'));
        return queryFn();
      },
    });
    stops.push(observer.subscribe(() => undefined));
    return client.ensureQueryData({ queryKey });
  };
  await watch(['workout', 'detail', 'w1'], () => {
    const found = server.get('w1');
    if (!found) throw new MissingError();
    return found;
  });
  await watch(['workout', 'list'], () => [...server.values()]);
  await watch(['workout', '2026-11-30'], () => server.size);
  await watch(['workout', 'derived'], () =>
    [...server.values()].reduce((sum, { weightKg }) => sum + weightKg, 0),
  );
  reads.length = 0;
  const detail = () => client.getQueryData(['workout', 'detail', 'w1']);
  const list = () => client.getQueryData(['workout', 'list']);
  const run = (steps: readonly PageStep[], given = options) => applyToQueryCache(steps, client, given);
  return { client, server, reads, detail, list, run };
}

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

describe('on TanStack’s query cache', () => {
  it('[D42] a confirmation takes over the revision and reads only the lists again', async () => {
    const { run, reads, detail } = await setUp();
    await run([{ type: 'confirm', resource, revision: 2, origin: 'o' }]);
    expect(detail()).toEqual({ id: 'w1', weightKg: 60, revision: 2 });
    expect(reads).toEqual(['workout/list']);
  });

  it('[D43] a confirmation never makes a copy that no server read has filled', async () => {
    const { run, client } = await setUp();
    await run([{ type: 'confirm', resource: { family: 'workout', target: 'w2' }, revision: 1, origin: 'o' }]);
    expect(client.getQueryData(['workout', 'detail', 'w2'])).toBeUndefined();
  });

  it('[D42] a confirmation without the app’s help reads the resource again', async () => {
    const { run, reads, server, detail } = await setUp();
    server.set('w1', { id: 'w1', weightKg: 80, revision: 2 });
    await run([{ type: 'confirm', resource, revision: 2, origin: 'o' }], {});
    expect(reads.toSorted()).toEqual(['workout/detail/w1', 'workout/list']);
    expect(detail()).toMatchObject({ weightKg: 80 });
  });

  it('[D42] a drop takes the resource out of detail and lists at once', async () => {
    const { run, client, list } = await setUp();
    const dropped = run([{ type: 'drop', resource }]);
    expect(client.getQueryState(['workout', 'detail', 'w1'])).toBeUndefined();
    expect(list()).toEqual([]);
    await dropped;
  });

  it('[D42] a recovered row reads the resource as it is now, and drops it only if the server has none', async () => {
    const { run, server, detail, list, client } = await setUp();
    server.set('w1', { id: 'w1', weightKg: 90, revision: 9 });
    await run([{ type: 'refetch_canonical', resource }]);
    expect(detail()).toMatchObject({ weightKg: 90, revision: 9 });
    server.clear();
    await run([{ type: 'refetch_canonical', resource }]);
    expect(client.getQueryState(['workout', 'detail', 'w1'])).toBeUndefined();
    expect(list()).toEqual([]);
  });

  it('[D42, D44] tags and derived data are read again, once for any number of rows', async () => {
    const { run, reads } = await setUp();
    const one: readonly PageStep[] = [
      { type: 'invalidate', resource },
      { type: 'invalidate_tags', family: 'workout', tags: ['2026-11-30', '2026-12-01'] },
      { type: 'refresh_derived', resource, generation: 5 },
    ];
    await run([...one, ...one, ...one]);
    expect(reads.toSorted()).toEqual([
      'workout/2026-11-30',
      'workout/derived',
      'workout/detail/w1',
      'workout/list',
    ]);
  });

  it('[D42] steps for the person, and rows that were taken over, read nothing', async () => {
    const { run, reads } = await setUp();
    await run([
      { type: 'announce', ids: ['i1'] },
      { type: 'notice', ids: ['i1'] },
      { type: 'badge', id: 'i1', code: 'rejected' },
      { type: 'follow', id: 'i1', by: 'i2' },
      { type: 'drop_pending', id: 'i1', origin: 'o' },
      { type: 'connection_down' },
    ]);
    expect(reads).toEqual([]);
  });

  it('[D42] a creation without an id yet reads the lists again', async () => {
    const { run, reads } = await setUp();
    await run([{ type: 'refetch', resource: { family: 'workout', target: undefined } }]);
    expect(reads).toEqual(['workout/list']);
  });

  it('[D42] a read that fails does not fail the reaction', async () => {
    const { run, server } = await setUp();
    server.clear();
    await expect(run([{ type: 'refetch', resource }])).resolves.toBeUndefined();
  });
});
