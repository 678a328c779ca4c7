/** The engine with Web Crypto over a fake IndexedDB: what is really in both databases (W63). */
import { IDBFactory, IDBKeyRange } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { defineOutbox, record } from '../../../shared/family.ts';
import { createBrowserEnvironment } from '../../../sw/browser-environment.ts';
import { createEngine } from '../../../sw/create-engine.ts';
import type { SendRequest } from '../../../sw/dispatch/sender.ts';
import { canKeepKeys, encryptBodies } from '../../../sw/encryption/index.ts';
import { kvLedger, openLedgerStore } from '../../../sw/mirror/kv-ledger.ts';
import { createIdbRowStore } from '../../../sw/storage/idb-row-store.ts';
import { readEverything } from '../../support/raw-database.ts';

const definition = defineOutbox({ workout: record() });
const SECRET = 'A note to be found';

beforeEach(() => {
  vi.stubGlobal('IDBKeyRange', IDBKeyRange);
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(() => {
  vi.unstubAllGlobals();
});

async function open() {
  const environment = createBrowserEnvironment();
  const store = createIdbRowStore({ ...environment, indexedDB, keyRange: IDBKeyRange }, { name: 'holdfast' });
  const ledger = kvLedger(openLedgerStore('holdfast-ledger', indexedDB, undefined));
  const sent: SendRequest[] = [];
  const engine = createEngine(
    { ...environment, store, ledger },
    {
      definition,
      encryption: encryptBodies(),
      sender: {
        async send(request) {
          sent.push(request);
          return { type: 'failure', error: new TypeError('Failed to fetch'), timedOut: false };
        },
      },
    },
  );
  await engine.signIn('ann');
  return { engine, store, ledger, sent, close: () => store.close() };
}

const everything = async () => ({
  ...(await readEverything(indexedDB, 'holdfast')),
  ...(await readEverything(indexedDB, 'holdfast-ledger')),
});

/** All texts and bytes, however deep. */
async function asText(value: unknown): Promise<string> {
  if (value instanceof Blob) return await value.text();
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return new TextDecoder().decode(value);
  if (typeof value !== 'object' || value === null) return String(value);
  return (await Promise.all(Object.entries(value).flat().map(asText))).join(' ');
}

it('[W63] no text and no photo stands in either database, and the sender gets both', async () => {
  const { engine, ledger, sent, close } = await open();
  const id = crypto.randomUUID();
  const photo = new Blob([SECRET.repeat(100)], { type: 'image/jpeg' });
  const body = { note: SECRET, photo };
  await engine.enqueue({ id, owner: 'ann', family: 'workout', kind: 'create', body });
  await engine.flush('ann', 'flush');
  await expect.poll(async () => (await ledger.entries(undefined, 9)).length).toBe(1);
  const held = await asText(await everything());
  expect(held).toContain(id);
  expect(held).not.toContain(SECRET);
  const [request] = sent;
  const received = request?.body as typeof body;
  expect(received.note).toBe(SECRET);
  expect([received.photo.type, await received.photo.text()]).toEqual([photo.type, await photo.text()]);
  close();
});

it('[W63] keys are in both databases, and no script can read them', async () => {
  const { engine, ledger, close } = await open();
  const body = { note: SECRET };
  await engine.enqueue({ id: crypto.randomUUID(), owner: 'ann', family: 'workout', kind: 'create', body });
  await expect.poll(async () => (await ledger.keys()).length).toBe(1);
  const { meta = [], ledger: kept = [] } = await everything();
  const found = [...meta, ...kept].flatMap(([, value]) => {
    const key: unknown = Object(value).key;
    return key === undefined ? [] : Object.values(Object(key)).filter((one) => one instanceof CryptoKey);
  });
  expect(found.map(({ extractable, type }) => [extractable, type])).toEqual(
    Array.from({ length: 4 }, () => [false, 'secret']),
  );
  close();
});

it('[W63] an encrypted body has a form that a release without encryption does not read', async () => {
  const { engine, close } = await open();
  const body = { note: SECRET };
  await engine.enqueue({ id: crypto.randomUUID(), owner: 'ann', family: 'workout', kind: 'create', body });
  const { bodies = [] } = await readEverything(indexedDB, 'holdfast');
  expect(bodies.map(([, value]) => Object.keys(Object(value)))).toEqual([['sealed']]);
  close();
});

it('[W63] whether keys can be kept is found out without a trace', async () => {
  expect(await canKeepKeys()).toBe(true);
  expect(await indexedDB.databases()).toEqual([]);
  vi.stubGlobal('indexedDB', undefined);
  expect(await canKeepKeys()).toBe(false);
});
