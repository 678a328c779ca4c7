import 'fake-indexeddb/auto';
import { createStore } from 'idb-keyval';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../../shared/row.ts';
import { keyOf } from '../../../shared/row.ts';
import { kvLedger } from '../../../sw/mirror/kv-ledger.ts';
import type { Ledger } from '../../../sw/mirror/ledger.ts';
import { createMirror } from '../../../sw/mirror/mirrored-store.ts';
import { readRecord } from '../../../sw/mirror/plan-slice.ts';
import { type Commit, FACTS } from '../../../sw/outbox/row-store.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { commitOf, draft, uuid } from '../../suites/row-store-suite.ts';

let databases = 0;

/** Counts and can break what the ledger is asked to do. */
function watched(ledger: Ledger) {
  const calls: string[] = [];
  const contents: string[] = [];
  const state = { failing: false, hanging: false };
  const proxy = new Proxy(ledger, {
    get(target, name: keyof Ledger) {
      const own = target[name] as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        calls.push(name);
        if (name === 'write') {
          const [batch] = args as Parameters<Ledger['write']>;
          contents.push(...(batch.contents ?? []).map(({ id }) => id));
        }
        if (state.hanging) return new Promise(() => undefined);
        if (state.failing) throw new DOMException('full', 'QuotaExceededError');
        return own.apply(target, args);
      };
    },
  });
  return { ledger: proxy, calls, contents, state };
}

function setUp() {
  const clock = createManualClock(1_000_000);
  const inner = createMemoryRowStore({ clock, ids: { uuid: () => 'epoch' } });
  const kv = kvLedger(createStore(`ledger-${++databases}`, 'ledger'));
  const spy = watched(kv);
  const mirror = createMirror(
    { store: inner, ledger: spy.ledger, clock, timers: clock },
    { release: '1.0.0' },
  );
  return { clock, inner, kv, mirror, spy };
}

function enqueue(n: number): Commit {
  const id = uuid(n);
  const target = { type: 'id', id: `w${n}` } as const;
  return commitOf([draft({ id, target, bodyId: id })], [], { bodies: [{ bodyId: id, body: { weight: n } }] });
}

function acceptance(row: Row): Commit {
  const { id, origin, seq, owner, family, kind, target } = row;
  const receipt = {
    id,
    requestHash: row.requestHash,
    kind: 'workout.update',
    target: 'w1',
    revision: 2,
    generation: 1,
    committedAt: 1,
  };
  return commitOf([], [row], {
    reason: 'acknowledge',
    keys: [keyOf(row)],
    remove: [id],
    outcomes: [
      {
        requestHash: row.requestHash,
        outcome: { type: 'committed', receipt, row: { id, origin, seq, owner, family, kind, target } },
      },
    ],
  });
}

async function storedRow(
  store: { findRows(ids: readonly string[]): Promise<readonly (Row | undefined)[]> },
  n: number,
): Promise<Row> {
  const [row] = await store.findRows([uuid(n)]);
  if (row === undefined) throw new Error(`row ${n} is not stored`);
  return row;
}

