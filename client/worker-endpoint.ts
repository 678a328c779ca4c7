/**
 * The page's end of one call (W10): Comlink posts its message through `ServiceWorker.postMessage`, which starts a
 * stopped worker, and the reply comes on a port made for this call. A long-lived port would die in silence with
 * the worker. Once closed, nothing of the call is left.
 */
import type { Endpoint } from 'comlink';
import type { Acknowledgement } from '../shared/protocol.ts';

export interface WorkerRef {
  postMessage(message: unknown, transfer: Transferable[]): void;
}

export interface CallEndpoint extends Endpoint {
  close(): void;
}

export function createCallEndpoint(
  worker: WorkerRef,
  protocol: number,
  acknowledged: (who: Acknowledgement) => void,
): CallEndpoint {
  const { port1, port2 } = new MessageChannel();
  let answer: EventListenerOrEventListenerObject | undefined;
  port1.onmessage = (event) => {
    if (event.data.holdfast) acknowledged(event.data);
    else if (typeof answer === 'function') answer(event);
  };
  return {
    postMessage(message, transfer = []) {
      // Comlink also posts when it collects a proxy; that is nobody's business but this page's.
      if (message.type === 'APPLY') {
        worker.postMessage({ holdfast: 'call', protocol, message }, [port2, ...transfer]);
      }
    },
    addEventListener(_type, listener) {
      answer = listener;
    },
    removeEventListener() {},
    close: () => port1.close(),
  };
}
