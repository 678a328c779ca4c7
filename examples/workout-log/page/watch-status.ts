/** The live view's facts in the words of the screens. */
import type { DemoOutbox } from './connect-session.ts';
import { offlineSwitch } from './lab-switch.ts';
import type { OutboxStatus } from './session.ts';
import type { Readable } from './store.ts';

type Snapshot = ReturnType<DemoOutbox['view']['getSnapshot']>;

const TROUBLE = {
  ok: undefined,
  full: 'This device has no room left. Earlier changes are safe and still leave; new ones cannot be saved.',
  read_only:
    'This device’s storage cannot be opened. What waits is shown from a second copy; nothing can be saved.',
  no_database: 'This device’s storage cannot be opened, so nothing can be saved right now.',
} as const satisfies Record<Snapshot['storage']['mode'], string | undefined>;

export function watchStatus({ view }: DemoOutbox): Readable<OutboxStatus> {
  let from: Snapshot | undefined;
  let wasOff = false;
  let status: OutboxStatus | undefined;

  return {
    subscribe(listener) {
      const ends = [view.subscribe(listener), offlineSwitch.subscribe(listener)];
      return () => {
        for (const end of ends) end();
      };
    },
    getSnapshot() {
      const now = view.getSnapshot();
      const isOff = offlineSwitch.getSnapshot();
      if (status === undefined || now !== from || isOff !== wasOff) {
        status = toStatus(now, isOff);
        from = now;
        wasOff = isOff;
      }
      return status;
    },
  };
}

function toStatus(snapshot: Snapshot, isOff: boolean): OutboxStatus {
  const { counts, progress, connection, storage, host, oldestWaitingAt, wakeAt, stoppedBy } = snapshot;
  return {
    isReady: snapshot.isReady,
    counts,
    progress,
    // Whose session it is could not be asked either: the server is out of reach.
    isOnline: connection === 'online' && stoppedBy !== 'credentials' && !isOff,
    isPaused: stoppedBy === 'paused',
    host,
    triggers: triggerWords(snapshot),
    oldestSavedAt: oldestWaitingAt,
    wakeAt,
    storageTrouble: TROUBLE[storage.mode],
  };
}

function triggerWords({ triggers }: Snapshot): readonly string[] {
  const { sync } = triggers;
  return [
    'this page',
    'the connection coming back',
    ...(sync === 'idle' || sync === 'armed' || sync === 'proven'
      ? ['Background Sync, also with no page open']
      : []),
    ...(triggers.periodicSync ? ['periodic sync'] : []),
  ];
}
