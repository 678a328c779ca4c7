/**
 * One key per owner, kept in the outbox's database and in the ledger's (W63), so that what the ledger restores can be
 * read. Keys are never changed or replaced: a body names the one it was sealed with, and an owner's current key is the
 * one that the fact `body_key_of` names.
 */

import { isRecord } from '../../shared/row-codec.ts';
import type { EncryptionParts } from '../body-encryption.ts';
import type { LedgerKey } from '../mirror/ledger.ts';
import type { FactName } from '../outbox/row-store.ts';
import { inTime } from '../outbox/time-limit.ts';
import type { Cipher } from './cipher.ts';

export interface NamedKey<Key> {
  readonly id: string;
  readonly key: Key;
}

export interface BodyKeys<Key> {
  /** The key to seal an owner's bodies with; the first time it is made. */
  current(owner: string): Promise<NamedKey<Key>>;
  /** By its id; `undefined` where neither database has it. */
  find(id: string): Promise<Key | undefined>;
  /** The current key turned out to be another one. */
  forgetCurrent(owner: string): void;
  /** Destroys an owner's keys, in the ledger as soon as it can be reached. */
  destroy(owner: string): Promise<void>;
}

const KEY = 'body_key';
const GONE = 'body_key_gone';
export const currentKeyOf = (owner: string): FactName => ['body_key_of', owner];
const keyFact = (owner: string, id: string): FactName => [KEY, owner, id];
const goneFact = (owner: string, id: string): FactName => [GONE, owner, id];

/** The ledger is never waited for longer (S22), in ms. */
const LEDGER_MS = 500;
/** One key per account that ever worked here, and account. */
const MAX_KEYS = 1_000;

export function createBodyKeys<Key>(
  { store, ledger, ids, timers }: EncryptionParts,
  cipher: Cipher<Key>,
): BodyKeys<Key> {
  const known = new Map<string, Key>();
  const currents = new Map<string, Promise<NamedKey<Key>>>();
  // What was destroyed meanwhile must not come back from this memory: the ledger decides.
  store.onFresh?.(() => {
    currents.clear();
    known.clear();
  });

  /** `undefined` where the ledger fails or hangs: then it is asked again the next time. */
  async function askLedger<T>(
    ask: (given: NonNullable<typeof ledger>) => Promise<T>,
  ): Promise<T | undefined> {
    return ledger && inTime(timers, LEDGER_MS, () => ask(ledger)).catch(() => undefined);
  }

  async function readStored(): Promise<readonly LedgerKey[]> {
    const facts = await store.readFacts([KEY], MAX_KEYS);
    return facts.flatMap(({ name: [, owner = '', id = ''], value }) =>
      isRecord(value) ? { owner, id, key: value['key'] } : [],
    );
  }

  /** What was destroyed while the ledger could not be reached is destroyed there before it is read. */
  async function readLedger(): Promise<readonly LedgerKey[] | undefined> {
    const gone = await store.readFacts([GONE], MAX_KEYS);
    return askLedger(async (given) => {
      for (const { name } of gone) {
        const [, owner = '', id = ''] = name;
        await given.keepKey({ owner, id, key: undefined });
        await store.writeFacts([{ name, value: undefined }], 'relaxed');
      }
      return given.keys();
    });
  }

  function learn(keys: readonly LedgerKey[] = []): void {
    for (const { id, key } of keys) if (cipher.isKey(key)) known.set(id, key);
  }

  async function find(id: string): Promise<Key | undefined> {
    if (!known.has(id)) learn(await readStored());
    if (!known.has(id)) {
      // The outbox was lost and restored: its keys come back as its rows do.
      const keys = (await readLedger()) ?? [];
      learn(keys);
      const facts = keys.map(({ owner, id: name, key }) => ({ name: keyFact(owner, name), value: { key } }));
      if (facts.length > 0) await store.writeFacts(facts, 'relaxed');
    }
    return known.get(id);
  }

  async function readCurrent(owner: string): Promise<NamedKey<Key> | undefined> {
    const id = await store.readFact(currentKeyOf(owner));
    const key = typeof id === 'string' ? await find(id) : undefined;
    return typeof id === 'string' && key !== undefined ? { id, key } : undefined;
  }

  async function findOrMake(owner: string): Promise<NamedKey<Key>> {
    const stored = await readCurrent(owner);
    if (stored) {
      const kept = await readLedger();
      if (kept && !kept.some(({ id }) => id === stored.id)) await keep(owner, stored);
      return stored;
    }
    const broken = await store.readFact(currentKeyOf(owner));
    const kept = (await readLedger())?.find((one) => one.owner === owner && cipher.isKey(one.key));
    const { id, key } = kept ?? { id: ids.uuid(), key: await cipher.makeKey() };
    await store.writeFacts(
      [
        { name: keyFact(owner, id), value: { key } },
        // Another host may have been quicker: then its key is everybody's.
        { name: currentKeyOf(owner), value: id, was: broken },
      ],
      'strict',
    );
    const current = await readCurrent(owner);
    if (!current) throw new Error('A key that was stored cannot be read');
    if (current.id !== kept?.id) await keep(owner, current);
    return current;
  }

  async function keep(owner: string, { id, key }: NamedKey<Key>): Promise<void> {
    await askLedger((given) => given.keepKey({ owner, id, key }));
  }

  return {
    find,
    current(owner) {
      const asked = currents.get(owner) ?? findOrMake(owner);
      currents.set(owner, asked);
      asked.catch(() => currents.delete(owner));
      return asked;
    },
    forgetCurrent: (owner) => void currents.delete(owner),
    async destroy(owner) {
      currents.delete(owner);
      const own = (await readStored()).filter((key) => key.owner === owner);
      const facts = own.flatMap(({ id }) => [
        { name: keyFact(owner, id), value: undefined },
        { name: goneFact(owner, id), value: true },
      ]);
      await store.writeFacts([{ name: currentKeyOf(owner), value: undefined }, ...facts], 'strict');
      for (const { id } of own) known.delete(id);
      await readLedger();
    },
  };
}
