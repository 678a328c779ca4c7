/**
 * Brings the ledger in line with the outbox, both read through a page at a time (S30). IndexedDB is right. Costs
 * a reading of everything, so it runs only after a recovery, when the ledger has lost its manifest, or on
 * request; the daily work goes by notes.
 */
import type { ComparisonResult } from '../../shared/answers.ts';
import type { Row } from '../../shared/row.ts';
import type { Clock } from '../environment.ts';
import type { BodyRead, RowStore } from '../outbox/row-store.ts';
import type { Ledger, LedgerRef } from './ledger.ts';
import { planMirrorWrite } from './plan-mirror-write.ts';

export interface ComparisonDeps {
  readonly store: RowStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
}

export interface ComparisonOptions {
  readonly release: string;
  readonly maxBodyBytes: number;
  readonly pageSize?: number | undefined;
}

export async function compareWitness(
  { store, ledger, clock }: ComparisonDeps,
  { release, maxBodyBytes, pageSize = 100 }: ComparisonOptions,
): Promise<ComparisonResult> {
  const result = { mirrored: 0, buried: 0, unburied: 0, unreadable: 0 };

  async function mirrorRows(rows: readonly Row[], generation: number): Promise<void> {
    const fingerprints = await ledger.findFingerprints(rows);
    const lacking = rows.flatMap((row, i) =>
      fingerprints[i] === undefined && row.bodyId !== undefined && (row.bodySize ?? 0) <= maxBodyBytes
        ? row.bodyId
        : [],
    );
    const read = lacking.length > 0 ? await store.readBodies(lacking) : [];
    const bodies = new Map<string | undefined, BodyRead | undefined>(
      lacking.map((bodyId, i) => [bodyId, read[i]]),
    );
    const views = rows.map((row, i) => ({
      note: { owner: row.owner, id: row.id, g: generation },
      row,
      fingerprint: fingerprints[i],
      body: bodies.get(row.bodyId),
    }));
    const batch = planMirrorWrite(views, { now: clock.now(), maxBodyBytes });
    const tombstones = await ledger.findTombstones(rows.map(({ id }) => id));
    // One that is pending (0), or younger than what was read here, may belong to an acceptance under way.
    const stale = rows.flatMap(({ id }, i) => {
      const at = tombstones[i]?.generation ?? 0;
      return at > 0 && at <= generation ? [id] : [];
    });
    result.mirrored += batch.attempts?.length ?? 0;
    result.unburied += stale.length;
    await ledger.write({ ...batch, removeTombstones: stale });
  }

  for (const owner of await store.owners()) {
    const { generation } = await store.ownerFacts(owner);
    for (let after: number | undefined; ; ) {
      const rows = await store.index(owner, { after, limit: pageSize });
      if (rows.length > 0) await mirrorRows(rows, generation);
      after = rows.at(-1)?.seq;
      if (rows.length < pageSize) break;
    }
    await ledger.write({
      manifests: [{ owner, generation, at: clock.now(), writer: release, unmirrored: [] }],
    });
  }

  for (let after: LedgerRef | undefined; ; ) {
    const entries = await ledger.entries(after, pageSize);
    const rows = await store.findRows(entries.map(({ content }) => content.id));
    const orphans = entries.flatMap(({ content }, i) => (rows[i] === undefined ? [content] : []));
    const known = await ledger.findTombstones(orphans.map(({ id }) => id));
    result.buried += orphans.length;
    await ledger.write({
      forget: orphans,
      tombstones: orphans.flatMap(({ owner, id, generation }, i) =>
        known[i] ? [] : [{ id, tombstone: { owner, generation, at: clock.now(), reason: 'repair' } }],
      ),
    });
    after = entries.at(-1)?.content;
    if (entries.length < pageSize) break;
  }

  const originals = await store.unreadable(pageSize);
  result.unreadable = originals.length;
  if (originals.length > 0) {
    await ledger.keepUnreadable(
      originals.map(({ place, value }) => ({ place: JSON.stringify(place), value })),
    );
  }
  return result;
}
