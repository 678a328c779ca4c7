/** What the listener does with sockets, sizes and files: rough input, static files, closing. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../examples/server/database/database.ts';
import { DatabaseFailedError, DatabaseUnavailableError } from '../../../examples/server/database/database.ts';
import { createReferenceServer, type ReferenceServer } from '../../../examples/server/reference-server.ts';
import { call, type ServerClient, signIn } from '../../support/server-client.ts';
import { openTestPglite } from '../../support/test-pglite.ts';

describe('listener', () => {
  let directory: string;
  let database: Database;
  let server: ReferenceServer;
  let ada: ServerClient;
  let failure: Error | undefined;
  const reported: unknown[] = [];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-static-'));
    mkdirSync(join(directory, 'site', 'assets'), { recursive: true });
    writeFileSync(join(directory, 'secret.txt'), 'secret');
    const files = {
      'index.html': '<!doctype html>',
      'sw.js': '// worker',
      'app.webmanifest': '{}',
      'assets/a.css': 'a{}',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, 'site', name), text);
    database = await openTestPglite();
    server = await createReferenceServer({
      database,
      staticDir: join(directory, 'site'),
      maxBodyBytes: 10_000,
      maxFileBytes: 10_000,
      report: (error) => reported.push(error),
      intercept: (request, next) => {
        if (failure) throw failure;
        return next(request);
      },
    });
    ada = await signIn(server.url);
  }, 120_000);

  afterAll(async () => {
    await server?.close();
    await database?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it('[V4] refuses a body that is too large, announced or not, with a problem document', async () => {
    const large = 'x'.repeat(20_000);
    const announced = await ada.create({ note: large });
    expect([announced.status, announced.json.code]).toEqual([413, 'too_large']);
    const streamed = await new Promise<number | undefined>((resolve, reject) => {
      const sending = httpRequest(`${server.url}/api/workouts`, { method: 'POST' }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sending.on('error', reject);
      sending.write(large);
      sending.end(large);
    });
    expect(streamed).toBe(413);
  });

  it('[V4] goes on after noise, half requests and broken connections', async () => {
    const noise = [
      '\0\x01\x02 not http\r\n\r\n',
      'POST /api/workouts HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"da',
    ];
    for (const text of noise)
      await new Promise<void>((resolve) => {
        const socket = connect(server.port, '127.0.0.1', () => socket.write(text, () => socket.destroy()));
        socket.once('close', () => resolve());
      });
    expect((await ada.create()).status).toBe(201);
  });

  it('[V6] answers 503 with Retry-After while the database is away, in its own words', async () => {
    const broken: Database = {
      technology: 'postgres',
      query: () => Promise.reject(new DatabaseUnavailableError('ECONNREFUSED 10.0.0.1:5432')),
      script: () => Promise.resolve(),
      transaction: (work) => work({ query: () => Promise.resolve([]), script: () => Promise.resolve() }),
      close: () => Promise.resolve(),
    };
    const alone = await createReferenceServer({ database: broken, report: (error) => reported.push(error) });
    const answer = await call(`${alone.url}/api/session`, { headers: { authorization: 'Bearer x' } });
    expect([answer.status, answer.json.code, answer.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '1',
    ]);
    expect(answer.text).not.toContain('10.0.0.1');
    expect(reported.at(-1)).toBeInstanceOf(DatabaseUnavailableError);
    await alone.close();
  });

  it('[V4] answers a defect of its own with a problem that tells nothing, and reports it', async () => {
    failure = new DatabaseFailedError('relation "secrets" does not exist');
    const answer = await ada.create();
    failure = undefined;
    expect([answer.status, answer.json.code]).toEqual([500, 'internal']);
    expect(answer.text).not.toContain('secrets');
    expect(reported.at(-1)).toBeInstanceOf(DatabaseFailedError);
    expect((await ada.create()).status).toBe(201);
  });

  it.each([
    { path: '/', type: 'text/html; charset=utf-8', cache: 'no-cache' },
    { path: '/index.html', type: 'text/html; charset=utf-8', cache: 'no-cache' },
    { path: '/assets/a.css', type: 'text/css; charset=utf-8', cache: 'no-cache' },
    { path: '/app.webmanifest', type: 'application/manifest+json; charset=utf-8', cache: 'no-cache' },
    { path: '/sw.js', type: 'text/javascript; charset=utf-8', cache: 'no-store' },
  ])('[V8] serves $path with its type and a strict policy', async ({ path, type, cache }) => {
    const { status, headers } = await call(`${server.url}${path}`, {});
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, type, cache]);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    expect(headers.get('service-worker-allowed')).toBe(path === '/sw.js' ? '/' : null);
  });

  it('[V8] answers 304 to a browser that has the file', async () => {
    const etag = (await call(`${server.url}/index.html`, {})).headers.get('etag') ?? '';
    const again = await call(`${server.url}/index.html`, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
    expect((await call(`${server.url}/index.html`, { method: 'HEAD' })).headers.get('content-length')).toBe(
      '15',
    );
  });

  it.each([
    '/../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%00',
    '/%E0%A4%A',
    '/assets',
    '/none.js',
  ])('[V8] serves nothing from outside its directory: %s', async (path) => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      // Not fetch, which would tidy the path up.
      const sending = httpRequest({ host: '127.0.0.1', port: server.port, path }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sending.on('error', reject);
      sending.end();
    });
    expect(status).toBe(404);
  });

  it('[V5] keeps a session in a cookie that scripts cannot read, until sign-out', async () => {
    const signedIn = await call(`${server.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ account: 'grace', password: 'hopper' }),
    });
    const cookie = signedIn.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly; SameSite=Lax/);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    const read = () => call(`${server.url}/api/session`, { headers });
    expect((await read()).json).toEqual({ account: { id: 'grace', name: 'Grace' } });
    expect((await call(`${server.url}/api/session`, { method: 'DELETE', headers })).status).toBe(204);
    expect((await read()).json.code).toBe('unauthorized');
  });

  it('[V5] lets nobody in with a wrong password or a malformed sign-in', async () => {
    const post = (body: unknown) =>
      call(`${server.url}/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await post({ account: 'ada', password: 'hopper' })).json.code).toBe('unauthorized');
    expect((await post({ account: '__proto__', password: 'x' })).json.code).toBe('unauthorized');
    expect((await post({ account: 'ada' })).json.code).toBe('invalid');
  });
});
