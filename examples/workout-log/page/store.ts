/** The smallest store: what `outbox.view` looks like too, so that one hook reads both. */
import { useEffect, useState } from 'preact/hooks';

export interface Readable<T> {
  subscribe(listener: () => void): () => void;
  getSnapshot(): T;
}

export interface Store<T> extends Readable<T> {
  set(value: T): void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    getSnapshot: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Renders again whenever the store publishes. */
export function useReadable<T>(readable: Readable<T>): T {
  const [value, setValue] = useState(readable.getSnapshot);
  useEffect(() => {
    const read = (): void => setValue(() => readable.getSnapshot());
    read();
    return readable.subscribe(read);
  }, [readable]);
  return value;
}
