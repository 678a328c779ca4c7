/** Who sends (V5). A cookie for pages, the same token as a bearer for everyone else. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Database } from '../database/database.ts';
import type { ApiRequest } from '../http/exchange.ts';
import { readJson } from '../http/json-body.ts';
import { invalid, ProblemError, problem } from '../http/problem.ts';
import type { Route } from '../http/router.ts';

export interface Account {
  readonly id: string;
  readonly name: string;
}

export interface AccountWithPassword extends Account {
  readonly password: string;
}

/** The demo's two. An app has its own accounts, and keeps no passwords in its source. */
export const DEMO_ACCOUNTS: readonly AccountWithPassword[] = [
  { id: 'ada', name: 'Ada', password: 'lovelace' },
  { id: 'grace', name: 'Grace', password: 'hopper' },
];

/** The account behind a request. @throws ProblemError 401 `unauthorized` */
export type Authenticate = (request: ApiRequest) => Promise<Account>;

const COOKIE = 'holdfast_session';
const SESSION_DAYS = 30;

export interface SignIn {
  readonly authenticate: Authenticate;
  readonly routes: readonly Route[];
}

export function createSignIn(database: Database, accounts: readonly AccountWithPassword[]): SignIn {
  const authenticate: Authenticate = async (request) => {
    const token = tokenOf(request);
    if (token !== undefined) {
      const [session] = await database.query<{ owner: string }>(
        'select owner from demo_sessions where token_hash = $1 and expires_at > now()',
        [sha256(token)],
      );
      const account = accounts.find((one) => one.id === session?.owner);
      if (account) return { id: account.id, name: account.name };
    }
    throw new ProblemError(
      problem(401, 'unauthorized', 'The session is missing or has ended', {
        headers: { 'www-authenticate': 'Bearer realm="holdfast"' },
      }),
    );
  };

  const signIn: Route['handle'] = async (request) => {
    const body = readJson(request);
    if (typeof body?.['account'] !== 'string' || typeof body['password'] !== 'string')
      return invalid('Sign in with {"account": "…", "password": "…"}');
    const account = accounts.find((one) => one.id === body['account']);
    if (!account || !sameText(account.password, body['password']))
      return problem(401, 'unauthorized', 'There is no such account, or the password is another');
    const token = randomBytes(24).toString('base64url');
    await database.query('delete from demo_sessions where expires_at < now()');
    await database.query(
      `insert into demo_sessions (token_hash, owner, expires_at) values ($1, $2, now() + $3 * interval '1 day')`,
      [sha256(token), account.id, SESSION_DAYS],
    );
    return {
      status: 200,
      headers: { 'set-cookie': cookie(token, SESSION_DAYS * 86_400), 'cache-control': 'no-store' },
      json: { account: { id: account.id, name: account.name }, token },
    };
  };

  const readSession: Route['handle'] = async (request) => ({
    status: 200,
    headers: { 'cache-control': 'no-store' },
    json: { account: await authenticate(request) },
  });

  const signOut: Route['handle'] = async (request) => {
    const token = tokenOf(request);
    if (token !== undefined)
      await database.query('delete from demo_sessions where token_hash = $1', [sha256(token)]);
    return { status: 204, headers: { 'set-cookie': cookie('', 0), 'cache-control': 'no-store' } };
  };

  const path = '/api/session';
  return {
    authenticate,
    routes: [
      { method: 'POST', path, handle: signIn },
      { method: 'GET', path, handle: readSession },
      { method: 'DELETE', path, handle: signOut },
    ],
  };
}

function tokenOf(request: ApiRequest): string | undefined {
  const bearer = /^Bearer\s+(\S+)$/i.exec(request.headers['authorization'] ?? '');
  if (bearer) return bearer[1];
  const cookies = (request.headers['cookie'] ?? '').split(';').map((part) => part.trim());
  return cookies.find((part) => part.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
}

// Lax: other sites' forms and scripts send no cookie with a POST, PUT, PATCH or DELETE.
function cookie(token: string, seconds: number): string {
  return `${COOKIE}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function sameText(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}
