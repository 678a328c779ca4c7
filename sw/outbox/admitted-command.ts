/** A command that was checked, copied, validated and hashed: what the rounds of an enqueue work from (R42). */
import type { CommandInput } from '../../shared/command.ts';
import type { Family } from '../../shared/family.ts';
import { type Key, toKeyArray } from '../../shared/key.ts';
import type { IdEntry } from '../../shared/outcome.ts';
import type { AdmittedBody } from './admit-body.ts';

export interface AdmittedCommand {
  readonly input: Omit<CommandInput, 'body' | 'target'>;
  readonly key: Key;
  readonly family: Family;
  /** Absent where the kind has no body. */
  readonly content: AdmittedBody | undefined;
  readonly requestHash: string;
}

/** What is remembered of a command that got no row of its own (R9). */
export function noteOf(command: AdmittedCommand, end: IdEntry['end'], by?: string): IdEntry {
  const { input, key, requestHash } = command;
  const { id } = input;
  return { id, key: toKeyArray(key), requestHash, origin: id, end, ...(by !== undefined && { by }) };
}

export function mergeOf(family: Family | undefined) {
  return family?.type === 'record' ? family.merge : undefined;
}
