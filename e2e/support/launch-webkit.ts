/** WebKitGTK's MiniBrowser through its WebDriver, under a display of its own. Its profile is in memory. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Child, startChild } from './child-process.ts';
import type { EngineBrowser } from './engine.ts';
import { findWebKit } from './find-browser.ts';
import type { NetworkNamespace } from './network-namespace.ts';
import { openWebDriver } from './webdriver.ts';

export interface WebKitHome {
  readonly env: NodeJS.ProcessEnv;
  remove(): Promise<void>;
}

/** A display and a home that nobody else uses. */
export async function openWebKitHome(): Promise<WebKitHome> {
  const { display: command } = findWebKit();
  const home = await mkdtemp(join(tmpdir(), 'holdfast-webkit-'));
  const { child, number } = await startDisplay(command);
  return {
    env: {
      ...process.env,
      DISPLAY: `:${number}`,
      HOME: home,
      XDG_CACHE_HOME: join(home, 'cache'),
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_DATA_HOME: join(home, 'data'),
      XDG_RUNTIME_DIR: home,
      DBUS_SESSION_BUS_ADDRESS: 'disabled:',
      GDK_BACKEND: 'x11',
      GTK_A11Y: 'none',
      LIBGL_ALWAYS_SOFTWARE: '1',
      NO_AT_BRIDGE: '1',
      WEBKIT_DISABLE_DMABUF_RENDERER: '1',
    },
    async remove() {
      await child.kill();
      await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

export interface WebKitOptions {
  /** A network of its own. */
  readonly namespace?: NetworkNamespace | undefined;
}

export async function launchWebKit(options: WebKitOptions = {}): Promise<EngineBrowser> {
  const { driver, browser: binary } = findWebKit();
  const { namespace } = options;
  const home = await openWebKitHome();
  const inside = await freePort();
  const command = namespace ? await namespace.wrap(driver) : driver;
  const child = startChild(command, [`--port=${inside}`, '--host=127.0.0.1'], { env: home.env });
  const port = namespace ? await namespace.reach(inside) : inside;
  await whenReady(port, child);
  const session = await openWebDriver(port, {
    'webkitgtk:browserOptions': { binary, args: ['--automation'] },
  });
  const { browserName, browserVersion } = session.capabilities;
  return {
    version: `${browserName}/${browserVersion}`,
    openTab: session.openTab,
    async close() {
      await Promise.race([session.end().catch(() => undefined), wait(5_000, undefined, { ref: false })]);
      await child.kill();
      await home.remove();
    },
  };
}

async function startDisplay(command: string): Promise<{ readonly child: Child; readonly number: string }> {
  const args = ['-displayfd', '3', '-screen', '0', '1024x768x24', '-nolisten', 'tcp'];
  const child = startChild(command, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const pipe = child.process.stdio[3];
  if (!pipe) throw new Error('The display has no pipe');
  const [data] = await Promise.race([
    once(pipe, 'data'),
    once(child.process, 'exit').then(() => {
      throw new Error('The display did not start');
    }),
  ]);
  return { child, number: String(data).trim() };
}

async function whenReady(port: number, { process: driver }: Child): Promise<void> {
  for (let round = 0; round < 400; round++) {
    if (driver.exitCode !== null) break;
    const isUp = await fetch(`http://127.0.0.1:${port}/status`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await wait(25);
  }
  throw new Error('WebKitWebDriver did not start');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No port');
  return address.port;
}
