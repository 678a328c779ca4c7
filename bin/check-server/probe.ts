/**
 * Speaks the contract's HTTP to a server under test. It judges nothing; it remembers every answer, for the
 * checks that look at all of them, and what it created, so that it can be deleted again.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { AccountConfig, CheckConfig, CommandConfig } from './config.ts';
import { type HeldRequest, holdRequest, type RawAnswer } from './held-request.ts';

/** A request that can be sent again, byte for byte. */
export interface ProbeCommand {
  readonly id: string;
  readonly requestHash: string;
  readonly kind: string;
  /** Of the document family, whose receipts may have generation 0 (D27). */
  readonly isDocument: boolean;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface Seen extends RawAnswer {
  /** Method and path of what was asked, where it is known. */
  readonly asked?: string | undefined;
  /** The body, if it was a JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
}

export interface CommandOptions {
  readonly target?: string;
  readonly id?: string;
  readonly body?: unknown;
  readonly expectedRevision?: number;
  readonly sourceRef?: string;
  /** Who signs: the first account by default. */
  readonly account?: 0 | 1;
  /** What the request says its owner is: the signing account's by default. */
  readonly owner?: string;
  readonly signedOut?: boolean;
}

/** The server cannot be checked at all. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

export interface Probe {
  readonly config: CheckConfig;
  owner(account: 0 | 1): string;
  command(config: CommandConfig, options?: CommandOptions): ProbeCommand;
  /** One attempt. A broken connection is an answer with status 0. */
  attempt(command: ProbeCommand): Promise<Seen>;
  /** Attempts until there is an answer that decides: waits where the server says so, a few times. */
  send(command: ProbeCommand): Promise<Seen>;
  /** Attempts of commands that have a body, all arriving at the same instant. */
  attemptAtOnce(commands: readonly ProbeCommand[]): Promise<readonly Seen[]>;
  /** Sends all of a command that has a body, and leaves so many ms later, most likely before the answer. */
  sendAndLeave(command: ProbeCommand, afterMs: number): Promise<void>;
  lookUp(id: string, options?: { readonly account?: 0 | 1; readonly sourceRef?: string }): Promise<Seen>;
  get(url: string, account?: 0 | 1): Promise<Seen>;
  /** How many resources the list has; `undefined` without a list. */
  count(): Promise<number | undefined>;
  batch(url: string, commands: readonly ProbeCommand[]): Promise<Seen>;
  /** Every answer so far. */
  seen(): readonly Seen[];
}

const MAX_WAIT_S = 10;
const MAX_ATTEMPTS = 8;

