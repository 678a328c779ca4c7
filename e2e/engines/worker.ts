/** The outbox app's worker, with the engine's own wait as its address says: `/sw.js?firstMs=600000`. */
import { startOutbox } from '../../sw/start-outbox.ts';
import { definition } from '../support/outbox-app/definition.ts';
import { setup } from '../support/outbox-app/sending.ts';

declare const self: {
  readonly location: { readonly search: string };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
};

self.addEventListener('install', () => void self.skipWaiting());
const firstMs = Number(new URLSearchParams(self.location.search).get('firstMs') ?? 800);
startOutbox(definition, { ...setup, retry: { firstMs, longestMs: Math.max(firstMs, 60_000) } });
