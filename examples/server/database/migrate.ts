import { readdir, readFile } from 'node:fs/promises';
import type { Database } from './database.ts';

/**
 * Runs every `.sql` file of `directory`, in the order of their names, that this database has not seen, all in one transaction. Several processes may start at
 * once: the lock makes the others wait and then find nothing to do.
 */
export async function migrate(database: Database, directory: URL): Promise<readonly string[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
  const files = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(new URL(name, directory), 'utf8') })),
  );
  return database.transaction(async (sql) => {
    await sql.query("select pg_advisory_xact_lock(hashtext('holdfast_migrations'))");
    await sql.script(
      'create table if not exists holdfast_migrations (name text primary key, at timestamptz)',
    );
    const done = await sql.query<{ name: string }>('select name from holdfast_migrations');
    const seen = new Set(done.map((row) => row.name));
    const fresh = files.filter((file) => !seen.has(file.name));
    for (const { name, text } of fresh) {
      await sql.script(text);
      await sql.query('insert into holdfast_migrations values ($1, now())', [name]);
    }
    return fresh.map((file) => file.name);
  });
}
