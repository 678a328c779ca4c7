/** The recipes of docs/frameworks.md, run as they stand there. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { effectScope, watchEffect } from 'vue';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Loads the example that begins with the comment `// name`. */
async function loadExample(name: string): Promise<Readonly<Record<string, unknown>>> {
  const text = readFileSync(`${ROOT}docs/frameworks.md`, 'utf8');
  const code = text.split('```').find((part) => part.startsWith(`ts\n// ${name}\n`));
  if (code === undefined) throw new Error(`docs/frameworks.md has no ${name}`);
  mkdirSync(`${ROOT}.tmp/frameworks`, { recursive: true });
  writeFileSync(`${ROOT}.tmp/frameworks/${name}`, code.slice(2));
  return (await import(`${ROOT}.tmp/frameworks/${name}`)) as Readonly<Record<string, unknown>>;
}

interface Store {
  subscribe(listener: () => void): () => void;
  getSnapshot(): number;
}

function createStore() {
  let value = 0;
  const listeners = new Set<() => void>();
  return {
    listeners,
    set(next: number) {
      value = next;
      for (const listener of listeners) listener();
    },
    getSnapshot: () => value,
    subscribe(listener: () => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

describe('a recipe', () => {
  it('[W18] for Vue follows the store for as long as its scope lives', async () => {
    const { useStore } = (await loadExample('use-store.ts')) as {
      useStore: (store: Store) => { readonly value: number };
    };
    const store = createStore();
    const seen: number[] = [];
    const scope = effectScope();
    scope.run(() => {
      const view = useStore(store);
      watchEffect(() => seen.push(view.value), { flush: 'sync' });
    });
    store.set(1);
    store.set(1);
    store.set(2);
    expect(seen).toEqual([0, 1, 2]);
    scope.stop();
    expect(store.listeners.size).toBe(0);
  });

  it('[W18] for Svelte and Solid runs at once and after each change', async () => {
    const { readable } = (await loadExample('readable.ts')) as {
      readable: (store: Store) => { subscribe(run: (value: number) => void): () => void };
    };
    const store = createStore();
    const seen: number[] = [];
    const end = readable(store).subscribe((value) => seen.push(value));
    store.set(1);
    end();
    store.set(2);
    expect(seen).toEqual([0, 1]);
    expect(store.listeners.size).toBe(0);
  });

  it('[W18] for signals sets the signal until it is ended', async () => {
    const { toSignal } = (await loadExample('to-signal.ts')) as {
      toSignal: (
        store: Store,
        make: (value: number) => { value: number },
      ) => { readonly signal: { value: number }; readonly end: () => void };
    };
    const store = createStore();
    const { signal, end } = toSignal(store, (value) => ({ value }));
    store.set(1);
    expect(signal.value).toBe(1);
    end();
    store.set(2);
    expect(signal.value).toBe(1);
  });
});
