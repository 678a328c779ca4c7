/** The outbox app's worker, with the engine's own wait and lease as its address says: `/sw.js?firstMs=600000`. */
import { startOutbox } from '../../sw/start-outbox.ts';
import { definition } from '../support/outbox-app/definition.ts';
import { setup } from '../support/outbox-app/sending.ts';

declare const self: {
  readonly location: { readonly search: string };
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
};

self.addEventListener('install', () => void self.skipWaiting());
const given = new URLSearchParams(self.location.search);
const firstMs = Number(given.get('firstMs') ?? 800);
const leaseMs = Number(given.get('leaseMs') ?? 10_000);
startOutbox(definition, { ...setup, leaseMs, retry: { firstMs, longestMs: Math.max(firstMs, 60_000) } });
