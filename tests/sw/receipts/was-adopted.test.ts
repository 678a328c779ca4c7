import { describe, expect, it } from 'vitest';
import type { OutcomeEnd } from '../../../shared/outcome.ts';
import { wasAdopted } from '../../../sw/receipts/was-adopted.ts';
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
  it('[D29] A18 comes a second time if its outcome is in the journal, whichever host adopted it', async () => {
    const { store } = await setUp();
    await end(store, uuid(1), committed(uuid(1)));
    expect(await wasAdopted(store, uuid(1))).toBe(true);
    expect(await wasAdopted(store, uuid(2))).toBe(false);
  });

  it('[D29] was not adopted where its row ended without the server', async () => {
    const { store } = await setUp();
    await end(store, uuid(1), { type: 'cancelled' });
    await end(store, uuid(2), { type: 'superseded', by: uuid(3) });
    expect(await wasAdopted(store, uuid(1))).toBe(false);
    expect(await wasAdopted(store, uuid(2))).toBe(false);
  });

  it('[D29] is known to have been adopted when ids are forgotten, 64 adoptions back and more', async () => {
    const { store, clock } = await setUp();
    for (let n = 0; n < 100; n++) await end(store, uuid(n), committed(uuid(n)));
    await clock.advance(2 * 3_600_000);
    await store.trim('ann', clock.now());
    for (let n = 36; n < 100; n++) expect(await wasAdopted(store, uuid(n))).toBe(true);
  });
});
