/** A page whose outbox a test drives from outside. */
import { connectOutbox } from '../../client/connect-outbox.ts';
import type { Outbox } from '../../client/outbox.ts';
import { definition } from './definition.ts';

type LineOutbox = Outbox<typeof definition.families>;

declare global {
  var line: {
    connect(options?: { readonly owner?: string; readonly worker?: string }): Promise<string>;
    readonly outbox: LineOutbox;
  };
}

let connected: LineOutbox | undefined;

/** Exported so that another page may be built around it. */
export const linePage: typeof globalThis.line = {
  async connect({ owner = 'ann', worker = '/sw.js' } = {}) {
    connected = await connectOutbox(definition, {
      worker,
      owner,
      fallback: async () => (await import('./sending.ts')).setup,
    });
    return connected.view.getSnapshot().host;
  },
  get outbox() {
    if (!connected) throw new Error('Not connected');
    return connected;
  },
};
globalThis.line = linePage;
