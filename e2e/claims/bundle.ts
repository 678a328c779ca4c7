/**
 * One bundle for page and worker, so that a release of this app is one file, which can be kept (e2e/fixtures). A kept
 * file must go on working with later tests: `claims` and `ReleaseOptions` may gain members, and never change.
 */
import { startOutbox } from '../../sw/start-outbox.ts';
import { setClock } from './clock.ts';
import { definition } from './definition.ts';
import { drivePage } from './drive-page.ts';
import { type ReleaseOptions, setupOf } from './sending.ts';

declare global {
  /** Set by the line that is served before a worker's script. */
  var releaseOptions: ReleaseOptions | undefined;
}

interface WorkerSelf {
  skipWaiting(): Promise<void>;
  addEventListener(type: 'install', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
}
declare const self: WorkerSelf;

if ('document' in globalThis) drivePage();
else {
  self.addEventListener('install', () => void self.skipWaiting());
  self.addEventListener('message', ({ data, ports }) => {
    // Timers go off in their order, and the host set its own, as long as this one, before.
    if (data === 'AFTER_START') setTimeout(() => ports[0]?.postMessage('started'), 1_000);
    if (typeof data !== 'object' || data === null || !('setClock' in data)) return;
    setClock(Number(data.setClock));
    ports[0]?.postMessage('set');
  });
  startOutbox(definition, setupOf(globalThis.releaseOptions ?? {}));
}
