/** The outbox app's worker with bodies encrypted; as `sw.js` it stores them as they are. */
import { encryptBodies } from '../../sw/encryption/index.ts';
import { startOutbox } from '../../sw/start-outbox.ts';
import { definition } from '../support/outbox-app/definition.ts';
import { setup } from '../support/outbox-app/sending.ts';

declare const self: {
  readonly location: { readonly pathname: string };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
};

self.addEventListener('install', () => void self.skipWaiting());
const isPlain = self.location.pathname === '/sw.js';
startOutbox(definition, isPlain ? setup : { ...setup, encryption: encryptBodies() });
