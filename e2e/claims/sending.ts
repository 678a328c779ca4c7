/** How this app's changes reach the reference server; the cookie is the credential. */
import { httpSender } from '../../sw/dispatch/http-sender.ts';
import { url } from '../../sw/dispatch/url.ts';
import type { OutboxSetup } from '../../sw/start-engine.ts';
import type { definition } from './definition.ts';

export interface ReleaseOptions {
  /** What a release writes into rows; default: Holdfast's own. */
  readonly release?: string | undefined;
  readonly leaseMs?: number | undefined;
  readonly concurrency?: number | undefined;
}

export function setupOf(options: ReleaseOptions): OutboxSetup<typeof definition.families> {
  return {
    ...options,
    sender: httpSender(
      {
        workout: {
          create: ({ body }) => ({ method: 'POST', url: '/api/workouts', json: body }),
          update: ({ target, body }) => ({ method: 'PATCH', url: url`/api/workouts/${target}`, json: body }),
          delete: ({ target }) => ({ method: 'DELETE', url: url`/api/workouts/${target}` }),
          read: ({ target }) => ({ method: 'GET', url: url`/api/workouts/${target}` }),
        },
        plan: {
          put: ({ target, body }) => ({ method: 'PUT', url: url`/api/plans/${target}`, json: body }),
          remove: ({ target }) => ({ method: 'DELETE', url: url`/api/plans/${target}` }),
        },
      },
      { receipts: '/api/receipts' },
    ),
  };
}
