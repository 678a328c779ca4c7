import { describe, expect, it } from 'vitest';
import type { RecordFamily } from '../../../shared/family.ts';
import { record } from '../../../shared/family.ts';
import { httpSender } from '../../../sw/dispatch/http-sender.ts';
import { judgeAnswer } from '../../../sw/dispatch/judge-answer.ts';
import type { Answer, SendRequest } from '../../../sw/dispatch/sender.ts';
import { url } from '../../../sw/dispatch/url.ts';
import { receiptFixture } from '../../support/receipt-fixture.ts';
import { sendFixture } from '../../support/send-fixture.ts';

const request = (n: number, overrides: Partial<SendRequest> = {}) =>
  sendFixture({ id: `id-${n}`, target: { type: 'id', id: `w${n}` }, body: { n }, ...overrides });
const json = (body: unknown, status = 200) =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } });

function setUp(batch: (commands: readonly { id: string }[]) => Response | Promise<Response>) {
  const seen: string[] = [];
  const bodies: unknown[] = [];
  const sender = httpSender<{ workout: RecordFamily }>(
    {
      workout: {
        update: ({ target, body }) => ({ method: 'PATCH', url: url`/workouts/${target}`, json: body }),
        create: ({ body }) => ({ method: 'POST', url: '/workouts', body: String(body) }),
      },
    },
    {
      baseUrl: 'https://app.test/',
      batch: { url: '/batch', limit: 20 },
      fetch: async (sent) => {
        const { pathname } = new URL(sent.url);
        seen.push(`${sent.method} ${pathname}`);
        if (pathname !== '/batch') return json({ alone: pathname });
        expect(sent.headers.get('authorization')).toBe('Bearer t');
        expect(sent.headers.get('holdfast-owner')).toBe('ann');
        const body = (await sent.json()) as { commands: { id: string }[] };
        bodies.push(body);
        return batch(body.commands);
      },
    },
  );
  const { signal } = new AbortController();
  const sendBatch = async (requests: readonly SendRequest[]) =>
    (await sender.sendBatch?.(requests, signal)) ?? [];
  return { sender, seen, bodies, sendBatch };
}

const judged = (answer: Answer | undefined, sent: SendRequest) =>
  answer && judgeAnswer(answer, sent, { owner: 'ann', family: record(), now: 0 });

describe('a batch', () => {
  it.each([
    { says: 'an answer for another one', body: () => json({ answers: [{ id: 'id-1', status: 204 }] }) },
    { says: 'an answer without a status', body: () => json({ answers: [{ id: 'id-2' }] }) },
    { says: 'nothing', body: () => new Response(null, { status: 204 }) },
  ])('[V7, D28, D29] $says is no acceptance, also where a server has no receipts', async ({ body }) => {
    const { sendBatch } = setUp(body);
    const [, second] = await sendBatch([request(1), request(2)]);
    const family = record({ receipts: 'none' });
    expect(second && judgeAnswer(second, request(2), { owner: 'ann', family, now: 0 })).toMatchObject({
      type: 'refused',
      code: 'receipt_missing',
      applied: 'maybe',
    });
  });

  it('[V7] carries several commands, and each has its own answer, by id', async () => {
    const sent = [request(1), request(2), request(3)];
    const { sendBatch, seen, bodies } = setUp((commands) =>
      json({
        answers: [
          { id: 'id-3', status: 412, headers: { ETag: '"8"' }, body: { type: 'urn:x:revision_conflict' } },
          { id: 'id-1', status: 200, headers: {}, body: { receipt: receiptFixture(request(1)) } },
          { id: 'id-2', status: 429, headers: { 'Retry-After': '9' }, body: null },
          { id: 'other', status: 200, headers: {}, body: {} },
        ].slice(0, commands.length + 1),
      }),
    );
    const answers = await sendBatch(sent);
    expect(seen).toEqual(['POST /batch']);
    expect(bodies).toEqual([
      {
        commands: sent.map(({ id, target, body }) => ({
          id,
          requestHash: 'h1',
          owner: 'ann',
          family: 'workout',
          kind: 'update',
          wireKind: 'workout.update',
          method: 'PATCH',
          url: `/workouts/${target.type === 'id' ? target.id : ''}`,
          ifMatch: '"1"',
          body,
        })),
      },
    ]);
    expect(answers.map((answer, place) => judged(answer, request(place + 1)))).toMatchObject([
      { type: 'accepted' },
      { type: 'transient', scope: 'owner', retryAt: 9_000 },
      { type: 'conflict', actual: 8 },
    ]);
  });

  it('[V7, D22] leaves a command it does not answer without a receipt', async () => {
    const answered = { id: 'id-1', status: 200, headers: {}, body: { receipt: receiptFixture(request(1)) } };
    for (const body of [
      { answers: [answered] },
      { answers: 'nonsense' },
      { answers: [null, { id: 'id-2' }] },
    ]) {
      const { sendBatch } = setUp(() => json(body));
      const [, second] = await sendBatch([request(1), request(2)]);
      expect(judged(second, request(2))).toMatchObject({ code: 'receipt_missing', applied: 'maybe' });
    }
  });

  it('[V7] that fails as a whole fails for each, just as one request would', async () => {
    const failing: readonly [() => Response | Promise<Response>, object][] = [
      [() => json({}, 503), { type: 'transient', failure: { code: 'http_503' } }],
      [() => json({}, 401), { type: 'signed_out' }],
      [() => json({}, 429), { type: 'transient', scope: 'owner' }],
      [() => Promise.reject(new TypeError('x')), { type: 'transient', scope: 'network' }],
      [
        () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
        { type: 'transient', failure: { code: 'portal' } },
      ],
    ];
    for (const [answer, expected] of failing) {
      const { sendBatch } = setUp(answer);
      const sent = [request(1), request(2)];
      const answers = await sendBatch(sent);
      for (const [place, each] of sent.entries())
        expect(judged(answers[place], each)).toMatchObject(expected);
    }
  });

  it.each([404, 405, 400, 413, 403, 501])(
    '[V7] refused with %i says nothing about its commands: they go one by one, and no batch is tried again',
    async (status) => {
      const { sender, sendBatch, seen } = setUp(() => json({}, status));
      expect(sender.batchLimit?.('workout')).toBe(20);
      const answers = await sendBatch([request(1), request(2)]);
      expect(answers).toMatchObject([
        { json: { alone: '/workouts/w1' } },
        { json: { alone: '/workouts/w2' } },
      ]);
      await sendBatch([request(3), request(4)]);
      expect(seen).toEqual(['POST /batch', ...[1, 2, 3, 4].map((n) => `PATCH /workouts/w${n}`)]);
      expect(sender.batchLimit?.('workout')).toBe(1);
    },
  );

  it('[V7] takes JSON commands only; others, and one left over, go alone', async () => {
    const { sendBatch, seen } = setUp(() => json({ answers: [] }));
    await sendBatch([request(1), request(2, { kind: 'create', body: 'text' })]);
    expect(seen.toSorted()).toEqual(['PATCH /workouts/w1', 'POST /workouts']);
  });

  it('[V7] leaves out a command that cannot be built, and sends the rest', async () => {
    const { sendBatch, bodies } = setUp(() => json({ answers: [] }));
    const answers = await sendBatch([request(1), request(2, { body: { n: Number.NaN } }), request(3)]);
    expect(bodies).toMatchObject([{ commands: [{ id: 'id-1' }, { id: 'id-3' }] }]);
    expect(answers[1]).toMatchObject({ type: 'failure', neverLeft: true });
  });
});
