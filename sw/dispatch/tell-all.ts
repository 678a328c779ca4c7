/** Tells every listener. One that throws is its owner's trouble: it keeps nothing from the others and stops no drain. */
export function tellAll<T>(listeners: Iterable<(value: T) => void>, value: T): void {
  for (const listener of listeners) {
    try {
      listener(value);
    } catch {
      // Nobody here could do anything about it.
    }
  }
}
