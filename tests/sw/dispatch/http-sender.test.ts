import { describe, expect, it } from 'vitest';
import { defineOutbox, document, record } from '../../../shared/family.ts';
import type { HttpRequest } from '../../../sw/dispatch/http-routes.ts';
import { type HttpSenderOptions, httpSender } from '../../../sw/dispatch/http-sender.ts';
import { judgeAnswer } from '../../../sw/dispatch/judge-answer.ts';
import type { Answer, SendRequest } from '../../../sw/dispatch/sender.ts';
import { url } from '../../../sw/dispatch/url.ts';
import { receiptFixture } from '../../support/receipt-fixture.ts';
import { sendFixture } from '../../support/send-fixture.ts';

const definition = defineOutbox({ workout: record(), plan: document() });
type Definition = typeof definition.families;

const json = (body: unknown, init: ResponseInit = {}) =>
  new Response(JSON.stringify(body), {
    ...init,
    headers: { 'content-type': 'application/json', ...init.headers },
  });
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify({ type: `urn:holdfast:problem:${code}` }), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });

interface Setup extends HttpSenderOptions {
  readonly answer?: (request: Request) => Response | Promise<Response>;
  readonly update?: (input: { target: string; body: unknown; id: string }) => HttpRequest;
}

function setUp({ answer = () => json({}), update, ...options }: Setup = {}) {
  const seen: Request[] = [];
  const sender = httpSender<Definition>(
    {
      workout: {
        create: ({ body }) => ({ method: 'POST', url: '/api/workouts', json: body }),
        update:
          update ??
          (({ target, body }) => ({ method: 'PATCH', url: url`/api/workouts/${target}`, json: body })),
        delete: ({ target }) => ({ method: 'DELETE', url: url`/api/workouts/${target}` }),
        read: ({ target }) => ({ method: 'GET', url: url`/api/workouts/${target}` }),
      },
      plan: {
        put: ({ target, body }) => ({ method: 'PUT', url: url`/api/plans/${target}`, json: body }),
        accepted: ({ json: said, etag, location }) => ({
          target: JSON.stringify([said, etag, location]),
          revision: 4,
        }),
      },
    },
    {
      baseUrl: 'https://app.test/',
      fetch: async (request) => {
        seen.push(request.clone());
        return answer(request);
      },
      ...options,
    },
  );
  const send = (overrides: Partial<SendRequest> = {}, signal = new AbortController().signal) =>
    sender.send(sendFixture(overrides), signal);
  return { sender, seen, send };
}

async function first(seen: readonly Request[]): Promise<Request> {
  const [request] = seen;
  if (!request) throw new Error('nothing was sent');
  return request;
}

const judged = (answer: Answer, request = sendFixture()) =>
  judgeAnswer(answer, request, { owner: 'ann', family: record(), now: 0 });

