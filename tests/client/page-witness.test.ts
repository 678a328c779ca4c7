import { describe, expect, it } from 'vitest';
import type { ChangeMessage } from '../../client/live-view.ts';
import { createPageWitness } from '../../client/page-witness.ts';
import type { WorkerApi } from '../../shared/protocol.ts';
import type { SnapshotPage } from '../../shared/snapshot.ts';
import { createManualClock } from '../../sw/testing/manual-clock.ts';
import { createFakeLocks } from '../support/fake-locks.ts';
import { createFakeRealm } from '../support/fake-realm.ts';

function setUp() {
  const clock = createManualClock(1_000);
  const stored = new Map<string, string>();
  const realm = createFakeRealm(clock, { locks: createFakeLocks() }, stored);
  let generation = 0;
  const api: Pick<WorkerApi, 'readSnapshot'> = {
    readSnapshot: async (): Promise<SnapshotPage> => ({ epoch: 'e', generation, rows: [] }),
  };
  const witness = createPageWitness({
    name: 'app',
    realm,
    own: (use) => use(api as WorkerApi, 'ann'),
    signal: new AbortController().signal,
  });
  witness.show('ann');
  const tell = (part: Partial<ChangeMessage>): void =>
    witness.note({
      type: 'change',
      owner: 'ann',
      epoch: 'e',
      after: generation,
      generation: ++generation,
      counts: [0, 0, 0, 0],
      rows: [],
      removed: [],
      entries: [],
      passing: [],
      ...part,
    });
  return { witness, tell, clock, stored };
}

describe('a page`s snapshot', () => {
  it('[S20] is rewritten at the end of a flush that ended rows', async () => {
    const { witness, tell, clock, stored } = setUp();
    tell({ removed: ['a'] });
    witness.flushed();
    await clock.advance(0);
    expect(stored.size).toBe(1);
  });

  it('[S20, S21] waits for a quiet moment after a flush that moved nothing, as offline every save starts one', async () => {
    const { witness, tell, clock, stored } = setUp();
    tell({ rows: [{ id: 'a', version: 2, attemptCount: 0 }] });
    witness.flushed();
    await clock.advance(1_000);
    expect(stored.size).toBe(0);
    await clock.advance(1_000);
    expect(stored.size).toBe(1);
  });
});
