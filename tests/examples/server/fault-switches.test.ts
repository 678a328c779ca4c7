/** The fault switches (V9), over HTTP as the demo and the browser tests use them. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../examples/server/database/database.ts';
import { type FaultRule, RECEIPT_FIELDS } from '../../../examples/server/faults/fault-rule.ts';
import { createReferenceServer, type ReferenceServer } from '../../../examples/server/reference-server.ts';
import { call, type ServerClient, signIn } from '../../support/server-client.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

describe('fault switches', () => {
  let database: Database;
  let server: ReferenceServer;
  let ada: ServerClient;

  beforeAll(async () => {
    database = await openTestPglite();
    server = await createReferenceServer({ database, random: () => 0.5 });
    ada = await signIn(server.url);
  }, 120_000);

  afterEach(async () => {
    await call(`${server.url}/api/_test/reset`, { method: 'POST' });
  });

  afterAll(async () => {
    await server?.close();
    await database?.close();
  });

  async function set(...rules: readonly FaultRule[]): Promise<void> {
    const answer = await ada.send({ method: 'POST', path: '/api/_test/faults', body: { rules } });
    expect(answer.status).toBe(200);
  }

  async function effects(): Promise<number> {
    return (await ada.get('/api/_test/ledger')).json.effects.length;
  }

  it.each([
    { status: 500, retryAfter: undefined, code: 'internal' },
    { status: 503, retryAfter: 7, code: 'unavailable' },
    { status: 429, retryAfter: 'Wed, 21 Oct 2037 07:28:00 GMT', code: 'too_many_requests' },
    { status: 401, retryAfter: undefined, code: 'unauthorized' },
    { status: 403, retryAfter: undefined, code: 'forbidden' },
  ])(
    '[V9] answers $status once, without applying, and then works again',
    async ({ status, retryAfter, code }) => {
      await set({ fault: { type: 'status', status, retryAfter }, count: 1 });
      const id = randomUUID();
      const failed = await ada.create({}, { id });
      expect(failed.status).toBe(status);
      expect(failed.json.code).toBe(code);
      expect(failed.headers.get('retry-after')).toBe(retryAfter === undefined ? null : String(retryAfter));
      expect(await effects()).toBe(0);
      expect((await ada.create({}, { id })).json.receipt.replayed).toBeUndefined();
    },
  );

  it('[V9] answers "in progress" and redirects without applying', async () => {
    await set({ fault: { type: 'in_progress' }, count: 1 });
    const busy = await ada.create();
    expect([busy.status, busy.json.code, busy.headers.get('retry-after')]).toEqual([409, 'in_progress', '1']);
    await set({ fault: { type: 'redirect', to: '/elsewhere' }, count: 1 });
    const moved = await ada.create();
    expect([moved.status, moved.headers.get('location')]).toEqual([302, '/elsewhere']);
    expect(await effects()).toBe(0);
  });

  it("[V9] shows a captive portal's page instead of the server, or in place of its answer", async () => {
    await set({ fault: { type: 'portal' }, count: 1 });
    const instead = await ada.create();
    expect([instead.status, instead.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await effects()).toBe(0);
    await set({ fault: { type: 'portal_after' }, count: 1 });
    expect((await ada.create()).text).toContain('Wi-Fi');
    expect(await effects()).toBe(1);
  });

  it.each([
    { fault: { type: 'reset_before' }, applied: 0 },
    { fault: { type: 'reset_after' }, applied: 1 },
    { fault: { type: 'truncate' }, applied: 1 },
    { fault: { type: 'crash_after' }, applied: 1 },
  ] as const)(
    '[V9] breaks the connection ($fault.type), and the repeat finds what was applied',
    async ({ fault, applied }) => {
      await set({ fault, count: 1 });
      const id = randomUUID();
      await expect(ada.create({}, { id })).rejects.toThrow(/fetch failed|terminated/);
      expect(await effects()).toBe(applied);
      expect((await ada.create({}, { id })).json.receipt.replayed).toBe(applied === 1 ? true : undefined);
      expect(await effects()).toBe(1);
    },
  );

  it.each([
    { fault: { type: 'silence_before' }, applied: 0 },
    { fault: { type: 'drop_answer' }, applied: 1 },
  ] as const)('[V9] leaves a request without an answer ($fault.type)', async ({ fault, applied }) => {
    await set({ fault, count: 1 });
    const id = randomUUID();
    const giveUp = new AbortController();
    const lost = expect(ada.create({}, { id, signal: giveUp.signal })).rejects.toThrow('aborted');
    // The log names the ending when the server is done with the request: from then on only silence is left.
    const answered = async () => (await ada.get('/api/_test/requests')).json.requests.at(-1)?.ending;
    while ((await answered()) !== 'silence');
    giveUp.abort();
    await lost;
    expect(await effects()).toBe(applied);
    expect((await ada.create({}, { id })).json.receipt.replayed).toBe(applied === 1 ? true : undefined);
  });

  it.each(RECEIPT_FIELDS.map((field) => ({ field })))(
    '[V9] sends a receipt with a wrong $field',
    async ({ field }) => {
      await set({ fault: { type: 'wrong_receipt', field }, count: 1 });
      const id = randomUUID();
      const wrong = (await ada.create({}, { id })).json.receipt;
      const right = (await ada.create({}, { id })).json.receipt;
      expect(wrong[field]).not.toEqual(right[field]);
      expect({ ...wrong, [field]: right[field], replayed: true }).toEqual(right);
    },
  );

  it('[V9] leaves the receipt out, sends no body at all, or an error, after applying', async () => {
    await set({ fault: { type: 'no_receipt' }, count: 1 });
    const bare = await ada.create();
    expect(bare.json.workout.revision).toBe(1);
    expect(bare.json).not.toHaveProperty('receipt');
    await set({ fault: { type: 'empty' }, count: 1 });
    expect((await ada.create()).status).toBe(204);
    await set({ fault: { type: 'status_after', status: 500 }, count: 1 });
    expect((await ada.create()).status).toBe(500);
    expect(await effects()).toBe(3);
  });

  it('[V9] delays before applying, and ends the delay when the server closes', async () => {
    const own = await createReferenceServer({ database });
    const client = await signIn(own.url);
    own.faults.set([{ fault: { type: 'delay', ms: 600_000 } }]);
    const waiting = expect(client.create()).rejects.toThrow('fetch failed');
    while (own.requests().at(-1)?.path !== '/api/workouts') await new Promise((next) => setImmediate(next));
    expect(await effects()).toBe(0);
    await own.close();
    await waiting;
  });

  it('[V9] meets only what its filter names, as often as it says', async () => {
    await set(
      { fault: { type: 'status', status: 500 }, match: { family: 'plan' } },
      {
        fault: { type: 'status', status: 503 },
        match: { method: 'PATCH', path: '/api/workouts/' },
        count: 2,
      },
    );
    const created = await ada.create({}, { kind: 'workout.create' });
    expect(created.status).toBe(201);
    const plan = { method: 'PUT', path: '/api/plans/2026-11-30', body: { title: 'Legs' }, kind: 'plan.put' };
    expect((await ada.send(plan)).status).toBe(500);
    const path = `/api/workouts/${created.json.receipt.target}`;
    const patch = () => ada.send({ method: 'PATCH', path, body: { weightKg: 1 } });
    expect([(await patch()).status, (await patch()).status, (await patch()).status]).toEqual([503, 503, 200]);
    const { rules } = (await ada.get('/api/_test/faults')).json;
    expect(rules.map((rule: { hits: number }) => rule.hits)).toEqual([1, 2]);
  });

  it('[V9] meets the share of requests that it says, by the numbers it is given', async () => {
    await set({ fault: { type: 'status', status: 500 }, percent: 50 });
    expect((await ada.create()).status).toBe(201);
    await set({ fault: { type: 'status', status: 500 }, percent: 51 });
    expect((await ada.create()).status).toBe(500);
  });

  it('[V9, V7] meets single commands in a batch by key or kind, and the batch as a whole without', async () => {
    const ids = [randomUUID(), randomUUID()];
    const commands = ids.map((id) => ({
      id,
      requestHash: 'h',
      owner: 'ada',
      wireKind: 'workout.create',
      method: 'POST',
      url: '/api/workouts',
      body: { date: '2026-11-30' },
    }));
    const send = () => ada.send({ method: 'POST', path: '/api/batch', body: { commands } });
    await set({ fault: { type: 'no_receipt' }, match: { key: ids[1] }, count: 1 });
    const answers = (await send()).json.answers;
    expect(answers.map((one: { body: object }) => 'receipt' in one.body)).toEqual([true, false]);
    await set({ fault: { type: 'status', status: 503 }, count: 1 });
    expect((await send()).status).toBe(503);
    await set({ fault: { type: 'reset_after' }, match: { key: ids[0] }, count: 1 });
    await expect(send()).rejects.toThrow('fetch failed');
    expect(await effects()).toBe(2);
  });

  it('[V9] breaks every connection while it is stopped, but for the switches', async () => {
    const stopped = (value: boolean) =>
      ada.send({ method: 'POST', path: '/api/_test/faults', body: { stopped: value } });
    expect((await stopped(true)).json.stopped).toBe(true);
    await expect(ada.create()).rejects.toThrow('fetch failed');
    await expect(ada.get('/api/session')).rejects.toThrow('fetch failed');
    await stopped(false);
    expect((await ada.create()).status).toBe(201);
  });

  it.each([
    { rules: 'all' },
    { rules: [{ fault: { type: 'earthquake' } }] },
    { rules: [{ fault: { type: 'delay' } }] },
    { rules: [{ fault: { type: 'wrong_receipt', field: 'owner' } }] },
    { rules: [{ fault: { type: 'status', status: 999 } }] },
    { rules: [{ fault: { type: 'empty' }, percent: 101 }] },
    { rules: [{ fault: { type: 'empty' }, match: { key: 5 } }] },
  ])('[V9] refuses rules that it does not understand: %j', async (body) => {
    const answer = await ada.send({ method: 'POST', path: '/api/_test/faults', body });
    expect(answer.status).toBe(400);
    expect((await ada.get('/api/_test/faults')).json.rules).toEqual([]);
  });

  it('[V9, T30] counts effects per key in order, with the requests that came in', async () => {
    const id = randomUUID();
    const first = await ada.create({ weightKg: 60 }, { id });
    const target = first.json.receipt.target;
    await ada.create({ weightKg: 60 }, { id });
    await ada.send({ method: 'PATCH', path: `/api/workouts/${target}`, body: { weightKg: 80 }, ifMatch: 1 });
    const { effects: lines, applied } = (await ada.get('/api/_test/ledger?owner=ada')).json;
    expect(
      lines.map((one: { kind: string; revision: number; target: string }) => [
        one.kind,
        one.revision,
        one.target,
      ]),
    ).toEqual([
      ['workout.create', 1, target],
      ['workout.update', 2, target],
    ]);
    expect(applied.map((one: { count: number }) => one.count)).toEqual([1, 1]);
    expect((await ada.get('/api/_test/ledger?owner=grace')).json).toEqual({ effects: [], applied: [] });
    const { requests } = (await ada.get('/api/_test/requests')).json;
    expect(requests.map((one: { key: string; status: number }) => [one.key === id, one.status])).toEqual([
      [true, 201],
      [true, 201],
      [false, 200],
    ]);
  });

  it('[V9] has neither switches nor logs in production', async () => {
    const production = await createReferenceServer({ database, faults: false });
    const client = await signIn(production.url);
    for (const path of ['faults', 'ledger', 'requests'])
      expect((await client.get(`/api/_test/${path}`)).status).toBe(404);
    expect((await client.create()).status).toBe(201);
    expect(production.requests()).toEqual([]);
    expect(await production.statistics()).toEqual({ effects: [], applied: [] });
    expect(() => production.faults).toThrow('Fault switches are off');
    await production.close();
  });
});