describe('a request', () => {
  it('[V2, V3, V4, V5] carries what proves it in its headers, and its body as JSON', async () => {
    const { seen, send } = setUp();
    await send({ owner: 'ann|é' });
    const request = await first(seen);
    expect([request.method, request.url]).toEqual(['PATCH', 'https://app.test/api/workouts/w1']);
    expect(Object.fromEntries(request.headers)).toEqual({
      accept: 'application/json',
      authorization: 'Bearer t',
      'content-type': 'application/json',
      'holdfast-kind': 'workout.update',
      'holdfast-owner': 'ann%7C%C3%A9',
      'holdfast-request-hash': 'h1',
      'idempotency-key': '"00000000-0000-4000-8000-000000000001"',
      'if-match': '"1"',
    });
    expect(await request.json()).toEqual({ weightKg: 80 });
    expect([request.redirect, request.cache, request.credentials]).toEqual([
      'manual',
      'no-store',
      'same-origin',
    ]);
  });

  it('[V3, V4] names no revision where none is expected, and says where a creation came from', async () => {
    const { seen, send } = setUp();
    const target = { type: 'pending', origin: 'o' } as const;
    await send({ kind: 'create', target, expectedRevision: undefined, sourceRef: 'draft 7' });
    const { headers, url: sentTo } = await first(seen);
    expect(sentTo).toBe('https://app.test/api/workouts');
    expect(headers.has('if-match')).toBe(false);
    expect(headers.get('holdfast-source-ref')).toBe('draft%207');
  });

  it('[V4] lets the app’s headers win, but for what proves the request', async () => {
    const headers = { accept: 'application/vnd.x+json', 'If-Match': 'W/"1"', 'idempotency-key': 'mine' };
    const { seen, send } = setUp({ update: () => ({ method: 'PATCH', url: '/x', json: 1, headers }) });
    await send();
    const sent = (await first(seen)).headers;
    expect(sent.get('accept')).toBe('application/vnd.x+json');
    expect(sent.get('if-match')).toBe('W/"1"');
    expect(sent.get('idempotency-key')).toBe('"00000000-0000-4000-8000-000000000001"');
  });

  it('[V4] takes a body as it is: text, a Blob, FormData', async () => {
    const form = new FormData();
    form.set('photo', new File(['abc'], 'é.png', { type: 'image/png' }));
    for (const [body, type] of [
      ['text', /^text\/plain/],
      [new Blob(['x'], { type: 'image/png' }), /^image\/png/],
      [form, /^multipart\/form-data; boundary/],
    ] as const) {
      const { seen, send } = setUp({ update: () => ({ method: 'PUT', url: '/x', body }) });
      await send();
      expect((await first(seen)).headers.get('content-type')).toMatch(type);
    }
    const { seen, send } = setUp({ update: () => ({ method: 'PUT', url: '/x', body: form }) });
    await send();
    const photo = (await (await first(seen)).formData()).get('photo');
    expect(photo).toMatchObject({ name: 'é.png', type: 'image/png', size: 3 });
  });

  it('[R5] A27, A28 reaches an odd id’s own URL, and no other', async () => {
    for (const id of ['a/b', '__proto__', 'constructor', 'a\ud800', '?', '%']) {
      const { seen, send } = setUp();
      await send({ target: { type: 'id', id } });
      expect(new URL((await first(seen)).url).pathname).toBe(url`/api/workouts/${id}`);
    }
  });
});

describe('a request that cannot be built', () => {
  const cases: readonly { why: string; setup?: Setup; request?: Partial<SendRequest>; code?: string }[] = [
    { why: 'has no route', request: { kind: 'put' } },
    { why: 'is of a family nobody knows', request: { family: '__proto__' } },
    {
      why: 'has a route that throws',
      setup: {
        update: () => {
          throw new TypeError('Failed to fetch');
        },
      },
    },
    { why: 'has a route that answers nothing', setup: { update: () => undefined as never } },
    { why: 'has an id no URL can carry', request: { target: { type: 'id', id: '..' } }, code: 'unsafe_url' },
    {
      why: 'has a raw id that would change the path',
      setup: { update: ({ target }) => ({ method: 'PATCH', url: `/api/workouts/${target}` }) },
      request: { target: { type: 'id', id: 'a/../../admin' } },
      code: 'unsafe_url',
    },
    { why: 'has a body that JSON would lose a part of', request: { body: { photo: new Blob(['x']) } } },
    { why: 'has a number that JSON does not know', request: { body: { n: Number.NaN } } },
    { why: 'has a body that JSON cannot be made of', request: { body: { n: 5n } } },
    { why: 'has a method that is none', setup: { update: () => ({ method: 'A B', url: '/x' }) } },
    {
      why: 'has a body where none may be',
      setup: { update: () => ({ method: 'GET', url: '/x', body: 'x' }) },
    },
    { why: 'has a URL that is none', setup: { update: () => ({ method: 'PUT', url: 'https://' }) } },
    {
      why: 'has a header that is none',
      setup: { update: () => ({ method: 'PUT', url: '/x', headers: { 'x y': '1' } }) },
    },
  ];

  it.each(cases)(
    '[D10, R7] because it $why never leaves and is not taken for a lost connection',
    async (given) => {
      const { seen, send } = setUp(given.setup);
      const answer = await send(given.request);
      expect(answer).toMatchObject({ type: 'failure', neverLeft: true });
      if (answer.type === 'failure')
        expect(answer.error).toMatchObject({ code: given.code ?? 'request_not_built' });
      expect(judged(answer)).toMatchObject({
        type: 'refused',
        code: 'unclassified',
        applied: 'not_this_attempt',
      });
      expect(seen).toEqual([]);
    },
  );

  it('[D10, W31] for credentials that make no header is held, and names no token', async () => {
    const { send } = setUp();
    const answer = await send({ headers: { authorization: 'Bearer sec\nret' } });
    expect(judged(answer)).toMatchObject({ type: 'signed_out', applied: 'not_this_attempt' });
    expect(JSON.stringify(judged(answer))).not.toContain('sec');
  });
});

