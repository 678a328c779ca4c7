/** A PostgreSQL for tests: a fresh database in the one that DATABASE_URL names, or a throw-away cluster. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

export interface TestPostgres {
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  /** Drops what was created. */
  close(): Promise<void>;
}

const WITH_POSTGRES = fileURLToPath(
  new URL('../../examples/server/scripts/with-postgres.mjs', import.meta.url),
);

/** Whether this machine can give one; where it cannot, the suites run on PGlite alone. */
export function hasPostgres(): boolean {
  return (
    process.env['DATABASE_URL'] !== undefined ||
    process.env['PG_BIN'] !== undefined ||
    (existsSync('/usr/lib/postgresql') && readdirSync('/usr/lib/postgresql').length > 0) ||
    spawnSync('initdb', ['--version']).status === 0
  );
}

export async function openTestPostgres(): Promise<TestPostgres> {
  const given = process.env['DATABASE_URL'];
  const cluster = given === undefined ? await startCluster() : undefined;
  const server = new pg.Client(given ?? cluster?.url);
  await server.connect();
  const names: string[] = [];
  return {
    createDatabase: async () => {
      const name = `holdfast_test_${randomBytes(6).toString('hex')}`;
      await server.query(`create database ${name}`);
      names.push(name);
      const url = new URL(given ?? cluster?.url ?? '');
      url.pathname = `/${name}`;
      return url.href;
    },
    close: async () => {
      for (const name of names) await server.query(`drop database ${name} with (force)`);
      await server.end();
      await cluster?.stop();
    },
  };
}

/** It lives as long as the pipe to it, so that it goes away even if this process is killed. */
async function startCluster(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const tell = 'console.log(process.env.DATABASE_URL); process.stdin.resume()';
  const child = spawn(process.execPath, [WITH_POSTGRES, process.execPath, '-e', tell], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const url = await firstLine(child);
  return {
    url,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.stdin.end();
      }),
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) return reject(new Error('The child has no output'));
    createInterface(child.stdout).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`PostgreSQL ended with ${code} before it was ready`)));
  });
}
