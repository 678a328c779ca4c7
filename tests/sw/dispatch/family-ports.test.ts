import { expect, it } from 'vitest';
import { record } from '../../../shared/family.ts';
import { portsOf } from '../../../sw/dispatch/family-ports.ts';
import type { Sender } from '../../../sw/dispatch/sender.ts';

const findReceipt = async () => ({ type: 'none' }) as const;
const readCurrent = async () => undefined;
const sender: Sender = {
  send: async () => ({ type: 'failure', error: undefined, timedOut: false }),
  findReceipt: async () => ({ type: 'none' }),
  readCurrentOf: (family) => (family === 'workout' ? async () => undefined : undefined),
};

it('[D30] a family without ports of its own has what the sender can do for it', () => {
  const { findReceipt: asked, readCurrent: read } = portsOf('workout', record(), {}, sender);
  expect(asked).toBe(sender.findReceipt);
  expect(read).toBeTypeOf('function');
  expect(portsOf('note', record(), {}, sender).readCurrent).toBeUndefined();
  expect(portsOf('__proto__', record(), {}, sender).findReceipt).toBe(sender.findReceipt);
});

it('[D30] a family’s own ports come first', () => {
  const own = { findReceipt, readCurrent };
  expect(portsOf('workout', record(), { workout: own }, sender)).toEqual(own);
});

it('[D29] a server without receipts is not asked for any, unless the family says how', () => {
  const family = record({ receipts: 'none' });
  expect(portsOf('workout', family, {}, sender).findReceipt).toBeUndefined();
  expect(portsOf('workout', family, { workout: { findReceipt } }, sender).findReceipt).toBe(findReceipt);
});
