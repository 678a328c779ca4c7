/** A plain HTTP client of the reference server's conventions, for tests that look at them from outside. */
import { createHash, randomUUID } from 'node:crypto';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly id?: string;
  readonly hash?: string;
  readonly owner?: string;
  readonly body?: unknown;
  readonly ifMatch?: number | string;
  readonly kind?: string;
  readonly sourceRef?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body, if it was JSON. */
  readonly json: Json;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape, and compare whole values.
export type Json = any;

export interface ServerClient {
  readonly owner: string;
  readonly token: string;
  /** A command with fresh key and hash unless given. */
  send(sent: Sent): Promise<Reply>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  create(body?: Readonly<Record<string, unknown>>, over?: Partial<Sent>): Promise<Reply>;
}

export async function signIn(url: string, account = 'ada', password = 'lovelace'): Promise<ServerClient> {
  const answer = await call(`${url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ account, password }),
  });
  if (answer.status !== 200) throw new Error(`Sign-in answered ${answer.status}`);
  const token: string = answer.json.token;
  const client: ServerClient = {
    owner: account,
    token,
    send: (sent) => call(`${url}${sent.path}`, commandInit(sent, token, account)),
    get: (path, headers = {}) =>
      call(`${url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } }),
    create: (body = {}, over = {}) =>
      client.send({ method: 'POST', path: '/api/workouts', body: { date: '2026-11-30', ...body }, ...over }),
  };
  return client;
}

export function commandInit(sent: Sent, token: string, account: string): RequestInit {
  const { method, body, ifMatch } = sent;
  const hash = sent.hash ?? hashOf([method, sent.path, body, ifMatch]);
  const headers: Record<string, string> = {
    accept: 'application/json',
    authorization: `Bearer ${token}`,
    'idempotency-key': `"${sent.id ?? randomUUID()}"`,
    'holdfast-request-hash': hash,
    'holdfast-owner': encodeURIComponent(sent.owner ?? account),
  };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (ifMatch !== undefined) headers['if-match'] = typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch;
  if (sent.kind !== undefined) headers['holdfast-kind'] = sent.kind;
  if (sent.sourceRef !== undefined) headers['holdfast-source-ref'] = encodeURIComponent(sent.sourceRef);
  return {
    method,
    headers: { ...headers, ...sent.headers },
    redirect: 'manual',
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(sent.signal === undefined ? {} : { signal: sent.signal }),
  };
}

export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex');
}

export async function call(url: string, init: RequestInit): Promise<Reply> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}
