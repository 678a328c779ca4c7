/**
 * Hears of other hosts that end (C6). A lock that becomes free is a wake-up and no proof: whoever is woken asks for
 * itself, and where no lock answers the end of the lease wakes as ever.
 */
import { hostLockName } from '../shared/protocol.ts';

export type HostEnds = Pick<LockManager, 'request' | 'query'>;

/**
 * Calls `ended` once for every host that runs now, or is named to the answered function later, and has ended. `own` is
 * not followed. `readLocks` may throw, as it does in some opaque origins.
 */
export function followHosts(
  readLocks: () => HostEnds | undefined,
  own: string,
  ended: () => void,
): (host: string) => void {
  const followed = new Set([hostLockName(own)]);
  const wait = async (name: string): Promise<void> => {
    if (followed.has(name)) return;
    followed.add(name);
    // Shared, so that those who wait do not keep each other waiting; given back at once.
    await readLocks()?.request(name, { mode: 'shared' }, ended);
  };
  const waitForAll = async (): Promise<void> => {
    const { held = [] } = (await readLocks()?.query()) ?? {};
    const names = held.map(({ name = '' }) => name).filter((name) => name.startsWith(hostLockName('')));
    await Promise.all(names.map(wait));
  };
  // Refused, or no locks here: leases end all the same.
  waitForAll().catch(() => undefined);
  return (host) => void wait(hostLockName(host)).catch(() => undefined);
}
