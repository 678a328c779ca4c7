import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RecordFamily, record } from '../../../shared/family.ts';
import { httpSender } from '../../../sw/dispatch/http-sender.ts';
import { judgeAnswer } from '../../../sw/dispatch/judge-answer.ts';
import { url } from '../../../sw/dispatch/url.ts';
import { sendFixture } from '../../support/send-fixture.ts';

/** What only a real `fetch` over a real connection shows. The id of the resource names what the server does. */
const BEHAVIOURS: Readonly<Record<string, RequestListener>> = {
  redirect: (_request, response) => response.writeHead(302, { location: '/login' }).end(),
  cut: (_request, response) => {
    response.writeHead(503, { 'content-type': 'application/json', 'content-length': 10 });
    response.write('abc', () => response.destroy());
  },
  cut_success: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    response.write('{"receipt":', () => response.destroy());
  },
  reset: (request) => request.socket.destroy(),
  large: (_request, response) => {
    response.writeHead(502, { 'content-type': 'text/html' });
    response.end(`<html>${'x'.repeat(2_000_000)}`);
  },
};

const reached: string[] = [];
const server = createServer((request, response) => {
  reached.push(request.url ?? '');
  const behaviour = BEHAVIOURS[request.url?.split('/').pop() ?? ''];
  if (behaviour) behaviour(request, response);
  else response.end('page');
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function send(what: string) {
  const { port } = server.address() as AddressInfo;
  const sender = httpSender<{ workout: RecordFamily }>(
    { workout: { update: ({ target, body }) => ({ method: 'PATCH', url: url`/${target}`, json: body }) } },
    { baseUrl: `http://127.0.0.1:${port}` },
  );
  const request = sendFixture({ target: { type: 'id', id: what } });
  const answer = await sender.send(request, new AbortController().signal);
  return { answer, judged: judgeAnswer(answer, request, { owner: 'ann', family: record(), now: 0 }) };
}

describe('over a real connection', () => {
  it('[D10] A13 a redirect is not followed', async () => {
    const { answer, judged } = await send('redirect');
    expect(answer).toMatchObject({ redirected: true, secure: false });
    expect(judged).toMatchObject({ type: 'transient', failure: { code: 'redirect' }, applied: 'maybe' });
    expect(reached).not.toContain('/login');
  });

  it('[D10] A16 a 503 that breaks off is a 503, a page of 2 MB leaves nothing behind', async () => {
    expect((await send('cut')).judged).toMatchObject({ type: 'transient', failure: { code: 'http_503' } });
    const { answer, judged } = await send('large');
    expect(judged).toMatchObject({ type: 'transient', failure: { code: 'http_502' } });
    expect(JSON.stringify([answer, judged]).length).toBeLessThan(1_000);
  });

  it('[D10, R7] a connection that is lost, before the answer or in it, leaves the row in doubt', async () => {
    for (const what of ['reset', 'cut_success'])
      expect((await send(what)).judged).toMatchObject({
        type: 'transient',
        scope: 'network',
        applied: 'maybe',
        failure: { code: 'network' },
      });
  });
});