describe('an answer', () => {
  it('[D20] is read with its receipt, entity tag and dates', async () => {
    const body = { id: 'w1', receipt: receiptFixture(sendFixture()) };
    const headers = { etag: '"2"', date: 'Mon, 30 Nov 2026 12:00:00 GMT', 'retry-after': '5' };
    const { send } = setUp({ answer: () => json(body, { status: 201, headers }) });
    const answer = await send();
    expect(answer).toEqual({
      type: 'response',
      status: 201,
      ok: true,
      redirected: false,
      secure: true,
      contentType: 'application/json',
      json: body,
      retryAfter: '5',
      etag: '"2"',
      date: 'Mon, 30 Nov 2026 12:00:00 GMT',
      wantsJson: true,
      accepted: undefined,
    });
    expect(judged(answer).type).toBe('accepted');
  });

  it('[D10] A13 that redirects is not followed, whichever way the platform shows it', async () => {
    const opaque = Object.defineProperties(new Response(null), {
      type: { value: 'opaqueredirect' },
      status: { value: 0 },
    });
    for (const response of [opaque, new Response(null, { status: 302, headers: { location: '/login' } })]) {
      const { send } = setUp({ answer: () => response });
      const answer = await send();
      expect(answer).toMatchObject({ redirected: true, secure: true });
      expect(judged(answer).type).toBe('signed_out');
    }
    const plain = setUp({ baseUrl: 'http://app.test/', answer: () => opaque });
    expect(judged(await plain.send())).toMatchObject({ type: 'transient', failure: { code: 'redirect' } });
  });

  it('[D10] A14, A16 of a portal or proxy is not read, however long it is', async () => {
    let pulled = 0;
    const page = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const { send } = setUp({
      answer: () => new Response(page, { headers: { 'content-type': 'text/html' } }),
    });
    const answer = await send();
    expect(judged(answer)).toMatchObject({ type: 'transient', failure: { code: 'portal' } });
    expect(pulled).toBeLessThan(3);
    expect(JSON.stringify(answer).length).toBeLessThan(500);
  });

  it('[D10] A16 that never ends is read up to a bound and judged by its status', async () => {
    for (const type of ['application/json', 'text/plain']) {
      let pulled = 0;
      const endless = new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(32));
        },
      });
      const { send } = setUp({
        answer: () => new Response(endless, { status: 503, headers: { 'content-type': type } }),
      });
      expect(judged(await send())).toMatchObject({ type: 'transient', failure: { code: 'http_503' } });
      expect(pulled).toBeLessThan(1_300_000);
    }
  });

  it('[D10, D22] A15 without a body, or with something that is no JSON, is what its status says', async () => {
    const broken = () => new Response('{"receipt":', { headers: { 'content-type': 'application/json' } });
    for (const answer of [() => new Response(null, { status: 204 }), () => new Response('ok'), broken]) {
      const { send } = setUp({ answer });
      expect(judged(await send())).toMatchObject({ code: 'receipt_missing', applied: 'maybe' });
    }
    for (const text of ['Not found', '404', '']) {
      const { send } = setUp({ answer: () => new Response(text, { status: 404 }) });
      expect(judged(await send())).toMatchObject({ type: 'transient', failure: { code: 'foreign_answer' } });
    }
    const own = setUp({ answer: () => new Response('{"error":"gone"}', { status: 404 }) });
    expect(judged(await own.send())).toMatchObject({ type: 'refused', code: 'source_deleted' });
  });

  it('[D10] A16 that breaks off is a failure if it was an acceptance, else what its status says', async () => {
    const broken = (status: number) => {
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"a'));
          controller.error(new TypeError('terminated'));
        },
      });
      return new Response(body, { status, headers: { 'content-type': 'application/json' } });
    };
    const ok = setUp({ answer: () => broken(200) });
    expect(judged(await ok.send())).toMatchObject({ type: 'transient', failure: { code: 'network' } });
    const refused = setUp({ answer: () => broken(422) });
    expect(judged(await refused.send())).toMatchObject({ type: 'refused', code: 'rejected' });
  });

  it('[D10] that never comes is a lost connection', async () => {
    const nothing = () => undefined as never;
    for (const answer of [
      () => Promise.reject(new TypeError('Failed to fetch')),
      () => Response.error(),
      nothing,
    ]) {
      const { send } = setUp({ answer });
      expect(judged(await send())).toMatchObject({ type: 'transient', scope: 'network', applied: 'maybe' });
    }
  });

  it('[D29] A15 without a receipt tells id and revision by the family’s own reading, or by Location', async () => {
    const headers = { etag: '"9"', location: '/api/workouts/a%2Fb?x=1' };
    const { sender } = setUp({ answer: () => json({ a: 1 }, { status: 201, headers }) });
    const { signal } = new AbortController();
    const put = sendFixture({ family: 'plan', kind: 'put' });
    expect(await sender.send(put, signal)).toMatchObject({
      accepted: { target: JSON.stringify([{ a: 1 }, '"9"', headers.location]), revision: 4 },
    });
    const create = sendFixture({ kind: 'create', target: { type: 'pending', origin: 'o' } });
    const answer = await sender.send(create, signal);
    expect(answer).toMatchObject({ accepted: { target: 'a/b' } });
    const family = record({ receipts: 'none' });
    expect(judgeAnswer(answer, create, { owner: 'ann', family, now: 0 })).toMatchObject({
      type: 'accepted',
      receipt: { target: 'a/b', revision: 9 },
    });
  });

  it('[D10] of a route that asks for something else than JSON may be HTML', async () => {
    const { send } = setUp({
      update: () => ({ method: 'POST', url: '/form', body: 'x', headers: { accept: 'text/html' } }),
      answer: () => new Response('<p>done', { headers: { 'content-type': 'text/html' } }),
    });
    expect(await send()).toMatchObject({ ok: true, wantsJson: false });
  });
});

