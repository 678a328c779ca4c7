/** How long receipts live, and that a purge forgets none that a device may still ask for (V1). */
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../examples/server/database/database.ts';
import { migrate } from '../../../examples/server/database/migrate.ts';
import { createLedger, type Ledger } from '../../../examples/server/ledger/ledger.ts';
import { assertPurgeable, RETENTION_MARGIN_DAYS } from '../../../examples/server/ledger/retention.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

const DAY_MS = 86_400_000;
const MIGRATIONS = new URL('../../../examples/server/migrations/', import.meta.url);

describe('retention', () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestPglite();
    await migrate(database, MIGRATIONS);
  }, 120_000);
  afterAll(() => database?.close());

  const apply = async () =>
    ({ type: 'applied', target: 't', revision: 1, generation: 1, status: 201 }) as const;

  async function applied(ledger: Ledger, ageDays: number): Promise<string> {
    const id = randomUUID();
    await ledger.carryOut(
      { owner: 'ada', id, requestHash: 'h', family: 'workout', kind: 'workout.create' },
      apply,
    );
    await database.query(
      "update holdfast_ledger set committed_at = now() - $2 * interval '1 day' where id = $1",
      [id, ageDays],
    );
    return id;
  }

  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);

  it('[V1] purges what is older than asked, and no more, in as many slices as it takes', async () => {
    const ledger = createLedger({ database, retention: { ledgerDays: 30 } });
    const old = await applied(ledger, 40.1);
    const young = await applied(ledger, 39.9);
    await database.query(
      `insert into holdfast_ledger (owner, id, request_hash, family, kind, state, target, revision, generation, committed_at)
       select 'ada', 'old-' || n, 'h', 'f', 'k', 'applied', 't', 1, 1, now() - interval '50 days'
       from generate_series(1, 2500) n`,
    );
    expect(await ledger.purge(daysAgo(40))).toBe(2501);
    expect(await ledger.find('ada', old)).toEqual({ type: 'none' });
    expect(await ledger.find('ada', young)).toMatchObject({ type: 'receipt' });
    expect(await ledger.purge(daysAgo(40))).toBe(0);
  });

  it('[V1] refuses to forget a receipt that is promised, slow clocks of devices included', async () => {
    const ledger = createLedger({ database, retention: { ledgerDays: 30 } });
    const id = await applied(ledger, 35);
    await expect(ledger.purge(daysAgo(30))).rejects.toThrow('Receipts are promised for 30 days');
    await expect(ledger.purge(new Date(Number.NaN))).rejects.toThrow('Receipts are promised for 30 days');
    expect(await ledger.find('ada', id)).toMatchObject({ type: 'receipt' });
  });

  it('[V1] refuses every purge where receipts are kept for good', async () => {
    const ledger = createLedger({ database });
    await expect(ledger.purge(daysAgo(10_000))).rejects.toThrow('This ledger is kept for good');
  });

  it('[V1] allows a purge from the promised time and the margin on, to the millisecond', () => {
    const now = new Date('2026-11-30T00:00:00Z');
    const latest = now.getTime() - (30 + RETENTION_MARGIN_DAYS) * DAY_MS;
    expect(() => assertPurgeable(new Date(latest), { ledgerDays: 30 }, now)).not.toThrow();
    expect(() => assertPurgeable(new Date(latest + 1), { ledgerDays: 30 }, now)).toThrow('promised');
  });

  it('[V1] migrates a database once, however often and by however many at once it is asked', async () => {
    const names = await Promise.all([migrate(database, MIGRATIONS), migrate(database, MIGRATIONS)]);
    expect(names).toEqual([[], []]);
    const rows = await database.query('select name from holdfast_migrations order by name');
    const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
    expect(files).toContain('001-ledger.sql');
    expect(rows).toEqual(files.map((name) => ({ name })));
  });
});
