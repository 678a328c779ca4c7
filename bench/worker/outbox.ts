/** The real worker part, as an app starts it, and a way to have it counted. */
import { httpSender } from '../../sw/dispatch/http-sender.ts';
import { encryptBodies } from '../../sw/encryption/index.ts';
import { startOutbox } from '../../sw/start-outbox.ts';
import { definition, ITEMS_PATH } from '../common/definition.ts';
import type { Counts, Mark, OutboxOp } from '../common/worker-calls.ts';
import { countOperations } from './counters.ts';
import { traceCalls } from './trace.ts';

declare const self: ServiceWorkerGlobalScope;

const { searchParams: asked } = new URL(self.location.href);
const concurrency = Number(asked.get('concurrency') ?? 6);
const sender = httpSender<typeof definition.families>({
  item: { create: ({ body }) => ({ method: 'POST', url: ITEMS_PATH, json: body }) },
});
startOutbox(definition, {
  sender,
  concurrency,
  ...(asked.has('encrypted') && { encryption: encryptBodies() }),
});

let counts: (() => Counts) | undefined;
let trace: (() => readonly Mark[]) | undefined;
self.addEventListener('message', (event) => {
  const call = event.data as Partial<OutboxOp>;
  const [port] = event.ports;
  if (call.op === undefined || port === undefined) return;
  if (call.op === 'count') counts ??= countOperations(call.full ?? Number.POSITIVE_INFINITY);
  if (call.op === 'trace') {
    port.postMessage(trace?.());
    trace ??= traceCalls();
  } else port.postMessage(counts?.());
});
self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
