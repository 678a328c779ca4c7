/** What sending needs, in the worker and in a page that has none. */
import { httpSender } from '../../sw/dispatch/http-sender.ts';
import { url } from '../../sw/dispatch/url.ts';
import type { OutboxSetup } from '../../sw/start-engine.ts';
import type { definition } from './definition.ts';

export const setup: OutboxSetup<typeof definition.families> = {
  sender: httpSender(
    {
      workout: {
        create: ({ body }) => ({ method: 'POST', url: '/api/workouts', json: body }),
        update: ({ target, body }) => ({ method: 'PATCH', url: url`/api/workouts/${target}`, json: body }),
        delete: ({ target }) => ({ method: 'DELETE', url: url`/api/workouts/${target}` }),
      },
      gated: {
        create: ({ body }) => ({ method: 'POST', url: '/api/gated', json: body }),
      },
      plan: {
        put: ({ target, body }) => ({ method: 'PUT', url: url`/api/plans/${target}`, json: body }),
        remove: ({ target }) => ({ method: 'DELETE', url: url`/api/plans/${target}` }),
      },
    },
    { receipts: '/api/receipts' },
  ),
};
