import { describe, expect, it } from 'vitest';
import { dispatchWorld } from '../../support/dispatch-world.ts';

describe('a flush', () => {
  it('[D1, D2] sends what is stored and ends with nothing left', async () => {
    const world = await dispatchWorld();
    const rows = [await world.put('a'), await world.put('b'), await world.put('c')];
    const result = await world.flush();
    expect(result.outcomes.map(({ type }) => type)).toEqual(['committed', 'committed', 'committed']);
    expect(result.remaining).toEqual({ queued: 0, sending: 0, held: 0, blocked: 0 });
    expect(result.stoppedBy).toBeUndefined();
    expect(world.sent()).toEqual(rows.map(({ id }) => id));
    expect(await world.rows()).toEqual([]);
  });
});
