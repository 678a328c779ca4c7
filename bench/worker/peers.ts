/** What a user would pick instead: a bare fetch loop, and workbox's queue. Timed inside the worker. */
import { Queue } from 'workbox-background-sync/Queue.js';
import { ITEMS_PATH } from '../common/definition.ts';
import type { PeerAnswer, PeerOp } from '../common/worker-calls.ts';

declare const self: ServiceWorkerGlobalScope;

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

async function post(body: string): Promise<void> {
  const response = await fetch(ITEMS_PATH, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  });
  await response.json();
}

async function bare({ count, concurrency, body }: PeerOp): Promise<PeerAnswer> {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await post(body);
  };
  return { ms: await timed(() => Promise.all(Array.from({ length: concurrency }, lane))) };
}

async function workbox({ count, body }: PeerOp): Promise<PeerAnswer> {
  // No registration per push: that would only make it slower.
  const queue = new Queue(`peer-${crypto.randomUUID()}`, { forceSyncFallback: true, onSync: async () => {} });
  const pushMs = await timed(async () => {
    for (let i = 0; i < count; i++) {
      await queue.pushRequest({ request: new Request(ITEMS_PATH, { method: 'POST', body }) });
    }
  });
  return { pushMs, ms: await timed(() => queue.replayRequests()) };
}

self.addEventListener('message', (event) => {
  const request = event.data as PeerOp;
  const [port] = event.ports;
  if (port === undefined) return;
  const run = { ping: async () => ({ ms: 0 }), bare, workbox }[request.op];
  event.waitUntil(run(request).then((answer: PeerAnswer) => port.postMessage(answer)));
});
self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
