/**
 * A second DevTools connection, beside Puppeteer's. Puppeteer must not attach to a service worker: a worker
 * that restarts while a session is attached starts paused and hangs for ever, because Puppeteer only resumes
 * what it attached by itself. This one resumes it.
 */
import { WebSocket } from 'ws';

export interface TargetInfo {
  readonly targetId: string;
  readonly type: string;
  readonly url: string;
}

type Params = Readonly<Record<string, unknown>>;
export interface CdpEvent {
  readonly method: string;
  readonly params: Params;
  readonly sessionId?: string | undefined;
}

export interface CdpSession {
  readonly targetId: string;
  send(method: string, params?: Params): Promise<unknown>;
  /** Runs an expression in the target and answers its (awaited) value. */
  evaluate(expression: string): Promise<unknown>;
  onEvent(listener: (event: CdpEvent) => void): () => void;
  detach(): Promise<void>;
}

export interface RawCdp {
  send(method: string, params?: Params, sessionId?: string): Promise<unknown>;
  targets(): Promise<readonly TargetInfo[]>;
  /** Attaches to the service worker whose script begins with `urlPrefix`; a stopped one has no target. */
  attachServiceWorker(urlPrefix: string): Promise<CdpSession>;
  close(): void;
}

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

const REPLY_LIMIT_MS = 20_000;
const EVALUATE_LIMIT_MS = 60_000;

export async function openRawCdp(browserWsEndpoint: string): Promise<RawCdp> {
  const socket = new WebSocket(browserWsEndpoint, { perMessageDeflate: false, maxPayload: 1 << 28 });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', () => resolve());
    socket.once('error', reject);
  });
  let lastId = 0;
  const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  const listeners = new Set<(event: CdpEvent) => void>();

  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as Reply & CdpEvent;
    if (message.id === undefined) {
      for (const listener of listeners) listener(message);
      return;
    }
    const waiting = pending.get(message.id);
    pending.delete(message.id);
    if (message.error) waiting?.reject(new Error(message.error.message));
    else waiting?.resolve(message.result);
  });
  socket.on('close', () => {
    for (const { reject } of pending.values()) reject(new Error('The DevTools connection closed'));
    pending.clear();
  });

  function send(method: string, params: Params = {}, sessionId?: string): Promise<unknown> {
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      const limit = method === 'Runtime.evaluate' ? EVALUATE_LIMIT_MS : REPLY_LIMIT_MS;
      const timer = setTimeout(() => {
        pending.delete(id);
        reject(new Error(`No DevTools answer to ${method} within ${limit} ms`));
      }, limit);
      pending.set(id, {
        resolve(value) {
          clearTimeout(timer);
          resolve(value);
        },
        reject(error) {
          clearTimeout(timer);
          reject(error);
        },
      });
      socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    });
  }

  async function targets(): Promise<readonly TargetInfo[]> {
    const answer = (await send('Target.getTargets')) as { readonly targetInfos: readonly TargetInfo[] };
    return answer.targetInfos;
  }

  async function attachServiceWorker(urlPrefix: string): Promise<CdpSession> {
    const target = (await targets()).find((t) => t.type === 'service_worker' && t.url.startsWith(urlPrefix));
    if (target === undefined) throw new Error(`No running service worker under ${urlPrefix}`);
    const { targetId } = target;
    const attached = (await send('Target.attachToTarget', { targetId, flatten: true })) as {
      readonly sessionId: string;
    };
    const { sessionId } = attached;
    const own = new Set<(event: CdpEvent) => void>();
    const relay = (event: CdpEvent): void => {
      if (event.sessionId !== sessionId) return;
      if (event.method === 'Inspector.targetReloadedAfterCrash') {
        send('Runtime.runIfWaitingForDebugger', {}, sessionId).catch(() => undefined);
      }
      for (const listener of own) listener(event);
    };
    listeners.add(relay);
    return {
      targetId,
      send: (method, params) => send(method, params, sessionId),
      async evaluate(expression) {
        const params = { expression, awaitPromise: true, returnByValue: true };
        const answer = (await send('Runtime.evaluate', params, sessionId)) as {
          readonly result: { readonly value?: unknown };
          readonly exceptionDetails?: {
            readonly text: string;
            readonly exception?: { description?: string };
          };
        };
        const failure = answer.exceptionDetails;
        if (failure) throw new Error(failure.exception?.description ?? failure.text);
        return answer.result.value;
      },
      onEvent(listener) {
        own.add(listener);
        return () => own.delete(listener);
      },
      async detach() {
        listeners.delete(relay);
        await send('Target.detachFromTarget', { sessionId });
      },
    };
  }

  return { send, targets, attachServiceWorker, close: () => socket.close() };
}
