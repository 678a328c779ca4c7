#!/usr/bin/env node
/**
 * Runs a command with DATABASE_URL set to a throw-away PostgreSQL: a fresh cluster in a temporary directory, on
 * a Unix socket of its own, gone when the command ends.
 *
 *   node examples/server/scripts/with-postgres.mjs npx vitest run tests/examples
 *
 * The binaries are looked for in PG_BIN, on the PATH, and where Debian and Homebrew put them. PostgreSQL does
 * not run as root; there the account `postgres`, or else `nobody`, runs it.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { accessSync, chownSync, constants, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const [command, ...args] = process.argv.slice(2);
if (!command) fail('usage: with-postgres.mjs <command> [arguments…]');
const bin = findBinaries() ?? fail('No PostgreSQL found: install one, or set PG_BIN to where initdb is');

const directory = mkdtempSync(join(tmpdir(), 'holdfast-pg-'));
const account = accountToRunAs();
if (account) chownSync(directory, account.uid, account.gid);
const data = join(directory, 'data');

const made = spawnSync(
  join(bin, 'initdb'),
  ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'],
  { ...account, cwd: directory, encoding: 'utf8' },
);
if (made.status !== 0) fail(`initdb failed: ${made.stderr || made.error}`);

const settings = {
  listen_addresses: '',
  unix_socket_directories: directory,
  max_connections: '200',
  // It is thrown away anyway, so it need not survive a power cut.
  fsync: 'off',
  full_page_writes: 'off',
};
const postgres = spawn(
  join(bin, 'postgres'),
  ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
  { ...account, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] },
);
await ready(postgres);

const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(directory)}`;
const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, DATABASE_URL: url } });
child.once('error', (error) => stop(error.message));
child.once('exit', (code, signal) => stop(undefined, signal ? 1 : (code ?? 1)));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));

function stop(message, code = 1) {
  if (message) console.error(message);
  postgres.once('exit', () => {
    rmSync(directory, { recursive: true, force: true });
    process.exit(code);
  });
  // Immediate shutdown: nothing here is worth a checkpoint.
  postgres.kill('SIGQUIT');
}

function ready(server) {
  return new Promise((resolve) => {
    let log = '';
    server.stderr.setEncoding('utf8').on('data', (text) => {
      if (log === undefined) return;
      log += text;
      if (!log.includes('ready to accept connections')) return;
      log = undefined;
      resolve();
    });
    server.once('exit', () => {
      if (log !== undefined) fail(`PostgreSQL did not start: ${log}`);
    });
  });
}

function findBinaries() {
  const places = [
    process.env.PG_BIN,
    ...(process.env.PATH ?? '').split(delimiter),
    ...versionsIn('/usr/lib/postgresql').map((version) => `/usr/lib/postgresql/${version}/bin`),
    '/opt/homebrew/opt/postgresql/bin',
    '/usr/local/opt/postgresql/bin',
  ];
  return places.find(
    (place) => place && ['initdb', 'postgres'].every((name) => isExecutable(join(place, name))),
  );
}

function versionsIn(place) {
  try {
    return readdirSync(place).sort((a, b) => Number(b) - Number(a));
  } catch {
    return [];
  }
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function accountToRunAs() {
  if (process.getuid?.() !== 0) return undefined;
  const name = ['postgres', 'nobody'].find((one) => spawnSync('id', ['-u', one]).status === 0);
  if (!name) fail('Root cannot run PostgreSQL, and there is no account `postgres` or `nobody` to do it');
  const read = (flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: read('-u'), gid: read('-g') };
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
