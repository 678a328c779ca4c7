import { expect, it } from 'vitest';
import { createAccounts } from '../../sw/accounts.ts';
import { CONDITIONS, LEASE_MS, outboxFixture } from '../support/outbox-fixture.ts';
import { receiptFor } from '../support/receipt-for.ts';

it('[W30, C11] nobody who signs in waits for a row whose lease has ended and whose receipt is noted', async () => {
  const { enqueue, change, clock, store, row } = await outboxFixture();
  await enqueue({ id: 'u1' });
  await change('u1', CONDITIONS['lease expired'](clock.now()));
  await change('u1', { receipt: receiptFor(await row('u1')) });
  let waits = 0;
  const { signIn } = createAccounts({
    host: () => 'me',
    store,
    clock,
    timers: {
      after(_ms, run) {
        waits++;
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
  await signIn('bob');
  expect(waits).toBe(0);
});
