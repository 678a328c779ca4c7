/**
 * Calls to a worker that may stop at any instruction (W10, W11): each call is posted anew, races the lock of the
 * host that took it, and has a deadline. It is repeated at once when that host is gone, so every call of
 * `WorkerApi` must be safe to repeat. Nothing here knows what the calls mean.
 */
import { transferHandlers, wrap } from 'comlink';
import { NoHostError } from '../shared/call-errors.ts';
import { decodeError } from '../shared/error-transfer.ts';
import { hostLockName, PROTOCOL, type WorkerApi } from '../shared/protocol.ts';
import type { PageRealm } from './page-realm.ts';
import { createCallEndpoint, type WorkerRef } from './worker-endpoint.ts';

/** Past this without a word from the worker the message is posted again: a worker that crashed at its start lost it. */
const ACKNOWLEDGE_MS = 3_000;
/** Most calls are answered sooner, and then nobody asks for the lock at all. */
const WATCH_AFTER_MS = 100;
const DEADLINE_MS = 15_000;

export interface CallOptions {
  readonly deadlineMs?: number | undefined;
  /** The error for a call that was posted and not answered in time; by default NoHostError. */
  readonly unanswered?: (() => Error) | undefined;
}

/** A host as a page calls it, wherever it runs. */
export interface HostLink {
  /** @throws NoHostError, and what the call throws */
  call<T>(use: (api: WorkerApi) => Promise<T>, options?: CallOptions): Promise<T>;
}

export interface WorkerLinkDeps {
  /** The active worker, or the one that will be: may take as long as an installation. */
  readonly findWorker: () => Promise<WorkerRef>;
  readonly realm: Pick<PageRealm, 'navigator' | 'setTimeout' | 'clearTimeout'>;
}

export function createWorkerLink({ findWorker, realm }: WorkerLinkDeps): HostLink {
  let protocol = PROTOCOL;
  receiveErrors();

  return {
    call: (use, { deadlineMs = DEADLINE_MS, unanswered } = {}) =>
      new Promise((resolve, reject) => {
        const cleanup = new Set<() => void>();
        let isOpen = true;
        let isPosted = false;
        let lastGone: string | undefined;

        const after = (ms: number, callback: () => void): (() => void) => {
          const timer = realm.setTimeout(callback, ms);
          const cancel = (): void => realm.clearTimeout(timer);
          cleanup.add(cancel);
          return cancel;
        };
        const finish = (): void => {
          isOpen = false;
          for (const clean of cleanup) clean();
        };
        const giveUp = (error: unknown): void => {
          finish();
          reject((isPosted && unanswered?.()) || error);
        };
        const watch = (host: string): void => {
          const abort = new AbortController();
          cleanup.add(() => abort.abort());
          realm.navigator.locks
            ?.request(hostLockName(host), { mode: 'shared', signal: abort.signal }, () => {
              lastGone = host;
              attempt();
            })
            // Answered meanwhile, or refused: the deadline decides.
            .catch(() => undefined);
        };
        const post = (worker: WorkerRef): void => {
          if (!isOpen) return;
          const stopWaiting = after(ACKNOWLEDGE_MS, attempt);
          const endpoint = createCallEndpoint(worker, protocol, (who) => {
            stopWaiting();
            protocol = Math.min(who.protocol, PROTOCOL);
            // A host that answers although its lock is free says nothing by it; only the deadline is left then.
            if (who.locked && who.host !== lastGone) after(WATCH_AFTER_MS, () => watch(who.host));
          });
          cleanup.add(endpoint.close);
          isPosted = true;
          use(wrap<WorkerApi>(endpoint)).finally(finish).then(resolve, reject);
        };
        const attempt = (): void => {
          findWorker().then(post, giveUp);
        };

        after(deadlineMs, () => giveUp(new NoHostError('No answer in time', { isPosted })));
        attempt();
      }),
  };
}

function receiveErrors(): void {
  const original = transferHandlers.get('throw');
  if (!original) return;
  transferHandlers.set('throw', {
    ...original,
    deserialize(wire) {
      throw decodeError(wire);
    },
  });
}
