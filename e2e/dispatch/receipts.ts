/** Receipts that prove nothing, and receipts that come twice. */
import { describe, expect, it } from 'vitest';
import { BLOCKED_REASONS } from '../../shared/blocked-code.ts';
import type { End } from '../support/outbox-app/device.ts';
import { type DispatchWorld, SAVED } from './dispatch-world.ts';

export function describeReceipts(world: DispatchWorld): void {
  describe('a receipt', () => {
    it.each([
      { off: 'id', fault: { field: 'id' } },
      { off: 'requestHash', fault: { field: 'requestHash' } },
      { off: 'kind', fault: { field: 'kind' } },
      { off: 'target', fault: { field: 'target' } },
      { off: 'revision', fault: { field: 'revision' } },
      { off: 'revision', fault: { field: 'revision', value: 1 } },
      { off: 'generation', fault: { field: 'generation' } },
      { off: 'generation', fault: { field: 'generation', value: 0 } },
    ] as const)(
      '[D20, D28] whose $off is off ($fault) is no success, until the right one is there',
      async (the) => {
        const target = await world.existing();
        await world.otherDevice('PATCH', target, { note: 'second' });
        world.fail({ type: 'wrong_receipt', ...the.fault }, 1);
        const id = await world.device.update(target, { weightKg: 80 }, { revision: 2 });
        const rejection = { code: 'receipt_mismatch', field: the.off };
        await world.device.whenHeard(id, 'unknown');
        const end: End = {
          settled: 'unknown',
          said: BLOCKED_REASONS.receipt_mismatch.sentence,
          heard: ['unknown'],
          row: 'blocked, receipt_mismatch, in doubt',
          answers: ['200'],
          applied: 1,
        };
        expect(await world.device.endOf(id)).toEqual(end);
        expect(await world.device.reports()).toMatchObject([{ type: 'unknown', rejection, row: { id } }]);
        expect(await world.device.retry(id)).toBe(id);
        await world.device.whenHeard(id, 'committed');
        expect(await world.device.settled(id)).toMatchObject({
          type: 'uploaded',
          receipt: { revision: 3, replayed: true },
        });
        const answers = ['200', '200'];
        expect(await world.device.endOf(id)).toEqual({ ...SAVED, heard: ['unknown', 'committed'], answers });
      },
    );

    it.each([
      { how: 'is missing', fault: { type: 'no_receipt' }, first: '201' },
      { how: 'is not even tried', fault: { type: 'empty' }, first: '204' },
    ] as const)(
      '[D22, D28] that $how is no success, and the person can ask again',
      async ({ fault, first }) => {
        world.fail(fault, 1);
        const id = await world.device.create();
        const { sentence } = BLOCKED_REASONS.receipt_missing;
        expect(await world.device.endOf(id)).toEqual({
          settled: 'unknown',
          said: sentence,
          heard: ['unknown'],
          row: 'blocked, receipt_missing, in doubt',
          answers: [first],
          applied: 1,
        });
        expect(await world.device.explain(id)).toMatchObject({ reason: { type: 'blocked', sentence } });
        await world.device.retry(id);
        await world.device.whenHeard(id, 'committed');
        const answers = [first, '201'];
        expect(await world.device.endOf(id)).toEqual({ ...SAVED, heard: ['unknown', 'committed'], answers });
      },
    );

    it('[D24, D28] of another account’s request proves nothing', async () => {
      const response = await world.app.ask('grace', 'POST', '/api/workouts', {
        date: '2026-11-30',
        exercise: 'Row',
      });
      const { receipt } = (await response.json()) as { readonly receipt: Readonly<Record<string, unknown>> };
      const fields = ['id', 'requestHash', 'target', 'revision', 'generation', 'committedAt'] as const;
      world.app.server.faults.set(
        fields.map((field) => ({
          fault: { type: 'wrong_receipt', field, value: receipt[field] },
          count: 1,
          match: { family: 'workout' },
        })),
      );
      const id = await world.device.create();
      await world.device.whenHeard(id, 'unknown');
      expect(await world.device.endOf(id)).toMatchObject({
        settled: 'unknown',
        row: 'blocked, receipt_mismatch, in doubt',
      });
      await world.device.retry(id);
      await world.device.whenHeard(id, 'committed');
      expect(await world.device.uploaded(id)).not.toBe(receipt['target']);
      expect((await world.device.endOf(id)).applied).toBe(1);
    });

    it('[D29, V2] comes twice where a network delivers the request twice: one effect, one outcome', async () => {
      world.app.intercept(async (request, next) => {
        await next(request);
        return next(request);
      });
      const id = await world.device.create();
      expect(await world.device.settled(id)).toMatchObject({ type: 'uploaded', receipt: { replayed: true } });
      expect(await world.device.endOf(id)).toEqual(SAVED);
    });

    it('[D10, R7] is impossible for a key that another request has used: blocked, in doubt', async () => {
      const id = crypto.randomUUID();
      const headers = { 'idempotency-key': `"${id}"` };
      await world.app.ask('ada', 'POST', '/api/workouts', { date: '2026-11-30', exercise: 'Other' }, headers);
      expect(await world.device.create({}, { id })).toBe(id);
      expect(await world.device.endOf(id)).toEqual({
        settled: 'blocked',
        said: BLOCKED_REASONS.key_reused.sentence,
        heard: ['blocked'],
        row: 'blocked, key_reused, in doubt',
        answers: ['201', '422'],
        applied: 1,
      });
    });
  });
}
