/** Sends the items of the benchmark's definition, which a long queue can be made of at once. */
import { definition } from '../../bench/common/definition.ts';
import { httpSender } from '../../sw/dispatch/http-sender.ts';
import { startOutbox } from '../../sw/start-outbox.ts';

startOutbox(definition, {
  sender: httpSender(
    { item: { create: ({ body }) => ({ method: 'POST', url: '/api/items', json: body }) } },
    { receipts: '/api/receipts' },
  ),
});
