/**
 * Properties over arbitrary input. `FUZZ_RUNS` raises the number of inputs per property (200), `FUZZ_SEED` repeats a
 * run: fast-check prints the seed and the path of whatever it finds, shrunk.
 */
import fc from 'fast-check';

const RUNS = Number(process.env['FUZZ_RUNS'] ?? 200);
const SEED = process.env['FUZZ_SEED'];

export const parameters = {
  numRuns: RUNS,
  ...(SEED !== undefined && { seed: Number(SEED) }),
} as const;

/** Whatever a structured clone carries, nested, with the names that trip programs up. */
export const junk: fc.Arbitrary<unknown> = fc.anything({
  key: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'then', 'toString', 'id', 'type')),
  maxDepth: 3,
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
});

/** A record in which any of the fields may be right, missing or junk. */
export function nearly<T extends object>(fields: { readonly [Name in keyof T]: fc.Arbitrary<T[Name]> }) {
  const entries = Object.entries<fc.Arbitrary<unknown>>(fields).map(([name, right]) => [
    name,
    fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: junk }),
  ]);
  const model: { [name: string]: fc.Arbitrary<unknown> } = Object.fromEntries(entries);
  return fc.record(model, { requiredKeys: [] });
}

export function holds<T>(input: fc.Arbitrary<T>, property: (value: T) => void): void {
  fc.assert(fc.property(input, property), parameters);
}

export function holdsInTime<T>(
  input: fc.Arbitrary<T>,
  property: (value: T) => Promise<void>,
  runs: number = RUNS,
): Promise<void> {
  return fc.assert(fc.asyncProperty(input, property), { ...parameters, numRuns: runs });
}
