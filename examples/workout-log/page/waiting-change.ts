/** A change that waits on this device, as the live view shows it, with its content once that has been read. */
import type { ViewRow } from '../../../shared/protocol.ts';

export interface WaitingChange {
  readonly row: ViewRow;
  /** Absent while it is being read, and for a deletion. */
  readonly body?: unknown;
  /** What the target is called, where the list knows it. */
  readonly name?: string | undefined;
}
