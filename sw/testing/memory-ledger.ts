/** The ledger in memory (S20): survives what a test does to hosts and to the outbox's store, like the real one. */
import type {
  Ledger,
  LedgerAttempt,
  LedgerContent,
  LedgerKey,
  LedgerRef,
  Manifest,
  Tombstone,
  UnreadableOriginal,
} from '../mirror/ledger.ts';

export interface MemoryLedger extends Ledger {
  /** The next operation fails with this error. */
  failNext(error: unknown): void;
  /** While true no operation is answered. */
  isHanging: boolean;
}

export function createMemoryLedger(): MemoryLedger {
  const contents = new Map<string, LedgerContent>();
  const attempts = new Map<string, LedgerAttempt>();
  const tombstones = new Map<string, Tombstone>();
  const pending = new Map<string, Tombstone>();
  const manifests = new Map<string, Manifest>();
  const keys = new Map<string, LedgerKey>();
  const originals = new Map<string, unknown>();
  let failure: { readonly error: unknown } | undefined;

  const token = ({ owner, id }: LedgerRef): string => JSON.stringify([owner, id]);
  /** One operation: a turn later, all of it or none. */
  async function run<T>(operation: () => T): Promise<T> {
    await Promise.resolve();
    if (ledger.isHanging) return new Promise(() => undefined);
    const failing = failure;
    failure = undefined;
    if (failing) throw failing.error;
    return structuredClone(operation());
  }

  const ledger: MemoryLedger = {
    isHanging: false,
    failNext(error) {
      failure = { error };
    },
    write: (batch) =>
      run(() => {
        const copy = structuredClone(batch);
        for (const content of copy.contents ?? []) contents.set(token(content), content);
        for (const attempt of copy.attempts ?? []) attempts.set(token(attempt), attempt);
        for (const gone of copy.forget ?? []) {
          contents.delete(token(gone));
          attempts.delete(token(gone));
        }
        for (const { id, tombstone } of copy.tombstones ?? []) {
          tombstones.set(id, tombstone);
          pending.delete(id);
        }
        for (const id of copy.removeTombstones ?? []) tombstones.delete(id);
        for (const id of copy.removePending ?? []) pending.delete(id);
        for (const manifest of copy.manifests ?? []) manifests.set(manifest.owner, manifest);
      }),
    markPending: (marks) =>
      run(() => {
        for (const { id, tombstone } of marks) pending.set(id, tombstone);
      }),
    findTombstones: (ids) => run(() => ids.map((id) => tombstones.get(id) ?? pending.get(id))),
    pendingTombstones: (limit) =>
      run(() => [...pending].slice(0, limit).map(([id, tombstone]) => ({ id, tombstone }))),
    findFingerprints: (rows) => run(() => rows.map((row) => attempts.get(token(row))?.fingerprint)),
    entries: (after, limit) =>
      run(() => {
        const sorted = [...contents.values()].sort((a, b) => (token(a) < token(b) ? -1 : 1));
        const from = after ? sorted.findIndex((content) => token(content) > token(after)) : 0;
        const page = from < 0 ? [] : sorted.slice(from, from + limit);
        return page.map((content) => ({ content, attempt: attempts.get(token(content)) }));
      }),
    findManifest: (owner) => run(() => manifests.get(owner)),
    manifests: () => run(() => [...manifests.values()]),
    trimTombstones: (before, keep) =>
      run(() => {
        const oldestFirst = [...tombstones].sort(([, a], [, b]) => a.at - b.at);
        const over = oldestFirst.length - keep;
        for (const [i, [id, { at }]] of oldestFirst.entries())
          if (at < before || i < over) tombstones.delete(id);
      }),
    keepUnreadable: (kept) =>
      run(() => {
        for (const { place, value } of structuredClone(kept)) originals.set(place, value);
      }),
    unreadable: (limit) =>
      run(() =>
        [...originals].slice(0, limit).map(([place, value]): UnreadableOriginal => ({ place, value })),
      ),
    keepKey: (key) =>
      run(() => {
        if (key.key === undefined) keys.delete(token(key));
        else keys.set(token(key), structuredClone(key));
      }),
    keys: () => run(() => [...keys.values()]),
    forgetOwner: (owner) =>
      run(() => {
        for (const [name, key] of keys) if (key.owner === owner) keys.delete(name);
        for (const [key, content] of contents)
          if (content.owner === owner) {
            contents.delete(key);
            attempts.delete(key);
          }
        manifests.delete(owner);
      }),
  };
  return ledger;
}

/** A host's view of a ledger: `living` drops what a killed host would have heard. */
export function ledgerSeenBy(ledger: Ledger, living: <T>(start: () => Promise<T>) => Promise<T>): Ledger {
  return {
    write: (batch) => living(() => ledger.write(batch)),
    markPending: (marks) => living(() => ledger.markPending(marks)),
    findTombstones: (ids) => living(() => ledger.findTombstones(ids)),
    pendingTombstones: (limit) => living(() => ledger.pendingTombstones(limit)),
    findFingerprints: (rows) => living(() => ledger.findFingerprints(rows)),
    entries: (after, limit) => living(() => ledger.entries(after, limit)),
    findManifest: (owner) => living(() => ledger.findManifest(owner)),
    manifests: () => living(() => ledger.manifests()),
    trimTombstones: (before, keep) => living(() => ledger.trimTombstones(before, keep)),
    keepUnreadable: (originals) => living(() => ledger.keepUnreadable(originals)),
    unreadable: (limit) => living(() => ledger.unreadable(limit)),
    keepKey: (key) => living(() => ledger.keepKey(key)),
    keys: () => living(() => ledger.keys()),
    forgetOwner: (owner) => living(() => ledger.forgetOwner(owner)),
  };
}
