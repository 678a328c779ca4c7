/** Ends a `switch` over a closed union: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`);
}

/** States what must hold here; a failure is a defect of Holdfast, not of the caller. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Holdfast invariant broken: ${message}`);
}
