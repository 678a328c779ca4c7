/** The HTTP sender and the reference server, held against each other: what one says the other understands. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../examples/server/database/database.ts';
import type { Fault } from '../../../examples/server/faults/fault-rule.ts';
import { createReferenceServer, type ReferenceServer } from '../../../examples/server/reference-server.ts';
import { defineOutbox, document, record } from '../../../shared/family.ts';
import type { Receipt } from '../../../shared/receipt.ts';
import { httpSender } from '../../../sw/dispatch/http-sender.ts';
import { judgeAnswer } from '../../../sw/dispatch/judge-answer.ts';
import { judgeLookup } from '../../../sw/dispatch/judge-lookup.ts';
import type { SenderFor, SendRequest } from '../../../sw/dispatch/sender.ts';
import { url } from '../../../sw/dispatch/url.ts';
import { sendFixture } from '../../support/send-fixture.ts';
import { signIn } from '../../support/server-client.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

const definition = defineOutbox({ workout: record(), plan: document() });
const { signal } = new AbortController();

describe('the HTTP sender on the reference server', () => {
  let database: Database;
  let server: ReferenceServer;
  let sender: SenderFor<typeof definition.families>;
  let headers: Readonly<Record<string, string>>;
  let sentCount = 0;

  beforeAll(async () => {
    database = await openTestPglite();
    server = await createReferenceServer({ database });
    headers = { authorization: `Bearer ${(await signIn(server.url)).token}` };
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
      {
        baseUrl: server.url,
        receipts: '/api/receipts',
        batch: { url: '/api/batch' },
        fetch: (sent) => {
          sentCount++;
          return fetch(sent);
        },
      },
    );
  }, 120_000);
  afterAll(async () => {
    await server?.close();
    await database?.close();
  });

  const request = (over: Partial<SendRequest>): SendRequest =>
    sendFixture({ id: randomUUID(), owner: 'ada', headers, expectedRevision: undefined, ...over });
  const create = (over: Partial<SendRequest> = {}) => {
    const id = randomUUID();
    const body = { date: '2026-11-30', weightKg: 60 };
    return request({ id, kind: 'create', target: { type: 'pending', origin: id }, body, ...over });
  };
  const judged = (sent: SendRequest, answer: Parameters<typeof judgeAnswer>[0]) =>
    judgeAnswer(answer, sent, {
      owner: sent.owner,
      family: definition.families[sent.family as 'plan'],
      now: 0,
    });
  const send = async (sent: SendRequest) => judged(sent, await sender.send(sent, signal));
  const created = async (): Promise<Receipt> => {
    const end = await send(create());
    if (end.type !== 'accepted') throw new Error(`not created: ${end.type}`);
    return end.receipt;
  };
  const lookUp = async (sent: SendRequest) =>
    judgeLookup((await sender.findReceipt?.(sent, signal)) ?? { type: 'none' }, sent, {
      owner: sent.owner,
      family: record(),
      now: 0,
    });

  it('[V2, D20] is given a receipt that proves each command, and the same one again for the same key', async () => {
    const made = create();
    const first = await send(made);
    expect(first).toMatchObject({ type: 'accepted', receipt: { revision: 1, kind: 'workout.create' } });
    const again = await send(made);
    expect(again).toMatchObject({ type: 'accepted', receipt: { replayed: true } });
    const target = { type: 'id', id: first.type === 'accepted' ? first.receipt.target : '' } as const;
    const update = request({ target, body: { weightKg: 80 }, expectedRevision: 1 });
    expect(await send(update)).toMatchObject({ type: 'accepted', receipt: { revision: 2 } });
    const gone = request({ kind: 'delete', target, body: undefined, expectedRevision: 2 });
    expect(await send(gone)).toMatchObject({ type: 'accepted', receipt: { kind: 'workout.delete' } });
    const date = { type: 'id', id: '2026-11-30' } as const;
    const put = request({ family: 'plan', kind: 'put', target: date, body: { title: 'Legs' } });
    expect(await send(put)).toMatchObject({ type: 'accepted', receipt: { target: '2026-11-30' } });
  });

  it('[V2, V3, V5, D10] understands its refusals', async () => {
    const made = create();
    const end = await send(made);
    expect(await send({ ...made, requestHash: 'other' })).toMatchObject({
      code: 'key_reused',
      applied: 'maybe',
    });
    const target = { type: 'id', id: end.type === 'accepted' ? end.receipt.target : '' } as const;
    expect(await send(request({ target, expectedRevision: 7 }))).toMatchObject({
      type: 'conflict',
      actual: 1,
    });
    expect(await send(request({ target, owner: 'grace' }))).toMatchObject({
      type: 'signed_out',
      failure: { code: 'owner_mismatch' },
    });
    expect(await send(request({ target, headers: {} }))).toMatchObject({
      type: 'signed_out',
      failure: { code: 'unauthorized' },
    });
    const nowhere = { type: 'id', id: randomUUID() } as const;
    expect(await send(request({ target: nowhere }))).toMatchObject({ code: 'source_deleted' });
    const gone = request({ kind: 'delete', target: nowhere, body: undefined });
    expect(await send(gone)).toEqual({ type: 'already_gone' });
  });

  it('[V2, D45] takes its remembered refusal for proof that the key was never applied', async () => {
    const bad = create({ body: { weightKg: 'heavy' } });
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await send(bad)).toMatchObject({ type: 'refused', code: 'rejected', applied: 'never' });
    expect(await lookUp(bad)).toEqual({ type: 'refused', code: 'rejected' });
  });

  it('[V4] finds receipts, and takes only its own word for "none"', async () => {
    const made = create({ sourceRef: 'draft & 7' });
    expect(await lookUp(made)).toEqual({ type: 'none' });
    await send(made);
    expect(await lookUp(made)).toMatchObject({ type: 'receipt', receipt: { id: made.id, replayed: true } });
    expect(await lookUp({ ...made, sourceRef: 'another' })).toEqual({ type: 'none' });
    expect(await lookUp({ ...made, headers: {} })).toMatchObject({ type: 'no_answer', isSignedOut: true });
  });

  it('[D30] reads the current state of a resource', async () => {
    const { target } = await created();
    const read = sender.readCurrentOf?.('workout');
    const state = await read?.({ owner: 'ada', target, headers }, signal);
    expect(state).toMatchObject({ revision: 1, body: { weightKg: 60 } });
    expect(await read?.({ owner: 'ada', target: randomUUID(), headers }, signal)).toBeUndefined();
  });

  it('[V7] sends several commands at once, each with its own receipt', async () => {
    const { target } = await created();
    const stale = request({ target: { type: 'id', id: target }, body: { weightKg: 1 }, expectedRevision: 9 });
    const sent = [create(), stale, create()];
    const before = sentCount;
    const answers = (await sender.sendBatch?.(sent, signal)) ?? [];
    const ends = sent.map((each, place) => judged(each, answers[place] ?? ({} as never)));
    expect(ends).toMatchObject([{ type: 'accepted' }, { type: 'conflict', actual: 1 }, { type: 'accepted' }]);
    expect(sentCount).toBe(before + 1);
  });

  const faults: readonly (readonly [Fault, object])[] = [
    [{ type: 'portal' }, { type: 'transient', failure: { code: 'portal' } }],
    [{ type: 'portal_after' }, { type: 'transient', failure: { code: 'portal' }, applied: 'maybe' }],
    [{ type: 'no_receipt' }, { type: 'refused', code: 'receipt_missing', applied: 'maybe' }],
    [{ type: 'empty' }, { type: 'refused', code: 'receipt_missing', applied: 'maybe' }],
    [{ type: 'truncate' }, { type: 'transient', scope: 'network', applied: 'maybe' }],
    [{ type: 'reset_before' }, { type: 'transient', scope: 'network', applied: 'maybe' }],
    [{ type: 'reset_after' }, { type: 'transient', scope: 'network', applied: 'maybe' }],
    [{ type: 'in_progress' }, { type: 'transient', scope: 'key', failure: { code: 'in_progress' } }],
    [{ type: 'redirect' }, { type: 'transient', failure: { code: 'redirect' } }],
    [
      { type: 'status', status: 429, retryAfter: 5 },
      { scope: 'owner', retryAt: 5_000 },
    ],
    [
      { type: 'status', status: 503, retryAfter: 5 },
      { scope: 'everyone', retryAt: 5_000 },
    ],
    [
      { type: 'status_after', status: 500 },
      { type: 'transient', scope: 'key', applied: 'maybe' },
    ],
  ];

  it.each(faults)('[V9, D10] reads the fault %o as what it is', async (fault, expected) => {
    server.faults.add({ fault, count: 1 });
    expect(await send(create())).toMatchObject(expected);
  });

  it.each(['kind', 'id', 'requestHash', 'revision', 'generation'] as const)(
    '[V9, D28] sees that the receipt’s %s is another’s',
    async (field) => {
      server.faults.add({ fault: { type: 'wrong_receipt', field }, count: 1 });
      expect(await send(create())).toMatchObject({ code: 'receipt_mismatch', rejection: { field } });
    },
  );
});
