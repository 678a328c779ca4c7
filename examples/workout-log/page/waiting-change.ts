/** A change that waits on this device, as the live view shows it, with its content once that has been read. */
import type { ViewRow } from 'holdfast/client';
import type { ServerWorkout } from './server-copy.ts';

export interface WaitingChange {
  readonly row: ViewRow;
  /** Absent while it is being read, and for a deletion. */
  readonly body?: unknown;
  /** What the server last said about the workout it changes. */
  readonly base?: ServerWorkout | undefined;
  /** Its row is gone and its outcome not dealt with yet: content to show, but nothing that waits. */
  readonly isLeaving?: boolean | undefined;
  /** Of a photo that has left: its id at the server, whose list does not have it yet. */
  readonly accepted?: { readonly target: string } | undefined;
}
