/** The one record that is kept per owner (S2). */
import { answerOf } from './idb-request.ts';
import type { OwnerRecord } from './judge.ts';
import { META_KEYS, toDbKey } from './schema.ts';

export function readOwner(meta: IDBObjectStore, owner: string): Promise<OwnerRecord | undefined> {
  return answerOf<OwnerRecord | undefined>(meta.get(toDbKey(META_KEYS.owner(owner))));
}

export function putOwner(meta: IDBObjectStore, owner: string, record: OwnerRecord): void {
  meta.put(record, toDbKey(META_KEYS.owner(owner)));
}
