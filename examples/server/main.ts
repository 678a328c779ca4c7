/**
 * `npm start`: the demo and its server. Settings come from the environment:
 * PORT (8080), HOST (127.0.0.1), DATABASE_URL (a PostgreSQL server; without it one runs embedded),
 * DATA_DIR (where the embedded one keeps its data; in memory without it), STATIC_DIR (files to serve),
 * LEDGER_DAYS (how long receipts are promised for; for good without it),
 * NODE_ENV=production (no fault switches), ALLOW_CRASH=1 (the fault `crash_after` may end this process).
 */
import { fileURLToPath } from 'node:url';
import type { Database } from './database/database.ts';
import { openPglite } from './database/pglite-database.ts';
import { openPostgres } from './database/postgres-database.ts';
import { checkPort, PortError } from './http/check-port.ts';
import { createReferenceServer } from './reference-server.ts';

const { env } = process;

async function openDatabase(): Promise<Database> {
  const url = env['DATABASE_URL'];
  return url ? openPostgres({ url }) : openPglite({ dataDir: env['DATA_DIR'] });
}

const port = Number(env['PORT'] ?? 8080);
const host = env['HOST'] ?? '127.0.0.1';
// Before the database: a second server must not open the embedded one of the first.
await checkPort(port, host).catch((error: unknown) => {
  if (!(error instanceof PortError)) throw error;
  console.error(error.message);
  process.exit(1);
});
const database = await openDatabase();
const ledgerDays = Number(env['LEDGER_DAYS'] ?? 0);
const server = await createReferenceServer({
  database,
  staticDir: env['STATIC_DIR'] ?? fileURLToPath(new URL('../workout-log/', import.meta.url)),
  port,
  host,
  faults: env['NODE_ENV'] !== 'production',
  retention: ledgerDays > 0 ? { ledgerDays } : undefined,
  crash: env['ALLOW_CRASH'] === '1' ? crash : undefined,
});
console.log(`Holdfast reference server on ${server.url} (${database.technology})`);

async function stop(): Promise<void> {
  await server.close();
  await database.close();
  process.exit(0);
}

// As a power cut would: nothing is flushed, nobody is told.
function crash(): never {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('Killed');
}

process.once('SIGINT', () => void stop());
process.once('SIGTERM', () => void stop());
