/**
 * The ledger on idb-keyval: one object store, array keys, a database of its own. Where the browser has Storage
 * Buckets the database lives in one, because Chromium empties every database of the default bucket when it
 * finds damaged files, and leaves other buckets alone.
 */
import { promisifyRequest, type UseStore } from 'idb-keyval';
import type {
  Ledger,
  LedgerAttempt,
  LedgerContent,
  LedgerKey,
  Manifest,
  NamedTombstone,
  Tombstone,
  UnreadableOriginal,
} from './ledger.ts';

type Tag = 'row' | 'attempt' | 'tomb' | 'pending' | 'manifest' | 'original' | 'key';

/** One page of the values under a tag, in key order. `[]` sorts after every string, so it ends the range. */
function page<T>(store: IDBObjectStore, tag: Tag, limit?: number, after?: readonly string[]): Promise<T[]> {
  const range = IDBKeyRange.bound(after ? [tag, ...after] : [tag], [tag, []], after !== undefined, true);
  return promisifyRequest<T[]>(store.getAll(range, limit));
}

const TOMBSTONE_PAGE = 1_000;

export function kvLedger(use: UseStore): Ledger {
  /** Issues the requests of one readwrite transaction and waits for its end. */
  const change = (issue: (store: IDBObjectStore) => void): Promise<void> =>
    use('readwrite', (store) => {
      issue(store);
      return promisifyRequest(store.transaction);
    });
  const find = <T>(keys: readonly IDBValidKey[]) =>
    use('readonly', (store) =>
      Promise.all(keys.map((key) => promisifyRequest<T | undefined>(store.get(key)))),
    );

  return {
    write: (batch) =>
      change((store) => {
        for (const content of batch.contents ?? []) store.put(content, ['row', content.owner, content.id]);
        for (const attempt of batch.attempts ?? [])
          store.put(attempt, ['attempt', attempt.owner, attempt.id]);
        for (const { owner, id } of batch.forget ?? []) {
          store.delete(['row', owner, id]);
          store.delete(['attempt', owner, id]);
        }
        for (const { id, tombstone } of batch.tombstones ?? []) {
          store.put({ id, tombstone } satisfies NamedTombstone, ['tomb', id]);
          store.delete(['pending', id]);
        }
        for (const id of batch.removeTombstones ?? []) store.delete(['tomb', id]);
        for (const id of batch.removePending ?? []) store.delete(['pending', id]);
        for (const manifest of batch.manifests ?? []) store.put(manifest, ['manifest', manifest.owner]);
      }),

    markPending: (marks) =>
      change((store) => {
        for (const mark of marks) store.put(mark, ['pending', mark.id]);
      }),

    async findTombstones(ids) {
      const found = await find<NamedTombstone>(
        ids.flatMap((id) => [
          ['tomb', id],
          ['pending', id],
        ]),
      );
      return ids.map((_, i): Tombstone | undefined => (found[2 * i] ?? found[2 * i + 1])?.tombstone);
    },

    pendingTombstones: (limit) => use('readonly', (store) => page<NamedTombstone>(store, 'pending', limit)),

    async findFingerprints(rows) {
      const found = await find<LedgerAttempt>(rows.map(({ owner, id }) => ['attempt', owner, id]));
      return found.map((attempt) => attempt?.fingerprint);
    },

    async entries(after, limit) {
      const contents = await use('readonly', (store) =>
        page<LedgerContent>(store, 'row', limit, after && [after.owner, after.id]),
      );
      const attempts = await find<LedgerAttempt>(contents.map(({ owner, id }) => ['attempt', owner, id]));
      return contents.map((content, i) => ({ content, attempt: attempts[i] }));
    },

    async findManifest(owner) {
      const [manifest] = await find<Manifest>([['manifest', owner]]);
      return manifest;
    },

    manifests: () => use('readonly', (store) => page<Manifest>(store, 'manifest')),

    async trimTombstones(before, keep) {
      // Only ids and times are held, a page of tombstones at a time: this runs rarely, beside the work.
      const ages: { readonly id: string; readonly at: number }[] = [];
      for (let after: string[] | undefined; ; ) {
        const from = after;
        const tombstones = await use('readonly', (store) =>
          page<NamedTombstone>(store, 'tomb', TOMBSTONE_PAGE, from),
        );
        for (const { id, tombstone } of tombstones) ages.push({ id, at: tombstone.at });
        const last = tombstones.at(-1);
        if (last === undefined || tombstones.length < TOMBSTONE_PAGE) break;
        after = [last.id];
      }
      ages.sort((a, b) => a.at - b.at);
      const over = ages.length - keep;
      const old = ages.filter(({ at }, i) => at < before || i < over);
      if (old.length > 0) await change((store) => old.forEach(({ id }) => void store.delete(['tomb', id])));
    },

    keepUnreadable: (originals) =>
      change((store) => {
        for (const original of originals) store.put(original, ['original', original.place]);
      }),

    unreadable: (limit) => use('readonly', (store) => page<UnreadableOriginal>(store, 'original', limit)),

    keepKey: (key) =>
      change((store) => {
        const place = ['key', key.owner, key.id];
        if (key.key === undefined) store.delete(place);
        else store.put(key, place);
      }),

    keys: () => use('readonly', (store) => page<LedgerKey>(store, 'key')),

    forgetOwner: (owner) =>
      change((store) => {
        for (const tag of ['row', 'attempt', 'key'])
          store.delete(IDBKeyRange.bound([tag, owner], [tag, owner, []]));
        store.delete(['manifest', owner]);
      }),
  };
}

/** What this module needs of `navigator.storageBuckets` (Chromium). */
export interface StorageBuckets {
  open(name: string): Promise<{ readonly indexedDB: IDBFactory }>;
}

/** Opens the ledger's own database, in a bucket of its own where there are buckets. A lost connection is reopened. */
export function openLedgerStore(
  name: string,
  factory: IDBFactory,
  buckets: StorageBuckets | undefined,
): UseStore {
  let opening: Promise<IDBDatabase> | undefined;
  const open = async (): Promise<IDBDatabase> => {
    const bucket = await buckets?.open(bucketName(name)).catch(() => undefined);
    const request = (bucket?.indexedDB ?? factory).open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore('ledger');
    const db = await promisifyRequest(request);
    db.onclose = () => {
      opening = undefined;
    };
    db.onversionchange = () => {
      opening = undefined;
      db.close();
    };
    return db;
  };
  return async (mode, callback) => {
    opening ??= open();
    try {
      const db = await opening;
      return await callback(db.transaction('ledger', mode).objectStore('ledger'));
    } catch (error) {
      opening = undefined;
      throw error;
    }
  };
}

/** Bucket names allow only lower-case letters, digits, `-` and `_`. */
function bucketName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '-')
    .slice(0, 64);
}
