/**
 * The wire between a browser and the server: each is an origin of its own, since its port is. It can be cut, and
 * tells when a browser let go of a request, which is how a test learns from outside that a worker ended.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export interface Wire {
  readonly url: string;
  /** Breaks what is open and refuses what comes: the server cannot be reached. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Resolves when the browser has let go of the connection on which it sent this text, which must have come. */
  whenDropped(text: string): Promise<void>;
  close(): Promise<void>;
}

/** Every engine here has let go sooner, with the limits that the suite gives it, in ms. */
const LONGEST_HOLD_MS = 60_000;

interface Line {
  readonly browser: Socket;
  readonly server: Socket;
  readonly dropped: Promise<unknown>;
  sent: string;
}

export async function openWire(serverPort: number): Promise<Wire> {
  const lines = new Set<Line>();
  const server = createServer((browser) => {
    const line: Line = {
      browser,
      server: connect(serverPort, '127.0.0.1'),
      dropped: once(browser, 'close').catch(() => undefined),
      sent: '',
    };
    lines.add(line);
    for (const [from, to] of [
      [line.browser, line.server],
      [line.server, line.browser],
    ] as const) {
      from.on('data', (data) => to.write(data));
      // A connection that breaks is what this is about.
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
    browser.on('data', (data) => {
      line.sent += data.toString('latin1');
    });
  });

  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const { browser } of lines) browser.destroy();
    lines.clear();
    await closed;
  };
  const port = await listen(0);

  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    async mend() {
      await listen(port);
    },
    async whenDropped(text) {
      const line = [...lines].find(({ sent }) => sent.includes(text));
      if (!line) throw new Error(`Nothing with ${text} came this way`);
      const kept = wait(LONGEST_HOLD_MS, true, { ref: false });
      if (await Promise.race([line.dropped.then(() => false), kept]))
        throw new Error(`The browser keeps the request with ${text} for longer than ${LONGEST_HOLD_MS} ms`);
    },
    close: cut,
  };
}
