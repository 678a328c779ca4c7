/** The conformance kit: the reference server keeps the contract, and every way to break it is noticed. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, DEFAULT_CONFIG, readConfig } from '../../bin/check-server/config.ts';
import { describeResults } from '../../bin/check-server/report.ts';
import { CHECKS, isPassed, runChecks } from '../../bin/check-server/run-checks.ts';
import type { Database } from '../../examples/server/database/database.ts';
import { createReferenceServer, type ReferenceServer } from '../../examples/server/reference-server.ts';
import { DEFECTS } from '../support/broken-servers.ts';
import { signIn } from '../support/server-client.ts';
import { openTestPglite } from '../support/test-pglite.ts';

describe('check-server', { timeout: 60_000 }, () => {
  let database: Database;
  let server: ReferenceServer;

  beforeAll(async () => {
    database = await openTestPglite();
    server = await createReferenceServer({ database, report: () => undefined });
  }, 120_000);

  afterAll(async () => {
    await server?.close();
    await database?.close();
  });

  const only = (name: string) => CHECKS.filter((check) => check.name === name);

  it('[V1, V2, V3, V4, V5, V7] finds that the reference server keeps all of it, and leaves nothing behind', async () => {
    const results = await runChecks(server.url, DEFAULT_CONFIG);
    expect(results.map(({ name, end }) => [name, end.type])).toEqual(
      CHECKS.map(({ name }) => [name, 'holds']),
    );
    expect(isPassed(results)).toBe(true);
    const ada = await signIn(server.url);
    expect((await ada.get('/api/workouts')).json.items).toEqual([]);
  });

  it.each(DEFECTS)('[V2, V3, V4, V5, V7] notices ($check) a server that $what', async ({ check, create }) => {
    const broken = await createReferenceServer({ database, intercept: create(), report: () => undefined });
    const [result] = await runChecks(broken.url, DEFAULT_CONFIG, only(check));
    await broken.close();
    expect(result).toMatchObject({ name: check, end: { type: 'broken', saw: expect.any(String) } });
    expect(isPassed(result ? [result] : [])).toBe(result?.weight === 'should');
  });

  it('[V2] notices (lost-answer) a server that forgets a key whose client left', async () => {
    const proxy = forgetfulProxy(server.url, database);
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const [result] = await runChecks(url, DEFAULT_CONFIG, only('lost-answer'));
    proxy.closeAllConnections();
    proxy.close();
    expect(result?.end).toMatchObject({ type: 'broken', saw: expect.stringMatching(/applied \d+ times/) });
  });

  it('[V2, V3, V4, V5, V7] has a way to break every check', () => {
    const covered = new Set([...DEFECTS.map((defect) => defect.check), 'lost-answer']);
    expect(CHECKS.filter((check) => !covered.has(check.name)).map((check) => check.name)).toEqual([]);
  });

  it('[V7] counts what a server does not offer neither for nor against it', async () => {
    const { batch: _, document: __, list: ___, read: ____, ...config } = DEFAULT_CONFIG;
    const results = await runChecks(server.url, config);
    expect(
      results.filter((one) => one.end.type !== 'holds').map(({ name, end }) => [name, end.type]),
    ).toEqual([
      ['read', 'not_offered'],
      ['document', 'not_offered'],
      ['batch', 'not_offered'],
    ]);
    const text = describeResults(server.url, results);
    expect(text).toContain('not offered: no "batch" in the configuration');
    expect(text).toContain('not offered: no "read" in the configuration. A conflict is then settled without');
  });

  it('[V3] without a way to read, still sees that a refused change used up the revision', async () => {
    const { read: _, ...config } = DEFAULT_CONFIG;
    const careless = await createReferenceServer({
      database,
      // Refuses, and applies it all the same.
      intercept: async (request, next) => {
        const answer = await next(request);
        if (answer.status === 412 && request.method === 'PATCH')
          await next({
            ...request,
            headers: { ...request.headers, 'if-match': undefined, 'idempotency-key': randomUUID() },
          });
        return answer;
      },
      report: () => undefined,
    });
    const [result] = await runChecks(careless.url, config, only('revision-conflict'));
    await careless.close();
    expect(result?.end).toMatchObject({ type: 'broken' });
  });

  it('[V4] tells an engineer what it saw and what to do, and what the verdict is', async () => {
    const defect = DEFECTS.find((one) => one.what === 'ignores If-Match');
    const broken = await createReferenceServer({ database, intercept: defect?.create() });
    const results = await runChecks(broken.url, DEFAULT_CONFIG, [
      ...only('receipt'),
      ...only('revision-conflict'),
    ]);
    await broken.close();
    const text = describeResults('http://server', results);
    expect(text).toContain('  ✓ V1  create, update and delete answer with a receipt');
    expect(text).toContain('  ✗ V3  an update or delete at another revision');
    expect(text).toContain('saw: wanted 409 or 412, got 200');
    expect(text).toContain('do:  Compare If-Match with the stored revision');
    expect(text).toContain('1 hold, 1 broken, 0 advised, 0 not offered');
    expect(text).toContain('Holdfast cannot rely on this server yet');
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
  });

  it('[V4] says which request it was that went wrong', async () => {
    const deaf = await createReferenceServer({
      database,
      intercept: (request, next) =>
        next(request.path.startsWith('/api/receipts/') ? { ...request, path: '/api/none' } : request),
      report: () => undefined,
    });
    const [result] = await runChecks(deaf.url, DEFAULT_CONFIG, only('look-up'));
    await deaf.close();
    expect(result?.end).toMatchObject({
      saw: expect.stringMatching(/^GET \/api\/receipts\/\S+ answered 404/),
    });
  });

  it('[V4] says that nothing can be checked where nobody answers or nobody can sign in', async () => {
    await expect(runChecks('http://127.0.0.1:9', DEFAULT_CONFIG)).rejects.toThrow(
      'No server answers at http://127.0.0.1:9',
    );
    const [ada, grace] = DEFAULT_CONFIG.accounts;
    const wrong = {
      ...DEFAULT_CONFIG,
      accounts: [{ ...ada, signIn: { url: '/api/none', body: {}, token: 't' } }, grace] as const,
    };
    await expect(runChecks(server.url, wrong)).rejects.toThrow('answered 404 application/problem+json');
  });

  it.each([
    { without: 'family', message: '"family" is not a text' },
    { without: 'receipts', message: '"receipts" is not a text' },
    { without: 'update', message: '"update" is not an object' },
    { without: 'accounts', message: '"accounts" is a list of two accounts' },
  ])('[V4] names what a configuration lacks: $without', ({ without, message }) => {
    const config = Object.fromEntries(Object.entries(DEFAULT_CONFIG).filter(([name]) => name !== without));
    expect(() => readConfig(config)).toThrow(new ConfigError(message));
  });

  it('[V4] says how an account without credentials is given some', () => {
    const [, grace] = DEFAULT_CONFIG.accounts;
    const lacking = { ...DEFAULT_CONFIG, accounts: [{ owner: 'ada' }, grace] };
    expect(() => readConfig(lacking)).toThrow(
      /^"accounts\[0\]" has neither "headers" nor "signIn"\. .*\{\} for none; .*"token": "token"/,
    );
    const half = { ...DEFAULT_CONFIG, accounts: [{ owner: 'ada', signIn: { url: '/s', body: {} } }, grace] };
    expect(() => readConfig(half)).toThrow('"accounts[0].signIn.token" is not a text');
    const open = { ...DEFAULT_CONFIG, accounts: [{ owner: 'ada', headers: {} }, grace] };
    expect(readConfig(open).accounts[0]).toEqual({ owner: 'ada', headers: {} });
  });

  it('[V4] reads its own default configuration back, and refuses what it does not know', () => {
    expect(readConfig(JSON.parse(JSON.stringify(DEFAULT_CONFIG)))).toEqual(DEFAULT_CONFIG);
    expect(() => readConfig({ ...DEFAULT_CONFIG, recipts: '/x' })).toThrow('"recipts" is not known');
    expect(() => readConfig({ ...DEFAULT_CONFIG, create: { ...DEFAULT_CONFIG.create, url: 7 } })).toThrow(
      '"create.url" is not a text',
    );
  });
});

/** Before the reference server: a key whose client went away before the answer is gone from the ledger. */
function forgetfulProxy(target: string, database: Database): Server {
  let before: Promise<unknown> = Promise.resolve();
  return createServer((message, response) => {
    let left = false;
    response.once('close', () => {
      left = !response.writableFinished;
    });
    const serve = async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of message) chunks.push(chunk);
      const headers = new Headers();
      for (const [name, value] of Object.entries(message.headers))
        if (
          typeof value === 'string' &&
          !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name)
        )
          headers.set(name, value);
      const answer = await fetch(`${target}${message.url}`, {
        method: message.method ?? 'GET',
        headers,
        ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
      });
      const text = await answer.text();
      // The change is done; the ledger is written a while later, unless the client has gone.
      if (message.method === 'POST') await new Promise((resolve) => setTimeout(resolve, 100));
      const key = headers.get('idempotency-key')?.replaceAll('"', '');
      if (left) await database.query('delete from holdfast_ledger where id = $1', [key]);
      response.writeHead(answer.status, {
        'content-type': answer.headers.get('content-type') ?? 'text/plain',
      });
      response.end(text);
    };
    // One after another, so that a repeat meets what the first request left.
    before = before.then(serve).catch(() => response.destroy());
  });
}
