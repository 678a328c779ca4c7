/** What this page can say of an owner's snapshot when a host asks for it (S31). Loaded when it is needed. */
import type { Snapshot, SnapshotOffer } from '../shared/snapshot.ts';

export function snapshotName(outbox: string, owner: string): string {
  return JSON.stringify(['holdfast', outbox, 'snapshot', owner]);
}

/** What is kept of this owner. Reading `localStorage` throws where storage is forbidden. */
export function offerOf(
  realm: { readonly localStorage: Pick<Storage, 'getItem'> },
  outbox: string,
  owner: string,
): SnapshotOffer {
  return readSnapshot({ getItem: (key) => realm.localStorage.getItem(key) }, snapshotName(outbox, owner));
}

export function readSnapshot(storage: Pick<Storage, 'getItem'>, name: string): SnapshotOffer {
  try {
    const text = storage.getItem(name);
    if (text === null) return { type: 'none' };
    const value = JSON.parse(text) as Partial<Snapshot> | null;
    if (typeof value?.generation !== 'number' || !Array.isArray(value.rows)) return { type: 'unreadable' };
    const { epoch, generation, at, until, rows } = value;
    const bound = typeof until === 'number' ? { until } : {};
    // One bad row never keeps the others from being read (R3).
    const read = rows.filter((one) => typeof one?.row === 'object' && one.row !== null);
    return { type: 'snapshot', epoch: String(epoch), generation, at: Number(at), rows: read, ...bound };
  } catch {
    return { type: 'unreadable' };
  }
}

const HEAD = /^\{"epoch":"([^"]*)","generation":(\d+),/;

/** What a snapshot reflects, without reading it through. */
export function readHead(
  storage: Pick<Storage, 'getItem'>,
  name: string,
): { readonly epoch: string; readonly generation: number } | undefined {
  const [, epoch, generation] = HEAD.exec(storage.getItem(name)?.slice(0, 200) ?? '') ?? [];
  return epoch === undefined ? undefined : { epoch, generation: Number(generation) };
}
