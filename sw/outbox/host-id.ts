/**
 * A host's id and what it promises (C6): one that ends in `~` holds no lock, so that a free lock says nothing
 * about it and only its leases count.
 */
import type { Row } from '../../shared/row.ts';
import type { HostLocks, Ids } from '../environment.ts';

const WITHOUT_LOCK = '~';

/** Whether a free lock says something about this host. */
export function holdsLock(host: string): boolean {
  return !host.endsWith(WITHOUT_LOCK);
}

/** Makes the id of this host. Its lock is held, where there are locks, before the id is told to anyone. */
export async function takeHostId(deps: {
  readonly ids: Pick<Ids, 'uuid'>;
  readonly locks: HostLocks;
}): Promise<string> {
  const id = deps.ids.uuid();
  return (await deps.locks.hold(id)) ? id : id + WITHOUT_LOCK;
}

/**
 * Which of the hosts that hold `rows` are surely gone. Asks once per host; `own` is never asked about. Rows of
 * several pages may be judged with one answer, since a host that is gone never comes back under its id.
 */
export async function findGoneHosts(
  rows: readonly Pick<Row, 'claim' | 'state'>[],
  own: string,
  locks: HostLocks,
): Promise<ReadonlySet<string>> {
  const hosts = new Set(
    rows.flatMap(({ claim, state }) => (claim && state === 'sending' ? [claim.host] : [])),
  );
  hosts.delete(own);
  const asked = [...hosts].filter(holdsLock);
  const answers = await Promise.all(asked.map((host) => locks.check(host)));
  return new Set(asked.filter((_, place) => answers[place] === 'gone'));
}