describe('an attempt that is cut', () => {
  const timeout = () => new DOMException('too long', 'TimeoutError');

  it('[D4] A52 ends although fetch goes on, or the body does', async () => {
    const stalled = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"receipt":')),
      });
      return new Response(body, { headers: { 'content-type': 'application/json' } });
    };
    for (const answer of [() => new Promise<Response>(() => undefined), stalled]) {
      const { send } = setUp({ answer });
      const controller = new AbortController();
      const sent = send({}, controller.signal);
      await new Promise((resolve) => setImmediate(resolve));
      controller.abort(timeout());
      expect(await sent).toMatchObject({ type: 'failure', timedOut: true });
    }
  });

  it('[D4] A52 lets go of the body', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        cancelled = true;
      },
    });
    const { send } = setUp({ answer: () => new Response(body, { status: 503 }) });
    const controller = new AbortController();
    const sent = send({}, controller.signal);
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(timeout());
    await sent;
    expect(cancelled).toBe(true);
  });

  it('[R7] before it began never left', async () => {
    const { seen, send } = setUp();
    expect(await send({}, AbortSignal.abort())).toMatchObject({
      type: 'failure',
      timedOut: false,
      neverLeft: true,
    });
    expect(seen).toEqual([]);
  });
});

describe('a receipt look-up', () => {
  const query = { owner: 'ann', id: 'i 1', family: 'workout', headers: { authorization: 'Bearer t' } };
  const { signal } = new AbortController();

  it('[V4] asks by key, family and source, as that owner', async () => {
    const { sender, seen } = setUp({ receipts: '/api/receipts' });
    await sender.findReceipt?.({ ...query, sourceRef: 'a&b' }, signal);
    await sender.findReceipt?.(query, signal);
    expect(seen.map((request) => request.url)).toEqual([
      'https://app.test/api/receipts/i%201?family=workout&sourceRef=a%26b',
      'https://app.test/api/receipts/i%201?family=workout',
    ]);
    const { method, headers } = await first(seen);
    expect([method, headers.get('authorization'), headers.get('holdfast-owner')]).toEqual([
      'GET',
      'Bearer t',
      'ann',
    ]);
  });

  it('[V4] may be a request of the app’s own', async () => {
    const { sender, seen } = setUp({
      receipts: ({ id }) => ({ method: 'POST', url: '/rpc/receipt', json: { id } }),
    });
    await sender.findReceipt?.(query, signal);
    expect(await (await first(seen)).json()).toEqual({ id: 'i 1' });
    expect(setUp().sender.findReceipt).toBeUndefined();
  });

  it.each<[string, () => Response | Promise<Response>, object]>([
    ['a receipt', () => json({ receipt: { id: 'i1' } }), { type: 'receipt', receipt: { id: 'i1' } }],
    [
      'a refusal for good',
      () => json({ refused: { code: 'invalid', status: 422 } }),
      { type: 'refused', code: 'invalid', status: 422 },
    ],
    ['the server’s own "none"', () => problem(404, 'no_such_receipt'), { type: 'none' }],
    ['a 404 of somebody else', () => new Response('Not found', { status: 404 }), { type: 'no_answer' }],
    ['a 404 about something else', () => problem(404, 'not_found'), { type: 'no_answer' }],
    [
      'a portal’s page',
      () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
      { type: 'no_answer' },
    ],
    ['"in progress"', () => problem(409, 'in_progress', { 'retry-after': '1' }), { type: 'no_answer' }],
    ['nothing', () => Promise.reject(new TypeError('x')), { type: 'no_answer' }],
  ])('[V4, D45] that finds %s says so', async (_what, answer, expected) => {
    const { sender } = setUp({ receipts: '/receipts', answer });
    expect(await sender.findReceipt?.(query, signal)).toMatchObject(expected);
  });
});

