import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../../shared/outcome.ts';
import type { Broadcast } from '../../../shared/protocol.ts';
import type { Row } from '../../../shared/row.ts';
import type { OwnerChange } from '../../../sw/engine.ts';
import { createBroadcaster } from '../../../sw/host/broadcaster.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';
import { NO_COUNTS } from '../../support/fake-engine.ts';
import { rowFixture } from '../../support/row-fixture.ts';

function station() {
  const clock = createManualClock();
  const messages: (readonly Broadcast[])[] = [];
  const broadcaster = createBroadcaster({
    channel: { postMessage: (message) => messages.push(structuredClone(message)) },
    timers: clock,
  });
  return { clock, messages, broadcaster };
}

const change = (generation: number, overrides: Partial<OwnerChange>): OwnerChange => ({
  owner: 'user-184467',
  epoch: '3f0c8a52-76c1-4b0e-9df0-5f4b9d4f0a11',
  generation,
  reason: 'acknowledge',
  written: [],
  removed: [],
  entries: [],
  passing: [],
  counts: NO_COUNTS,
  ...overrides,
});

const id = (n: number): string => `6b2f1c1e-0d3a-4c55-9a64-${String(n).padStart(12, '0')}`;

/** An update as it is drained: claimed, then accepted. */
function drained(n: number): { readonly claimed: Row; readonly entry: JournalEntry } {
  const row = rowFixture({
    id: id(n),
    owner: 'user-184467',
    seq: 1_790_000_000_000_000 + n,
    target: { type: 'id', id: id(n + 500_000) },
    tags: ['2026-11-30'],
  });
  const claimed: Row = {
    ...row,
    state: 'sending',
    doubt: true,
    sentAt: 1_790_000_000_000,
    version: 2,
    claim: { host: id(1), expiresAt: 1_790_000_010_000, fence: 1 },
    evidence: { attemptCount: 1, lastAttemptAt: 1_790_000_000_000 },
  };
  const { origin, seq, owner, family, kind, target, tags } = row;
  const entry: JournalEntry = {
    n,
    at: 1_790_000_000_000,
    outcome: {
      type: 'committed',
      row: { id: row.id, origin, seq, owner, family, kind, target, tags },
      receipt: {
        id: row.id,
        requestHash: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
        kind: 'workout.update',
        target: id(n + 500_000),
        revision: 12,
        generation: 345,
        committedAt: '2026-11-30T12:00:00.000Z',
      },
    },
  };
  return { claimed, entry };
}

describe('what pages are told', () => {
  it('[W18] a drained row costs a page at most 600 bytes, its claim and its receipt together', async () => {
    const { clock, broadcaster, messages } = station();
    const count = 1_000;
    let generation = 0;
    for (let n = 0; n < count; n += 6) {
      const rows = Array.from({ length: Math.min(6, count - n) }, (_, i) => drained(n + i));
      broadcaster.change(
        change(++generation, { reason: 'claim', written: rows.map(({ claimed }) => claimed) }),
      );
      broadcaster.progress({ owner: 'user-184467', running: true, done: n, total: count });
      await clock.advance(16);
      for (const { claimed, entry } of rows)
        broadcaster.change(change(++generation, { removed: [claimed.id], entries: [entry] }));
      broadcaster.progress({ owner: 'user-184467', running: true, done: n + 6, total: count });
      await clock.advance(16);
    }
    const bytes = messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
    expect(bytes / count).toBeLessThan(600);
    expect(messages.length).toBeGreaterThan(100);
  });

  it('[W18] a new row goes whole, one that was claimed before as what changed', async () => {
    const { clock, broadcaster, messages } = station();
    const { claimed } = drained(1);
    broadcaster.change(change(1, { written: [rowFixture({ id: id(2) })] }));
    broadcaster.change(change(2, { written: [claimed] }));
    await clock.advance(16);
    expect(messages).toHaveLength(1);
    expect(messages[0]?.map((message) => message.type === 'change' && message.rows)).toEqual([
      [
        expect.objectContaining({ id: id(2), family: 'workout', kind: 'update', seq: 1, version: 1 }),
        // State and doubt are what a claim sets, and a claim is what is told most.
        { id: id(1), version: 2, attemptCount: 1 },
      ],
    ]);
  });

  it('[W18] changes that follow each other become one, which tells a row that came and went not at all', async () => {
    const { clock, broadcaster, messages } = station();
    const { claimed, entry } = drained(1);
    const other = rowFixture({ id: id(2) });
    broadcaster.change(change(4, { written: [rowFixture({ id: id(1) }), other] }));
    broadcaster.change(change(5, { written: [claimed, { ...claimed, id: id(2), version: 2 }] }));
    broadcaster.change(change(6, { removed: [id(1)], entries: [entry] }));
    broadcaster.change(change(8, { removed: ['after a gap'] }));
    await clock.advance(16);
    expect(messages).toHaveLength(1);
    expect(messages[0]).toMatchObject([
      {
        after: 3,
        generation: 6,
        rows: [
          { id: id(2), seq: 1, version: 1 },
          { id: id(2), version: 2 },
        ],
        removed: [],
        entries: [{ n: 1, type: 'committed', row: { id: id(1) } }],
      },
      { after: 7, generation: 8, removed: ['after a gap'] },
    ]);
  });

  it('[W18] of a drain its start and end are told at once, and of what lies between only the newest, ten times a second', async () => {
    const { clock, broadcaster, messages } = station();
    for (let done = 0; done <= 100; done++) {
      broadcaster.progress({ owner: 'ann', running: done < 100, done, total: 100 });
      await clock.advance(10);
    }
    broadcaster.progress({ owner: 'bob', running: true, done: 0, total: 1 });
    await clock.advance(16);
    const told = messages.flat().map((message) => message.type === 'progress' && message.done);
    expect([told[0], told.at(-2), told.at(-1)]).toEqual([0, 100, 0]);
    expect(told.length).toBeGreaterThan(8);
    expect(told.length).toBeLessThan(14);
  });

  it('[W18] numbers keep their order past a message that is told at once', async () => {
    const { clock, broadcaster, messages } = station();
    broadcaster.change(change(1, {}));
    broadcaster.tell({ type: 'host', host: 'h2' });
    broadcaster.change(change(2, {}));
    await clock.advance(16);
    expect(messages.map((message) => message.map(({ type }) => type))).toEqual([
      ['change', 'host'],
      ['change'],
    ]);
  });

  it('[W18, D41] a receipt under a lost claim is told without its row being gone', async () => {
    const { clock, broadcaster, messages } = station();
    const { claimed, entry } = drained(7);
    broadcaster.change(change(1, { written: [claimed], entries: [entry] }));
    await clock.advance(16);
    broadcaster.change(change(2, { removed: [claimed.id], entries: [entry] }));
    await clock.advance(16);
    const [first, second] = messages.flat();
    expect(first?.type === 'change' && first.entries[0]).toHaveProperty('stays', true);
    expect(second?.type === 'change' && second.entries[0]).not.toHaveProperty('stays');
    expect(second?.type === 'change' && second.removed).toEqual([]);
  });

  it('[W31, W18] nothing of a body or a credential is in it', async () => {
    const { clock, broadcaster, messages } = station();
    broadcaster.change(change(1, { written: [rowFixture({ requestHash: 'secret-hash' })] }));
    await clock.advance(16);
    expect(JSON.stringify(messages)).not.toContain('secret-hash');
  });
});
