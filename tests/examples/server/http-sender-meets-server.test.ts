/** Both halves of the HTTP table at once: the engine's own sender against the reference server. */
import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../examples/server/database/database.ts';
import { createReferenceServer, type ReferenceServer } from '../../../examples/server/reference-server.ts';
import { defineOutbox, document, record } from '../../../shared/family.ts';
import type { Target } from '../../../shared/key.ts';
import type { CommandKind } from '../../../shared/row.ts';
import { classifyFailure } from '../../../sw/dispatch/classify-failure.ts';
import { failureSignals } from '../../../sw/dispatch/failure-signals.ts';
import { httpSender } from '../../../sw/dispatch/http-sender.ts';
import type { Answer, Sender, SendRequest } from '../../../sw/dispatch/sender.ts';
import { url } from '../../../sw/dispatch/url.ts';
import { checkReceipt, type ReceiptVerdict } from '../../../sw/receipts/check-receipt.ts';
import { type ServerClient, signIn } from '../../support/server-client.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

const definition = defineOutbox({
  workout: record({
    create: v.object({ date: v.string(), weightKg: v.number() }),
    update: v.object({ weightKg: v.number() }),
  }),
  plan: document({ put: v.object({ title: v.string() }) }),
});

describe('http sender and reference server', () => {
  let database: Database;
  let server: ReferenceServer;
  let ada: ServerClient;
  let sender: Sender;

  beforeAll(async () => {
    database = await openTestPglite();
    server = await createReferenceServer({ database });
    ada = await signIn(server.url);
    sender = httpSender<typeof definition.families>(
      {
        workout: {
          create: ({ body }) => ({ method: 'POST', url: '/api/workouts', json: body }),
          update: ({ target, body }) => ({ method: 'PATCH', url: url`/api/workouts/${target}`, json: body }),
          delete: ({ target }) => ({ method: 'DELETE', url: url`/api/workouts/${target}` }),
          read: ({ target }) => ({ method: 'GET', url: url`/api/workouts/${target}` }),
        },
        plan: {
          put: ({ target, body }) => ({ method: 'PUT', url: url`/api/plans/${target}`, json: body }),
          remove: ({ target }) => ({ method: 'DELETE', url: url`/api/plans/${target}` }),
        },
      },
      { baseUrl: server.url, receipts: '/api/receipts', batch: { url: '/api/batch' } },
    );
  }, 120_000);

  afterAll(async () => {
    await server?.close();
    await database?.close();
  });

  const { signal } = new AbortController();

  function request(
    family: 'workout' | 'plan',
    kind: CommandKind,
    over: Partial<SendRequest> & { readonly target?: Target } = {},
  ): SendRequest {
    const id = over.id ?? randomUUID();
    return {
      id,
      requestHash: 'a'.repeat(64),
      owner: 'ada',
      family,
      kind,
      wireKind: `${family}.${kind}`,
      target: { type: 'pending', origin: id },
      body: undefined,
      headers: { authorization: `Bearer ${ada.token}` },
      attempt: 1,
      ...over,
    };
  }

  const create = (over: Partial<SendRequest> = {}) =>
    request('workout', 'create', { body: { date: '2026-11-30', weightKg: 60 }, ...over });

  function verdict(sent: SendRequest, answer: Answer): ReceiptVerdict {
    const json = answer.type === 'response' ? answer.json : undefined;
    const receipt = typeof json === 'object' && json !== null && 'receipt' in json ? json.receipt : undefined;
    const type = sent.family === 'plan' ? 'document' : 'record';
    return checkReceipt({ receipt, sent, owner: 'ada', family: { type } });
  }

  async function accepted(sent: SendRequest) {
    const judged = verdict(sent, await sender.send(sent, signal));
    if (judged.type !== 'matches') throw new Error(`Rejected: ${JSON.stringify(judged.rejection)}`);
    return judged.receipt;
  }

  it('[V1, D20] every command is answered with a receipt that the engine accepts', async () => {
    const created = await accepted(create());
    const target: Target = { type: 'id', id: created.target };
    const updated = await accepted(
      request('workout', 'update', { target, body: { weightKg: 80 }, expectedRevision: created.revision }),
    );
    expect(updated.revision).toBe(2);
    await accepted(request('workout', 'delete', { target, expectedRevision: 2 }));
    const day: Target = { type: 'id', id: '2026-12-01' };
    await accepted(request('plan', 'put', { target: day, body: { title: 'Legs' } }));
    await accepted(request('plan', 'remove', { target: day }));
  });

  it('[V2, D10] a repeat is replayed, and a reused key is read as key_reused', async () => {
    const sent = create();
    const first = await accepted(sent);
    expect(await accepted(sent)).toEqual({ ...first, replayed: true });
    const reused = await sender.send({ ...sent, requestHash: 'b'.repeat(64) }, signal);
    expect(classifyFailure(failureSignals(reused), 'create')).toMatchObject({
      class: 'permanent',
      code: 'key_reused',
    });
  });

  it('[V3, D10] a revision conflict is read with the actual revision, and the resource as it is', async () => {
    const created = await accepted(create());
    const target: Target = { type: 'id', id: created.target };
    const stale = request('workout', 'update', { target, body: { weightKg: 1 }, expectedRevision: 5 });
    const answer = await sender.send(stale, signal);
    expect(classifyFailure(failureSignals(answer), 'update').class).toBe('conflict');
    expect(failureSignals(answer).actualRevision).toBe(1);
    const { headers } = stale;
    expect(
      await sender.readCurrentOf?.('workout')?.({ owner: 'ada', target: created.target, headers }, signal),
    ).toEqual({
      revision: 1,
      body: { id: created.target, revision: 1, date: '2026-11-30', weightKg: 60 },
    });
  });

  it('[V4, D45] receipts, refusals and their absence are told apart by the look-up', async () => {
    const sent = create({ sourceRef: 'draft|1' });
    const receipt = await accepted(sent);
    const look = (id: string, sourceRef?: string) =>
      sender.findReceipt?.({ owner: 'ada', id, family: 'workout', sourceRef, headers: sent.headers }, signal);
    expect(await look(sent.id, 'draft|1')).toEqual({
      type: 'receipt',
      receipt: { ...receipt, replayed: true },
    });
    expect(await look(sent.id, 'draft|2')).toEqual({ type: 'none' });
    expect(await look(randomUUID())).toEqual({ type: 'none' });
    const refused = create({ body: { date: 'someday', weightKg: 1 } });
    await sender.send(refused, signal);
    expect(await look(refused.id)).toEqual({ type: 'refused', code: 'invalid', status: 422 });
  });

  it("[V5, D10] another account's row is held, and nothing is applied", async () => {
    const sent = create({ owner: 'grace' });
    const answer = await sender.send(sent, signal);
    expect(classifyFailure(failureSignals(answer), 'create').class).toBe('auth');
    expect((await server.statistics('grace')).effects).toEqual([]);
  });

  it('[V7, V2] a batch brings each command its own receipt or refusal', async () => {
    const sent = [create(), create({ body: { date: 'someday', weightKg: 1 } }), create()];
    const answers = (await sender.sendBatch?.(sent, signal)) ?? [];
    const types = sent.map((one, index) => {
      const answer = answers[index];
      return answer ? verdict(one, answer).type : 'missing';
    });
    expect(types).toEqual(['matches', 'rejected', 'matches']);
    expect(server.requests().filter((one) => one.path === '/api/batch')).toHaveLength(1);
  });

  it('[V9, D10] what the fault switches do is read as what it stands for', async () => {
    const classes: string[] = [];
    for (const fault of [
      { type: 'status', status: 500 },
      { type: 'status', status: 503, retryAfter: 1 },
      { type: 'status', status: 401 },
      { type: 'status', status: 403 },
      { type: 'in_progress' },
      { type: 'portal' },
      { type: 'reset_before' },
      { type: 'truncate' },
    ] as const) {
      server.faults.set([{ fault, count: 1 }]);
      const answer = await sender.send(create(), signal);
      classes.push(classifyFailure(failureSignals(answer), 'create').class);
    }
    const [transient, auth, permanent] = ['transient', 'auth', 'permanent'];
    expect(classes).toEqual([
      transient,
      transient,
      auth,
      permanent,
      transient,
      transient,
      transient,
      transient,
    ]);
  });
});
