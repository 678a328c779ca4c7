/** The one record that every commit reads and writes: numbers given so far, and what is kept per owner (S2). */
import { answerOf } from './idb-request.ts';
import type { OwnerRecord } from './judge.ts';
import { META, STATE_KEY, type StoreState } from './schema.ts';

export function readState(transaction: IDBTransaction): Promise<StoreState> {
  return answerOf<StoreState>(transaction.objectStore(META).get(STATE_KEY));
}

export async function readOwner(
  transaction: IDBTransaction,
  owner: string,
): Promise<OwnerRecord | undefined> {
  return ownerIn(await readState(transaction), owner);
}

export function ownerIn({ owners }: StoreState, owner: string): OwnerRecord | undefined {
  return owners.find(([name]) => name === owner)?.[1];
}

/** Fields that this release does not know stay (R2). */
export function putState(
  transaction: IDBTransaction,
  before: StoreState,
  changes: {
    readonly seq?: number;
    readonly ids?: number;
    readonly owners: ReadonlyMap<string, OwnerRecord>;
  },
): void {
  const owners = new Map([...before.owners, ...changes.owners]);
  const state: StoreState = { ...before, ...changes, owners: [...owners] };
  transaction.objectStore(META).put(state, STATE_KEY);
}
