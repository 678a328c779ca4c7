/**
 * Brings back what the outbox held when its database was lost (S31-S39). Whether that is pending is one fact,
 * stored by the upgrade that created the database; nothing in memory decides. Every step may be repeated: a row
 * that is there is left.
 */

import { OutboxContentionError } from '../../shared/errors.ts';
import { type Key, keyToken } from '../../shared/key.ts';
import { isIntent, keyOf, type Row } from '../../shared/row.ts';
import { isRecord } from '../../shared/row-codec.ts';
import type { SnapshotOffer } from '../../shared/snapshot.ts';
import type { Clock } from '../environment.ts';
import { type Commit, FACTS, type FactName, type RowStore } from '../outbox/row-store.ts';
import type { Ledger, LedgerRef } from './ledger.ts';
import {
  generationOf,
  planAgreement,
  planLedgerRow,
  planSnapshotRow,
  type Restored,
} from './plan-recovery.ts';

export interface Recovery {
  /** Whether the ledger's part is still to come. */
  isPending(): Promise<boolean>;
  /** Runs the ledger's part if it is pending; resolves at once if it is not. Rejects where the ledger cannot be read. */
  restoreFromLedger(): Promise<{ readonly restored: number }>;
  /** Whether this owner's page should hand over its snapshot before its first command. */
  awaitsSnapshot(owner: string): Promise<boolean>;
  /** The snapshot's part, once per owner and database; an unreadable one leaves it pending. */
  offerSnapshot(owner: string, offer: SnapshotOffer): Promise<{ readonly restored: number }>;
}

export interface RecoveryDeps {
  readonly store: RowStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Rows per commit while restoring. Default 100. */
  readonly pageSize?: number | undefined;
}

const ROUNDS = 5;

const ownerPart = (owner: string): FactName => [...FACTS.recovery, owner];

export function createRecovery({ store, ledger, clock, pageSize = 100 }: RecoveryDeps): Recovery {
  /**
   * Commits each restored row unless it is there, a tombstone names it, or a row that is there took it over. Rejects
   * where one could not be written: the recovery stays pending, and what is there is left by the next.
   */
  async function restore(
    rows: readonly Restored[],
    guard: Commit['guard'],
    generation: number,
  ): Promise<number> {
    const tombstones = await ledger.findTombstones(rows.map(({ row }) => row.id));
    let pending = rows.filter((_, i) => tombstones[i] === undefined);
    let restored = 0;
    let rounds = 0;
    while (pending.length > 0) {
      const commits = await plan(pending, guard, generation);
      if (commits.length === 0) break;
      const results = await store.commit(commits.map(({ commit }) => commit));
      const landed = results.filter(({ type }) => type === 'committed').length;
      restored += landed;
      for (const result of results) {
        if (result.type === 'failed') throw result.error;
        // Another host has brought this recovery to its end.
        if (result.type === 'stale' && result.reason === 'guard') return restored;
      }
      // The rest was made stale by a row of the same key that this very batch, or another host, wrote.
      pending = commits.filter((_, i) => results[i]?.type === 'stale').map(({ from }) => from);
      if (landed === 0 && ++rounds === ROUNDS)
        throw new OutboxContentionError('Others kept changing what was to come back', {
          ids: pending.map(({ row }) => row.id),
        });
    }
    return restored;
  }

  async function plan(pending: readonly Restored[], guard: Commit['guard'], generation: number) {
    const [there, lines] = await Promise.all([
      store.findRows(pending.flatMap(({ row }) => [row.id, ...(row.replaces ?? [])])),
      store.findByOrigin(pending.map(({ row }) => row.origin)),
    ]);
    const stored = new Map(there.flatMap((row) => (row ? [[row.id, row] as const] : [])));
    const taken = new Set(pending.flatMap(({ row }) => row.replaces ?? []));
    const planned: { readonly from: Restored; readonly commit: Commit }[] = [];
    for (const [i, from] of pending.entries()) {
      if (stored.has(from.row.id) || taken.has(from.row.id)) continue;
      // An older stage of this line may have been restored first: the row that took it over removes it.
      const older = (from.row.replaces ?? []).flatMap((id) => stored.get(id) ?? []);
      const keys = uniqueKeys([keyOf(from.row), ...older.map(keyOf)]);
      const expected = (await store.readKeys(keys)).flat();
      // A line may have gone on under another key: an intent that became a row on the server's id (C21).
      if ([lines[i], ...expected].some((row) => row?.replaces?.includes(from.row.id))) continue;
      planned.push({ from, commit: restoreCommit(from, keys, expected, older, guard, generation) });
    }
    return planned;
  }

  async function agree(
    owner: string,
    offer: SnapshotOffer,
    ids: ReadonlySet<string>,
    guard: Commit['guard'],
  ) {
    for (let after: { urgent: boolean; seq: number } | undefined; ; ) {
      const page = await store.readLane(owner, 'asking', { after, limit: pageSize });
      for (const row of page) await agreeOne(row, offer, ids, guard);
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) return;
      after = { urgent: last.urgent === true, seq: last.seq };
    }
  }

  async function agreeOne(row: Row, offer: SnapshotOffer, ids: ReadonlySet<string>, guard: Commit['guard']) {
    if (row.recovery?.source !== 'ledger') return;
    const keys = [keyOf(row)];
    for (let round = 0; round < ROUNDS; round++) {
      const expected = (await store.readKeys(keys)).flat();
      const current = expected.find(({ id }) => id === row.id);
      if (current === undefined) return;
      const write = planAgreement(current, offer, ids, clock.now());
      if (write === current) return;
      const [result] = await store.commit([{ ...bare(row.owner, keys, guard), expected, write: [write] }]);
      if (result?.type === 'failed') throw result.error;
      if (result?.type !== 'stale' || result.reason === 'guard') return;
    }
    throw new OutboxContentionError('Others kept changing what a snapshot vouches for', { id: row.id });
  }

  return {
    isPending: async () => isPending(await store.readFact(FACTS.recovery)),

    async restoreFromLedger() {
      const fact = await store.readFact(FACTS.recovery);
      if (!isPending(fact)) return { restored: 0 };
      const guard = { name: FACTS.recovery, value: fact };
      const manifests = await ledger.manifests();
      const generations = new Map(manifests.map((manifest) => [manifest.owner, generationOf(manifest)]));
      let restored = 0;
      for (let after: LedgerRef | undefined; ; ) {
        const entries = await ledger.entries(after, pageSize);
        for (const { content, attempt } of entries) {
          const own = Math.max(generationOf(content), attempt ? generationOf(attempt) : 0);
          const seen = Math.max(own, generations.get(content.owner) ?? 0);
          generations.set(content.owner, seen);
        }
        const rows = entries.flatMap((entry) => planLedgerRow(entry, clock.now()) ?? []);
        for (const [owner, ofOwner] of byOwner(rows)) {
          restored += await restore(ofOwner, guard, generations.get(owner) ?? 0);
        }
        after = entries.at(-1)?.content;
        if (entries.length < pageSize) break;
      }
      await store.writeFacts([{ name: FACTS.recovery, value: { type: 'done', at: clock.now() } }], 'strict');
      return { restored };
    },

    async awaitsSnapshot(owner) {
      return (await store.readFact(ownerPart(owner))) === undefined;
    },

    async offerSnapshot(owner, given) {
      const offer = checkOffer(given);
      if (offer.type === 'unreadable' || (await store.readFact(ownerPart(owner))) !== undefined)
        return { restored: 0 };
      // Written since the loss, over whatever told of before: it vouches for nothing.
      if (offer.type === 'snapshot' && offer.epoch === (await store.epoch())) return { restored: 0 };
      // What the ledger has comes first: nothing could vouch for it any more once the snapshot has been taken.
      if (isPending(await store.readFact(FACTS.recovery))) return { restored: 0 };
      const guard = { name: ownerPart(owner), value: undefined };
      let restored = 0;
      if (offer.type === 'snapshot') {
        const manifest = await ledger.findManifest(owner);
        const context = { owner, generation: offer.generation, manifest, now: clock.now() };
        for (let i = 0; i < offer.rows.length; i += pageSize) {
          const rows = offer.rows
            .slice(i, i + pageSize)
            .flatMap((row) => planSnapshotRow(row, context) ?? []);
          restored += await restore(rows, guard, offer.generation);
        }
      }
      await agree(owner, offer, idsOf(offer), guard);
      await store.writeFacts(
        [{ name: ownerPart(owner), value: { snapshot: offer.type, at: clock.now() } }],
        'strict',
      );
      return { restored };
    },
  };
}

