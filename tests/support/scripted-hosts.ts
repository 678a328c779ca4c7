/** Two hosts over one IndexedDB that misbehaves on command, on one clock with its limits. */
import { IDBKeyRange } from 'fake-indexeddb';
import type { Timers } from '../../sw/environment.ts';
import { createIdbRowStore, type IdbRowStore } from '../../sw/storage/idb-row-store.ts';
import type { TestHost, TestWorld, TestWorldOptions } from '../../sw/testing/create-test-world.ts';
import { readEverything } from './raw-database.ts';
import { createScriptedIndexedDb, type ScriptedIndexedDb } from './scripted-indexed-db.ts';
import { type TwoHosts, twoHosts } from './two-hosts.ts';

export interface ScriptedHosts extends TwoHosts {
  readonly scripted: ScriptedIndexedDb;
  /** What is really there. */
  dump(): ReturnType<typeof readEverything>;
  /** A creation by host `a`. */
  create(kg: number): ReturnType<TwoHosts['enqueue']>;
  /** Another host with a connection of its own; `timers` for one whose realm stands still. */
  join(timers?: Timers): Promise<TestHost>;
}

export async function scriptedHosts(options: Partial<TestWorldOptions> = {}): Promise<ScriptedHosts> {
  const scripted = createScriptedIndexedDb();
  const open = (world: TestWorld, timers?: Timers) => openScripted(scripted, world, timers);
  const hosts = await twoHosts((world) => open(world), options);
  return {
    ...hosts,
    scripted,
    dump: () => readEverything(scripted.honest, 'holdfast'),
    create: (kg) => hosts.enqueue({ kind: 'create', body: { kg } }),
    join: (timers) => hosts.start(open(hosts.world, timers)),
  };
}

export function openScripted(
  { indexedDB }: ScriptedIndexedDb,
  { clock, uuid }: Pick<TestWorld, 'clock' | 'uuid'>,
  timers: Timers = clock,
): IdbRowStore {
  return createIdbRowStore(
    { indexedDB, keyRange: IDBKeyRange, clock, timers, ids: { uuid } },
    { name: 'holdfast' },
  );
}
