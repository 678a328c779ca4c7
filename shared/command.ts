import type { Target } from './key.ts';
import type { CommandKind } from './row.ts';

/**
 * What a page hands over, as it crosses the line to the worker. The page makes the id, so that a repeated
 * call answers what became of the first (W11, R9).
 */
export interface CommandInput {
  /** The idempotency key: a UUID, unique for ever. */
  readonly id: string;
  readonly owner: string;
  readonly family: string;
  readonly kind: CommandKind;
  /** Absent for a create: its target is itself, pending. */
  readonly target?: Target | undefined;
  /** Any structured-cloneable payload that the family's validator accepts; absent for delete and remove. */
  readonly body?: unknown;
  /** The revision this change was made on (V3). */
  readonly expectedRevision?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly sourceRef?: string | undefined;
  readonly after?: readonly string[] | undefined;
  /** By family, what it belongs to: a target that may be pending, or a server's id (W60). */
  readonly under?: Readonly<Record<string, Target | string | undefined>> | undefined;
  readonly urgent?: boolean | undefined;
  readonly expiresAt?: number | undefined;
}

/** What the replace table did with a command; the words of docs/rows.md. */
export type EnqueueAction = 'queued' | 'existing' | 'merged' | 'intent' | 'dropped';
