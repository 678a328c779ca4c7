/** What is simulated: an app's definition, and what the simulator needs to know of it to ask for commands (W52). */
import { defineOutbox, document, type OutboxDefinition, record } from '../../../shared/family.ts';
import { isRecord } from '../../../shared/row-codec.ts';
import type { FamilyPorts } from '../../dispatch/family-ports.ts';

export interface Subject {
  readonly definition: OutboxDefinition;
  /** As an app gives them; the simulated server stands in for `findReceipt` and `readCurrent`. */
  readonly ports?: Readonly<Record<string, FamilyPorts>> | undefined;
  /** A payload that the family accepts for its `n`th command. Absent: `{ f<n>: n }`. */
  readonly body?: ((family: string, kind: 'create' | 'update' | 'put', n: number) => unknown) | undefined;
  /**
   * Which commands, by the number that `body` was given, are in this payload. With it the simulator sees when an
   * edit is lost in a merge, or applied twice under different ids.
   */
  readonly marksOf?: ((body: unknown) => readonly number[]) | undefined;
}

/** Patches that merge, whole records, documents. */
export const DEFAULT_SUBJECT: Subject = {
  definition: defineOutbox({
    workout: record({
      merge: (earlier, later) => ({ ...Object(earlier), ...Object(later) }),
    }),
    note: record(),
    plan: document(),
  }),
  body: (_, __, n) => ({ [`f${n}`]: n }),
  marksOf: (body) =>
    isRecord(body) ? Object.values(body).filter((mark): mark is number => typeof mark === 'number') : [],
};
