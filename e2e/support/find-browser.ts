/** Finds the browsers of the system. The suites never download one of their own. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const PLACES = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/snap/bin/chromium'];

function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

function named(variable: string): string | undefined {
  const path = process.env[variable];
  if (path !== undefined && !existsSync(path))
    throw new Error(`${variable} names ${path}, which does not exist.`);
  return path;
}

function firstOnPath(names: readonly string[]): string | undefined {
  return names.map(onPath).find((path) => path !== undefined);
}

function lookForChromium(): string | undefined {
  return named('HOLDFAST_CHROMIUM') ?? firstOnPath(NAMES) ?? PLACES.find((path) => existsSync(path));
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && onPath('apt-get') !== undefined;
}

/**
 * The path of Chromium: `HOLDFAST_CHROMIUM`, else `PATH`, else the usual places. On Debian as root a missing
 * one is installed; elsewhere the error says in one line how to get it.
 */
export function findChromium(): string {
  const found = lookForChromium();
  if (found !== undefined) return found;
  if (canInstall()) {
    const quiet = { stdio: 'ignore' as const, env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    execFileSync('apt-get', ['update', '-qq'], quiet);
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], quiet);
    const installed = lookForChromium();
    if (installed !== undefined) return installed;
  }
  throw new Error('No Chromium: install one (Debian: apt-get install chromium) or set HOLDFAST_CHROMIUM.');
}

export interface WebKitCommands {
  /** WebKitWebDriver. */
  readonly driver: string;
  /** MiniBrowser, which comes with the library. */
  readonly browser: string;
  /** Xvfb: MiniBrowser shows itself somewhere. */
  readonly display: string;
}

function lookForFirefox(): string | undefined {
  return named('HOLDFAST_FIREFOX') ?? firstOnPath(['firefox-esr', 'firefox']);
}

function lookForWebKit(): WebKitCommands | undefined {
  const [driver, display] = [onPath('WebKitWebDriver'), onPath('Xvfb')];
  const browser = named('HOLDFAST_MINIBROWSER') ?? lookForMiniBrowser();
  return driver && display && browser ? { driver, display, browser } : undefined;
}

/** It is on no `PATH`: `/usr/lib/<machine>/webkit2gtk-4.1/MiniBrowser` on Debian, `libexec` elsewhere. */
function lookForMiniBrowser(): string | undefined {
  const list = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);
  const roots = ['/usr/libexec', '/usr/lib', ...list('/usr/lib').map((name) => join('/usr/lib', name))];
  return roots
    .flatMap((root) => ['webkit2gtk-4.1', 'webkitgtk-6.0'].map((name) => join(root, name, 'MiniBrowser')))
    .find((path) => existsSync(path));
}

const HOW = {
  firefox: 'No Firefox: install one (Debian: apt-get install firefox-esr) or set HOLDFAST_FIREFOX.',
  webkit: 'No WebKitGTK: install one (Debian: apt-get install webkit2gtk-driver xvfb).',
} as const;

/** @throws Error that says in one line how to get it */
export function findFirefox(): string {
  const found = lookForFirefox();
  if (found === undefined) throw new Error(HOW.firefox);
  return found;
}

/** @throws Error that says in one line how to get it */
export function findWebKit(): WebKitCommands {
  const found = lookForWebKit();
  if (found === undefined) throw new Error(HOW.webkit);
  return found;
}

/**
 * Why the suites of an engine cannot run here, in one line; `undefined` where they can.
 * @throws Error in CI on a machine that could have installed it: there nothing is passed over
 */
export function missingEngine(engine: keyof typeof HOW): string | undefined {
  const found = { firefox: lookForFirefox, webkit: lookForWebKit }[engine]();
  if (found !== undefined) return undefined;
  if (process.env['CI'] && canInstall()) throw new Error(HOW[engine]);
  return HOW[engine];
}
