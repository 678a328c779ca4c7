/* The app's worker without a bundler: a shell that opens without the network, things of its own, and the outbox. */
/* global holdfast, workbox, families */
importScripts('/app.js');
importScripts('/workbox/workbox-core.prod.js');
importScripts('/workbox/workbox-routing.prod.js');
importScripts('/workbox/workbox-strategies.prod.js');
importScripts('/workbox/workbox-precaching.prod.js');
importScripts('/holdfast/sw/holdfast.classic.js');
importScripts('/families.js');

workbox.precaching.precacheAndRoute(self.SHELL_FILES);

self.addEventListener('fetch', (event) => {
  if (new URL(event.request.url).pathname === '/version') event.respondWith(new Response(self.VERSION));
});
self.addEventListener('message', (event) => {
  if (event.data === 'SKIP_WAITING') event.waitUntil(self.skipWaiting());
});

const { defineOutbox, httpSender, startOutbox } = holdfast;

startOutbox(defineOutbox(families(holdfast)), {
  sender: httpSender(
    { note: { create: ({ body }) => ({ method: 'POST', url: '/api/notes', json: body }) } },
    { receipts: '/api/receipts' },
  ),
});
