/** The embedded database keeps its word over a killed process, too. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signIn } from '../../support/server-client.ts';
import { bundleServer, type ServerBundle } from '../../support/server-process.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

describe('embedded PostgreSQL in a directory', { timeout: 120_000 }, () => {
  let bundle: ServerBundle;
  let directory: string;

  beforeAll(async () => {
    bundle = await bundleServer();
    mkdirSync(`${ROOT}.tmp`, { recursive: true });
    directory = mkdtempSync(`${ROOT}.tmp/data-`);
    await (await openTestPglite(directory)).close();
  }, 120_000);
  afterAll(() => {
    bundle?.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  it('[V2, V6] has the receipt of what was applied right before its process was killed', async () => {
    // Whatever database the tests run on, this one is embedded.
    const env = { DATA_DIR: directory, DATABASE_URL: '', ALLOW_CRASH: '1' };
    const dying = await bundle.start(env);
    const client = await signIn(dying.url);
    const kept = await client.create({ weightKg: 50 });
    const id = randomUUID();
    const rules = [{ fault: { type: 'crash_after' }, match: { key: id } }];
    await client.send({ method: 'POST', path: '/api/_test/faults', body: { rules } });
    await expect(client.create({ weightKg: 60 }, { id })).rejects.toThrow('fetch failed');
    expect(await dying.ended).toBe('SIGKILL');

    const next = await bundle.start(env);
    const again = await signIn(next.url);
    expect((await again.create({ weightKg: 60 }, { id })).json.receipt).toMatchObject({ id, replayed: true });
    const { items } = (await again.get('/api/workouts')).json;
    expect(items.map((one: { weightKg: number }) => one.weightKg).sort()).toEqual([50, 60]);
    expect(items.map((one: { id: string }) => one.id)).toContain(kept.json.receipt.target);
    await next.kill();
  });
});
