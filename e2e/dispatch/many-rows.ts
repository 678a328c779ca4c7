/** What one answer means for everything else that waits. */
import { describe, expect, it } from 'vitest';
import type { Device } from '../support/outbox-app/device.ts';
import type { DispatchWorld } from './dispatch-world.ts';

/** Stored while nothing is sent, so that the drain begins with all of them. */
async function storeMany(device: Device, count: number): Promise<readonly string[]> {
  await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
  const ids = await Promise.all(Array.from({ length: count }, (_, n) => device.create({ weightKg: n })));
  await device.whenView({ counts: { queued: count } });
  return ids;
}

async function resume(device: Device): Promise<void> {
  await device.page.evaluate(() => globalThis.outboxApp.outbox.resume());
}

export function describeManyRows(world: DispatchWorld): void {
  const keys = (): readonly (string | undefined)[] =>
    world.app.server.requests().flatMap(({ key }) => (key === undefined ? [] : [key]));

  async function allApplied(device: Device, ids: readonly string[]): Promise<void> {
    for (const id of ids) expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    const { applied } = await world.app.server.statistics('ada');
    expect(applied.map(({ count }) => count)).toEqual(ids.map(() => 1));
    await device.whenView({ rows: [], counts: { queued: 0, held: 0, blocked: 0 } });
  }

  describe('many rows', () => {
    it('[D5, W18] signed out, cost the requests that were open; all show as held, and leave after signing in', async () => {
      const { device } = world;
      const ids = await storeMany(device, 30);
      await device.changeCookie(undefined);
      await resume(device);
      const rows = ids.map((id) => ({ id, state: 'held' }));
      await device.whenView({ stoppedBy: 'auth', counts: { queued: 0, held: 30 }, rows });
      expect(new Set(keys()).size).toBeLessThanOrEqual(6);
      await device.signIn('ada');
      await allApplied(device, ids);
    });

    it('[D3] that fail one after another stop the flush, and the rest is not even tried', async () => {
      const { device } = world;
      const ids = await storeMany(device, 30);
      world.fail({ type: 'status', status: 500 });
      await resume(device);
      await device.whenView({ stoppedBy: 'failures', progress: { running: false }, counts: { queued: 30 } });
      expect(new Set(keys()).size).toBeLessThan(30);
      world.mend();
      await device.flush();
      await allApplied(device, ids);
    });

    it('[D3, D40] without a connection stop at once, and a flush says what remains', async () => {
      const { device, app } = world;
      const ids = await storeMany(device, 30);
      app.server.faults.stop();
      await resume(device);
      await device.whenView({ stoppedBy: 'network', connection: 'offline', progress: { running: false } });
      expect(new Set(keys()).size).toBeLessThanOrEqual(6);
      const { stoppedBy, remaining } = await device.flush();
      expect({ stoppedBy, remaining }).toMatchObject({ stoppedBy: 'network', remaining: { queued: 30 } });
      app.server.faults.start();
      expect(await device.flush()).toMatchObject({ owner: 'ada', remaining: { queued: 0, sending: 0 } });
      await allApplied(device, ids);
    });

    it('[D2] asked for again and again while a request is open, are sent once each', async () => {
      const { device } = world;
      world.fail({ type: 'delay', ms: 300 }, 1);
      const first = await device.create();
      await device.whenView({ rows: [{ id: first, state: 'sending' }] });
      const [second, ...results] = await Promise.all([
        device.create({ exercise: 'Lunge' }),
        ...Array.from({ length: 5 }, () => device.flush()),
      ]);
      expect(results.map(({ remaining }) => remaining.queued)).toEqual([0, 0, 0, 0, 0]);
      await allApplied(device, [first, second]);
      expect([...keys()].sort()).toEqual([first, second].sort());
    });

    it('[D41, D42] that leave in one drain are told one by one, each once, and read back together', async () => {
      const { device } = world;
      await device.react();
      const ids = await storeMany(device, 12);
      await resume(device);
      await allApplied(device, ids);
      const entries = await device.journal();
      expect(entries.map(({ n }) => n)).toEqual(ids.map((_, place) => place + 1));
      expect(entries.map(({ outcome }) => outcome.row.id).sort()).toEqual([...ids].sort());
      expect((await device.heard()).filter((type) => type === 'committed')).toHaveLength(12);
      // One more reading of the list for all of them would do; a reading per row would not.
      const { reads } = await device.whenShown({ statistics: { workouts: 12 } });
      expect(reads.filter((key) => key === 'workout/list').length).toBeLessThan(12);
    });
  });
}
