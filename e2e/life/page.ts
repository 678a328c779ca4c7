/** The line app's page, which can also fill the outbox past everybody, and ask a counting worker for its counts. */
import type { Counts } from '../../bench/common/worker-calls.ts';
import { createBrowserEnvironment } from '../../sw/browser-environment.ts';
import type { RowDraft } from '../../sw/outbox/row-store.ts';
import { createIdbRowStore } from '../../sw/storage/idb-row-store.ts';
import { linePage } from '../line/page.ts';

const PER_COMMIT = 1_000;

declare global {
  var life: {
    /** Puts so many rows of owner `ann` into the store by its own commits. */
    seed(count: number): Promise<void>;
    counts(): Promise<Counts>;
  };
}

globalThis.line = linePage;
globalThis.life = {
  async seed(count) {
    const deps = { ...createBrowserEnvironment(), indexedDB, keyRange: IDBKeyRange };
    const store = createIdbRowStore(deps, { name: 'holdfast', notesUnmirrored: false, limitMs: 60_000 });
    for (let left = count; left > 0; left -= PER_COMMIT) {
      const write = Array.from({ length: Math.min(PER_COMMIT, left) }, () => draft(crypto.randomUUID()));
      const bodies = write.map(({ id }, kg) => ({ bodyId: id, body: { kg } }));
      const keys = write.map(({ owner, family, target }) => ({ owner, family, target }));
      const rest = { expected: [], remove: [], outcomes: [], durability: 'relaxed' } as const;
      await store.commit([{ owner: 'ann', reason: 'enqueue', keys, write, bodies, ...rest }]);
    }
    store.close();
  },
  async counts() {
    const { active } = await navigator.serviceWorker.ready;
    const { port1, port2 } = new MessageChannel();
    const answer = new Promise<Counts>((resolve) => {
      port1.onmessage = ({ data }: MessageEvent<Counts>) => resolve(data);
    });
    active?.postMessage('COUNTS', [port2]);
    return await answer;
  },
};

function draft(id: string): RowDraft {
  return {
    format: 1,
    id,
    origin: id,
    owner: 'ann',
    family: 'workout',
    kind: 'create',
    target: { type: 'pending', origin: id },
    savedAt: Date.now(),
    requestHash: id.replaceAll('-', '').repeat(2),
    bodyId: id,
    bodyDigest: id.replaceAll('-', '').repeat(2),
    bodySize: 9,
    state: 'queued',
    doubt: false,
    evidence: { attemptCount: 0 },
  };
}
