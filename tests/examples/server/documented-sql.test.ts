/** The SQL of docs/server.md, run as it stands there. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database, Sql } from '../../../examples/server/database/database.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

const DOC = readFileSync(new URL('../../../docs/server.md', import.meta.url), 'utf8');
const [table = '', transaction = ''] = [...DOC.matchAll(/```sql\n([\s\S]*?)```/g)].map((match) => match[1]);
const statements = transaction
  .replace(/^ *--.*$/gm, '')
  .split(';')
  .map((text) => text.trim())
  .filter(Boolean);

interface Known {
  readonly request_hash: string;
  readonly revision: number | null;
  readonly refusal: { readonly code: string } | null;
}

describe('the SQL for an existing server', () => {
  let database: Database;

  beforeAll(async () => {
    database = await openTestPglite();
    await database.script(table);
    await database.script(`
      create table workouts (owner text, id text, revision integer, body text);
      insert into workouts values ('ada', 'w1', 1, 'first');`);
  }, 120_000);
  afterAll(() => database?.close());

  async function run<Row extends object>(
    sql: Sql,
    number: number,
    values: Readonly<Record<string, unknown>>,
  ) {
    const names: string[] = [];
    const text = (statements[number] ?? '').replace(/\$(\w+)/g, (_, name: string) => {
      if (!names.includes(name)) names.push(name);
      return `$${names.indexOf(name) + 1}`;
    });
    return sql.query<Row>(
      text,
      names.map((name) => values[name]),
    );
  }

  /** As an existing server would put it: the four numbered statements between `begin` and `commit`. */
  function update(values: Readonly<Record<string, unknown>>): Promise<string> {
    return database.transaction(async (sql) => {
      await run(sql, 1, {});
      const taken = await run(sql, 2, values);
      if (taken.length === 0) {
        const [known] = await run<Known>(sql, 3, values);
        if (!known || known.request_hash !== values['hash']) return 'key reused';
        return known.refusal?.code ?? `replayed ${known.revision}`;
      }
      const [row] = await run<{ revision: number }>(sql, 4, values);
      const refusal = row ? null : JSON.stringify({ status: 412, code: 'revision_conflict' });
      await run(sql, 5, { ...values, revision: row?.revision ?? null, refusal });
      return row ? `applied ${row.revision}` : 'refused';
    });
  }

  it('[V1, V2, V3] applies once per key, refuses a reused key and a stale revision', async () => {
    expect([statements[0], statements.at(-1), statements.length]).toEqual(['begin', 'commit', 7]);
    const values = {
      owner: 'ada',
      target: 'w1',
      hash: 'h1',
      kind: 'workout.update',
      source_ref: null,
      generation: 1,
    };
    const first = { ...values, id: 'k1', expected: 1, body: 'second' };
    expect(await update(first)).toBe('applied 2');
    expect(await Promise.all([update(first), update(first)])).toEqual(['replayed 2', 'replayed 2']);
    expect(await update({ ...first, hash: 'h2', body: 'other' })).toBe('key reused');
    expect(await update({ ...first, id: 'k2', body: 'stale' })).toBe('refused');
    expect(await update({ ...first, id: 'k2', body: 'stale' })).toBe('revision_conflict');
    expect(await database.query('select revision, body from workouts')).toEqual([
      { revision: 2, body: 'second' },
    ]);
  });

  it('[V1] is thirty lines', () => {
    const lines = `${table}${transaction}`
      .split('\n')
      .filter((line) => line.trim() !== '' && !/^ *--/.test(line));
    expect(lines.length).toBeLessThanOrEqual(30);
  });
});
