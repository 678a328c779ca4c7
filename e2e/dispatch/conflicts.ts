/** What another device did in the meantime. */
import { describe, expect, it } from 'vitest';
import { BLOCKED_REASONS } from '../../shared/blocked-code.ts';
import { type DispatchWorld, SAVED } from './dispatch-world.ts';

export function describeConflicts(world: DispatchWorld): void {
  describe('a conflict', () => {
    const conflicting = async (
      tags: readonly string[] = [],
    ): Promise<readonly [id: string, target: string]> => {
      const target = await world.existing();
      await world.otherDevice('PATCH', target, { note: 'theirs' });
      return [await world.device.update(target, { note: 'mine' }, { revision: 1, tags }), target];
    };

    it('[D30, D31, D33] with another device is resent on its revision, as a request of its own', async () => {
      const [id, target] = await conflicting();
      const settled = await world.device.settled(id);
      expect(settled).toMatchObject({ type: 'uploaded', via: [id], receipt: { revision: 3 } });
      expect(await world.device.endOf(id)).toEqual({
        ...SAVED,
        heard: ['superseded', 'committed'],
        answers: ['412', '200'],
      });
      expect(await world.serverHas(target)).toMatchObject({ note: 'mine', revision: 3 });
      const keys = world.app.server
        .requests()
        .flatMap(({ key, ifMatch }) => (ifMatch ? [[key, ifMatch]] : []));
      expect(keys).toEqual([
        [id, '"1"'],
        [settled.id, '"2"'],
      ]);
      const committed = (await world.device.journal()).find(({ outcome }) => outcome.type === 'committed');
      expect(committed?.outcome).toMatchObject({ resolvedConflict: true });
    });

    it('[D30] goes to a person where the family says so, and leaves on their word', async () => {
      const [id, target] = await conflicting(['conflict:block']);
      const end = await world.device.endOf(id);
      expect(end).toEqual({
        settled: 'blocked',
        said: BLOCKED_REASONS.conflict.sentence,
        heard: ['blocked'],
        row: 'blocked, conflict',
        answers: ['412'],
        applied: 0,
      });
      expect(await world.serverHas(target)).toMatchObject({ note: 'theirs', revision: 2 });
      const copy = await world.device.recover(id, { body: { note: 'both' }, expectedRevision: 2 });
      expect(await world.device.endOf(copy)).toEqual({ ...SAVED, answers: ['200'] });
      expect(await world.serverHas(target)).toMatchObject({ note: 'both', revision: 3 });
    });

    it('[D30] is dropped where the family lets the server’s version win, and an outcome says so', async () => {
      const [id, target] = await conflicting(['conflict:drop']);
      expect(await world.device.endOf(id)).toEqual({
        settled: 'dropped',
        said: 'Dropped: the version on the server stands.',
        heard: ['dropped'],
        row: undefined,
        answers: ['412'],
        applied: 0,
      });
      expect(await world.serverHas(target)).toMatchObject({ note: 'theirs', revision: 2 });
    });

    it('[D30] is merged where the family reads what the server has', async () => {
      const [id, target] = await conflicting(['conflict:merge']);
      const end = await world.device.endOf(id);
      expect(end).toEqual({ ...SAVED, heard: ['superseded', 'committed'], answers: ['412', '200'] });
      expect(await world.serverHas(target)).toMatchObject({ note: 'theirs, mine', revision: 3 });
    });

    it('[D32] that does not end waits for the next flush; the connection is not to blame', async () => {
      const target = await world.existing();
      world.fail({ type: 'status', status: 412, code: 'revision_conflict', members: { actual_revision: 7 } });
      const id = await world.device.update(target, { note: 'mine' }, { revision: 1 });
      const view = await world.device.whenView({
        progress: { running: false },
        rows: [{ state: 'queued', lastErrorCode: 'conflict_storm' }],
      });
      expect(view).toMatchObject({ connection: 'online', counts: { queued: 1, blocked: 0 } });
      expect(world.app.server.requests().filter(({ status }) => status === 412)).toHaveLength(4);
      world.mend();
      await world.device.flush();
      expect(await world.device.endOf(id)).toMatchObject({ settled: 'uploaded', applied: 1, row: undefined });
      expect(await world.serverHas(target)).toMatchObject({ note: 'mine', revision: 2 });
    });

    it('[D34] that this device made itself is none: a second edit behind the first needs one request', async () => {
      const target = await world.existing();
      world.fail({ type: 'delay', ms: 300 }, 1);
      const first = await world.device.update(target, { note: 'one' }, { revision: 1 });
      await world.device.whenView({ rows: [{ state: 'sending' }] });
      const second = await world.device.update(target, { note: 'two' }, { revision: 1 });
      expect(await world.device.endOf(first)).toEqual({ ...SAVED, answers: ['200'] });
      expect(await world.device.endOf(second)).toEqual({
        ...SAVED,
        heard: ['rebased', 'committed'],
        answers: ['200'],
      });
      expect(await world.serverHas(target)).toMatchObject({ note: 'two', revision: 3 });
    });
  });

  describe('something that another world.device deleted', () => {
    it('[D10, D42] needs no second delete: it is gone already, and nobody is asked', async () => {
      const target = await world.existing();
      await world.otherDevice('DELETE', target);
      const id = await world.device.delete(target, { revision: 1 });
      expect(await world.device.endOf(id)).toEqual({
        settled: 'already_gone',
        said: 'It was deleted already.',
        heard: ['already_gone'],
        row: undefined,
        answers: ['410'],
        applied: 0,
      });
    });

    it('[D11] takes no update: the person keeps the content and decides', async () => {
      const target = await world.existing();
      await world.otherDevice('DELETE', target);
      const id = await world.device.update(target, { note: 'mine' }, { revision: 1 });
      const { sentence, waysOut } = BLOCKED_REASONS.source_deleted;
      expect(await world.device.endOf(id)).toEqual({
        settled: 'blocked',
        said: sentence,
        heard: ['blocked'],
        row: 'blocked, source_deleted',
        answers: ['410'],
        applied: 0,
      });
      expect(await world.device.explain(id)).toMatchObject({ reason: { waysOut } });
      expect(await world.device.page.evaluate((of) => globalThis.outboxApp.outbox.bodies([of]), id)).toEqual([
        { id, body: { note: 'mine' } },
      ]);
    });
  });
}
