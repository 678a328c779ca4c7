/** Finds a browser of the system. The suites never download one of their own. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const PLACES = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/snap/bin/chromium'];

function onPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

function lookForChromium(): string | undefined {
  const named = process.env['HOLDFAST_CHROMIUM'];
  if (named !== undefined) {
    if (!existsSync(named)) throw new Error(`HOLDFAST_CHROMIUM names ${named}, which does not exist.`);
    return named;
  }
  return NAMES.map(onPath).find((path) => path !== undefined) ?? PLACES.find((path) => existsSync(path));
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
