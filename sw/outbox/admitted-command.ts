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
  readonly content: AdmittedBody | undefined;
  readonly requestHash: string;
}

/** What is remembered of a command that got no row of its own (R9). */
export function noteOf(command: AdmittedCommand, end: IdEntry['end'], by?: string): IdEntry {
  const { id } = command.input;
  const note = { id, key: toKeyArray(command.key), requestHash: command.requestHash, origin: id, end };
  return by === undefined ? note : { ...note, by };
}

export function mergeOf(family: Family | undefined) {
  return family?.type === 'record' ? family.merge : undefined;
}
