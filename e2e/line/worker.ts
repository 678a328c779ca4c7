/** An app's worker that takes over at once; claiming pages is its choice, and it makes none (W2). */
import { startOutbox } from '../../sw/start-outbox.ts';
import { definition } from './definition.ts';
import { setup } from './sending.ts';

declare const self: {
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
};

self.addEventListener('install', () => void self.skipWaiting());
startOutbox(definition, setup);
