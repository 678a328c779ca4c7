/**
 * A registration's active worker without a browser: messages go through a real structured clone and real ports, a
 * stopped worker starts with the next message, and its lock is free the moment it stops.
 */
import type { Acknowledgement, WorkerApi } from '../../shared/protocol.ts';
import { hostLockName } from '../../shared/protocol.ts';
import { createMessageEndpoint, type MessageEndpoint } from '../../sw/host/message-endpoint.ts';
import { createFakeLocks, type FakeLocks } from './fake-locks.ts';

export interface FakeWorker {
  postMessage(message: unknown, transfer: Transferable[]): void;
  /** As the browser stops a worker: between two instructions, without a word. */
  stop(): void;
  readonly starts: number;
  /** Messages that reached a running worker. */
  readonly received: readonly unknown[];
  /** What went back through the ports. */
  readonly told: readonly unknown[];
  /** The next messages are lost with a worker that crashes before it looks at them. */
  loseNext(count: number): void;
  readonly openCount: number;
  readonly locks: FakeLocks;
  close(): void;
}

export interface FakeWorkerOptions {
  readonly protocol?: number | undefined;
  readonly locked?: boolean | undefined;
  readonly release?: string | undefined;
}

/** `start` is the worker's script: called anew whenever a message meets a stopped worker. */
export function createFakeWorker(
  start: (host: string, isRunning: () => boolean) => WorkerApi,
  { protocol, locked = true, release = 'r1' }: FakeWorkerOptions = {},
): FakeWorker {
  const locks = createFakeLocks();
  const { port1, port2 } = new MessageChannel();
  const received: unknown[] = [];
  const told: unknown[] = [];
  let running:
    | { readonly endpoint: MessageEndpoint; isRunning: boolean; readonly end: () => void }
    | undefined;
  let starts = 0;
  let losing = 0;

  const run = (): NonNullable<typeof running> => {
    const host = `worker-${++starts}`;
    const end = locked ? locks.hold(hostLockName(host)) : () => undefined;
    const life = { isRunning: true, end };
    const identity: Omit<Acknowledgement, 'holdfast' | 'protocol'> = { release, host, locked };
    const endpoint = createMessageEndpoint(
      start(host, () => life.isRunning),
      {
        origin: 'https://app.test',
        identity: Promise.resolve(identity),
        protocol,
      },
    );
    return Object.assign(life, { endpoint });
  };

  port2.onmessage = ({ data, ports }) => {
    if (losing > 0) {
      losing--;
      return;
    }
    running ??= run();
    const life = running;
    received.push(data);
    // What a stopped worker still computes reaches nobody.
    const muted = ports.map((port) => ({
      postMessage(message: unknown, transfer?: Transferable[]) {
        if (!life.isRunning) return;
        told.push(message);
        port.postMessage(message, transfer ?? []);
      },
    }));
    void life.endpoint.receive({ data, origin: 'https://app.test', ports: muted });
  };

  return {
    postMessage: (message, transfer) => port1.postMessage(message, transfer),
    stop() {
      if (!running) return;
      running.isRunning = false;
      const { end } = running;
      running = undefined;
      end();
    },
    get starts() {
      return starts;
    },
    received,
    told,
    loseNext(count) {
      losing = count;
    },
    get openCount() {
      return running?.endpoint.openCount ?? 0;
    },
    locks,
    close: () => port1.close(),
  };
}
