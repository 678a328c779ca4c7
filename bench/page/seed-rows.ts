/** Puts rows into the outbox's database by the store's own commits, past the page, the worker and the mirror. */
import { createBrowserEnvironment } from '../../sw/browser-environment.ts';
import type { RowDraft } from '../../sw/outbox/row-store.ts';
import { createIdbRowStore } from '../../sw/storage/idb-row-store.ts';
import { makeItem, OWNER, ROW_BYTES } from '../common/definition.ts';

const PER_COMMIT = 500;

export async function seedRows(count: number): Promise<void> {
  const environment = createBrowserEnvironment();
  const deps = { ...environment, indexedDB, keyRange: IDBKeyRange };
  const store = createIdbRowStore(deps, { name: 'holdfast', notesUnmirrored: false, limitMs: 60_000 });
  for (let done = 0; done < count; done += PER_COMMIT) {
    const write = Array.from({ length: Math.min(PER_COMMIT, count - done) }, () => draft());
    const bodies = write.map(({ id }, i) => ({ bodyId: id, body: makeItem(done + i) }));
    const keys = write.map(({ owner, family, target }) => ({ owner, family, target }));
    const rest = { expected: [], remove: [], outcomes: [], durability: 'relaxed' } as const;
    await store.commit([{ owner: OWNER, reason: 'enqueue', keys, write, bodies, ...rest }]);
  }
  store.close();
}

function draft(): RowDraft {
  const id = crypto.randomUUID();
  return {
    format: 1,
    id,
    origin: id,
    owner: OWNER,
    family: 'item',
    kind: 'create',
    target: { type: 'pending', origin: id },
    savedAt: Date.now(),
    requestHash: id.replaceAll('-', '').repeat(2),
    bodyId: id,
    bodyDigest: id.replaceAll('-', '').repeat(2),
    bodySize: ROW_BYTES,
    state: 'queued',
    doubt: false,
    evidence: { attemptCount: 0 },
  };
}

/** One strict commit of one row, one after another, by the same store in a database of its own: milliseconds of each. */
export async function commitEach(count: number): Promise<readonly number[]> {
  const environment = createBrowserEnvironment();
  const deps = { ...environment, indexedDB, keyRange: IDBKeyRange };
  const store = createIdbRowStore(deps, { name: 'commits' });
  const samples: number[] = [];
  for (let n = 0; n < count; n++) {
    const row = draft();
    const { id, owner, family, target } = row;
    const key = { owner, family, target };
    const start = performance.now();
    const identity = { id, key, requestHash: row.requestHash };
    const bodies = [{ bodyId: id, body: makeItem(n) }];
    const rest = { expected: [], remove: [], outcomes: [], durability: 'strict' } as const;
    await store.commit([{ owner, reason: 'enqueue', keys: [key], write: [row], bodies, identity, ...rest }]);
    samples.push(performance.now() - start);
  }
  store.close();
  return samples;
}
