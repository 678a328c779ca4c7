/** How changes reach the server: the same in the worker and, where there can be none, in the page. */
import { encryptBodies } from 'holdfast/encryption';
import { type Credentials, httpSender, type SenderFor, url } from 'holdfast/sw';
import type { definition } from '../definition/outbox.ts';
import { isEncryptionChosen } from './device-choice.ts';
import { fetchHere } from './lab-switch.ts';

type Families = (typeof definition)['families'];

const sender: SenderFor<Families> = httpSender<Families>(
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
      read: ({ target }) => ({ method: 'GET', url: url`/api/plans/${target}` }),
    },
  },
  { receipts: '/api/receipts', fetch: fetchHere },
);

/**
 * The cookie is the credential, and goes along by itself. It may be another account's by now, so the server is asked
 * whose it is: rows of anybody else are held.
 */
const credentials: Credentials = {
  async offer() {
    const response = await fetchHere('/api/session');
    if (response.status === 401) return { type: 'none' };
    if (!response.ok) throw new Error(`Whose session this is could not be asked: ${response.status}`);
    const { account } = (await response.json()) as { readonly account: { readonly id: string } };
    return { type: 'headers', headers: {}, account: account.id };
  },
};

/** The person's choice for this device; where keys cannot be kept the demo goes on without. */
const encryption = encryptBodies({ when: isEncryptionChosen, whenUnavailable: 'plain' });

export const sending = { sender, credentials, encryption };
