/** The app's worker: a shell that opens without the network, things of its own, and the outbox beside them. */
import { httpSender, startOutbox } from 'holdfast/sw';
import { type PrecacheEntry, precacheAndRoute } from 'workbox-precaching';
import { definition } from '../definition/outbox.ts';

declare const self: ServiceWorkerGlobalScope;
/** Put in by the build: every file of the shell with the hash of its content, and the app's version. */
declare const SHELL_FILES: readonly PrecacheEntry[];
declare const VERSION: string;

precacheAndRoute([...SHELL_FILES]);

self.addEventListener('fetch', (event) => {
  if (new URL(event.request.url).pathname === '/version') event.respondWith(new Response(VERSION));
});
self.addEventListener('message', (event) => {
  if (event.data === 'SKIP_WAITING') event.waitUntil(self.skipWaiting());
});

startOutbox(definition, {
  sender: httpSender(
    { note: { create: ({ body }) => ({ method: 'POST', url: '/api/notes', json: body }) } },
    { receipts: '/api/receipts' },
  ),
});
