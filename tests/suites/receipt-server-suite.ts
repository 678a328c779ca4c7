/**
 * What any receipt server must do (V1-V7), run over every database that the reference server knows. From
 * outside, over HTTP, but for the counts of effects, which are written apart from the ledger.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../examples/server/database/database.ts';
import { createReferenceServer, type ReferenceServer } from '../../examples/server/reference-server.ts';
import { createGate } from '../support/gate.ts';
import { call, hashOf, type Reply, type ServerClient, signIn } from '../support/server-client.ts';

export function describeReceiptServer(name: string, open: () => Promise<Database>): void {
  describe(name, () => {
    let database: Database;
    let server: ReferenceServer;
    let ada: ServerClient;
    let grace: ServerClient;

    beforeAll(async () => {
      database = await open();
      server = await createReferenceServer({ database, report: () => undefined });
      ada = await signIn(server.url);
      grace = await signIn(server.url, 'grace', 'hopper');
    }, 120_000);

    afterAll(async () => {
      await server?.close();
      await database?.close();
    });

    async function effectsOf(id: string): Promise<number> {
      const { applied } = await server.statistics();
      return applied.filter((one) => one.id === id).reduce((sum, one) => sum + one.count, 0);
    }

    async function created(body: Readonly<Record<string, unknown>> = {}) {
      const answer = await ada.create(body);
      expect(answer.status).toBe(201);
      const target: string = answer.json.receipt.target;
      return { target, path: `/api/workouts/${target}` };
    }

    function expectProblem(answer: Reply, status: number, code: string): void {
      expect({ status: answer.status, type: answer.json?.type, code: answer.json?.code }).toEqual({
        status,
        type: `urn:holdfast:problem:${code}`,
        code,
      });
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
      expect(answer.json).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
    }

    describe('files', () => {
      const photo = Uint8Array.from({ length: 5 * 1024 * 1024 }, (_, at) => at & 0xff);

      async function attach(
        workout: string,
        id: string = randomUUID(),
        type = 'image/jpeg',
        hash = hashOf(id),
      ) {
        return call(`${server.url}/api/workouts/${workout}/photos`, {
          method: 'POST',
          body: photo,
          headers: {
            authorization: `Bearer ${ada.token}`,
            'content-type': type,
            'idempotency-key': `"${id}"`,
            'holdfast-owner': 'ada',
            'holdfast-request-hash': hash,
            'holdfast-kind': 'photo.create',
          },
        });
      }
      const listed = async (path: string) => (await ada.get(`${path}/photos`)).json.items;

      it('[V1, V2] are stored once with their receipt, larger than any JSON, and answered as they came', async () => {
        const { target, path } = await created();
        const id = randomUUID();
        const first = await attach(target, id);
        expect(first.status).toBe(201);
        const { receipt } = first.json;
        expect(receipt).toMatchObject({ id, requestHash: hashOf(id), kind: 'photo.create', revision: 1 });
        const again = await attach(target, id);
        expect(again.json.receipt).toEqual({ ...receipt, replayed: true });
        expect(await effectsOf(id)).toBe(1);
        expect(await listed(path)).toEqual([
          { id: receipt.target, workout: target, type: 'image/jpeg', size: photo.length },
        ]);
        const answer = await fetch(`${server.url}/api/photos/${receipt.target}`, {
          headers: { authorization: `Bearer ${ada.token}` },
        });
        expect(answer.headers.get('content-type')).toBe('image/jpeg');
        expect(hashOf(Buffer.from(await answer.arrayBuffer()).toString('latin1'))).toBe(
          hashOf(Buffer.from(photo).toString('latin1')),
        );
      });

      it('[V2] under a key that is known with another file are refused', async () => {
        const { target } = await created();
        const id = randomUUID();
        await attach(target, id);
        expectProblem(await attach(target, id, 'image/jpeg', hashOf('other')), 422, 'idempotency_key_reused');
      });

      it('[V4, V5] that are no image, of no workout, or another account’s, are refused or not there', async () => {
        const { target, path } = await created();
        expectProblem(await attach(target, randomUUID(), 'text/html'), 413, 'too_large');
        expectProblem(await attach(randomUUID()), 404, 'not_found');
        const { json } = await attach(target);
        const photoPath = `/api/photos/${json.receipt.target}`;
        expect((await grace.get(photoPath)).status).toBe(404);
        expect((await grace.get(`${path}/photos`)).json.items).toEqual([]);
        const gone = await ada.send({ method: 'DELETE', path: photoPath });
        expect(gone.status).toBe(200);
        expect((await ada.get(photoPath)).status).toBe(410);
        expect(await listed(path)).toEqual([]);
      });
    });

    describe('ledger', () => {
      it('[V1] answers an applied command with the receipt of what it did', async () => {
        const id = randomUUID();
        const hash = hashOf(id);
        const answer = await ada.create({ weightKg: 60 }, { id, hash });
        expect(answer.status).toBe(201);
        expect(answer.json.receipt).toEqual({
          id,
          requestHash: hash,
          kind: 'workout.create',
          target: expect.any(String),
          revision: 1,
          generation: expect.any(Number),
          committedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        });
        expect(answer.json.receipt.generation).toBeGreaterThanOrEqual(1);
        expect(answer.json.workout).toEqual({
          id: answer.json.receipt.target,
          revision: 1,
          date: '2026-11-30',
          weightKg: 60,
        });
      });

      it('[V1] leaves neither change nor ledger entry of a command that broke off inside its transaction', async () => {
        const id = randomUUID();
        const command = { owner: 'ada', id, requestHash: 'h', family: 'workout', kind: 'workout.create' };
        const broken = server.ledger.carryOut(command, async (sql) => {
          await sql.query(
            `insert into demo_workouts (owner, id, revision, body, day) values ('ada', $1, 1, '{}', '')`,
            [id],
          );
          throw new Error('The process of the application failed');
        });
        await expect(broken).rejects.toThrow('The process of the application failed');
        expect(await server.ledger.find('ada', id)).toEqual({ type: 'none' });
        expect((await ada.get(`/api/workouts/${id}`)).status).toBe(404);
      });

      it('[V2] answers the same key and hash with the same receipt, replayed, and applies nothing again', async () => {
        const id = randomUUID();
        const first = await ada.create({ weightKg: 60 }, { id });
        const second = await ada.create({ weightKg: 60 }, { id });
        expect(second.status).toBe(first.status);
        expect(second.json.receipt).toEqual({ ...first.json.receipt, replayed: true });
        expect(second.headers.get('etag')).toBe('"1"');
        expect(await effectsOf(id)).toBe(1);
      });

      it('[V2] refuses the same key with another hash and keeps the first receipt', async () => {
        const id = randomUUID();
        const first = await ada.create({ weightKg: 60 }, { id });
        expectProblem(await ada.create({ weightKg: 80 }, { id }), 422, 'idempotency_key_reused');
        const again = await ada.create({ weightKg: 60 }, { id });
        expect(again.json.receipt.target).toBe(first.json.receipt.target);
        expect(await effectsOf(id)).toBe(1);
      });

      it('[V2] takes its own hash where the request names none', async () => {
        const id = randomUUID();
        const bare = { id, headers: { 'holdfast-request-hash': '' } };
        const send = (weightKg: number) => {
          const headers = new Headers({
            authorization: `Bearer ${ada.token}`,
            'idempotency-key': id,
            'holdfast-owner': 'ada',
            'content-type': 'application/json',
          });
          const body = JSON.stringify({ date: '2026-11-30', weightKg });
          return call(`${server.url}/api/workouts`, { method: 'POST', headers, body });
        };
        const first = await send(60);
        expect(first.status).toBe(201);
        expect((await send(60)).json.receipt).toEqual({ ...first.json.receipt, replayed: true });
        expectProblem(await send(80), 422, 'idempotency_key_reused');
        expectProblem(await ada.create({}, bare), 400, 'invalid');
      });

      it('[V2] applies a key once that 50 connections send at once', async () => {
        const id = randomUUID();
        const answers = await Promise.all(
          Array.from({ length: 50 }, () => ada.create({ weightKg: 60 }, { id })),
        );
        const decided = answers.filter((answer) => answer.status === 201);
        const waiting = answers.filter((answer) => answer.status !== 201);
        for (const answer of waiting) expectProblem(answer, 409, 'in_progress');
        expect(decided.filter((answer) => answer.json.receipt.replayed !== true)).toHaveLength(1);
        expect(new Set(decided.map((answer) => answer.json.receipt.target)).size).toBe(1);
        expect(await effectsOf(id)).toBe(1);
      });

      it('[V2] applies one of two requests that use a key for different things at once', async () => {
        const id = randomUUID();
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, n) => ada.create({ weightKg: n % 2 }, { id })),
        );
        const statuses = answers.map((answer) => answer.status).sort();
        expect(statuses).toEqual([...Array(10).fill(201), ...Array(10).fill(422)]);
        expect(await effectsOf(id)).toBe(1);
      });

      it('[V2] keeps keys of two accounts apart', async () => {
        const id = randomUUID();
        const mine = await ada.create({ weightKg: 60 }, { id });
        const theirs = await grace.create({ weightKg: 70 }, { id });
        expect(theirs.status).toBe(201);
        expect(theirs.json.receipt.target).not.toBe(mine.json.receipt.target);
      });

      it('[V2] answers late duplicates from before a delete with their receipts and brings nothing back', async () => {
        const ids = { create: randomUUID(), update: randomUUID() };
        const first = await ada.create({ weightKg: 60 }, { id: ids.create });
        const path = `/api/workouts/${first.json.receipt.target}`;
        const update = { method: 'PATCH', path, id: ids.update, body: { weightKg: 80 }, ifMatch: 1 };
        expect((await ada.send(update)).json.receipt.revision).toBe(2);
        expect((await ada.send({ method: 'DELETE', path, ifMatch: 2 })).status).toBe(200);
        const lateCreate = await ada.create({ weightKg: 60 }, { id: ids.create });
        const lateUpdate = await ada.send(update);
        expect(lateCreate.json.receipt).toEqual({ ...first.json.receipt, replayed: true });
        expect(lateUpdate.json.receipt).toMatchObject({ revision: 2, replayed: true });
        expectProblem(await ada.get(path), 410, 'gone');
      });

      it('[V2, D45] remembers a refusal, so that a late duplicate of it never has an effect', async () => {
        const day = '2031-05-05';
        const path = `/api/plans/${day}`;
        const id = randomUUID();
        const remove = { method: 'DELETE', path, id };
        expectProblem(await ada.send(remove), 404, 'not_found');
        expect((await ada.send({ method: 'PUT', path, body: { title: 'Legs' } })).status).toBe(200);
        expectProblem(await ada.send(remove), 404, 'not_found');
        expect((await ada.get(path)).json.title).toBe('Legs');
        expect((await ada.get(`/api/receipts/${id}`)).json).toEqual({
          refused: { code: 'not_found', status: 404 },
        });
      });

      it('[V2, D45] repeats a remembered refusal whole, and refuses its key for other content', async () => {
        const id = randomUUID();
        const { path } = await created();
        const stale = { method: 'PATCH', path, id, body: { weightKg: 1 }, ifMatch: 7 };
        const first = await ada.send(stale);
        const second = await ada.send(stale);
        expectProblem(first, 412, 'revision_conflict');
        expect(second.json).toEqual(first.json);
        expectProblem(await ada.send({ ...stale, hash: 'other' }), 422, 'idempotency_key_reused');
      });

      it('[V2] undoes what a refused command had written', async () => {
        const id = randomUUID();
        const command = { owner: 'ada', id, requestHash: 'h', family: 'workout', kind: 'workout.create' };
        const answer = await server.ledger.carryOut(command, async (sql) => {
          await sql.query(
            `insert into demo_workouts (owner, id, revision, body, day) values ('ada', $1, 1, '{}', '')`,
            [id],
          );
          return { type: 'refused', status: 422, code: 'invalid', detail: 'Second thoughts' };
        });
        expect(answer).toMatchObject({ type: 'refused', replayed: false });
        expect((await ada.get(`/api/workouts/${id}`)).status).toBe(404);
        expect(await server.ledger.find('ada', id)).toEqual({
          type: 'refused',
          code: 'invalid',
          status: 422,
        });
      });
    });

    describe('revisions', () => {
      it('[V3] applies at the expected revision, and refuses another with the actual one, untouched', async () => {
        const { path } = await created({ weightKg: 60 });
        const ok = await ada.send({ method: 'PATCH', path, body: { weightKg: 80 }, ifMatch: 1 });
        expect(ok.json.receipt).toMatchObject({ kind: 'workout.update', revision: 2 });
        for (const method of ['PATCH', 'DELETE']) {
          const stale = await ada.send({
            method,
            path,
            body: method === 'PATCH' ? { weightKg: 1 } : undefined,
            ifMatch: 1,
          });
          expectProblem(stale, 412, 'revision_conflict');
          expect(stale.json.actual_revision).toBe(2);
        }
        const now = await ada.get(path);
        expect(now.json).toMatchObject({ revision: 2, weightKg: 80 });
        expect(now.headers.get('etag')).toBe('"2"');
      });

      it('[V3] lets one of many updates from the same revision through', async () => {
        const { path } = await created();
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            ada.send({ method: 'PATCH', path, body: { weightKg: n }, ifMatch: 1 }),
          ),
        );
        expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
        for (const answer of answers.filter((one) => one.status !== 200)) {
          expectProblem(answer, 412, 'revision_conflict');
          expect(answer.json.actual_revision).toBe(2);
        }
      });

      it('[V3] says of a deleted record that it is gone, and of one that never was that it is not found', async () => {
        const { path } = await created();
        expect((await ada.send({ method: 'DELETE', path })).json.receipt).toMatchObject({ revision: 2 });
        expectProblem(await ada.send({ method: 'PATCH', path, body: { weightKg: 1 } }), 410, 'gone');
        expectProblem(await ada.send({ method: 'DELETE', path }), 410, 'gone');
        const unknown = `/api/workouts/${randomUUID()}`;
        expectProblem(await ada.send({ method: 'DELETE', path: unknown }), 404, 'not_found');
      });

      it('[V3] goes on counting a document over its removal', async () => {
        const path = '/api/plans/2032-01-01';
        const put = (ifMatch?: number) =>
          ada.send({
            method: 'PUT',
            path,
            body: { title: 'Legs' },
            ...(ifMatch === undefined ? {} : { ifMatch }),
          });
        expect((await put(0)).json.receipt).toMatchObject({ kind: 'plan.put', revision: 1, generation: 0 });
        expect((await ada.send({ method: 'DELETE', path, ifMatch: 1 })).json.receipt).toMatchObject({
          kind: 'plan.remove',
          revision: 2,
        });
        expect((await ada.get(path)).status).toBe(404);
        const stale = await put(1);
        expectProblem(stale, 412, 'revision_conflict');
        expect(stale.json.actual_revision).toBe(2);
        expect((await put(2)).json.receipt).toMatchObject({ revision: 3 });
      });

      it('[V3] counts the puts of one new day that came at once, each once', async () => {
        const path = '/api/plans/2032-02-02';
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, n) => ada.send({ method: 'PUT', path, body: { title: `${n}` } })),
        );
        const revisions = answers.map((answer) => answer.json.receipt.revision).sort((a, b) => a - b);
        expect(revisions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      });

      it('[D44] numbers the changes of an account so that derived data tells which it has seen', async () => {
        const before = (await grace.get('/api/statistics')).json;
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => grace.create({ weightKg: 10, reps: 2, sets: 3 })),
        );
        const generations = answers.map((answer) => answer.json.receipt.generation).sort((a, b) => a - b);
        expect(generations).toEqual(Array.from({ length: 8 }, (_, n) => before.generation + n + 1));
        const after = (await grace.get('/api/statistics')).json;
        expect(after.generation).toBe(generations.at(-1));
        expect(after.workouts).toBe(before.workouts + 8);
        expect(after.volume).toBe(before.volume + 8 * 60);
      });
    });

    describe('receipts', () => {
      it('[V4] finds the receipt of a key, again and again, for its owner alone', async () => {
        const id = randomUUID();
        const { receipt } = (await ada.create({}, { id, sourceRef: 'draft|1' })).json;
        for (let n = 0; n < 2; n++) {
          const found = await ada.get(`/api/receipts/${id}`);
          expect(found.status).toBe(200);
          expect(found.json).toEqual({ receipt: { ...receipt, replayed: true } });
        }
        expectProblem(await grace.get(`/api/receipts/${id}`), 404, 'no_such_receipt');
        expect(await effectsOf(id)).toBe(1);
      });

      it('[V4] says in its own words that there is no receipt, and leaves the key free', async () => {
        const id = randomUUID();
        expectProblem(await ada.get(`/api/receipts/${id}`), 404, 'no_such_receipt');
        expect((await ada.create({}, { id })).json.receipt.replayed).toBeUndefined();
      });

      it('[V4] finds a receipt only under the family and the sourceRef that it has', async () => {
        const id = randomUUID();
        await ada.create({}, { id, sourceRef: 'übung & 1' });
        const look = (query: string) => ada.get(`/api/receipts/${id}?${query}`);
        expect((await look(`family=workout&sourceRef=${encodeURIComponent('übung & 1')}`)).status).toBe(200);
        expectProblem(await look('sourceRef=other'), 404, 'no_such_receipt');
        expectProblem(await look('family=plan'), 404, 'no_such_receipt');
      });

      it('[V4, R34] never says that there is no receipt while the command is being applied', async () => {
        const id = randomUUID();
        const command = { owner: 'ada', id, requestHash: 'h', family: 'workout', kind: 'workout.create' };
        const reached = createGate();
        const go = createGate();
        const applying = server.ledger.carryOut(command, async () => {
          reached.open();
          await go.passed;
          return { type: 'applied', target: 't', revision: 1, generation: 1, status: 201 };
        });
        await reached.passed;
        const asking = server.ledger.find('ada', id);
        go.open();
        await applying;
        expect((await asking).type).toBe('receipt');
      });

      it('[V4] understands quoted and bare keys as one', async () => {
        const id = randomUUID();
        const bare = { headers: { 'idempotency-key': id } };
        const first = await ada.create({ weightKg: 2 }, { id });
        const second = await ada.create({ weightKg: 2 }, bare);
        expect(second.json.receipt).toEqual({ ...first.json.receipt, replayed: true });
      });
    });

    describe('owners', () => {
      it('[V5] refuses a command of another account than the one signed in, and changes nothing', async () => {
        const id = randomUUID();
        expectProblem(await grace.create({}, { id, owner: 'ada' }), 401, 'owner_mismatch');
        expect(await effectsOf(id)).toBe(0);
        expect((await ada.create({}, { id })).status).toBe(201);
      });

      it('[V5] refuses a command that names no account, and one that nobody is signed in for', async () => {
        expectProblem(
          await call(`${server.url}/api/workouts`, {
            method: 'POST',
            headers: { authorization: `Bearer ${ada.token}`, 'idempotency-key': randomUUID() },
          }),
          400,
          'invalid',
        );
        const nobody = await ada.create({}, { headers: { authorization: 'Bearer nothing' } });
        expectProblem(nobody, 401, 'unauthorized');
        expect(nobody.headers.get('www-authenticate')).toContain('Bearer');
      });

      it("[V5] finds nothing of another account's", async () => {
        const { path } = await created();
        expectProblem(await grace.get(path), 404, 'not_found');
        expectProblem(await grace.send({ method: 'PATCH', path, body: { weightKg: 1 } }), 404, 'not_found');
        expectProblem(await grace.send({ method: 'DELETE', path }), 404, 'not_found');
        expect((await ada.get(path)).status).toBe(200);
      });
    });

    describe('batch', () => {
      const command = (over: Readonly<Record<string, unknown>> = {}) => {
        const id = randomUUID();
        return {
          id,
          requestHash: hashOf(id),
          owner: 'ada',
          family: 'workout',
          kind: 'create',
          wireKind: 'workout.create',
          method: 'POST',
          url: '/api/workouts',
          body: { date: '2026-11-30' },
          ...over,
        };
      };
      const batch = async (commands: readonly unknown[]) => {
        const answer = await ada.send({ method: 'POST', path: '/api/batch', body: { commands } });
        expect(answer.status).toBe(200);
        return answer.json.answers;
      };

      it('[V7] answers each command with its own receipt, in order', async () => {
        const commands = [
          command(),
          command({
            method: 'PUT',
            url: '/api/plans/2033-03-03',
            wireKind: 'plan.put',
            body: { title: 'Rest' },
          }),
          command(),
        ];
        const answers = await batch(commands);
        expect(answers.map((one: Reply) => one.status)).toEqual([201, 200, 201]);
        for (const [index, { id, requestHash, wireKind }] of commands.entries()) {
          expect(answers[index]).toMatchObject({
            id,
            headers: { etag: '"1"' },
            body: { receipt: { id, requestHash, kind: wireKind } },
          });
        }
      });

      it('[V7] keeps a failure in the middle to its own command', async () => {
        const { path } = await created();
        const commands = [
          command(),
          command({
            method: 'PATCH',
            url: path,
            wireKind: 'workout.update',
            ifMatch: '"9"',
            body: { weightKg: 1 },
          }),
          command({ body: { date: 'someday' } }),
          command({ owner: 'grace' }),
          command(),
        ];
        const answers = await batch(commands);
        expect(answers.map((one: Reply) => one.status)).toEqual([201, 412, 422, 401, 201]);
        expect(answers[1].body).toMatchObject({ code: 'revision_conflict', actual_revision: 1 });
        expect(answers[3].body).toMatchObject({ code: 'owner_mismatch' });
      });

      it('[V7, V2] repeats a batch, and parts of it alone, without applying anything again', async () => {
        const commands = [command(), command()];
        const first = await batch(commands);
        const second = await batch([...commands].reverse());
        expect(second.map((one: { body: unknown }) => one.body)).toEqual(
          [first[1], first[0]].map((one) => ({ receipt: { ...one.body.receipt, replayed: true } })),
        );
        const [{ id, requestHash, body }] = commands as [ReturnType<typeof command>];
        const alone = await ada.send({ method: 'POST', path: '/api/workouts', id, hash: requestHash, body });
        expect(alone.json.receipt).toEqual({ ...first[0].body.receipt, replayed: true });
      });

      it('[V7, T30] lets no later command of a resource overtake one that was not decided', async () => {
        const { path } = await created({ weightKg: 60 });
        const update = (weightKg: number) =>
          command({ method: 'PATCH', url: path, wireKind: 'workout.update', body: { weightKg } });
        const [first, second] = [update(70), update(80)];
        server.faults.set([{ fault: { type: 'status', status: 500 }, count: 1, match: { key: first.id } }]);
        const answers = await batch([first, second, command()]);
        server.faults.clear();
        expect(answers.map((one: Reply) => one.status)).toEqual([500, 409, 201]);
        expect(answers[1].headers['retry-after']).toBe('1');
        expect((await ada.get(path)).json.weightKg).toBe(60);
      });

      it('[V7] refuses what is no batch, and a batch in a batch', async () => {
        const send = (body: unknown) => ada.send({ method: 'POST', path: '/api/batch', body });
        expectProblem(await send({}), 400, 'invalid');
        expectProblem(await send({ commands: [] }), 400, 'invalid');
        expectProblem(
          await send({ commands: Array.from({ length: 101 }, () => command()) }),
          413,
          'too_large',
        );
        const nested = await batch([
          command({ url: '/api/batch' }),
          7,
          command({ method: 'GET' }),
          command({ url: '//' }),
        ]);
        expect(nested.map((one: Reply) => one.status)).toEqual([400, 400, 400, 400]);
      });
    });

    describe('input', () => {
      it.each([
        { what: 'malformed JSON', body: '{"date":', status: 400, code: 'invalid' },
        { what: 'an array', body: '[]', status: 400, code: 'invalid' },
        { what: 'a text', body: '"x"', status: 400, code: 'invalid' },
        { what: 'no date', body: '{}', status: 422, code: 'invalid' },
        { what: 'a wrong type', body: '{"date":"2026-11-30","weightKg":"60"}', status: 422, code: 'invalid' },
        { what: 'a day that is not', body: '{"date":"2026-02-30"}', status: 422, code: 'invalid' },
      ])('[V4] answers $what with a problem document', async ({ body, status, code }) => {
        expectProblem(await ada.send({ method: 'POST', path: '/api/workouts', body }), status, code);
      });

      it('[V4] stores what JSON can say, lone surrogates and U+0000 included', async () => {
        const note = 'a\u0000b \ud800 \u{1f3cb} __proto__';
        const body = `{"date":"2026-11-30","note":${JSON.stringify(note)},"__proto__":{"x":1}}`;
        const answer = await ada.send({ method: 'POST', path: '/api/workouts', body });
        expect(answer.status).toBe(201);
        const stored = await ada.get(`/api/workouts/${answer.json.receipt.target}`);
        expect(stored.json.note).toBe(note);
      });

      it('[V4] answers values that the database cannot hold without leaking its words', async () => {
        const answer = await ada.create({}, { sourceRef: 'a\u0000b' });
        expectProblem(answer, 422, 'invalid');
        expect(answer.text).not.toMatch(/22021|byte sequence|insert/i);
        expectProblem(await ada.get('/api/workouts/a%00b'), 422, 'invalid');
      });

      it('[V4] refuses keys, revisions and kinds that it cannot read', async () => {
        const { path } = await created();
        const patch = { method: 'PATCH', path, body: { weightKg: 1 } };
        expectProblem(await ada.send({ ...patch, headers: { 'idempotency-key': '"open' } }), 400, 'invalid');
        expectProblem(await ada.send({ ...patch, headers: { 'idempotency-key': '""' } }), 400, 'invalid');
        expectProblem(await ada.send({ ...patch, id: 'x'.repeat(300) }), 400, 'invalid');
        expectProblem(await ada.send({ ...patch, ifMatch: '"abc"' }), 400, 'invalid');
        expectProblem(await ada.send({ ...patch, kind: 'workout.delete' }), 400, 'invalid');
        expectProblem(
          await ada.send({ ...patch, headers: { 'holdfast-owner': '%E0%A4%A' } }),
          400,
          'invalid',
        );
        expect((await ada.send({ ...patch, kind: 'workout.update' })).status).toBe(200);
      });

      it('[V4] answers unknown addresses and methods with problem documents', async () => {
        expectProblem(await ada.get('/api/nothing'), 404, 'not_found');
        const wrong = await ada.send({ method: 'PUT', path: '/api/workouts' });
        expectProblem(wrong, 405, 'method_not_allowed');
        expect(wrong.headers.get('allow')).toBe('POST, GET');
      });

      it('[V4] reads lists in order, a page at a time', async () => {
        const days = ['2040-01-03', '2040-01-01', '2040-01-02'];
        for (const date of days) await ada.create({ date });
        const read = async (query: string) =>
          (await ada.get(`/api/workouts?from=2040-01-01&to=2040-01-31${query}`)).json.items;
        const all = await read('');
        expect(all.map((one: { date: string }) => one.date)).toEqual([
          '2040-01-03',
          '2040-01-02',
          '2040-01-01',
        ]);
        const first = await read('&limit=2');
        expect(await read(`&limit=2&after=${first[1].id}`)).toEqual([all[2]]);
        expectProblem(await ada.get('/api/workouts?limit=0'), 400, 'invalid');
      });
    });
  });
}