export async function createProbe(base: string, config: CheckConfig): Promise<Probe> {
  const timeoutMs = config.timeoutMs ?? 10_000;
  const all: Seen[] = [];

  async function noted(run: () => Promise<RawAnswer>, asked?: string): Promise<Seen> {
    let answer: Seen;
    try {
      const raw = await run();
      answer = { ...raw, asked, json: parse(raw.text) };
    } catch (error) {
      answer = { status: 0, headers: new Headers(), text: reasonOf(error), asked, json: undefined };
    }
    all.push(answer);
    return answer;
  }

  const call = (url: string, init: RequestInit) =>
    noted(
      async () => {
        const signal = AbortSignal.timeout(timeoutMs);
        const response = await fetch(new URL(url, base), { redirect: 'manual', signal, ...init });
        return { status: response.status, headers: response.headers, text: await response.text() };
      },
      `${init.method ?? 'GET'} ${new URL(url, base).pathname}`,
    );

  async function hold({ method, url, headers, body = ' ' }: ProbeCommand): Promise<HeldRequest | Error> {
    try {
      return await holdRequest(new URL(url, base), { method, headers, body, timeoutMs });
    } catch (error) {
      return error instanceof Error ? error : new Error('no connection');
    }
  }

  async function credentials(account: AccountConfig): Promise<Readonly<Record<string, string>>> {
    if (account.headers) return account.headers;
    const { signIn } = account;
    if (!signIn) return {};
    const answer = await call(signIn.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(signIn.body),
    });
    if (answer.status === 0) throw new UnreachableError(`No server answers at ${base}: ${answer.text}`);
    const token = answer.json?.[signIn.token];
    if (typeof token !== 'string')
      throw new UnreachableError(
        `Signing in as ${account.owner} at ${signIn.url} answered ${describeSeen(answer)}, without "${signIn.token}"`,
      );
    return { authorization: `Bearer ${token}` };
  }

  const signed = [await credentials(config.accounts[0]), await credentials(config.accounts[1])] as const;

  const command: Probe['command'] = (route, options = {}) => {
    const { target, expectedRevision, sourceRef, account = 0 } = options;
    const id = options.id ?? randomUUID();
    const content = options.body === undefined ? route.body : options.body;
    const body = content === undefined ? undefined : JSON.stringify(content);
    const hashed = JSON.stringify([route.kind, target ?? null, expectedRevision ?? null, body ?? null]);
    const requestHash = createHash('sha256').update(hashed).digest('hex');
    return {
      id,
      requestHash,
      kind: route.kind,
      isDocument: route === config.document?.put || route === config.document?.remove,
      method: route.method,
      url: target === undefined ? route.url : route.url.replaceAll('{target}', encodeURIComponent(target)),
      headers: {
        ...(options.signedOut ? {} : signed[account]),
        accept: 'application/json',
        'idempotency-key': `"${id}"`,
        'holdfast-request-hash': requestHash,
        'holdfast-owner': encodeURIComponent(options.owner ?? config.accounts[account].owner),
        'holdfast-kind': route.kind,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(expectedRevision === undefined ? {} : { 'if-match': `"${expectedRevision}"` }),
        ...(sourceRef === undefined ? {} : { 'holdfast-source-ref': encodeURIComponent(sourceRef) }),
      },
      body,
    };
  };

  const attempt: Probe['attempt'] = ({ method, url, headers, body }) =>
    call(url, { method, headers, ...(body === undefined ? {} : { body }) });

  async function decided(run: () => Promise<Seen>): Promise<Seen> {
    for (let n = 1; ; n++) {
      const answer = await run();
      const after = retryAfterS(answer);
      if (after === undefined || after > MAX_WAIT_S || n === MAX_ATTEMPTS) return answer;
      await new Promise((resolve) => setTimeout(resolve, after * 1000));
    }
  }

  const get: Probe['get'] = (url, account = 0) =>
    decided(() =>
      call(url, {
        headers: {
          ...signed[account],
          accept: 'application/json',
          'holdfast-owner': encodeURIComponent(config.accounts[account].owner),
        },
      }),
    );

  return {
    config,
    owner: (account) => config.accounts[account].owner,
    command,
    attempt,
    send: (sent) => decided(() => attempt(sent)),
    attemptAtOnce: async (commands) => {
      const held = await Promise.all(commands.map(hold));
      return Promise.all(
        held.map((one) => noted(async () => (one instanceof Error ? Promise.reject(one) : one.finish()))),
      );
    },
    sendAndLeave: async (sent, afterMs) => {
      const held = await hold(sent);
      if (!(held instanceof Error)) await held.finishAndLeave(afterMs);
    },
    lookUp: (id, { account = 0, sourceRef } = {}) => {
      const url = new URL(config.receipts.replaceAll('{id}', encodeURIComponent(id)), base);
      if (sourceRef !== undefined) url.searchParams.set('sourceRef', sourceRef);
      return get(url.href, account);
    },
    get,
    count: async () => {
      if (!config.list) return undefined;
      const answer = await get(config.list.url);
      let value: unknown = answer.json;
      for (const name of config.list.items.split('.'))
        value =
          typeof value === 'object' && value !== null
            ? Object.entries(value).find(([key]) => key === name)?.[1]
            : undefined;
      if (!Array.isArray(value))
        throw new UnreachableError(
          `The list ${config.list.url} answered ${describeSeen(answer)}, without "${config.list.items}"`,
        );
      return value.length;
    },
    batch: (url, commands) =>
      decided(() =>
        call(url, {
          method: 'POST',
          headers: {
            ...signed[0],
            accept: 'application/json',
            'content-type': 'application/json',
            'holdfast-owner': encodeURIComponent(config.accounts[0].owner),
          },
          body: JSON.stringify({ commands: commands.map(toBatchPart) }),
        }),
      ),
    seen: () => all,
  };
}

function toBatchPart({ id, requestHash, kind, method, url, headers, body }: ProbeCommand) {
  const dot = kind.lastIndexOf('.');
  return {
    id,
    requestHash,
    owner: decodeURIComponent(headers['holdfast-owner'] ?? ''),
    family: kind.slice(0, dot),
    kind: kind.slice(dot + 1),
    wireKind: kind,
    method,
    url,
    ...(headers['if-match'] === undefined ? {} : { ifMatch: headers['if-match'] }),
    body: body === undefined ? undefined : JSON.parse(body),
  };
}

/** Seconds, where the server asks for a repeat: 409, 429 or 503 with a number in `Retry-After`. */
function retryAfterS(answer: Seen): number | undefined {
  if (![409, 429, 503].includes(answer.status)) return undefined;
  const header = answer.headers.get('retry-after');
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}

export function describeSeen({ status, headers, text }: Seen): string {
  if (status === 0) return `nothing (${text})`;
  const type = headers.get('content-type')?.split(';')[0] ?? 'no content type';
  const body = text.length > 160 ? `${text.slice(0, 160)}…` : text;
  return `${status} ${type}${body === '' ? '' : `: ${body.replace(/\s+/g, ' ')}`}`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no connection';
  if (error.name === 'TimeoutError') return 'no answer in time';
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function parse(text: string): Seen['json'] {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value))
      : undefined;
  } catch {
    return undefined;
  }
}
