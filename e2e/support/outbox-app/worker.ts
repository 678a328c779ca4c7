/** The outbox app's worker. Its cookie is the credential; as `tokens.sw.js` it asks pages for a token instead. */
import { startOutbox } from '../../../sw/start-outbox.ts';
import { definition } from './definition.ts';
import { setup } from './sending.ts';

declare const self: {
  readonly location: { readonly pathname: string };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
};

self.addEventListener('install', () => void self.skipWaiting());
const asksPages = self.location.pathname === '/tokens.sw.js';
startOutbox(definition, { ...setup, credentials: asksPages ? 'pages' : 'cookies' });
