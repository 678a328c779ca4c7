/** A real Chromium with a profile of its own that can be closed, killed and started again on that profile. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import puppeteer, { type Browser, type Page } from 'puppeteer';
import { findChromium } from './find-browser.ts';
import type { NetworkNamespace } from './network-namespace.ts';
import { openRawCdp, type RawCdp } from './raw-cdp.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/** Background Sync retries after seconds instead of minutes: 2, 4, 8, 16 s, and the fifth is the last chance. */
export const FAST_SYNC_FLAGS = [
  '--force-fieldtrials=BackgroundSync/Test',
  `--force-fieldtrial-params=BackgroundSync.Test:${[
    'initial_retry_delay_sec/2',
    'retry_delay_factor/2',
    'max_sync_attempts/5',
    'max_sync_attempts_with_notification_permission/7',
    'min_recovery_time_sec/3',
    'max_sync_event_duration_sec/20',
  ].join('/')}`,
];

export interface Chromium {
  readonly browser: Browser;
  readonly userDataDir: string;
  openPage(url: string): Promise<Page>;
  /** A connection of its own that may attach to service workers; closed with the browser. */
  connectCdp(): Promise<RawCdp>;
  /** SIGKILL: nothing gets a chance to finish. Resolves when every process of this profile is gone. */
  kill(): Promise<void>;
  /** Starts Chromium again on the same profile, after `kill` or `exit`. */
  relaunch(): Promise<Chromium>;
  /** Ends the browser and keeps the profile, as a person closing the last window does. */
  exit(): Promise<void>;
  /** Ends the browser and removes the profile. */
  close(): Promise<void>;
}

export interface LaunchOptions {
  readonly args?: readonly string[] | undefined;
  readonly userDataDir?: string | undefined;
  readonly acceptInsecureCerts?: boolean | undefined;
  /** Pages that are left may stay in memory, as they do for a person; Puppeteer forbids it. */
  readonly keepPages?: boolean | undefined;
  /** A network of its own; DevTools are reached through a pipe then, and `connectCdp` has nothing to connect to. */
  readonly namespace?: NetworkNamespace | undefined;
}

export async function launchChromium(options: LaunchOptions = {}): Promise<Chromium> {
  const userDataDir = options.userDataDir ?? (await mkdtemp(join(tmpdir(), 'holdfast-chromium-')));
  const { namespace } = options;
  const browser = await puppeteer.launch({
    executablePath: namespace ? await namespace.wrap(findChromium()) : findChromium(),
    pipe: namespace !== undefined,
    userDataDir,
    headless: true,
    acceptInsecureCerts: options.acceptInsecureCerts ?? false,
    protocolTimeout: 300_000,
    ...(options.keepPages && { ignoreDefaultArgs: ['--disable-back-forward-cache'] }),
    args: [...FLAGS, ...(options.args ?? [])],
    // A worker that restarts under Puppeteer's session stays paused for ever; see raw-cdp.ts.
    targetFilter: (target) => target.type() !== 'service_worker',
  });
  const pid = browser.process()?.pid;
  if (pid === undefined) throw new Error('Chromium has no process id');
  const connections: RawCdp[] = [];

  async function whenGone(): Promise<void> {
    for (let round = 0; round < 150 && (await hasProcess(userDataDir)); round++) await wait(20);
  }

  async function kill(): Promise<void> {
    const child = browser.process();
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.kill('SIGKILL');
      await ended;
    }
    await whenGone();
  }

  async function exit(): Promise<void> {
    for (const connection of connections) connection.close();
    // With hanging workers `close` may never return: after 5 s it is a kill.
    const closed = await Promise.race([browser.close().then(() => true), wait(5_000, false, { ref: false })]);
    if (closed) await whenGone();
    else await kill();
  }

  return {
    browser,
    userDataDir,
    async openPage(url) {
      const page = await browser.newPage();
      await page.goto(url);
      return page;
    },
    async connectCdp() {
      const connection = await openRawCdp(browser.wsEndpoint());
      connections.push(connection);
      return connection;
    },
    kill,
    exit,
    relaunch: () => launchChromium({ ...options, userDataDir }),
    async close() {
      await exit();
      await rm(userDataDir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** Whether any process still runs on this profile. Without /proc the answer is no after the first round. */
async function hasProcess(userDataDir: string): Promise<boolean> {
  const entries = await readdir('/proc').catch(() => []);
  for (const entry of entries) {
    if (!/^\d+$/.test(entry)) continue;
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(`--user-data-dir=${userDataDir}`)) return true;
  }
  return false;
}
