/** redux-offline with localForage, as its documentation drives it: actions with an effect, sent in order. */
import { offline } from '@redux-offline/redux-offline';
import defaults from '@redux-offline/redux-offline/lib/defaults';
import localforage from 'localforage';
import { createStore } from 'redux';
import { makeItem } from '../common/definition.ts';
import type { Send, Timings } from './timings.ts';

interface State {
  readonly offline?: { readonly outbox: readonly unknown[] };
}

export async function runReduxOffline(count: number, send: Send): Promise<Timings> {
  const forage = localforage.createInstance({ name: `peer-${crypto.randomUUID()}` });
  // Until then it puts its own methods in the place of those that are given here.
  await forage.ready();
  /** The list is stored whole, once for all changes of one turn: what the last write that ended held. */
  let storedCount = 0;
  let noteStored: () => void = () => undefined;
  const setItem = forage.setItem.bind(forage);
  forage.setItem = async (key, value, callback) => {
    const written = await setItem(key, value, callback);
    if (key.endsWith('offline') && typeof value === 'string') {
      storedCount = (JSON.parse(value) as { readonly outbox: readonly unknown[] }).outbox.length;
      noteStored();
    }
    return written;
  };
  let setOnline: (online: boolean) => void = () => undefined;
  let ready: () => void = () => undefined;
  const rehydrated = new Promise<void>((resolve) => {
    ready = resolve;
  });
  const enhancer = offline({
    ...defaults,
    detectNetwork: (callback) => {
      setOnline = callback;
    },
    effect: async ({ item, id }: { readonly item: unknown; readonly id: string }) => await send(item, id),
    persistOptions: { storage: forage },
    persistCallback: () => ready(),
  });
  const store = createStore((state: State = {}) => state, undefined, enhancer as never);
  await rehydrated;
  setOnline(false);
  const outbox = (): readonly unknown[] => (store.getState() as State).offline?.outbox ?? [];
  const until = (condition: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!condition()) return;
        unsubscribe();
        resolve();
      };
      const unsubscribe = store.subscribe(check);
      check();
    });
  const stored = (): Promise<void> =>
    new Promise((resolve) => {
      noteStored = () => {
        if (storedCount === count) resolve();
      };
    });

  const start = performance.now();
  const isStored = stored();
  for (let n = 0; n < count; n++) {
    const id = crypto.randomUUID();
    store.dispatch({ type: 'item', meta: { offline: { effect: { item: makeItem(n), id } } } });
  }
  await isStored;
  const enqueued = performance.now();
  setOnline(true);
  await until(() => outbox().length === 0);
  const ended = performance.now();
  return { enqueueMs: enqueued - start, drainMs: ended - enqueued };
}
