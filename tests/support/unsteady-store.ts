/** A store that cannot be read while a test says so, and whose database can be lost under those who have it open. */
import { OutboxUnavailableError, QuotaError } from '../../shared/errors.ts';
import type { Commit, RowStore } from '../../sw/outbox/row-store.ts';

export interface UnsteadyStore extends RowStore {
  isBroken: boolean;
  /** There is no room for new rows. */
  isFull: boolean;
  /** From now on it is another database, made anew; who has it open hears of it. */
  replace(fresh: RowStore): void;
}

export function createUnsteadyStore(first: RowStore): UnsteadyStore {
  const listeners = new Set<() => void>();
  let current = first;
  const state = { isBroken: false, isFull: false };
  const own: Partial<UnsteadyStore> = {
    onFresh: (listener) => void listeners.add(listener),
    replace(fresh) {
      current = fresh;
      for (const listener of listeners) listener();
    },
  };
  const call =
    (name: string | symbol) =>
    async (...args: readonly unknown[]): Promise<unknown> => {
      if (state.isBroken) throw new OutboxUnavailableError('It cannot be opened');
      const [commits] = args as readonly (readonly Commit[])[];
      if (state.isFull && name === 'commit' && commits?.some(({ reason }) => reason === 'enqueue'))
        throw new QuotaError('It has no room', { usage: 9, quota: 9 });
      return await Reflect.get(current, name)(...args);
    };
  // Spread by those who wrap it, so its members must be its own.
  const members = Object.keys(first).map((name) => [name, call(name)]);
  const store = { ...Object.fromEntries(members), ...own };
  for (const name of ['isBroken', 'isFull'] as const)
    Object.defineProperty(store, name, {
      get: () => state[name],
      set: (is: boolean) => {
        state[name] = is;
      },
    });
  return store;
}
