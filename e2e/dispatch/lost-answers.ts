/** Answers that never come, with and without effect: sent again under the same key, applied once. */
import { describe, expect, it } from 'vitest';
import { BLOCKED_REASONS } from '../../shared/blocked-code.ts';
import { type DispatchWorld, SAVED } from './dispatch-world.ts';

export function describeLostAnswers(world: DispatchWorld): void {
  describe('an answer that never comes', () => {
    it.each([
      { how: 'breaks off before it', fault: { type: 'reset_after' }, first: '201 reset' },
      { how: 'breaks off inside it', fault: { type: 'truncate' }, first: '201 truncate' },
      { how: 'is a proxy’s 502 after all', fault: { type: 'status_after', status: 502 }, first: '502' },
      { how: 'is a portal’s page', fault: { type: 'portal_after' }, first: '200' },
    ] as const)(
      '[D10, R7] because it $how: sent again under its key, applied once',
      async ({ fault, first }) => {
        world.fail(fault);
        const id = await world.device.create();
        await world.device.whenHeard(id, 'deferred');
        const [row] = (await world.device.whenView({ rows: [{ id, state: 'queued', doubt: true }] })).rows;
        expect(row?.attemptCount).toBe(1);
        world.mend();
        await world.device.flush();
        expect(await world.device.settled(id)).toMatchObject({
          type: 'uploaded',
          id,
          receipt: { id, replayed: true },
        });
        const end = await world.device.endOf(id);
        expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: [first, '201'] });
      },
    );

    it.each([
      { what: 'applied', fault: { type: 'drop_answer' }, replayed: true, first: '200 silence' },
      { what: 'not applied', fault: { type: 'silence_before' }, replayed: undefined, first: '503 silence' },
    ] as const)('[D4, C5] is given up at its time limit and asked for again: $what', async (the) => {
      world.fail(the.fault, 1);
      const id = await world.device.plan('2026-11-30', 'Legs');
      await world.device.whenHeard(id, 'deferred');
      await world.device.flush();
      const { receipt } = (await world.device.settled(id)) as {
        readonly receipt?: { readonly replayed?: boolean };
      };
      expect(receipt?.replayed).toBe(the.replayed);
      const end = await world.device.endOf(id);
      expect(end).toMatchObject({ ...SAVED, heard: ['deferred', 'committed'], answers: expect.anything() });
      expect(end.answers[0]).toBe(the.first);
    });

    it.each([
      { how: 'the connection breaks', fault: { type: 'reset_before' }, first: '503 reset' },
      { how: 'a captive portal answers', fault: { type: 'portal' }, first: '200' },
      { how: 'a redirect answers', fault: { type: 'redirect', to: '/login' }, first: '302' },
      { how: 'a 404 of no API answers', fault: { type: 'portal', status: 404 }, first: '404' },
    ] as const)('[D10] because $how first: nothing is taken for done, and it is sent again', async (the) => {
      world.fail(the.fault);
      const id = await world.device.create();
      await world.device.whenHeard(id, 'deferred');
      await world.device.whenView({ rows: [{ id, state: 'queued' }] });
      world.mend();
      await world.device.flush();
      const end = await world.device.endOf(id);
      expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: [the.first, '201'] });
      expect(world.app.server.requests().some(({ path }) => path === '/login')).toBe(false);
    });

    it('[D45] to a refused request: asking again brings the refusal, and proves that it was not applied', async () => {
      world.fail({ type: 'reset_after' });
      const id = await world.device.create({ weightKg: 4000 });
      await world.device.whenHeard(id, 'deferred');
      world.mend();
      await world.device.flush();
      expect(await world.device.endOf(id)).toEqual({
        settled: 'blocked',
        said: BLOCKED_REASONS.rejected.sentence,
        heard: ['deferred', 'blocked'],
        row: 'blocked, rejected',
        answers: ['422 reset', '422'],
        applied: 0,
      });
    });
  });
}
