/** The outbox app's worker, with the trouble that its address asks for. */
import { startOutbox } from '../../sw/start-outbox.ts';
import { definition } from '../support/outbox-app/definition.ts';
import { setup } from '../support/outbox-app/sending.ts';
import { makeTrouble } from './trouble.ts';

declare const self: {
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
};

self.addEventListener('install', () => void self.skipWaiting());
makeTrouble();
startOutbox(definition, setup);
