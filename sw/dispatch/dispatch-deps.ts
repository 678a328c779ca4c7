/** What the parts of dispatching share: ports, settings, and the way to tell the outside. */
import type { Clock, Connection, Digest, HostLocks, Ids, Timers } from '../environment.ts';
import type { Acknowledger } from '../outbox/acknowledger.ts';
import type { RowStore } from '../outbox/row-store.ts';
import type { Report } from './report.ts';
import type { DispatchSettings } from './settings.ts';

export interface DispatchDeps {
  /** This host's id (C1), once its lock is held or known to be missing (C6). */
  readonly host: Promise<string>;
  readonly store: RowStore;
  readonly acknowledger: Acknowledger;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly locks: HostLocks;
  readonly digest: Digest;
  readonly connection: Connection;
  readonly settings: DispatchSettings;
  /** Never throws. */
  readonly report: Report;
  /** Something that `progress` shows has changed. */
  readonly onProgress: (owner: string) => void;
  /** A commit turned out to have landed of which the store said nothing: pages have to read again. */
  readonly onUnseen: (owner: string) => void;
}
