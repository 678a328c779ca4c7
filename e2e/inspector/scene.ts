/** An outbox with something of everything: refused, conflicting, tried, claimed, waiting for each other. */

import type { Chromium } from '../support/launch-chromium.ts';
import { type Device, openDevice, SQUAT } from '../support/outbox-app/device.ts';
import type { OutboxAppServer } from '../support/outbox-app/serve-outbox-app.ts';

export interface Scene {
  readonly device: Device;
  readonly ids: {
    readonly refused: string;
    readonly conflict: string;
    /** In doubt, tried twice. */
    readonly tried: string;
    readonly parent: string;
    readonly child: string;
  };
}

export async function openScene(chromium: Chromium, app: OutboxAppServer): Promise<Scene> {
  const device = await openDevice(chromium, app);
  await device.signIn('ada');
  await device.page.evaluate(() => globalThis.inspectorPage.show());

  const first = await device.create({ exercise: 'Deadlift', weightKg: 140 }, { tags: ['2026-11-30'] });
  const target = await device.uploaded(first);
  for (const day of ['2026-12-01', '2026-12-02', '2026-12-03'])
    await device.settled(await device.plan(day, 'Legs and press'));
  await app.ask(
    'ada',
    'PATCH',
    `/api/workouts/${target}`,
    { note: 'from the tablet' },
    { 'if-match': '"1"' },
  );
  const conflict = await device.update(
    target,
    { note: 'felt light' },
    { revision: 1, tags: ['conflict:block'] },
  );
  const refused = await device.create({ exercise: 'Lunge', weightKg: 4_000 });
  await device.whenView({ counts: { blocked: 2 } });

  app.server.faults.set([{ fault: { type: 'reset_after' }, match: { family: 'workout' } }]);
  const tried = await device.create({ exercise: 'Overhead press', weightKg: 42.5 });
  await device.flush();
  await device.flush();
  await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
  const parent = await device.create({ exercise: 'Front squat', weightKg: 80 }, { urgent: true });
  const child = await device.create({ exercise: 'Walk', weightKg: 0 }, { after: [parent] });
  await device.plan('2026-12-04', 'Rest');
  await device.create({ ...SQUAT, weightKg: 105 }, { tags: ['2026-12-05', 'week-49'] });
  await device.whenView({ counts: { queued: 5, blocked: 2 } });
  return { device, ids: { refused, conflict, tried, parent, child } };
}
