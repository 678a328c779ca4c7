/** The reference server as processes of its own, for what only several processes or a killed one can show. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface ServerBundle {
  /** Resolves when the server listens. It is killed, not asked, by `kill`. */
  start(env: Readonly<Record<string, string>>): Promise<ServerProcess>;
  /** For a server that is expected to end by itself: its exit code and what it said on stderr. */
  fail(env: Readonly<Record<string, string>>): Promise<{ readonly code: number; readonly said: string }>;
  remove(): void;
}

export interface ServerProcess {
  readonly url: string;
  /** The signal or code it ended with. */
  readonly ended: Promise<string | number>;
  kill(): Promise<void>;
}

export async function bundleServer(): Promise<ServerBundle> {
  mkdirSync(`${ROOT}.tmp`, { recursive: true });
  const directory = mkdtempSync(`${ROOT}.tmp/server-`);
  await build({
    entryPoints: [`${ROOT}examples/server/main.ts`],
    outfile: `${directory}/main.js`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
  cpSync(`${ROOT}examples/server/migrations`, `${directory}/migrations`, { recursive: true });
  return {
    start: (env) => start(`${directory}/main.js`, env),
    fail: (env) => fail(`${directory}/main.js`, env),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

async function start(file: string, env: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<string | number>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code ?? 0));
  });
  return {
    url: await announcedUrl(child, ended),
    ended,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function fail(file: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const [code] = await once(child, 'close');
  return { code: Number(code), said };
}

async function announcedUrl(child: ChildProcess, ended: Promise<string | number>): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout)
      createInterface(child.stdout).once('line', (line) => {
        const url = /http:\S+/.exec(line)?.[0];
        if (url) resolve(url);
        else reject(new Error(`The server said: ${line}`));
      });
    ended.then((how) => reject(new Error(`The server ended with ${how}`)), reject);
  });
}
