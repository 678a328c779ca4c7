import { describe, expect, it } from 'vitest';
import type { ConflictSummary } from '../../../shared/outcome.ts';
import {
  MAX_CONFLICT_SUMMARIES,
  noteConflict,
  readConflicts,
} from '../../../sw/dispatch/conflict-summaries.ts';
import { createMemoryRowStore } from '../../../sw/storage/memory-row-store.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';

function setUp() {
  const store = createMemoryRowStore({ clock: createManualClock(), ids: { uuid: () => 'epoch' } });
  const note = async (summary: ConflictSummary, owner = 'ann') =>
    store.writeFacts(await noteConflict(store, owner, summary), 'relaxed');
  return { store, note };
}

const summary = (at: number, originalId = `row-${at}`): ConflictSummary => ({
  originalId,
  expected: 1,
  actual: 2,
  answer: 'resend',
  at,
});

describe('conflict summaries', () => {
  it('[D33] A53 are kept to a bounded number, the newest, oldest first', async () => {
    const { store, note } = setUp();
    const first = 95;
    for (let n = 0; n < MAX_CONFLICT_SUMMARIES * 2; n++) await note(summary(first + n));
    const kept = await readConflicts(store, 'ann');
    expect(kept.map(({ at }) => at)).toEqual(
      Array.from({ length: MAX_CONFLICT_SUMMARIES }, (_, n) => first + MAX_CONFLICT_SUMMARIES + n),
    );
  });

  it('[D33] of two conflicts at one instant are both kept', async () => {
    const { store, note } = setUp();
    await note(summary(7, 'a'));
    await note(summary(7, 'b'));
    expect(await readConflicts(store, 'ann')).toEqual([summary(7, 'a'), summary(7, 'b')]);
  });

  it('[D33, D43] are each owner’s own', async () => {
    const { store, note } = setUp();
    await note(summary(7), 'ben');
    expect(await readConflicts(store, 'ann')).toEqual([]);
  });
});
