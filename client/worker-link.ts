/**
 * Calls to a worker that may stop at any instruction (W10, W11): each call is posted anew, races the lock of the
 * host that took it, and has a deadline. It is repeated at once when that host is gone, so every call of
 * `WorkerApi` must be safe to repeat. Nothing here knows what the calls mean.
 */
import { transferHandlers, wrap } from 'comlink';
import { decodeError, type WireError } from '../shared/error-transfer.ts';
import { NoHostError } from '../shared/errors.ts';
import {
  type Acknowledgement,
  agreeProtocol,
  hostLockName,
  PROTOCOL,
  type WorkerApi,
} from '../shared/protocol.ts';
import { createCallEndpoint, type WorkerRef } from './worker-endpoint.ts';

/** Past this without a word from the worker the message is posted again: a worker that crashed at its start lost it. */
const ACKNOWLEDGE_MS = 3_000;
/** Most calls are answered sooner, and then nobody asks for the lock at all. */
const WATCH_AFTER_MS = 10;
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

export type After = (ms: number, callback: () => void) => () => void;

export interface WorkerLinkDeps {
  /** The active worker, or the one that will be: may take as long as an installation. */
  readonly findWorker: () => Promise<WorkerRef>;
  readonly after: After;
  readonly locks: Pick<LockManager, 'request'> | undefined;
  /** Told with every call that a host takes. */
  readonly heard?: ((who: Acknowledgement) => void) | undefined;
}

export function createWorkerLink({ findWorker, after, locks, heard }: WorkerLinkDeps): HostLink {
  const watch = locks && createHostWatch(locks);
  let protocol = PROTOCOL;
  receiveErrors();

  return {
    call: (use, { deadlineMs = DEADLINE_MS, unanswered } = {}) =>
      new Promise((resolve, reject) => {
        const cleanup: (() => void)[] = [];
        let isOpen = true;
        let isPosted = false;
        let lastGone: string | undefined;

        const finish = (settle: () => void): void => {
          if (!isOpen) return;
          isOpen = false;
          for (const clean of cleanup) clean();
          settle();
        };
        const fail = (error: unknown): void => finish(() => reject(error));
        const giveUp = (error: unknown): void => fail((isPosted && unanswered?.()) || error);

        const attempt = async (): Promise<void> => {
          const worker = await findWorker().catch(giveUp);
          if (!isOpen || !worker) return;
          const stopWaiting = after(ACKNOWLEDGE_MS, start);
          const endpoint = createCallEndpoint(worker, protocol, (who) => {
            stopWaiting();
            protocol = agreeProtocol(who.protocol) ?? PROTOCOL;
            heard?.(who);
            // A host that answers although its lock is free says nothing by it; only the deadline is left then.
            if (isOpen && watch && who.locked && who.host !== lastGone) {
              const gone = (): void => {
                lastGone = who.host;
                start();
              };
              cleanup.push(after(WATCH_AFTER_MS, () => cleanup.push(watch(who.host, gone))));
            }
          });
          cleanup.push(stopWaiting, endpoint.close);
          isPosted = true;
          const value = await use(wrap<WorkerApi>(endpoint));
          finish(() => resolve(value));
        };
        const start = (): void => {
          if (isOpen) attempt().catch(fail);
        };

        cleanup.push(
          after(deadlineMs, () =>
            giveUp(new NoHostError(`No answer from the outbox's host within ${deadlineMs} ms`, { isPosted })),
          ),
        );
        start();
      }),
  };
}

/** One shared request per host, however many calls wait for it, and none while nothing waits. */
function createHostWatch(locks: Pick<LockManager, 'request'>) {
  const watched = new Map<string, { readonly calls: Set<() => void>; readonly abort: AbortController }>();
  return (host: string, gone: () => void): (() => void) => {
    let entry = watched.get(host);
    if (!entry) {
      const calls = new Set<() => void>();
      const abort = new AbortController();
      entry = { calls, abort };
      watched.set(host, entry);
      locks
        .request(hostLockName(host), { mode: 'shared', signal: abort.signal }, () => {
          watched.delete(host);
          for (const call of calls) call();
        })
        // Aborted because nothing waits any more, or refused: the deadline decides.
        .catch(() => undefined);
    }
    const { calls, abort } = entry;
    calls.add(gone);
    return () => {
      calls.delete(gone);
      if (calls.size === 0 && watched.delete(host)) abort.abort();
    };
  };
}

function receiveErrors(): void {
  const original = transferHandlers.get('throw');
  if (!original) return;
  transferHandlers.set('throw', {
    ...original,
    deserialize(wire: unknown) {
      throw decodeError(wire as WireError);
    },
  });
}
