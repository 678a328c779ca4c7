/** A way to a server that carries only so much: what a phone in the field has, without waiting for minutes. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export interface SlowLink {
  readonly url: string;
  /** Bytes in a second towards the server, shared by all connections; `Infinity` for as fast as it goes. */
  speed(bytesPerSecond: number): void;
  /** How much went towards the server so far. */
  carried(): number;
  close(): Promise<void>;
}

/** How often what may pass is reckoned, in ms. */
const TICK_MS = 50;

export async function openSlowLink(serverUrl: string): Promise<SlowLink> {
  let bytesPerSecond = Number.POSITIVE_INFINITY;
  let carried = 0;
  /** When the link is free again, on the process's own clock. */
  let freeAt = 0;
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(serverUrl);

  /** Waits for its turn, a piece small enough that connections take turns. */
  const pass = async (bytes: number): Promise<void> => {
    const now = performance.now();
    freeAt = Math.max(freeAt, now) + (bytes / bytesPerSecond) * 1_000;
    if (freeAt - now > TICK_MS) await wait(freeAt - now);
  };

  const carry = async (from: Socket, to: Socket): Promise<void> => {
    for await (const piece of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < piece.length; at += 16_384) {
        const part = piece.subarray(at, at + 16_384);
        await pass(part.length);
        carried += part.length;
        if (!to.write(part)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
      }
    }
    to.end();
  };

  const server = createServer((socket) => {
    const onward = connect(Number(port), hostname);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    onward.pipe(socket);
    carry(socket, onward).catch(() => onward.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The link has no port');

  return {
    url: `http://127.0.0.1:${address.port}`,
    speed(next) {
      bytesPerSecond = next;
      freeAt = 0;
    },
    carried: () => carried,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
