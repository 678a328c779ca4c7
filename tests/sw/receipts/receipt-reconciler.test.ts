import { describe, expect, it } from 'vitest';
import type { OutcomeEnd } from '../../../shared/outcome.ts';
import { createReceiptReconciler } from '../../../sw/receipts/receipt-reconciler.ts';
import { createMemoryRowStore, type MemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { commitOf, one, outcomeOf, stored, uuid } from '../../suites/row-store-suite.ts';
import { receiptFixture, sentFixture } from '../../support/receipt-fixture.ts';

async function setUp() {
  const clock = createManualClock();
  let made = 900;
  const store = createMemoryRowStore({ clock, ids: { uuid: () => uuid(made++) } });
  return { clock, store };
}

async function end(store: MemoryRowStore, id: string, how: OutcomeEnd): Promise<void> {
  const row = await stored(store, { id, target: { type: 'id', id: `w-${id}` } });
  const outcomes = [outcomeOf(row, how)];
  await one(store, commitOf([], [row], { reason: 'acknowledge', remove: [id], outcomes }));
}

const committed = (id: string): OutcomeEnd => ({
  type: 'committed',
  receipt: receiptFixture(sentFixture({ id })),
});

describe('a receipt', () => {
  it('[D29] A18 is a duplicate once its outcome is in the journal, also for a host that started since', async () => {
    const { store } = await setUp();
    await end(store, uuid(1), committed(uuid(1)));
    const restarted = createReceiptReconciler(store);
    expect(await restarted.isDuplicate(uuid(1))).toBe(true);
    expect(await restarted.isDuplicate(uuid(2))).toBe(false);
  });

  it('[D29] is no duplicate of an id that ended without the server', async () => {
    const { store } = await setUp();
    await end(store, uuid(1), { type: 'cancelled' });
    await end(store, uuid(2), { type: 'superseded', by: uuid(3) });
    const reconciler = createReceiptReconciler(store);
    expect(await reconciler.isDuplicate(uuid(1))).toBe(false);
    expect(await reconciler.isDuplicate(uuid(2))).toBe(false);
  });

  it('[D29] is known by its journalled outcome when ids are forgotten, 64 adoptions back and more', async () => {
    const { store, clock } = await setUp();
    for (let n = 0; n < 100; n++) await end(store, uuid(n), committed(uuid(n)));
    await clock.advance(2 * 3_600_000);
    await store.trim('ann', clock.now());
    const restarted = createReceiptReconciler(store);
    for (let n = 36; n < 100; n++) expect(await restarted.isDuplicate(uuid(n))).toBe(true);
  });

  it('[D29] that this host has just adopted is known without a read, the last 64 at least', async () => {
    const reads: string[] = [];
    const reconciler = createReceiptReconciler({
      findEnds: async ([id = '']) => {
        reads.push(id);
        return [undefined];
      },
    });
    for (let n = 0; n < 5_000; n++) reconciler.noteAdopted([uuid(n)]);
    for (let n = 4_936; n < 5_000; n++) expect(await reconciler.isDuplicate(uuid(n))).toBe(true);
    expect(reads).toEqual([]);
    expect(await reconciler.isDuplicate(uuid(0))).toBe(false);
    expect(reads).toEqual([uuid(0)]);
  });
});
