/** Beside the outbox app in its page: hands on both witnesses and on the database they vouch for. */
import { readSnapshot, snapshotName } from '../../client/read-snapshot.ts';
import type { Snapshot } from '../../shared/snapshot.ts';
import { kvLedger, openLedgerStore, type StorageBuckets } from '../../sw/mirror/kv-ledger.ts';
import type { Ledger, LedgerEntry, Tombstone } from '../../sw/mirror/ledger.ts';
import { HELD } from './trouble.ts';

export interface Witnesses {
  readonly ledger: Ledger;
  entries(): Promise<readonly LedgerEntry[]>;
  tombstone(id: string): Promise<Tombstone | undefined>;
  snapshot(owner: string): Snapshot | undefined;
  putSnapshot(owner: string, snapshot: Snapshot): void;
  /** Resolves once both witnesses have all that was stored: the ledger is up to date, the snapshot has these rows. */
  whenWitnessed(owner: string, ids: readonly string[]): Promise<void>;
  whenMirrored(): Promise<void>;
  /** Ids that the mirror has not seen. */
  unmirrored(): Promise<readonly string[]>;
  /** Removes the outbox's database, whoever has it open. */
  lose(): Promise<void>;
  loseLedger(): Promise<void>;
  /** Makes the ledger's bucket anew, with no room to speak of. */
  shrinkLedger(): Promise<void>;
  /** Resolves once the worker of this address is the active one. */
  register(script: string): Promise<void>;
  /** Resolves when a worker holds the step it was told to hold. */
  whenHeld(): Promise<void>;
  /** How often the owner's snapshot has been written by this page. */
  snapshotWrites(owner: string): number;
}

declare global {
  var witnesses: Witnesses;
}

const OUTBOX = 'holdfast';
const LEDGER = `${OUTBOX}-ledger`;
const { storageBuckets } = navigator as {
  readonly storageBuckets?: {
    delete(name: string): Promise<void>;
    open(name: string, options?: { readonly quota: number }): ReturnType<StorageBuckets['open']>;
  };
};

const ledger = kvLedger(openLedgerStore(LEDGER, indexedDB, storageBuckets));

const answerOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function until(isMet: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isMet())) await new Promise((resolve) => setTimeout(resolve, 20));
}

const writes = new Map<string, number>();
const { setItem } = Storage.prototype;
Storage.prototype.setItem = function setItemAndCount(name, value) {
  writes.set(name, (writes.get(name) ?? 0) + 1);
  setItem.call(this, name, value);
};

let isHeld = false;
new BroadcastChannel(HELD).onmessage = () => {
  isHeld = true;
};

globalThis.witnesses = {
  ledger,
  entries: () => ledger.entries(undefined, 1_000),
  tombstone: async (id) => (await ledger.findTombstones([id]))[0],
  snapshot(owner) {
    const snapshot = readSnapshot(localStorage, snapshotName(OUTBOX, owner));
    return snapshot.type === 'snapshot' ? snapshot : undefined;
  },
  putSnapshot: (owner, { epoch, generation, at, rows }) =>
    setItem.call(localStorage, snapshotName(OUTBOX, owner), JSON.stringify({ epoch, generation, at, rows })),
  async whenWitnessed(owner, ids) {
    await witnesses.whenMirrored();
    // As a page that is being closed.
    dispatchEvent(new PageTransitionEvent('pagehide'));
    await until(() => {
      const held = witnesses.snapshot(owner)?.rows.map(({ row }) => row['id']) ?? [];
      return held.length === ids.length && ids.every((id) => held.includes(id));
    });
  },
  whenMirrored: () => until(async () => (await witnesses.unmirrored()).length === 0),
  async unmirrored() {
    const known = await indexedDB.databases();
    if (!known.some(({ name }) => name === OUTBOX)) return [];
    const database = await answerOf(indexedDB.open(OUTBOX));
    const range = IDBKeyRange.bound(['unmirrored'], ['unmirrored', []]);
    const notes: (readonly { readonly id: string }[])[] = await answerOf(
      database.transaction('meta').objectStore('meta').getAll(range),
    );
    database.close();
    return [...new Set(notes.flat().map(({ id }) => id))];
  },
  lose: async () => void (await answerOf(indexedDB.deleteDatabase(OUTBOX))),
  async loseLedger() {
    await storageBuckets?.delete(LEDGER);
  },
  async shrinkLedger() {
    await storageBuckets?.open(LEDGER, { quota: 1 });
  },
  async register(script) {
    const registration = await navigator.serviceWorker.register(script);
    await until(() => registration.active?.scriptURL === new URL(script, location.href).href);
  },
  whenHeld: () => until(() => isHeld),
  snapshotWrites: (owner) => writes.get(snapshotName(OUTBOX, owner)) ?? 0,
};
