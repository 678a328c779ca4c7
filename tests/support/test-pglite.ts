/** An empty embedded PostgreSQL for a test file, started from a dump that the first run makes. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import type { Database } from '../../examples/server/database/database.ts';
import { openPglite } from '../../examples/server/database/pglite-database.ts';

const DIRECTORY = fileURLToPath(new URL('../../.tmp/', import.meta.url));

export async function openTestPglite(dataDir?: string): Promise<Database> {
  return openPglite({ dataDir, template: new Blob([await readTemplate()]) });
}

async function readTemplate(): Promise<Uint8Array<ArrayBuffer>> {
  const { version } = JSON.parse(
    readFileSync(new URL('../../node_modules/@electric-sql/pglite/package.json', import.meta.url), 'utf8'),
  );
  const file = `${DIRECTORY}pglite-${version}.tar`;
  if (existsSync(file)) return new Uint8Array(readFileSync(file));
  const db = await PGlite.create();
  const dump = await db.dumpDataDir('none');
  await db.close();
  const bytes = new Uint8Array(await dump.arrayBuffer());
  // Test files run side by side: each makes its own, and the last one's name stays.
  mkdirSync(DIRECTORY, { recursive: true });
  const own = `${file}.${randomUUID()}`;
  writeFileSync(own, bytes);
  renameSync(own, file);
  return bytes;
}
