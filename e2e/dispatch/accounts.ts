/** Two accounts on one device, and what credentials leave behind: nothing. */
import { describe, expect, it } from 'vitest';
import type { SignedOut } from '../../shared/answers.ts';
import { type Device, openDevice } from '../support/outbox-app/device.ts';
import type { Account } from '../support/outbox-app/serve-outbox-app.ts';
import { readPlaces, tracesIn, tracesOf } from '../support/outbox-app/traces.ts';
import { type DispatchWorld, SAVED } from './dispatch-world.ts';

/** The outbox first, and the cookie when it says that nobody else's requests are under way. */
async function takeOver(device: Device, account: Account): Promise<void> {
  await device.page.evaluate((owner) => globalThis.outboxApp.outbox.signIn(owner), account);
  await device.changeCookie(account);
}

/** A row that is just being tried again waits too. */
function waitingIn({ waiting }: SignedOut): number {
  return waiting.queued + waiting.sending;
}

export function describeAccounts(world: DispatchWorld): void {
  describe('two accounts on one device', () => {
    it('[W30, W32] what waits for the one that signed out is not sent, shown or lost while the other works', async () => {
      const { device, app } = world;
      app.server.faults.stop();
      const ada = await device.create({ exercise: 'Ada’s' });
      await device.whenHeard(ada, 'deferred');
      expect(waitingIn(await device.signOut())).toBe(1);
      app.server.faults.start();
      await device.signIn('grace');
      const grace = await device.create({ exercise: 'Grace’s' });
      expect(await device.endOf(grace)).toEqual(SAVED);
      expect(await device.whenView({ isReady: true })).toMatchObject({ owner: 'grace', rows: [] });
      expect((await device.journal()).map(({ outcome }) => outcome.row.id)).toEqual([grace]);
      expect(await device.explain(ada)).toBeUndefined();
      expect((await app.server.statistics()).applied).toEqual([{ owner: 'grace', id: grace, count: 1 }]);
      await device.signOut();
      await device.signIn('ada');
      expect(await device.settled(ada)).toMatchObject({ type: 'uploaded', id: ada });
      expect((await app.server.statistics('ada')).applied).toEqual([{ owner: 'ada', id: ada, count: 1 }]);
    });

    it('[W30] changed in the middle of a drain: when the sign-in is done nothing of the first is under way', async () => {
      const { device, app } = world;
      world.fail({ type: 'delay', ms: 150 });
      await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
      const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => device.create({ weightKg: n })));
      await device.page.evaluate(() => globalThis.outboxApp.outbox.resume());
      await device.whenHeard(ids[0] ?? '', 'committed');
      await takeOver(device, 'grace');
      const before = app.server.requests().filter(({ owner }) => owner === 'ada');
      expect(before.filter(({ endedAt }) => endedAt === undefined)).toEqual([]);
      const grace = await device.create();
      expect(await device.endOf(grace)).toMatchObject({ ...SAVED, answers: expect.anything() });
      expect(app.server.requests().filter(({ owner }) => owner === 'ada')).toHaveLength(before.length);
      expect(before.length).toBeLessThan(ids.length);
      world.mend();
      await device.signOut();
      await device.signIn('ada');
      for (const id of ids) expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
      const { applied } = await app.server.statistics('ada');
      expect(applied.map(({ count }) => count)).toEqual(ids.map(() => 1));
    });

    it('[V5, W30] under the other one’s cookie nothing is carried out: held, until the right one is back', async () => {
      const { device, app } = world;
      await device.changeCookie('grace');
      const id = await device.create();
      await device.whenHeard(id, 'held');
      const row = { id, state: 'held', lastErrorCode: 'owner_mismatch' };
      await device.whenView({ owner: 'ada', stoppedBy: 'auth', counts: { held: 1 }, rows: [row] });
      expect((await app.server.statistics()).effects).toEqual([]);
      await device.changeCookie('ada');
      expect(await device.endOf(id)).toEqual({
        ...SAVED,
        heard: ['held', 'committed'],
        answers: ['401', '201'],
      });
    });
  });

  describe('signing out', () => {
    it('[W32] flushing first says what left and what did not', async () => {
      const { device, app } = world;
      app.server.faults.stop();
      const [good, bad] = [await device.create(), await device.create({ weightKg: 4000 })];
      await device.whenHeard(bad, 'deferred');
      app.server.faults.start();
      const { waiting, flushed } = await device.signOut('flush');
      expect(flushed).toMatchObject({ owner: 'ada', remaining: { queued: 0, blocked: 1 } });
      expect(flushed?.outcomes.map(({ type, row }) => [type, row.id]).sort()).toEqual(
        [
          ['blocked', bad],
          ['committed', good],
        ].sort(),
      );
      expect(waiting).toMatchObject({ queued: 0, blocked: 1 });
      expect(await device.whenView({ owner: undefined })).toMatchObject({ rows: [] });
    });

    it('[W32] flushing first without a connection loses nothing', async () => {
      const { device, app } = world;
      app.server.faults.stop();
      const id = await device.create();
      await device.whenHeard(id, 'deferred');
      const signedOut = await device.signOut('flush');
      expect(signedOut).toMatchObject({ flushed: { stoppedBy: 'network', remaining: { queued: 1 } } });
      expect(waitingIn(signedOut)).toBe(1);
      app.server.faults.start();
      await device.signIn('ada');
      expect(await device.settled(id)).toMatchObject({ type: 'uploaded', id });
    });

    it('[W32] discarding, on the person’s word, leaves no content behind and sends nothing', async () => {
      const { device, app } = world;
      app.server.faults.stop();
      const id = await device.create({ exercise: 'Gone for good' });
      await device.whenHeard(id, 'deferred');
      expect(await tracesOf(device.page, 'Gone for good')).toContain('export');
      expect(waitingIn(await device.signOut('discard'))).toBe(1);
      app.server.faults.start();
      await device.signIn('ada');
      expect(await device.settled(id)).toEqual({ type: 'discarded', id });
      await device.flush();
      expect(await device.view()).toMatchObject({ rows: [], counts: { queued: 0 } });
      expect(await tracesOf(device.page, 'Gone for good')).toEqual([]);
      expect((await app.server.statistics()).effects).toEqual([]);
    });
  });

  describe('a token that pages hand over', () => {
    const withToken = async (token: string | undefined, beside?: Device): Promise<Device> => {
      const { device, app } = world;
      await device.close();
      const fresh = await openDevice(world.chromium, app, beside);
      await fresh.page.evaluate(async (given) => {
        globalThis.outboxApp.token = given;
        await globalThis.outboxApp.connect({ owner: 'ada', worker: '/tokens.sw.js' });
      }, token);
      return fresh;
    };

    it('[W31, D5] that is missing holds what waits; with one it leaves', async () => {
      const device = await withToken(undefined);
      const id = await device.create();
      await device.whenView({
        stoppedBy: 'auth',
        counts: { queued: 0, held: 1 },
        rows: [{ id, state: 'held' }],
      });
      expect(await device.explain(id)).toMatchObject({ reason: { type: 'signed_out' } });
      expect(world.app.server.requests().filter(({ key }) => key === id)).toEqual([]);
      await device.flush();
      await device.flush();
      expect((await device.page.evaluate(() => globalThis.outboxApp.asked)).length).toBeLessThan(10);
      await device.page.evaluate(
        async (token) => {
          globalThis.outboxApp.token = token;
          await globalThis.outboxApp.outbox.signIn('ada');
        },
        await world.app.token('ada'),
      );
      expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
      expect(await device.endOf(id)).toEqual(SAVED);
      await device.close();
    });

    it('[W31, W22] that is refused is asked for again with each trigger, not in a loop, however many tabs answer', async () => {
      const old = 'old-token-0123456789';
      const device = await withToken(old);
      const other = await withToken(old, device);
      const id = await device.create();
      await device.whenView({ stoppedBy: 'auth', counts: { held: 1 } });
      for (let n = 0; n < 3; n++) expect((await device.flush()).stoppedBy).toBe('auth');
      const refused = world.app.server.requests().filter(({ status }) => status === 401);
      expect(refused.length).toBeLessThan(12);
      const asked = await other.page.evaluate(() => globalThis.outboxApp.asked);
      expect(asked.length).toBeLessThan(24);
      expect(asked).toContain(true);
      await other.page.evaluate(
        (token) => {
          globalThis.outboxApp.token = token;
        },
        await world.app.token('ada'),
      );
      await device.page.evaluate(() => {
        globalThis.outboxApp.token = undefined;
      });
      await other.flush();
      expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
      await device.close();
    });

    it('[W31, W32] is found nowhere after a session of saving, trouble, export and signing out', async () => {
      const old = 'old-token-0123456789';
      const device = await withToken(old);
      const good = await world.app.token('ada');
      await device.page.evaluate((token) => {
        globalThis.outboxApp.token = token;
      }, old);
      const held = await device.create();
      await device.whenHeard(held, 'held');
      await device.page.evaluate(async (token) => {
        globalThis.outboxApp.token = token;
        await globalThis.outboxApp.outbox.flush();
      }, good);
      expect(await device.settled(held)).toMatchObject({ type: 'uploaded' });
      expect(await device.page.evaluate(() => globalThis.outboxApp.asked)).toContain(true);
      const refused = await device.create({ weightKg: 4000, note: 'A note to be found' });
      await device.settled(refused);
      world.fail({ type: 'no_receipt' }, 1);
      await device.settled(await device.create());
      world.mend();
      // What is searched is what would hold it: a note of the same rows is in all of it, once the mirror has it too.
      await expect
        .poll(() => tracesOf(device.page, 'A note to be found'), { interval: 250, timeout: 20_000 })
        .toEqual(['IndexedDB holdfast', 'IndexedDB holdfast-ledger', 'localStorage', 'export']);
      const places = await readPlaces(device.page);
      expect(tracesIn(places, held)).toEqual(expect.arrayContaining(['journal', 'messages']));
      expect([old, good].flatMap((token) => tracesIn(places, token))).toEqual([]);
      await device.close();
    });
  });
}
