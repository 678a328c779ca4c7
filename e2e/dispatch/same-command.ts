/** The same command, wherever it meets the server: online, offline, refused, signed out, told to wait. */
import { describe, expect, it } from 'vitest';
import { BLOCKED_REASONS } from '../../shared/blocked-code.ts';
import { SQUAT } from '../support/outbox-app/device.ts';
import { setWorkerOffline } from '../support/service-worker-control.ts';
import { type DispatchWorld, SAVED } from './dispatch-world.ts';

export function describeSameCommand(world: DispatchWorld): void {
  describe('the same command', () => {
    it('[D1, D40, D41] leaves at once while the server is there, and counts once', async () => {
      const id = await world.device.create();
      expect(await world.device.endOf(id)).toEqual(SAVED);
    });

    it('[D3] waits while the server breaks every connection, and leaves once it is back', async () => {
      world.app.server.faults.stop();
      const id = await world.device.create();
      await world.device.whenHeard(id, 'deferred');
      const view = await world.device.whenView({ connection: 'offline', rows: [{ id, state: 'queued' }] });
      expect(view).toMatchObject({ stoppedBy: 'network', counts: { queued: 1 } });
      world.app.server.faults.start();
      await world.device.flush();
      expect(await world.device.endOf(id)).toEqual({
        ...SAVED,
        heard: ['deferred', 'committed'],
        answers: ['503 reset', '201'],
      });
      expect(await world.device.view()).toMatchObject({ connection: 'online' });
    });

    it('[W22, D3] makes no request while the device is offline, and leaves by itself when it is not', async () => {
      const offline = await setWorkerOffline(await world.chromium.connectCdp(), world.app.url);
      await world.device.page.setOfflineMode(true);
      const id = await world.device.create();
      await world.device.whenView({ connection: 'offline', stoppedBy: 'network', rows: [{ id }] });
      expect((await world.device.flush()).stoppedBy).toBe('network');
      await offline.lift();
      await world.device.page.setOfflineMode(false);
      expect(await world.device.settled(id)).toMatchObject({ type: 'uploaded' });
      expect(await world.device.endOf(id)).toEqual(SAVED);
    });

    it('[D3] rests after a 500, lets others go on, and is sent again by itself', async () => {
      world.fail({ type: 'status', status: 500 }, 1);
      const id = await world.device.create();
      await world.device.whenHeard(id, 'deferred');
      const waits = { id, state: 'queued', notBefore: { by: 'engine' } };
      const view = await world.device.whenView({ progress: { running: false }, rows: [waits] });
      expect(view).toMatchObject({ connection: 'online', wakeAt: view.rows[0]?.notBefore?.at });
      const other = await world.device.create({ exercise: 'Lunge' });
      expect(await world.device.settled(other)).toMatchObject({ type: 'uploaded' });
      await world.device.settled(id);
      expect(await world.device.endOf(id)).toEqual({
        ...SAVED,
        heard: ['deferred', 'committed'],
        answers: ['500', '201'],
      });
    });

    it('[D5, W31] is held while the session has ended, and leaves with the next sign-in', async () => {
      await world.device.changeCookie(undefined);
      const id = await world.device.create();
      await world.device.whenHeard(id, 'held');
      await world.device.whenView({ stoppedBy: 'auth', counts: { held: 1 }, rows: [{ id, state: 'held' }] });
      expect(await world.device.settled(id, {})).toEqual({ type: 'held', id });
      expect(await world.device.explain(id)).toMatchObject({ reason: { type: 'signed_out' } });
      await world.device.signIn('ada');
      expect(await world.device.settled(id)).toMatchObject({ type: 'uploaded' });
      expect(await world.device.endOf(id)).toEqual({
        ...SAVED,
        heard: ['held', 'committed'],
        answers: ['401', '201'],
      });
      expect((await world.device.reports())[0]).toMatchObject({ type: 'stopped', by: 'auth' });
    });

    it.each([
      { by: 'its validation', fault: undefined, weightKg: 4000, status: 422 },
      { by: 'a 403', fault: { type: 'status', status: 403 }, weightKg: 60, status: 403 },
      { by: 'a 413', fault: { type: 'status', status: 413 }, weightKg: 60, status: 413 },
      { by: 'a 501', fault: { type: 'status', status: 501 }, weightKg: 60, status: 501 },
    ] as const)('[D11, D48] is blocked once $by refuses it for good', async ({ fault, weightKg, status }) => {
      if (fault) world.fail(fault);
      const id = await world.device.create({ weightKg });
      const { sentence, waysOut } = BLOCKED_REASONS.rejected;
      const doubt = status === 501 ? ', in doubt' : '';
      expect(await world.device.endOf(id)).toEqual({
        settled: 'blocked',
        said: sentence,
        heard: ['blocked'],
        row: `blocked, rejected${doubt}`,
        answers: [`${status}`],
        applied: 0,
      });
      expect(await world.device.explain(id)).toMatchObject({
        // In doubt an edited copy is not offered: the server may have applied the first (R7).
        reason: { type: 'blocked', sentence, waysOut: doubt ? ['retry', 'discard', 'wait'] : waysOut },
      });
      expect(await world.device.reports()).toMatchObject([
        { type: 'blocked', code: 'rejected', row: { id } },
      ]);
    });

    it('[D11, R34] that was refused leaves as an edited copy, under a key of its own', async () => {
      const id = await world.device.create({ weightKg: 4000 });
      await world.device.settled(id);
      const copy = await world.device.recover(id, { body: { ...SQUAT, weightKg: 40 } });
      expect(await world.device.endOf(copy)).toEqual(SAVED);
      expect(await world.device.heard(id)).toEqual(['blocked', 'replaced']);
      expect(await world.device.settled(id)).toMatchObject({ type: 'uploaded', via: [id] });
    });
  });

  describe('a wait that the server names', () => {
    it.each([
      { status: 503, rests: 'everybody', others: 0 },
      { status: 429, rests: 'the account', others: 0 },
      { status: 500, rests: 'that key only', others: 1 },
    ])('[D3, C4] of a $status rests $rests, whatever triggers come', async ({ status, others }) => {
      world.fail({ type: 'status', status, retryAfter: 1 }, 1);
      const id = await world.device.create();
      await world.device.whenHeard(id, 'deferred');
      const view = await world.device.whenView({
        rows: [{ id, state: 'queued', notBefore: { by: 'server' } }],
      });
      expect(view.connection).toBe('online');
      world.mend();
      const other = await world.device.create({ exercise: 'Lunge' });
      await world.device.flush();
      const sent = (key: string): number =>
        world.app.server.requests().filter((one) => one.key === key).length;
      expect([sent(id), sent(other)]).toEqual([1, others]);
      await world.device.settled(other);
      const end = await world.device.endOf(id);
      expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: [`${status}`, '201'] });
      const [first, second] = world.app.server.requests().filter(({ key }) => key === id);
      expect((second?.startedAt ?? 0) - (first?.endedAt ?? 0)).toBeGreaterThanOrEqual(990);
    });

    it('[D3, V2] of a 409 in progress rests its key, which then gets its answer', async () => {
      world.fail({ type: 'in_progress' }, 1);
      const id = await world.device.create();
      await world.device.whenHeard(id, 'deferred');
      await world.device.whenView({
        rows: [{ id, state: 'queued', notBefore: { by: 'server' }, doubt: true }],
      });
      const end = await world.device.endOf(id);
      expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: ['409', '201'] });
    });
  });
}
