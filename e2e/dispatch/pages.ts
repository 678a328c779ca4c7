/** What pages do about outcomes, on TanStack Query. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type Device, openDevice, SQUAT } from '../support/outbox-app/device.ts';
import { type DispatchWorld, SAVED } from './dispatch-world.ts';

export function describePages(world: DispatchWorld): void {
  describe('pages', () => {
    let other: Device;

    beforeEach(async () => {
      other = await openDevice(world.chromium, world.app, world.device);
      await other.signIn('ada');
    });

    it('[D42, D44] both show what one of them saved, as the server has it, and nobody is told', async () => {
      await Promise.all([world.device.react(), other.react()]);
      const id = await world.device.create({ exercise: 'Lunge' });
      const target = await world.device.uploaded(id);
      const shown = { list: [{ id: target, exercise: 'Lunge' }], statistics: { generation: 1, workouts: 1 } };
      expect(await world.device.whenShown(shown)).toMatchObject({ told: [], badges: [] });
      expect(await other.whenShown(shown)).toMatchObject({ told: [], badges: [] });
    });

    it('[D42, D43] a confirmation brings the revision, so the next edit needs no read and meets no conflict', async () => {
      const target = await world.existing();
      await world.device.react();
      await world.device.page.evaluate((of) => globalThis.outboxApp.open(of), target);
      const first = await world.device.update(target, { exercise: 'Lunge' }, { revision: 1 });
      await world.device.settled(first);
      // The content is still what the server was last read to have.
      const { detail, reads } = await world.device.whenShown({ detail: { revision: 2, exercise: 'Row' } });
      expect(reads.filter((key) => key.includes(target))).toHaveLength(1);
      const second = await world.device.update(target, { note: 'next' }, { revision: detail?.revision ?? 0 });
      expect(await world.device.endOf(second)).toEqual({ ...SAVED, answers: ['200'] });
    });

    it('[D41, D42] both mark what was refused, and one of them tells the person, once', async () => {
      await Promise.all([world.device.react(), other.react()]);
      const id = await world.device.create({ weightKg: 4000 });
      await world.device.whenHeard(id, 'blocked');
      const shown = await Promise.all([world.device, other].map((one) => one.whenShown({ badges: [id] })));
      expect(shown.flatMap(({ told }) => told).length).toBeLessThanOrEqual(1);
      // One of them is in front: it does not wait for the other.
      await Promise.race(
        [world.device, other].map((one) => one.whenShown({ told: ['One change could not be synced.'] })),
      );
      const copy = await other.recover(id, { body: SQUAT });
      await world.device.settled(copy);
      await Promise.race(
        [world.device, other].map((one) =>
          one.whenShown({ told: ['One change could not be synced.', 'Your change is saved.'] }),
        ),
      );
      const told = await Promise.all(
        [world.device, other].map(async (one) => (await one.whenShown({})).told),
      );
      expect(told.flat()).toEqual(['One change could not be synced.', 'Your change is saved.']);
    });

    it('[D41, D42] a page that was closed hears when it opens, and tells then', async () => {
      await world.device.react();
      await other.close();
      world.app.server.faults.stop();
      const id = await world.device.create({ weightKg: 4000 });
      await world.device.whenHeard(id, 'deferred');
      // The tab is gone, and with it whoever would have reacted.
      const later = await openDevice(world.chromium, world.app, world.device);
      await world.device.page.close();
      world.app.server.faults.start();
      await later.signIn('ada');
      await later.flush();
      await later.whenHeard(id, 'blocked');
      await later.react();
      expect(await later.whenShown({ told: ['One change could not be synced.'] })).toMatchObject({
        badges: [id],
      });
    });
  });
}