describe('mirrored store', () => {
  it('[S20] mirrors a row after its commit: content, attempt data, manifest, and clears the note', async () => {
    const { mirror, kv, inner } = setUp();
    await mirror.store.commit([enqueue(1)]);
    expect(await kv.entries(undefined, 9)).toEqual([]);
    await mirror.settle();
    const [entry] = await kv.entries(undefined, 9);
    expect(entry?.content).toMatchObject({ owner: 'ann', id: uuid(1), generation: 1, body: { weight: 1 } });
    expect(entry?.attempt?.data).toMatchObject({ state: 'queued', version: 1 });
    expect(await kv.findManifest('ann')).toMatchObject({ generation: 1, writer: '1.0.0', unmirrored: [] });
    expect(await inner.readFacts(['unmirrored'], 9)).toEqual([]);
  });

  it('[S20] acceptances of one moment share one ledger transaction', async () => {
    const { mirror, inner, kv, spy } = setUp();
    await mirror.store.commit([enqueue(1), enqueue(2), enqueue(3)]);
    const rows = await Promise.all([1, 2, 3].map((n) => storedRow(inner, n)));
    await Promise.all(rows.map((row) => mirror.store.commit([acceptance(row)])));
    expect(spy.calls.filter((call) => call === 'markPending')).toHaveLength(1);
    expect(await kv.pendingTombstones(9)).toHaveLength(3);
  });

  it('[S22] while commits keep coming nothing is mirrored for two seconds, and a row gone by then costs no content', async () => {
    const { mirror, inner, clock, kv, spy } = setUp();
    await mirror.store.commit([enqueue(1)]);
    const row = await storedRow(inner, 1);
    for (let n = 2; n < 10; n++) {
      await clock.advance(200);
      await mirror.store.commit([enqueue(n)]);
    }
    expect(spy.contents).toEqual([]);
    await mirror.store.commit([acceptance(row)]);
    await clock.advance(250);
    await mirror.settle();
    expect(spy.contents).not.toContain(uuid(1));
    expect(spy.contents).toHaveLength(8);
    expect(await kv.findTombstones([uuid(1)])).toHaveLength(1);
  });

  it('[S20] writes the tombstone before the removing commit, for the row and the ids it took over', async () => {
    const { mirror, kv, inner } = setUp();
    const older = uuid(9);
    await mirror.store.commit([commitOf([draft({ id: uuid(1), replaces: [older] })])]);
    const row = await storedRow(inner, 1);
    const held = inner.holdNext('acknowledge');
    const removing = mirror.store.commit([acceptance(row)]);
    await held.reached;
    expect(await kv.findTombstones([uuid(1), older])).toMatchObject([
      { reason: 'uploaded' },
      { reason: 'uploaded' },
    ]);
    expect(await inner.findRows([uuid(1)])).toMatchObject([{ id: uuid(1) }]);
    held.release();
    await removing;
    await mirror.settle();
    expect(await kv.pendingTombstones(9)).toMatchObject([{ id: older }]);
    expect(await kv.entries(undefined, 9)).toEqual([]);
  });

  it('[S20] takes the tombstone back if the removing commit is stale, and leaves what stood there before', async () => {
    const { mirror, kv, inner } = setUp();
    const older = uuid(9);
    await kv.write({
      tombstones: [{ id: older, tombstone: { owner: 'ann', generation: 1, at: 5, reason: 'replaced' } }],
    });
    await mirror.store.commit([commitOf([draft({ id: uuid(1), replaces: [older] })])]);
    const row = await storedRow(inner, 1);
    const [result] = await mirror.store.commit([acceptance({ ...row, version: 99 })]);
    expect(result?.type).toBe('stale');
    await mirror.settle();
    expect(await kv.findTombstones([uuid(1), older])).toMatchObject([
      undefined,
      { at: 5, reason: 'replaced' },
    ]);
  });

  it('[S20, A19] takes the tombstone back if the removing commit fails for certain', async () => {
    const { mirror, kv, inner } = setUp();
    await mirror.store.commit([enqueue(1)]);
    const row = await storedRow(inner, 1);
    inner.failNext({ reason: 'acknowledge', error: new Error('quota') });
    await expect(mirror.store.commit([acceptance(row)])).rejects.toThrow('quota');
    await mirror.settle();
    expect(await kv.findTombstones([uuid(1)])).toEqual([undefined]);
  });

  it('[S20] a start resolves pending tombstones against the rows', async () => {
    const { mirror, kv } = setUp();
    await mirror.store.commit([enqueue(1)]);
    const tombstone = { owner: 'ann', generation: 0, at: 1, reason: 'uploaded' } as const;
    await kv.markPending([
      { id: uuid(1), tombstone },
      { id: uuid(2), tombstone },
    ]);
    await mirror.start();
    expect(await kv.pendingTombstones(9)).toEqual([]);
    expect(await kv.findTombstones([uuid(1), uuid(2)])).toMatchObject([undefined, { reason: 'uploaded' }]);
  });

  it('[S21, T16] three failures of a row rewrite its attempt data and never its content', async () => {
    const { mirror, kv, inner, spy } = setUp();
    await mirror.store.commit([enqueue(1)]);
    await mirror.settle();
    for (let attempt = 1; attempt <= 3; attempt++) {
      const row = await storedRow(inner, 1);
      const failed = { ...row, deferredAt: attempt, evidence: { attemptCount: attempt } };
      await mirror.store.commit([commitOf([failed], [row], { reason: 'acknowledge' })]);
      await mirror.settle();
    }
    expect(spy.contents).toEqual([uuid(1)]);
    const [entry] = await kv.entries(undefined, 9);
    expect(entry?.attempt?.data).toMatchObject({ evidence: { attemptCount: 3 } });
    expect(inner.counters.bodiesRead).toBe(0);
  });

  it('[S21] a row that came and went before the mirror looked leaves a tombstone and no content', async () => {
    const { mirror, kv, inner, spy } = setUp();
    await mirror.store.commit([enqueue(1)]);
    await mirror.store.commit([acceptance(await storedRow(inner, 1))]);
    await mirror.settle();
    expect(spy.contents).toEqual([]);
    expect(spy.calls).not.toContain('findFingerprints');
    expect(await kv.findTombstones([uuid(1)])).toMatchObject([{ reason: 'uploaded', generation: 2 }]);
  });

  it('[S22, T15] a ledger without room changes nothing for the outbox; the ids stay noted until it has', async () => {
    const { mirror, kv, inner, spy, clock } = setUp();
    spy.state.failing = true;
    await mirror.store.commit([enqueue(1)]);
    await mirror.settle();
    expect((await inner.findRows([uuid(1)]))[0]).toMatchObject({ id: uuid(1) });
    expect(await inner.readFacts(['unmirrored'], 9)).toMatchObject([
      { name: FACTS.unmirrored('ann', 1), value: [{ id: uuid(1) }] },
    ]);
    expect(mirror.status()).toMatchObject({ setAside: true, lastError: 'QuotaExceededError' });
    spy.state.failing = false;
    await clock.advance(30_000);
    await mirror.settle();
    expect(await kv.entries(undefined, 9)).toHaveLength(1);
    expect(mirror.status().setAside).toBe(false);
  });

  it('[S22, R3] a note that does not read is cleared, and says nothing of how far the ledger is', async () => {
    const { mirror, kv, inner } = setUp();
    const name = FACTS.unmirrored('ann', 7);
    await inner.writeFacts([{ name, value: 'odd' }], 'relaxed');
    await mirror.settle();
    expect(await inner.readFacts(['unmirrored'], 9)).toEqual([]);
    expect(await kv.findManifest('ann')).toBeUndefined();
  });

  it('[S20, A67] a ledger that hangs is waited for once, not per row', async () => {
    const { mirror, inner, spy, clock } = setUp();
    await mirror.store.commit([1, 2, 3].map(enqueue));
    spy.state.hanging = true;
    const first = mirror.store.commit([acceptance(await storedRow(inner, 1))]);
    await clock.advance(500);
    expect((await first)[0]?.type).toBe('committed');
    const marks = spy.calls.filter((name) => name === 'markPending').length;
    for (const n of [2, 3]) {
      const [result] = await mirror.store.commit([acceptance(await storedRow(inner, n))]);
      expect(result?.type).toBe('committed');
    }
    expect(spy.calls.filter((name) => name === 'markPending')).toHaveLength(marks);
    const noted = (await inner.readFacts(['unmirrored'], 9)).map(readRecord);
    expect(new Set(noted.flatMap(({ notes }) => notes.map(({ id }) => id)))).toEqual(
      new Set([1, 2, 3].map(uuid)),
    );
  });

  it('[S23] lists a body that is too large by its hash and size only', async () => {
    const { mirror, kv } = setUp();
    const id = uuid(1);
    const row = draft({ id, bodyId: id, bodySize: 2_000_000, bodyDigest: 'big' });
    await mirror.store.commit([commitOf([row], [], { bodies: [{ bodyId: id, body: 'x' }] })]);
    await mirror.settle();
    const [entry] = await kv.entries(undefined, 9);
    expect(entry?.content).toMatchObject({
      bodyLeftOut: true,
      row: { bodyDigest: 'big', bodySize: 2_000_000 },
    });
    expect(entry?.content.body).toBeUndefined();
  });

  it('[S20] mirrors a long list in slices; the manifest names what it has not seen', async () => {
    const { clock, inner, kv } = setUp();
    const mirror = createMirror(
      { store: inner, ledger: kv, clock, timers: clock },
      { release: '1', slice: 2 },
    );
    for (const n of [1, 2, 3]) await inner.commit([enqueue(n)]);
    const manifests: (readonly string[])[] = [];
    const step = createMirror(
      {
        store: inner,
        ledger: {
          ...kv,
          write: async (batch) => {
            for (const { unmirrored } of batch.manifests ?? []) manifests.push(unmirrored);
            await kv.write(batch);
          },
        },
        clock,
        timers: clock,
      },
      { release: '1', slice: 2 },
    );
    await step.settle();
    await mirror.settle();
    expect(manifests).toEqual([[uuid(3)], []]);
    expect(await kv.entries(undefined, 9)).toHaveLength(3);
  });

  it('[S17] mirrors nothing while the device is full, and takes it up afterwards', async () => {
    const { clock, inner, kv } = setUp();
    let isFull = true;
    const deps = { store: inner, ledger: kv, clock, timers: clock };
    const mirror = createMirror(deps, { release: '1', isPaused: () => isFull });
    await mirror.store.commit([enqueue(1)]);
    await mirror.settle();
    expect(await kv.entries(undefined, 9)).toEqual([]);
    isFull = false;
    await mirror.settle();
    expect(await kv.entries(undefined, 9)).toHaveLength(1);
  });

  it('[S30] tombstones are kept thirty days', async () => {
    const { mirror, kv, clock } = setUp();
    const tombstone = (at: number) => ({ owner: 'ann', generation: 1, at, reason: 'uploaded' }) as const;
    await kv.write({
      tombstones: [
        { id: 'old', tombstone: tombstone(clock.now() - 31 * 86_400_000) },
        { id: 'new', tombstone: tombstone(clock.now() - 29 * 86_400_000) },
      ],
    });
    await mirror.start();
    expect(await kv.findTombstones(['old', 'new'])).toMatchObject([undefined, { reason: 'uploaded' }]);
  });
});

it('[S30] of more tombstones than are kept the oldest go', async () => {
  const { kv } = setUp();
  const tombstone = (at: number) => ({ owner: 'ann', generation: 1, at, reason: 'uploaded' }) as const;
  await kv.write({ tombstones: [1, 2, 3].map((at) => ({ id: uuid(4 - at), tombstone: tombstone(at) })) });
  await kv.trimTombstones(0, 2);
  expect(await kv.findTombstones([1, 2, 3].map(uuid))).toMatchObject([{ at: 3 }, { at: 2 }, undefined]);
});

it('[R3] keeps originals that this release cannot read', async () => {
  const { kv } = setUp();
  await kv.keepUnreadable([{ place: 'ann/1', value: { format: 2 } }]);
  await kv.keepUnreadable([{ place: 'ann/1', value: { format: 2 } }]);
  expect(await kv.unreadable(9)).toEqual([{ place: 'ann/1', value: { format: 2 } }]);
});
