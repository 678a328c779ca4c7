/** How the outbox app's changes reach the reference server, in its worker and in a page that has none. */
import type { FamilyPorts } from '../../../sw/dispatch/family-ports.ts';
import { httpSender } from '../../../sw/dispatch/http-sender.ts';
import { url } from '../../../sw/dispatch/url.ts';
import type { OutboxSetup } from '../../../sw/start-engine.ts';
import type { AppFamilies } from './definition.ts';

/** Where reports go, so that a page hears them. */
export const REPORTS = 'outbox-app:reports';

const reports = new BroadcastChannel(REPORTS);

/** A row says by its tags what its family's resolver shall answer. */
const resolveConflict: FamilyPorts['resolveConflict'] = async ({ row, body, readCurrent }) => {
  const { tags = [] } = row;
  if (tags.includes('conflict:block')) return { type: 'block' };
  if (tags.includes('conflict:drop')) return { type: 'drop' };
  if (!tags.includes('conflict:merge')) return { type: 'resend' };
  const theirs = (await readCurrent())?.body as { readonly note?: string } | undefined;
  const mine = body as { readonly note?: string };
  return { type: 'body', body: { ...mine, note: `${theirs?.note}, ${mine.note}` } };
};

export const setup: OutboxSetup<AppFamilies> = {
  sender: httpSender(
    {
      workout: {
        create: ({ body }) => ({ method: 'POST', url: '/api/workouts', json: body }),
        update: ({ target, body }) => ({ method: 'PATCH', url: url`/api/workouts/${target}`, json: body }),
        delete: ({ target }) => ({ method: 'DELETE', url: url`/api/workouts/${target}` }),
        read: ({ target }) => ({ method: 'GET', url: url`/api/workouts/${target}` }),
      },
      photo: {
        create: ({ body }) => ({
          method: 'POST',
          url: url`/api/workouts/${body.workoutId ?? ''}/photos`,
          body: body.picture,
        }),
        delete: ({ target }) => ({ method: 'DELETE', url: url`/api/photos/${target}` }),
      },
      plan: {
        put: ({ target, body }) => ({ method: 'PUT', url: url`/api/plans/${target}`, json: body }),
        remove: ({ target }) => ({ method: 'DELETE', url: url`/api/plans/${target}` }),
      },
    },
    { receipts: '/api/receipts' },
  ),
  families: { workout: { resolveConflict } },
  report: (reported) => reports.postMessage(reported),
  // The engine's own waits end while somebody watches, and not before a test has looked.
  retry: { firstMs: 800 },
};