describe('reading the current state', () => {
  const { signal } = new AbortController();
  const request = { owner: 'ann', target: 'a/b', headers: { authorization: 'Bearer t' } };

  it('[D30] gives revision and body of the resource', async () => {
    const { sender, seen } = setUp({ answer: () => json({ weightKg: 70 }, { headers: { etag: '"6"' } }) });
    expect(await sender.readCurrentOf?.('workout')?.(request, signal)).toEqual({
      revision: 6,
      body: { weightKg: 70 },
    });
    expect((await first(seen)).url).toBe('https://app.test/api/workouts/a%2Fb');
    const member = setUp({ answer: () => json({ revision: 7 }) });
    expect(await member.sender.readCurrentOf?.('workout')?.(request, signal)).toMatchObject({ revision: 7 });
  });

  it('[D30] says that there is none only on the API’s own word, and rejects where it cannot tell', async () => {
    const reading = (answer: () => Response | Promise<Response>) =>
      setUp({ answer }).sender.readCurrentOf?.('workout')?.(request, signal);
    expect(await reading(() => problem(404, 'not_found'))).toBeUndefined();
    expect(await reading(() => problem(410, 'gone'))).toBeUndefined();
    await expect(reading(() => new Response('x', { status: 404 }))).rejects.toThrow();
    await expect(reading(() => problem(503, 'unavailable'))).rejects.toThrow();
    await expect(reading(() => json({}))).rejects.toThrow('revision');
  });

  it('[D30] is there only where the family has a route for it', () => {
    const { sender } = setUp();
    expect(sender.readCurrentOf?.('plan')).toBeUndefined();
    expect(sender.readCurrentOf?.('__proto__')).toBeUndefined();
  });
});
