/** The command as it is shipped: bundled, run by Node, judged by its exit code and its words. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../examples/server/database/database.ts';
import { createReferenceServer, type ReferenceServer } from '../../examples/server/reference-server.ts';
import { DEFECTS } from '../support/broken-servers.ts';
import { openTestPglite } from '../support/test-pglite.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

// A process of its own per run, and a whole check in each: seconds on a busy machine.
describe('holdfast check-server', { timeout: 60_000 }, () => {
  let place: string;
  let database: Database;
  let server: ReferenceServer;

  beforeAll(async () => {
    mkdirSync(`${ROOT}.tmp`, { recursive: true });
    place = mkdtempSync(`${ROOT}.tmp/bin-`);
    const script = `const { buildCommand } = await import('./build.mjs'); await buildCommand(process.argv[1]);`;
    execFileSync(process.execPath, ['--input-type=module', '-e', script, `${place}/holdfast.js`], {
      cwd: ROOT,
    });
    database = await openTestPglite();
    server = await createReferenceServer({ database });
  }, 120_000);

  afterAll(async () => {
    await server?.close();
    await database?.close();
    rmSync(place, { recursive: true, force: true });
  });

  async function run(...args: readonly string[]) {
    const child = spawn(`${place}/holdfast.js`, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        out += text;
      });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, out };
  }

  it('[V4] ends with 0 where everything holds, and says so', async () => {
    const { code, out } = await run('check-server', server.url);
    expect(out).toContain('Holdfast can rely on this server.');
    expect(out).not.toMatch(/✗|!/);
    expect(code).toBe(0);
  });

  it('[V4] ends with 1 where something that must hold does not, for machines too', async () => {
    const defect = DEFECTS.find((one) => one.what === 'ignores If-Match');
    const broken = await createReferenceServer({ database, intercept: defect?.create() });
    const { code, out } = await run('check-server', broken.url, '--json');
    await broken.close();
    const { passed, results } = JSON.parse(out);
    const failed = results.filter((one: { end: { type: string } }) => one.end.type === 'broken');
    expect(failed.map((one: { name: string }) => one.name)).toEqual(
      expect.arrayContaining(['revision-conflict', 'one-of-many-updates']),
    );
    expect([passed, code]).toEqual([false, 1]);
  });

  it('[V4] ends with 2 and the reason where nothing can be checked', async () => {
    const unreadable = `${place}/config.json`;
    writeFileSync(unreadable, '{"family": "workout", "accounts": []}');
    const cases = [
      { args: ['check-server', 'http://127.0.0.1:9'], says: 'No server answers at http://127.0.0.1:9' },
      {
        args: ['check-server', server.url, '--config', unreadable],
        says: '"accounts" is a list of two accounts',
      },
      { args: ['check-server', server.url, '--config', `${place}/none.json`], says: 'none.json' },
      { args: ['check-server', server.url, '--nonsense'], says: 'nonsense' },
      { args: ['check-server', 'nowhere'], says: 'Usage: holdfast check-server' },
      { args: [], says: 'Usage: holdfast check-server' },
    ];
    for (const { args, says } of cases) {
      const { code, out } = await run(...args);
      expect(out).toContain(says);
      expect(out).not.toMatch(/\n {4}at /);
      expect(code).toBe(2);
    }
  });

  it('[V4] writes a configuration that it can read', async () => {
    const { out } = await run('--print-config');
    const file = `${place}/printed.json`;
    writeFileSync(file, out);
    expect((await run('check-server', server.url, '--config', file)).code).toBe(0);
  });
});
