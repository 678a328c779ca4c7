/** The small server of docs/server.md keeps the contract, and is shown as it is. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../bin/check-server/config.ts';
import { runChecks } from '../../bin/check-server/run-checks.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FILE = `${ROOT}examples/small-server/server.mjs`;

describe('the small server', { timeout: 60_000 }, () => {
  let server: ChildProcess;
  let url = '';

  beforeAll(async () => {
    server = spawn(process.execPath, [FILE], {
      env: { ...process.env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { stdout } = server;
    if (!stdout) throw new Error('It has no output');
    url = await new Promise((resolve) => createInterface(stdout).once('line', resolve));
  });
  afterAll(() => server?.kill());

  it('[V1, V2, V3, V4, V5] holds to all that is asked of a server without documents and batches', async () => {
    const config = readConfig(JSON.parse(readFileSync(`${ROOT}examples/small-server/check.json`, 'utf8')));
    const results = await runChecks(url, config);
    expect(
      results.filter(({ end }) => end.type !== 'holds').map(({ name, end }) => [name, end.type]),
    ).toEqual([
      ['etag', 'broken'],
      ['document', 'not_offered'],
      ['batch', 'not_offered'],
    ]);
  });

  it('[V4] answers a method that it has no route for as a refusal, and goes on', async () => {
    const headers = { cookie: 'account=ada', 'idempotency-key': '"k"', 'holdfast-request-hash': 'h' };
    expect((await fetch(`${url}/api/workouts/1`, { method: 'PUT', headers, body: '{}' })).status).toBe(400);
    expect((await fetch(`${url}/api/elsewhere`, { headers })).status).toBe(404);
    expect(await (await fetch(`${url}/api/workouts`, { headers })).json()).toEqual({ items: [] });
  });

  it('[V1] stands in the server guide as it is', () => {
    const guide = readFileSync(`${ROOT}docs/server.md`, 'utf8');
    expect(guide).toContain(`\`\`\`js\n${readFileSync(FILE, 'utf8')}\`\`\``);
  });
});
