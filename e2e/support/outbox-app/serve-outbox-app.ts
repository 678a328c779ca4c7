/** The outbox app on the real reference server, over an embedded database that starts from the cached template. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Intercept } from '../../../examples/server/http/exchange.ts';
import { createReferenceServer, type ReferenceServer } from '../../../examples/server/reference-server.ts';
import { openTestPglite } from '../../../tests/support/test-pglite.ts';
import { buildFixture } from '../build-fixture.ts';

export type Account = 'ada' | 'grace';

export interface OutboxAppServer {
  readonly url: string;
  readonly server: ReferenceServer;
  /** Stands between the fault switches and the routes until the next `reset`. */
  intercept(intercept: Intercept): void;
  /** An empty server without faults; sessions stay. */
  reset(): Promise<void>;
  /** A bearer token of the account, for requests that come from elsewhere. */
  token(account: Account): Promise<string>;
  /** A request from elsewhere: another device, or a person's other program. */
  ask(
    account: Account,
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
  close(): Promise<void>;
}

const HTML =
  '<!doctype html><meta charset="utf-8"><title>outbox</title><script src="/page.js"></script><script src="/beside.js"></script>';
const PASSWORDS = { ada: 'lovelace', grace: 'hopper' } as const;

/** Where a suite needs more: another worker, a second script in the page. */
export interface OutboxAppSources {
  readonly worker?: string | undefined;
  readonly beside?: string | undefined;
}

export async function serveOutboxApp(sources: OutboxAppSources = {}): Promise<OutboxAppServer> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-app-'));
  const [worker, page, beside, database] = await Promise.all([
    buildFixture({ entry: { file: sources.worker ?? 'e2e/support/outbox-app/worker.ts' } }),
    buildFixture({ entry: { file: 'e2e/support/outbox-app/page.ts' } }),
    sources.beside === undefined ? '' : buildFixture({ entry: { file: sources.beside } }),
    openTestPglite(),
  ]);
  const files = {
    'index.html': HTML,
    'page.js': page,
    'beside.js': beside,
    'sw.js': worker,
    'tokens.sw.js': worker,
    'encrypted.sw.js': worker,
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));

  const through: Intercept = (request, next) => next(request);
  let current = through;
  const server = await createReferenceServer({
    database,
    staticDir: folder,
    intercept: (request, next) => current(request, next),
  });
  const tokens = new Map<Account, string>();

  const token = async (account: Account): Promise<string> => {
    const known = tokens.get(account);
    if (known !== undefined) return known;
    const response = await fetch(`${server.url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ account, password: PASSWORDS[account] }),
    });
    const answer = (await response.json()) as { readonly token: string };
    tokens.set(account, answer.token);
    return answer.token;
  };

  return {
    url: server.url,
    server,
    intercept(intercept) {
      current = intercept;
    },
    async reset() {
      current = through;
      await fetch(`${server.url}/api/_test/reset`, { method: 'POST' });
    },
    token,
    async ask(account, method, path, body, more = {}) {
      const headers = {
        authorization: `Bearer ${await token(account)}`,
        'content-type': 'application/json',
        'idempotency-key': `"${crypto.randomUUID()}"`,
        'holdfast-owner': account,
        ...more,
      };
      return await fetch(server.url + path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    },
    async close() {
      await server.close();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
