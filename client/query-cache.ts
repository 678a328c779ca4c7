/**
 * Runs page steps on a query cache shaped like that of TanStack Query (no dependency: anything with these methods
 * fits). Never writes content: a copy that stands for what the server said is filled by server reads only (D43).
 */
import type { PageStep, Resource } from './page-reactions.ts';

export type QueryKey = readonly unknown[];

interface Filter {
  readonly queryKey: QueryKey;
}

/** The part of `QueryClient` that is used. */
export interface QueryCacheLike {
  invalidateQueries(filter: Filter): Promise<unknown>;
  removeQueries(filter: Filter): void;
  getQueryState(key: QueryKey): { readonly error: unknown } | undefined;
  setQueryData(key: QueryKey, update: (cached: unknown) => unknown): unknown;
  setQueriesData(filter: Filter, update: (cached: unknown) => unknown): unknown;
}

export interface QueryCacheOptions {
  /** The query of one resource. Default `[family, 'detail', target]`. */
  readonly detailKey?: ((family: string, target: string) => QueryKey) | undefined;
  /** What every list of a family begins with. Default `[family, 'list']`. */
  readonly listKey?: ((family: string) => QueryKey) | undefined;
  /** What a tag of the page names. Default `[family, tag]`. */
  readonly tagKey?: ((family: string, tag: string) => QueryKey) | undefined;
  /** Data computed from the family's resources. Default `[family, 'derived']`. */
  readonly derivedKey?: ((family: string, generation: number) => QueryKey) | undefined;
  /** The cached resource with this revision. Without it the resource is read again after an edit. */
  readonly withRevision?: ((cached: unknown, revision: number) => unknown) | undefined;
  /** A cached list without this resource. Without it the lists are only read again. */
  readonly without?: ((list: unknown, target: string) => unknown) | undefined;
  /** Whether a query's error is the server's word that there is no such resource. */
  readonly isMissing?: ((error: unknown) => boolean) | undefined;
}

/** Resolves when everything that is shown has been read again. Steps for the person are not its business. */
export async function applyToQueryCache(
  steps: readonly PageStep[],
  cache: QueryCacheLike,
  options: QueryCacheOptions = {},
): Promise<void> {
  const {
    detailKey = (family, target) => [family, 'detail', target],
    listKey = (family) => [family, 'list'],
    tagKey = (family, tag) => [family, tag],
    derivedKey = (family) => [family, 'derived'],
    withRevision,
    without,
    isMissing = () => false,
  } = options;
  // By their text: a hundred rows of one family read its lists again once.
  const stale = new Map<string, QueryKey>();
  const canonical: Resource[] = [];
  const invalidate = (key: QueryKey) => stale.set(JSON.stringify(key), key);
  const invalidateAll = ({ family, target }: Resource) => {
    if (target !== undefined) invalidate(detailKey(family, target));
    invalidate(listKey(family));
  };
  const drop = ({ family, target }: Resource) => {
    if (target === undefined) return;
    const queryKey = listKey(family);
    cache.removeQueries({ queryKey: detailKey(family, target) });
    if (without)
      cache.setQueriesData({ queryKey }, (list) => (list === undefined ? undefined : without(list, target)));
  };

  for (const step of steps) {
    switch (step.type) {
      case 'confirm': {
        const { family, target } = step.resource;
        if (withRevision && target !== undefined) {
          const confirmed = (cached: unknown) =>
            cached === undefined ? undefined : withRevision(cached, step.revision);
          cache.setQueryData(detailKey(family, target), confirmed);
          invalidate(listKey(family));
        } else invalidateAll(step.resource);
        break;
      }
      case 'invalidate':
      case 'refetch':
        invalidateAll(step.resource);
        break;
      case 'drop':
        drop(step.resource);
        invalidate(listKey(step.resource.family));
        break;
      case 'refetch_canonical':
        invalidateAll(step.resource);
        canonical.push(step.resource);
        break;
      case 'invalidate_tags':
        for (const tag of step.tags) invalidate(tagKey(step.family, tag));
        break;
      case 'refresh_derived':
        invalidate(derivedKey(step.resource.family, step.generation));
    }
  }
  // A read that fails is the query's own to show.
  await Promise.allSettled([...stale.values()].map((queryKey) => cache.invalidateQueries({ queryKey })));
  for (const resource of canonical) {
    const { family, target } = resource;
    if (target !== undefined && isMissing(cache.getQueryState(detailKey(family, target))?.error))
      drop(resource);
  }
}
