#!/usr/bin/env node
/**
 * What a receipt costs: the demo's update, in a transaction of its own, with the ledger and without. Prints one
 * line per case. On PGlite; with DATABASE_URL, on that server too (its holdfast_ and demo_ tables are emptied):
 *
 *   node examples/server/scripts/with-postgres.mjs node examples/server/scripts/measure-ledger.mjs
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const COMMANDS = 200;
const ROUNDS = 40;

mkdirSync(`${root}.tmp`, { recursive: true });
const place = mkdtempSync(`${root}.tmp/measure-`);
try {
  await build({
    stdin: {
      contents: `
        export { openPglite } from './database/pglite-database.ts';
        export { openPostgres } from './database/postgres-database.ts';
        export { migrate } from './database/migrate.ts';
        export { createLedger } from './ledger/ledger.ts';
        export { workoutCommands } from './demo/workouts.ts';
        export { noteNothing } from './demo/change-notes.ts';`,
      resolveDir: fileURLToPath(new URL('..', import.meta.url)),
    },
    outfile: `${place}/server.js`,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
  });
  const server = await import(pathToFileURL(`${place}/server.js`).href);
  console.log('database    at once  without ledger  with ledger   difference  bytes per receipt');
  await measure(server, 'PGlite', await server.openPglite(), 1);
  const url = process.env.DATABASE_URL;
  for (const atOnce of url ? [1, 8] : [])
    await measure(server, 'PostgreSQL', await server.openPostgres({ url }), atOnce);
} finally {
  rmSync(place, { recursive: true, force: true });
}

async function measure(server, name, database, atOnce) {
  await server.migrate(database, new URL('../migrations/', import.meta.url));
  await database.script('truncate holdfast_ledger, demo_workouts, demo_generations');
  const [, update] = server.workoutCommands(server.noteNothing);
  const ledger = server.createLedger({ database });
  const targets = await fill(database);

  // The same work both times; owners of their own, so that accounts do not wait for each other's counters.
  const apply = (n) => (sql) =>
    update.apply(sql, {
      owner: `owner-${n % 16}`,
      parameters: { id: targets[n % targets.length] },
      body: { weightKg: n },
    });
  const cases = {
    without: (n) => database.transaction(apply(n)),
    with: (n) =>
      ledger.carryOut(
        {
          owner: `owner-${n % 16}`,
          id: randomUUID(),
          requestHash: 'h'.repeat(64),
          family: 'workout',
          kind: 'workout.update',
        },
        apply(n),
      ),
  };
  const times = { without: [], with: [] };
  // Alternating, the first round thrown away, the fastest one counted: the least disturbed by other work.
  for (let round = 0; round <= ROUNDS; round++)
    for (const [kind, run] of Object.entries(cases)) {
      const took = await perCommand(run, atOnce);
      if (round > 0) times[kind].push(took);
    }
  const [size] = await database.query(
    `select pg_total_relation_size('holdfast_ledger') / count(*) as bytes from holdfast_ledger`,
  );
  await database.close();
  const [without, withLedger] = [Math.min(...times.without), Math.min(...times.with)];
  const cell = (us) => `${us.toFixed(0)} µs`.padStart(13);
  console.log(
    `${name.padEnd(12)}${String(atOnce).padStart(7)}${cell(without)}   ${cell(withLedger)}${cell(withLedger - without)}${String(size.bytes).padStart(13)}`,
  );
}

async function fill(database) {
  const targets = Array.from({ length: 256 }, () => randomUUID());
  for (const [n, id] of targets.entries())
    await database.query(
      `insert into demo_workouts (owner, id, revision, body, day) values ($1, $2, 1, '{"date":"2026-11-30"}', '2026-11-30')`,
      [`owner-${n % 16}`, id],
    );
  return targets;
}

/** Microseconds per command, by the clock on the wall. */
async function perCommand(run, atOnce) {
  const start = process.hrtime.bigint();
  let next = 0;
  const lane = async () => {
    while (next < COMMANDS) await run(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return Number(process.hrtime.bigint() - start) / 1000 / COMMANDS;
}
