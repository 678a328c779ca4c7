/** The release before: what it cannot send goes into a queue of workbox. */
import { Queue } from 'workbox-background-sync/Queue.js';

interface LifeEvent {
  waitUntil(promise: Promise<unknown>): void;
}
interface RequestEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
declare const self: {
  skipWaiting(): Promise<void>;
  readonly clients: { claim(): Promise<void> };
  addEventListener(type: 'install' | 'activate', listener: (event: LifeEvent) => void): void;
  addEventListener(type: 'fetch', listener: (event: RequestEvent) => void): void;
};

const queue = new Queue('uploads', { onSync: async () => undefined });

self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method === 'GET') return;
  const send = async (): Promise<Response> => {
    try {
      return await fetch(request.clone());
    } catch {
      await queue.pushRequest({ request });
      return new Response(undefined, { status: 202 });
    }
  };
  event.respondWith(send());
});
