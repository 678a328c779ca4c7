/**
 * A network of its own for one browser: loopback is always up, and a link that can be pulled is what the browser takes for
 * its connection. Nothing is ever sent over that link. A server outside is reached by loopback, also while the link is
 * down, so a test sees whether anything was asked of it. Linux, as root.
 */
import { execFileSync, type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface NetworkNamespace {
  /** A program that starts `command` inside, with the arguments it is given. */
  wrap(command: string): Promise<string>;
  /** From now on `localhost:port` inside is `localhost:port` outside. */
  forward(port: number): Promise<void>;
  /** A port outside that is `localhost:port` inside: how a driver in there is spoken to. */
  reach(port: number): Promise<number>;
  linkUp(): void;
  linkDown(): void;
  remove(): Promise<void>;
}

const RELAY = fileURLToPath(new URL('relay.mjs', import.meta.url));
let made = 0;

const ip = (...args: readonly string[]): void => void execFileSync('ip', args, { stdio: 'pipe' });

const words = ({ error, stderr, status }: SpawnSyncReturns<string>): string =>
  error?.message ?? (stderr.trim() || `status ${status}`);

/** Why there can be no namespace on this machine; `undefined` where there can. */
export function whyNoNamespace(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are there on Linux only';
  const name = `hf-try-${process.pid}`;
  const added = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (added.status !== 0) return `ip netns add: ${words(added)}`;
  // What a container forbids is mostly the mount behind `exec`, or the pair of interfaces.
  const entered = spawnSync('ip', ['netns', 'exec', name, 'true'], { encoding: 'utf8' });
  const linked = spawnSync('ip', ['-n', name, 'link', 'add', 'hf0', 'type', 'veth', 'peer', 'name', 'hf1'], {
    encoding: 'utf8',
  });
  spawnSync('ip', ['netns', 'del', name]);
  if (entered.status !== 0) return `ip netns exec: ${words(entered)}`;
  if (linked.status !== 0) return `ip link add: ${words(linked)}`;
  return undefined;
}

export interface NamespaceOptions {
  /** The link leads everywhere, since a browser may not take one for a connection that leads nowhere. */
  readonly hasRoute?: boolean | undefined;
}

/** The link is up at first. */
export async function openNetworkNamespace({
  hasRoute = false,
}: NamespaceOptions = {}): Promise<NetworkNamespace> {
  const name = `hf-${process.pid}-${++made}`;
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-namespace-'));
  const ends: (() => Promise<void>)[] = [];
  ip('netns', 'add', name);
  ip('-n', name, 'link', 'set', 'lo', 'up');

  const linkUp = (): void => {
    ip('-n', name, 'link', 'add', 'hf0', 'type', 'veth', 'peer', 'name', 'hf1');
    ip('-n', name, 'addr', 'add', '10.99.0.1/24', 'dev', 'hf0');
    ip('-n', name, 'link', 'set', 'hf0', 'up');
    ip('-n', name, 'link', 'set', 'hf1', 'up');
    if (hasRoute) ip('-n', name, 'route', 'add', 'default', 'dev', 'hf0');
  };
  linkUp();

  /** Answers how to end it. */
  const relayInside = async (from: number | string, to: number | string): Promise<() => Promise<void>> => {
    const args = ['netns', 'exec', name, process.execPath, RELAY, String(from), String(to)];
    const inside = spawn('ip', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise<void>((resolve) => inside.once('exit', () => resolve()));
    await new Promise<void>((resolve, reject) => {
      inside.stdout.once('data', () => resolve());
      inside.once('exit', (status) => reject(new Error(`The relay ended with ${status}`)));
    });
    return async () => {
      inside.kill();
      await ended;
    };
  };

  return {
    async wrap(command) {
      const path = join(folder, 'inside');
      await writeFile(path, `#!/bin/sh\nexec ip netns exec ${name} '${command}' "$@"\n`);
      await chmod(path, 0o755);
      return path;
    },
    async forward(port) {
      // A socket in the file system is no matter of networks: what comes in on one side goes out on the other.
      const path = join(folder, `${port}.sock`);
      const stop = await relayTo(path, port);
      const end = await relayInside(port, path);
      ends.push(async () => {
        await end();
        await stop();
      });
    },
    async reach(port) {
      const path = join(folder, `${port}.inside.sock`);
      ends.push(await relayInside(path, port));
      const { port: outside, stop } = await relayFrom(path);
      ends.push(stop);
      return outside;
    },
    linkUp,
    linkDown: () => ip('-n', name, 'link', 'del', 'hf0'),
    async remove() {
      for (const end of ends) await end();
      ip('netns', 'del', name);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Relay {
  readonly server: Server;
  stop(): Promise<void>;
}

function createRelay(dialOn: () => Socket): Relay {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = dialOn();
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  return {
    server,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Hands connections to `path` on to a port of this machine. Answers how to end it. */
async function relayTo(path: string, port: number): Promise<Relay['stop']> {
  const { server, stop } = createRelay(() => dial(port, '127.0.0.1'));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return stop;
}

/** Hands connections to a port of this machine, which it chooses, on to `path`. */
async function relayFrom(path: string): Promise<{ readonly port: number; readonly stop: Relay['stop'] }> {
  const { server, stop } = createRelay(() => dial(path));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, stop };
}
