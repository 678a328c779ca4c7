/** The release after: a page whose outbox takes the queue over. */
import { type AdoptionReport, adoptWorkboxQueue } from '../../client/adopt-workbox-queue.ts';
import { connectOutbox } from '../../client/connect-outbox.ts';
import type { Outbox } from '../../client/outbox.ts';
import { definition } from '../line/definition.ts';

declare global {
  var adopting: {
    connect(): Promise<void>;
    adopt(): Promise<AdoptionReport>;
    flush(): Promise<void>;
  };
}

let outbox: Outbox<typeof definition.families>;

globalThis.adopting = {
  async connect() {
    outbox = await connectOutbox(definition, { worker: '/sw.js', owner: 'ann' });
  },
  adopt: () =>
    adoptWorkboxQueue(outbox, {
      queue: 'uploads',
      async map(request) {
        const [, , family, id = ''] = new URL(request.url).pathname.split('/');
        if (family === 'plans')
          return { family: 'plan', kind: 'put', target: id, body: await request.json() };
        return family === 'workouts'
          ? { family: 'workout', kind: 'create', body: await request.json() }
          : { leave: 'Another service' };
      },
    }),
  async flush() {
    await outbox.flush();
  },
};
