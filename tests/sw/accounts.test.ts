import { expect, it } from 'vitest';
import { createAccounts } from '../../sw/accounts.ts';
import { CONDITIONS, LEASE_MS, type OutboxFixture, outboxFixture } from '../support/outbox-fixture.ts';
import { receiptFor } from '../support/receipt-for.ts';

it('[W30, C11] nobody who signs in waits for a row whose lease has ended and whose receipt is noted', async () => {
  const { enqueue, change, clock, store, row } = await outboxFixture();
  await enqueue({ id: 'u1' });
  await change('u1', CONDITIONS['lease expired'](clock.now()));
  await change('u1', { receipt: receiptFor(await row('u1')) });
  let waits = 0;
  const { signIn } = accountsOver({ store, clock }, () => waits++);
  await signIn('bob');
  expect(waits).toBe(0);
});

it('[W32, C11] what the server has is not told as discarded, nor forgotten', async () => {
  const { enqueue, change, clock, store, row, rows } = await outboxFixture();
  await enqueue({ id: 'u1' });
  const receipt = receiptFor(await row('u1'));
  await change('u1', { ...CONDITIONS['lease expired'](clock.now()), receipt });
  await enqueue({ id: 'u2', target: { type: 'id', id: 'w2' } });
  await enqueue({ id: 'd3', kind: 'delete', target: { type: 'id', id: 'w3' } });
  await change('d3', { ...CONDITIONS['lease expired'](clock.now()), gone: true });
  await accountsOver({ store, clock }).signOut('ann', 'discard');
  expect(await rows()).toEqual([]);
  const { entries } = await store.readJournal('ann', undefined, 10);
  expect(entries.map(({ outcome }) => [outcome.row.id, outcome.type])).toEqual([['u2', 'discarded']]);
  expect(await store.findEnds(['u1', 'd3'])).toMatchObject([{ end: 'committed' }, { end: 'already_gone' }]);
});

function accountsOver({ store, clock }: Pick<OutboxFixture, 'store' | 'clock'>, onWait = () => {}) {
  return createAccounts({
    host: () => 'me',
    store,
    clock,
    timers: {
      after(_ms, run) {
        onWait();
        queueMicrotask(run);
        return () => undefined;
      },
    },
    locks: { hold: async () => true, check: async () => 'running' },
    leaseMs: () => LEASE_MS,
    longestLeaseMs: LEASE_MS,
    readCounts: async (owner) => (await store.ownerFacts(owner)).counts,
    flush: () => Promise.reject(new Error('nobody flushes here')),
    quiet: async () => undefined,
    forget: async () => undefined,
  });
}
