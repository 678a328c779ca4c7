/** Maps for the in-memory store: found by tokens as by an index, and undone step by step as by a power cut. */

/** What was done since the last strict transaction, transaction by transaction. */
export interface UndoLog {
  /** Adds a step to the transaction that is open. */
  add(step: () => void): void;
  /** Ends the transaction; a strict one makes all of them safe. */
  end(durability: 'strict' | 'relaxed'): void;
  /** Undoes the last `count` transactions that are not safe; all of them by default. */
  forget(count?: number): void;
}

export function createUndoLog(): UndoLog {
  const ended: (() => void)[][] = [];
  let open: (() => void)[] = [];
  return {
    add(step) {
      open.push(step);
    },
    end(durability) {
      if (durability === 'strict') ended.length = 0;
      else ended.push(open);
      open = [];
    },
    forget(count = ended.length) {
      for (const steps of ended.splice(Math.max(0, ended.length - count)).reverse())
        for (const step of steps.reverse()) step();
      open = [];
    },
  };
}

export interface Table<Value> {
  get(key: string): Value | undefined;
  /** `undefined` removes. */
  set(key: string, value: Value | undefined): void;
  /** Values that have this token, in no order that may be relied on. */
  find(token: string): readonly Value[];
  all(): readonly Value[];
}

/** `tokensOf`: what a value is found by, beside its key. */
export function createTable<Value>(
  log: UndoLog,
  tokensOf: (value: Value) => readonly string[] = () => [],
): Table<Value> {
  const values = new Map<string, Value>();
  const index = new Map<string, Set<string>>();

  function put(key: string, value: Value | undefined): void {
    const before = values.get(key);
    if (before !== undefined) for (const token of tokensOf(before)) index.get(token)?.delete(key);
    if (value === undefined) {
      values.delete(key);
      return;
    }
    values.set(key, value);
    for (const token of tokensOf(value)) {
      const keys = index.get(token) ?? new Set();
      index.set(token, keys.add(key));
    }
  }
  return {
    get: (key) => values.get(key),
    set(key, value) {
      const before = values.get(key);
      log.add(() => put(key, before));
      put(key, value);
    },
    find: (token) => [...(index.get(token) ?? [])].flatMap((key) => values.get(key) ?? []),
    all: () => [...values.values()],
  };
}

/** A key or token that no other list of words gives. */
export function tokenOf(...words: readonly (string | number)[]): string {
  return JSON.stringify(words);
}
