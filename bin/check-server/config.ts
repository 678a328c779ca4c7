/** What `check-server` must know of a server: its routes and two accounts. Everything else is the contract. */

export interface CommandConfig {
  readonly method: string;
  /** `{target}` stands for the resource's id. */
  readonly url: string;
  /** The wire kind that receipts name, such as `workout.create`. */
  readonly kind: string;
  readonly body?: unknown;
}

export interface AccountConfig {
  /** The owner that rows of this account carry. */
  readonly owner: string;
  /** Credentials as they are, … */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** … or a sign-in that answers JSON with a token, to be sent as a bearer. */
  readonly signIn?: { readonly url: string; readonly body: unknown; readonly token: string } | undefined;
}

export interface CheckConfig {
  readonly family: string;
  /** Two accounts; the second one's only part is to be refused. */
  readonly accounts: readonly [AccountConfig, AccountConfig];
  /** `otherBody`: another valid body, for a key that is used twice. */
  readonly create: CommandConfig & { readonly otherBody: unknown };
  readonly update: CommandConfig;
  readonly delete: CommandConfig;
  /** Where one resource is read. Without it lost edits and what came back from a delete show less surely. */
  readonly read?: string | undefined;
  /** Where resources are counted: `items` names the array, a dotted path. Without it doubles show less surely. */
  readonly list?: { readonly url: string; readonly items: string } | undefined;
  /** Receipt look-up, with `{id}`. */
  readonly receipts: string;
  readonly batch?: string | undefined;
  /** A document family, with a target of the caller's own. */
  readonly document?:
    | {
        readonly family: string;
        readonly target: string;
        readonly put: CommandConfig;
        readonly remove: CommandConfig;
        readonly read: string;
      }
    | undefined;
  /** Per request, in ms; 10 s by default. */
  readonly timeoutMs?: number | undefined;
}

/** The reference server's routes and the demo's accounts. */
export const DEFAULT_CONFIG: CheckConfig = {
  family: 'workout',
  accounts: [
    {
      owner: 'ada',
      signIn: { url: '/api/session', body: { account: 'ada', password: 'lovelace' }, token: 'token' },
    },
    {
      owner: 'grace',
      signIn: { url: '/api/session', body: { account: 'grace', password: 'hopper' }, token: 'token' },
    },
  ],
  create: {
    method: 'POST',
    url: '/api/workouts',
    kind: 'workout.create',
    body: { date: '1999-12-31', weightKg: 60, note: 'holdfast check-server' },
    otherBody: { date: '1999-12-31', weightKg: 80, note: 'holdfast check-server' },
  },
  update: {
    method: 'PATCH',
    url: '/api/workouts/{target}',
    kind: 'workout.update',
    body: { weightKg: 70 },
  },
  delete: { method: 'DELETE', url: '/api/workouts/{target}', kind: 'workout.delete' },
  read: '/api/workouts/{target}',
  list: { url: '/api/workouts?from=1999-12-31&to=1999-12-31', items: 'items' },
  receipts: '/api/receipts/{id}',
  batch: '/api/batch',
  document: {
    family: 'plan',
    target: '1999-12-31',
    put: { method: 'PUT', url: '/api/plans/{target}', kind: 'plan.put', body: { title: 'Legs' } },
    remove: { method: 'DELETE', url: '/api/plans/{target}', kind: 'plan.remove' },
    read: '/api/plans/{target}',
  },
};

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

const KNOWN: ReadonlySet<string> = new Set([
  'family',
  'accounts',
  'create',
  'update',
  'delete',
  'read',
  'list',
  'receipts',
  'batch',
  'document',
  'timeoutMs',
]);

/**
 * The configuration in a file's JSON. What it leaves out is not offered by that server, so nothing of the default
 * is mixed in.
 * @throws ConfigError that names the member
 */
export function readConfig(value: unknown): CheckConfig {
  const root = object(value, 'the configuration');
  const unknown = Object.keys(root).find((name) => !KNOWN.has(name) && name !== '$schema');
  if (unknown !== undefined)
    throw new ConfigError(`"${unknown}" is not known; there are ${[...KNOWN].join(', ')}`);
  const accounts = root['accounts'];
  if (!Array.isArray(accounts) || accounts.length !== 2)
    throw new ConfigError('"accounts" is a list of two accounts');
  const { list, batch, document, timeoutMs } = root;
  const create = object(root['create'], 'create');
  if (!Object.hasOwn(create, 'otherBody')) throw new ConfigError('"create.otherBody" is missing');
  return {
    family: text(root, 'family'),
    accounts: [account(accounts[0], 'accounts[0]'), account(accounts[1], 'accounts[1]')],
    create: { ...command(create, 'create'), otherBody: create['otherBody'] },
    update: command(root['update'], 'update'),
    delete: command(root['delete'], 'delete'),
    receipts: text(root, 'receipts'),
    ...(root['read'] === undefined ? {} : { read: text(root, 'read') }),
    ...(list === undefined ? {} : { list: readList(list) }),
    ...(batch === undefined ? {} : { batch: text(root, 'batch') }),
    ...(document === undefined ? {} : { document: readDocument(document) }),
    ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}),
  };
}

function readList(value: unknown): CheckConfig['list'] {
  const list = object(value, 'list');
  return { url: text(list, 'url', 'list.'), items: text(list, 'items', 'list.') };
}

function readDocument(value: unknown): CheckConfig['document'] {
  const document = object(value, 'document');
  return {
    family: text(document, 'family', 'document.'),
    target: text(document, 'target', 'document.'),
    put: command(document['put'], 'document.put'),
    remove: command(document['remove'], 'document.remove'),
    read: text(document, 'read', 'document.'),
  };
}

function account(value: unknown, name: string): AccountConfig {
  const root = object(value, name);
  const owner = text(root, 'owner', `${name}.`);
  if (root['headers'] !== undefined) {
    const headers = object(root['headers'], `${name}.headers`);
    const entries = Object.keys(headers).map((header) => [header, text(headers, header, `${name}.headers.`)]);
    return { owner, headers: Object.fromEntries(entries) };
  }
  if (root['signIn'] === undefined)
    throw new ConfigError(
      `"${name}" has neither "headers" nor "signIn". Give the headers that go with each of its requests, such as ` +
        '{"authorization": "Bearer …"}, {} for none; or a sign-in that answers with a token: ' +
        '{"url": "/api/session", "body": {…}, "token": "token"}',
    );
  const signIn = object(root['signIn'], `${name}.signIn`);
  return {
    owner,
    signIn: {
      url: text(signIn, 'url', `${name}.signIn.`),
      token: text(signIn, 'token', `${name}.signIn.`),
      body: signIn['body'],
    },
  };
}

function command(value: unknown, name: string): CommandConfig {
  const root = object(value, name);
  return {
    method: text(root, 'method', `${name}.`),
    url: text(root, 'url', `${name}.`),
    kind: text(root, 'kind', `${name}.`),
    ...(root['body'] === undefined ? {} : { body: root['body'] }),
  };
}

function object(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigError(`"${name}" is not an object`);
  return Object.fromEntries(Object.entries(value));
}

function text(root: Readonly<Record<string, unknown>>, name: string, prefix = ''): string {
  const value = root[name];
  if (typeof value !== 'string' || value === '') throw new ConfigError(`"${prefix}${name}" is not a text`);
  return value;
}