/** Anything but a plain "done" is pending: a fact that cannot be read must not bury rows. */
function isPending(fact: unknown): boolean {
  return fact !== undefined && !(isRecord(fact) && fact['type'] === 'done');
}

/** Checked as any message of a page is (W16): what is no row is left out, and what is no snapshot is unreadable. */
function checkOffer(offer: SnapshotOffer): SnapshotOffer {
  if (offer?.type === 'none') return offer;
  if (offer?.type !== 'snapshot' || !Number.isFinite(offer.generation) || !Array.isArray(offer.rows))
    return { type: 'unreadable' };
  return { ...offer, rows: offer.rows.filter((one) => isRecord(one?.row)) };
}

function idsOf(offer: SnapshotOffer): ReadonlySet<string> {
  if (offer.type !== 'snapshot') return new Set();
  const held = offer.rows.flatMap(({ row }) => (typeof row['id'] === 'string' ? [row['id']] : []));
  return new Set(held);
}

function bare(owner: string, keys: readonly Key[], guard: Commit['guard']) {
  return {
    owner,
    keys,
    guard,
    reason: 'recover',
    expected: [],
    write: [],
    remove: [],
    outcomes: [],
    durability: 'strict',
  } satisfies Commit;
}

function restoreCommit(
  { row, body }: Restored,
  keys: readonly Key[],
  expected: readonly Row[],
  older: readonly Row[],
  guard: Commit['guard'],
  generationAtLeast: number,
): Commit {
  const hasBody = row.bodyId !== undefined && row.blockedCode !== 'body_unreadable';
  // R8: with the clock set back, what was saved since the loss has earlier places; a creation would wait for its intents.
  const since = row.kind === 'create' ? expected.filter(isIntent).map(({ seq }) => seq - 1) : [];
  return {
    ...bare(row.owner, keys, guard),
    expected,
    write: [{ ...row, seq: Math.min(row.seq, ...since) }],
    remove: older.map(({ id }) => id),
    bodies: hasBody && row.bodyId !== undefined ? [{ bodyId: row.bodyId, body }] : [],
    generationAtLeast,
  };
}

function byOwner(rows: readonly Restored[]): ReadonlyMap<string, readonly Restored[]> {
  const owners = new Map<string, Restored[]>();
  for (const restored of rows) {
    const own = owners.get(restored.row.owner);
    if (own) own.push(restored);
    else owners.set(restored.row.owner, [restored]);
  }
  return owners;
}

function uniqueKeys(keys: readonly Key[]): readonly Key[] {
  const unique = new Map(keys.map((key) => [keyToken(key), key]));
  return [...unique.values()];
}
