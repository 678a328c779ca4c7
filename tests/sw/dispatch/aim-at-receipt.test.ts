import { describe, expect, it } from 'vitest';
import { aimAtReceipt } from '../../../sw/dispatch/aim-at-receipt.ts';
import type { IntentView } from '../../../sw/dispatch/family-ports.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';
import { receiptFixture, sentFixture } from '../../support/receipt-fixture.ts';

const receipt = receiptFixture(sentFixture({ kind: 'create' }), { target: 'srv-1', revision: 4 });
const prepare = (over: Partial<IntentView>, given = receipt) =>
  aimAtReceipt({
    intent: { id: 'i', kind: 'update', target: { type: 'pending', origin: 'o' }, body: 1, tags: [], ...over },
    predecessor: undefined,
    receipt: given,
    receipts: new Map(),
  });

describe('a family without a preparation of its own', () => {
  it('[C21] aims a change to something just created at the receipt’s id and revision', () => {
    expect(prepare({})).toEqual({ target: 'srv-1', expectedRevision: 4 });
    expect(prepare({}, { ...receipt, revision: 0 })).toEqual({
      target: 'srv-1',
      expectedRevision: undefined,
    });
  });

  it('[W60] leaves what waited for others where it aims', () => {
    const target = { type: 'id', id: 'w9' } as const;
    expect(prepare({ target, expectedRevision: 2 })).toEqual({ target: 'w9', expectedRevision: 2 });
    expect(prepare({ kind: 'create' })).not.toHaveProperty('expectedRevision');
  });

  it('[W60] sends them after their parent, each to its own record', async () => {
    const world = await dispatchWorld();
    world.server.change('ann', 'workout', 'w9', { kg: 1 });
    const parent = await world.enqueue({ family: 'workout', kind: 'create' });
    await world.enqueue({ family: 'note', kind: 'create', after: [parent.origin] });
    await world.enqueue({
      family: 'workout',
      kind: 'update',
      target: { type: 'id', id: 'w9' },
      expectedRevision: 1,
      after: [parent.origin],
    });
    const { outcomes } = await world.flush();
    expect(outcomes.filter(({ type }) => type === 'committed')).toHaveLength(3);
    const sent = world.server.requests.map(({ family, kind, target, expectedRevision }) => [
      family,
      kind,
      target.type === 'id' && target.id,
      expectedRevision,
    ]);
    expect(sent).toEqual([
      ['workout', 'create', false, undefined],
      ['note', 'create', false, undefined],
      ['workout', 'update', 'w9', 1],
    ]);
  });
});
