/** What a real PostgreSQL adds: true concurrency, several server processes, a process that is killed. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../examples/server/database/database.ts';
import { openPostgres } from '../../../examples/server/database/postgres-database.ts';
import { createLedger } from '../../../examples/server/ledger/ledger.ts';
import { createReferenceServer } from '../../../examples/server/reference-server.ts';
import { describeReceiptServer } from '../../suites/receipt-server-suite.ts';
import { createGate } from '../../support/gate.ts';
import { hasPostgres, openTestPostgres, type TestPostgres } from '../../support/postgres.ts';
import { hashOf, type Reply, signIn } from '../../support/server-client.ts';
import { bundleServer, type ServerBundle } from '../../support/server-process.ts';

describe.runIf(hasPostgres())('[V6] on a PostgreSQL server', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await openTestPostgres();
  }, 60_000);
  afterAll(() => postgres?.close());

  describeReceiptServer('reference server, read committed', async () =>
    openPostgres({ url: await postgres.createDatabase() }),
  );
  describeReceiptServer('reference server, serializable', async () =>
    openPostgres({ url: await postgres.createDatabase(), isolation: 'serializable' }),
  );

  describe('several processes on one database', () => {
    let bundle: ServerBundle;
    let url: string;
    let database: Database;

    beforeAll(async () => {
      bundle = await bundleServer();
      url = await postgres.createDatabase();
      database = await openPostgres({ url });
    });
    afterAll(async () => {
      bundle?.remove();
      await database?.close();
    });

    const env = () => ({ DATABASE_URL: url });

    async function effectsOf(id: string): Promise<number> {
      return (await database.query('select 1 from demo_effects where id = $1', [id])).length;
    }

    it('[V2, V6] two servers that start at once and are sent the same keys at once apply each once', async () => {
      const servers = await Promise.all([bundle.start(env()), bundle.start(env())]);
      const clients = await Promise.all(servers.map((server) => signIn(server.url)));
      const ids = Array.from({ length: 20 }, () => randomUUID());
      const answers = await Promise.all(
        ids.flatMap((id) =>
          clients.flatMap((client) => [client.create({}, { id }), client.create({}, { id })]),
        ),
      );
      expect(answers.map((answer) => answer.status)).toEqual(Array(80).fill(201));
      const targets = new Map<string, Set<string>>();
      for (const { json } of answers)
        targets.set(json.receipt.id, (targets.get(json.receipt.id) ?? new Set()).add(json.receipt.target));
      expect([...targets.values()].map((set) => set.size)).toEqual(Array(20).fill(1));
      expect(await Promise.all(ids.map(effectsOf))).toEqual(Array(20).fill(1));
      await Promise.all(servers.map((server) => server.kill()));
    });

    it('[V2, C46] a server killed between applying and answering leaves a receipt for the repeat', async () => {
      const dying = await bundle.start({ ...env(), ALLOW_CRASH: '1' });
      const client = await signIn(dying.url);
      const id = randomUUID();
      await client.send({
        method: 'POST',
        path: '/api/_test/faults',
        body: { rules: [{ fault: { type: 'crash_after' }, count: 1, match: { key: id } }] },
      });
      await expect(client.create({ weightKg: 60 }, { id })).rejects.toThrow('fetch failed');
      expect(await dying.ended).toBe('SIGKILL');

      const next = await bundle.start(env());
      const again = await (await signIn(next.url)).create({ weightKg: 60 }, { id });
      expect(again.json.receipt).toMatchObject({ id, revision: 1, replayed: true });
      expect(await effectsOf(id)).toBe(1);
      await next.kill();
    });

    it('[V1, V2] a server killed in the middle of its transaction leaves nothing, and the repeat applies', async () => {
      const dying = await bundle.start(env());
      const client = await signIn(dying.url);
      const target: string = (await client.create()).json.receipt.target;
      const id = randomUUID();
      const held = createGate();
      const go = createGate();
      // Another transaction holds the resource, so that the server's own stands open in the middle.
      const holder = database.transaction(async (sql) => {
        await sql.query('select 1 from demo_workouts where id = $1 for update', [target]);
        held.open();
        await go.passed;
      });
      await held.passed;
      const update = {
        method: 'PATCH',
        path: `/api/workouts/${target}`,
        id,
        body: { weightKg: 80 },
        ifMatch: 1,
      };
      const lost = expect(client.send(update)).rejects.toThrow('fetch failed');
      await untilBlocked(database);
      await dying.kill();
      await lost;
      go.open();
      await holder;

      const next = await bundle.start(env());
      const again = await (await signIn(next.url)).send(update);
      expect(again.json.receipt).toMatchObject({ id, revision: 2 });
      expect(again.json.receipt.replayed).toBeUndefined();
      expect(await effectsOf(id)).toBe(1);
      await next.kill();
    });
  });

  describe('locks', () => {
    let url: string;
    let database: Database;
    beforeAll(async () => {
      url = await postgres.createDatabase();
      database = await openPostgres({ url, lockTimeoutMs: 50 });
    });
    afterAll(() => database?.close());

    it('[V2] answers 409 with Retry-After and "in progress" where another process works on the key for long', async () => {
      const server = await createReferenceServer({ database });
      const client = await signIn(server.url);
      const id = randomUUID();
      const hash = hashOf(id);
      const reached = createGate();
      const go = createGate();
      const ledger = createLedger({ database });
      const command = { owner: 'ada', id, requestHash: hash, family: 'workout', kind: 'workout.create' };
      const slow = ledger.carryOut(command, async () => {
        reached.open();
        await go.passed;
        return { type: 'applied', target: 'slow', revision: 1, generation: 1, status: 201 };
      });
      await reached.passed;
      const expectInProgress = (answer: Reply) => {
        expect(answer.status).toBe(409);
        expect(answer.json).toMatchObject({ type: 'urn:holdfast:problem:in_progress' });
        expect(answer.headers.get('retry-after')).toBe('1');
      };
      expectInProgress(await client.create({}, { id, hash }));
      expectInProgress(await client.get(`/api/receipts/${id}`));
      const never = () => Promise.reject(new Error('Applied a second time'));
      expect(await ledger.carryOut(command, never)).toEqual({ type: 'in_progress' });
      expect(await ledger.find('ada', id)).toEqual({ type: 'in_progress' });
      go.open();
      await slow;
      const after = await client.create({}, { id, hash });
      expect(after.json.receipt).toMatchObject({ target: 'slow', replayed: true });
      await server.close();
    });

    it('[V6] repeats transactions that deadlock, until both have been carried out', async () => {
      await database.script(
        'create table deadlock_test (id int primary key, n int); insert into deadlock_test values (1, 0), (2, 0)',
      );
      const patient = await openPostgres({ url, lockTimeoutMs: 10_000 });
      const gates = [createGate(), createGate()];
      let runs = 0;
      const both = [1, 2].map((first) =>
        patient.transaction(async (sql) => {
          runs += 1;
          await sql.query('update deadlock_test set n = n + 1 where id = $1', [first]);
          gates[first - 1]?.open();
          await gates[2 - first]?.passed;
          await sql.query('update deadlock_test set n = n + 1 where id = $1', [3 - first]);
        }),
      );
      await Promise.all(both);
      expect(await patient.query('select n from deadlock_test order by id')).toEqual([{ n: 2 }, { n: 2 }]);
      // The repeat may take its first row before the other one wakes, and collide once more.
      expect(runs).toBeGreaterThan(2);
      await patient.close();
    });
  });
});

/** Until some transaction waits for a lock; each look is a round trip to the database. */
async function untilBlocked(database: Database): Promise<void> {
  for (;;) {
    const waiting = await database.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    if (waiting.length > 0) return;
  }
}
