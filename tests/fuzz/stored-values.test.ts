/** Whatever stands in a store, a ledger or a page's storage: it reads as what it is, and the rest goes on. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readHead, readSnapshot } from '../../client/read-snapshot.ts';
import { readSnapshotRows } from '../../client/snapshot-rows.ts';
import type { Row } from '../../shared/row.ts';
import { decodeRow, encodeRow, mergeRow } from '../../shared/row-codec.ts';
import type { SnapshotRow } from '../../shared/snapshot.ts';
import { planLedgerRow, planSnapshotRow } from '../../sw/mirror/plan-recovery.ts';
import { createRecovery } from '../../sw/mirror/recovery.ts';
import { createMemoryRowStore } from '../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { createMemoryLedger } from '../../sw/testing/memory-ledger.ts';
import { holds, holdsInTime, junk, nearly } from '../support/fuzz.ts';
import { rowFixture } from '../support/row-fixture.ts';

const word = fc.string({ minLength: 1 });
const instant = fc.integer({ min: 0, max: 4_102_444_800_000 });
const claim = fc.record({ host: word, expiresAt: instant, fence: fc.nat() });
const evidence = fc.record(
  { attemptCount: fc.nat(), lastAttemptAt: instant, lastErrorCode: fc.string(), doubtSince: instant },
  { requiredKeys: ['attemptCount'] },
);
const notBefore = fc.record({ at: instant, by: fc.constantFrom('server' as const, 'engine' as const) });
/** A row as this release or another one stores it. */
const row: fc.Arbitrary<Row> = fc
  .record(
    {
      id: word,
      owner: word,
      family: word,
      kind: fc.constantFrom('create', 'update', 'delete', 'put', 'remove'),
      target: fc.oneof(
        fc.record({ type: fc.constant('id' as const), id: word }),
        fc.record({ type: fc.constant('pending' as const), origin: word }),
      ),
      seq: fc.integer(),
      state: fc.constantFrom('queued', 'sending', 'held', 'blocked'),
      doubt: fc.boolean(),
      claim,
      evidence,
      notBefore,
      version: fc.nat(),
      tags: fc.array(fc.string()),
      expiresAt: instant,
    },
    { requiredKeys: ['id', 'owner', 'family', 'kind', 'target', 'seq', 'state', 'evidence', 'version'] },
  )
  .map((fields) => rowFixture(fields));
/** Fields of a later release. */
const extra = fc.dictionary(
  fc.string().map((name) => `x-${name}`),
  fc.jsonValue(),
  { maxKeys: 4 },
);
const brokenRow = nearly<Partial<Row>>({
  format: fc.constant(1),
  id: word,
  origin: word,
  seq: fc.integer(),
  owner: fc.constant('ann'),
  family: fc.constant('workout'),
  kind: fc.constant('update'),
  target: fc.record({ type: fc.constant('id' as const), id: word }),
  savedAt: instant,
  requestHash: word,
  state: fc.constant('queued'),
  evidence,
  version: fc.nat(),
  claim,
});

it('[R3] whatever is stored either reads as a row or is unreadable, with the field that does not read', () => {
  holds(fc.oneof(junk, brokenRow), (value) => {
    const decoded = decodeRow(value);
    if (decoded.type === 'row') expect(decoded.row).toMatchObject({ format: 1 });
    else expect(decoded.reason).not.toBe('');
  });
});

it('[R2] a row that is stored and read is the same row, fields of a later release included', () => {
  holds(fc.tuple(row, extra), ([known, unknown]) => {
    const whole = { ...known, ...unknown };
    const decoded = decodeRow(structuredClone(encodeRow(whole)));
    expect(decoded).toEqual({ type: 'row', row: encodeRow(whole) });
  });
});

it('[R2] a write keeps every field that it does not know, and says nothing else than the draft', () => {
  holds(fc.tuple(row, row, extra, extra), ([before, after, outside, inside]) => {
    const stored = { ...before, ...outside, evidence: { ...before.evidence, ...inside } };
    const merged = mergeRow(stored, after);
    expect(merged).toMatchObject(outside);
    expect(merged.evidence).toMatchObject({ ...inside, ...after.evidence });
    for (const name of Object.keys(merged))
      if (!(name in outside)) expect(Object.keys(encodeRow(after))).toContain(name);
  });
});

it('[R3, S31] whatever a ledger or a snapshot holds, it restores a row or nothing', () => {
  const entry = nearly({
    owner: fc.constant('ann'),
    id: word,
    generation: fc.nat(),
    row: brokenRow,
    body: junk,
  });
  const attempt = nearly({ generation: fc.nat(), fingerprint: word, data: brokenRow });
  holds(fc.tuple(entry, fc.option(attempt), brokenRow, junk), ([content, data, value, body]) => {
    const read = planLedgerRow(Object.assign({ content, attempt: data ?? undefined }), 1);
    if (read) expect(decodeRow(read.row).type).toBe('row');
    const candidate: SnapshotRow = { row: value, body };
    const found = planSnapshotRow(candidate, { owner: 'ann', generation: 1, manifest: undefined, now: 1 });
    if (found) expect(found.row.owner).toBe('ann');
  });
});

it('[S31, R3] junk in both witnesses keeps no good row from coming back', async () => {
  await holdsInTime(
    fc.tuple(fc.array(brokenRow, { maxLength: 6 }), fc.array(junk, { maxLength: 3 })),
    async ([values, rest]) => {
      const clock = createManualClock(1_000);
      const ledger = createMemoryLedger();
      const good = rowFixture({ id: 'good', seq: 77 });
      const rows = [
        ...values.map((value, n) => ({ id: `junk-${n}`, value })),
        { id: 'good', value: { ...good } },
      ];
      await ledger.write({
        contents: rows.map(({ id, value }) => ({ owner: 'ann', id, generation: 1, row: value, body: {} })),
      });
      const store = createMemoryRowStore({ clock, ids: { uuid: () => 'epoch' } });
      const recovery = createRecovery({ store, ledger, clock });
      await recovery.restoreFromLedger();
      const offered = [...rows.map(({ value }) => ({ row: value, body: {} })), ...rest];
      await recovery.offerSnapshot(
        'ann',
        Object.assign(
          { type: 'snapshot' as const, epoch: 'before', generation: 9, at: 1 },
          {
            rows: offered as readonly SnapshotRow[],
          },
        ),
      );
      expect(await store.findRows(['good'])).toMatchObject([{ id: 'good' }]);
    },
  );
});

it('[S31] whatever a page has in its storage reads as a snapshot, as none, or as unreadable', () => {
  const snapshot = nearly({
    epoch: fc.string(),
    generation: fc.nat(),
    at: instant,
    until: fc.integer(),
    rows: fc.array(fc.record({ row: fc.jsonValue(), body: fc.jsonValue() })),
  });
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    snapshot.map((value) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? 0 : part)) ?? ''),
  );
  holds(fc.option(text), (item) => {
    const storage = { getItem: () => item };
    expect(['snapshot', 'none', 'unreadable']).toContain(readSnapshot(storage, 'name').type);
    expect(() => [readHead(storage, 'name'), readSnapshotRows(storage, 'name')]).not.toThrow();
  });
});
