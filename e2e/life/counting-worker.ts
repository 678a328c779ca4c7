/** The line app's worker, whose use of IndexedDB is counted from its first instruction on. */
import { countOperations } from '../../bench/worker/counters.ts';
import { startOutbox } from '../../sw/start-outbox.ts';
import { definition } from '../line/definition.ts';
import { setup } from '../line/sending.ts';

declare const self: {
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
};

const counts = countOperations(Number.POSITIVE_INFINITY);
self.addEventListener('install', () => void self.skipWaiting());
self.addEventListener('message', ({ data, ports }) => {
  // Timers go off in their order, and the host set its own, as long as this one, at its start.
  if (data === 'COUNTS') setTimeout(() => ports[0]?.postMessage(counts()), 1_000);
});
startOutbox(definition, setup);
