/** What a family may add on the sending side: preparing, resolving, reading, asking. All have time limits (D4). */

import type { Family } from '../../shared/family.ts';
import type { Target } from '../../shared/key.ts';
import type { FailureNote } from '../../shared/outcome.ts';
import type { Receipt } from '../../shared/receipt.ts';
import type { CommandKind, Row } from '../../shared/row.ts';
import type { FindReceipt, ReadCurrent, Sender, ServerState } from './sender.ts';

export interface IntentView {
  readonly id: string;
  readonly kind: CommandKind;
  /** Pending where it waits for its own creation; a server's id where it waits for others only (W60). */
  readonly target: Target;
  readonly body: unknown;
  readonly tags: readonly string[];
  readonly expectedRevision?: number | undefined;
}

export interface PreparedSuccessor {
  /** The server's id that the row now aims at; of no meaning for a creation. */
  readonly target: string;
  readonly expectedRevision?: number | undefined;
  readonly body?: unknown;
}

/** Gives an intent its request, once the creation's receipt is known (C21). `predecessor` is absent where its row is gone. */
export type PrepareSuccessor = (input: {
  readonly intent: IntentView;
  readonly predecessor: { readonly id: string; readonly body: unknown } | undefined;
  readonly receipt: Receipt;
  /** By origin, for a row with `after` (W60). */
  readonly receipts: ReadonlyMap<string, Receipt>;
}) => PreparedSuccessor | Promise<PreparedSuccessor>;

export type ConflictAnswer =
  | { readonly type: 'resend' }
  | { readonly type: 'body'; readonly body: unknown }
  | { readonly type: 'block' }
  | { readonly type: 'drop' };

/** Decides a revision conflict (D30). */
export type ResolveConflict = (conflict: {
  readonly row: Pick<Row, 'id' | 'family' | 'kind' | 'target' | 'tags' | 'savedAt'>;
  readonly body: unknown;
  readonly expected: number | undefined;
  readonly actual: number;
  /** Asks `readCurrent`; `undefined` where the family has none. */
  readonly readCurrent: () => Promise<ServerState | undefined>;
}) => ConflictAnswer | Promise<ConflictAnswer>;

/**
 * A family's own reading of a failure, before the common table (D10): `undefined` leaves it to the table. Also
 * asked about a 2xx answer without a receipt, for servers that report errors that way. `source_deleted` means
 * `already_gone` where the command deletes.
 */
export type MapFailure = (signals: {
  readonly kind: CommandKind;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly json: unknown;
}) =>
  | {
      readonly class: FailureNote['class'];
      readonly code: string;
      readonly actualRevision?: number | undefined;
    }
  | undefined;

export interface FamilyPorts {
  readonly prepareSuccessor?: PrepareSuccessor | undefined;
  readonly resolveConflict?: ResolveConflict | undefined;
  readonly readCurrent?: ReadCurrent | undefined;
  readonly findReceipt?: FindReceipt | undefined;
  readonly mapFailure?: MapFailure | undefined;
}

/** A family's ports: its own, else what the sender can do for it. A server without receipts is not asked for any. */
export function portsOf(
  name: string,
  family: Family,
  ports: Readonly<Record<string, FamilyPorts>>,
  sender: Sender,
): FamilyPorts {
  const own = Object.hasOwn(ports, name) ? ports[name] : undefined;
  const canAsk = family.receipts !== 'none';
  return {
    ...own,
    findReceipt: own?.findReceipt ?? (canAsk ? sender.findReceipt : undefined),
    readCurrent: own?.readCurrent ?? sender.readCurrentOf?.(name),
  };
}
