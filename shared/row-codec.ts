/**
 * Between what is stored and `Row` (R2, R3). A value that does not read as a row is reported, never repaired
 * and never dropped; fields that this release does not know pass through every reading and every write.
 */
import { ROW_FORMAT, type Row, type RowIdentity } from './row.ts';

export type DecodedRow =
  | { readonly type: 'row'; readonly row: Row }
  /** `reason` names the field that does not read. */
  | { readonly type: 'unreadable'; readonly reason: string };

type Check = (value: unknown) => boolean;
/** A nested record: required and optional fields. */
interface Shape {
  readonly required: Readonly<Record<string, Check>>;
  readonly optional: Readonly<Record<string, Check>>;
}

const text: Check = (value) => typeof value === 'string';
const word: Check = (value) => typeof value === 'string' && value !== '';
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const flag: Check = (value) => typeof value === 'boolean';
const list: Check = Array.isArray;
const texts: Check = (value) => Array.isArray(value) && value.every(text);
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && words.includes(value);

/**
 * Words inside these are not checked against today's lists: a newer release may have added one, and its rows
 * must still be sent after a rollback.
 */
const SHAPES = {
  claim: { required: { host: text, expiresAt: number, fence: number }, optional: {} },
  evidence: {
    required: { attemptCount: number },
    optional: { lastAttemptAt: number, lastErrorCode: text, doubtSince: number, attempts: list },
  },
  notBefore: { required: { at: number, by: text }, optional: {} },
  receipt: {
    required: { id: text },
    optional: {
      requestHash: text,
      kind: text,
      target: text,
      revision: number,
      generation: number,
      committedAt: (value) => text(value) || number(value),
      replayed: flag,
    },
  },
  conflict: {
    required: { originalId: text, at: number },
    optional: { expected: number, actual: number, rounds: number },
  },
  recovery: { required: { source: text, at: number, generation: number, proof: text }, optional: {} },
  writer: { required: { release: text, at: number }, optional: {} },
} as const satisfies Partial<Record<keyof Row, Shape>>;

const isTarget: Check = (value) =>
  isRecord(value) &&
  ((value['type'] === 'id' && word(value['id'])) || (value['type'] === 'pending' && word(value['origin'])));

const nested = (name: keyof typeof SHAPES): Check => {
  const shape: Shape = SHAPES[name];
  return (value) => isRecord(value) && firstWrong(value, shape) === undefined;
};

const IDENTITY = {
  required: {
    format: (value) => value === ROW_FORMAT,
    id: word,
    origin: word,
    seq: number,
    owner: word,
    family: word,
    kind: oneOf('create', 'update', 'delete', 'put', 'remove'),
    target: isTarget,
    savedAt: number,
    requestHash: text,
  },
  optional: {
    bodyId: word,
    bodyDigest: text,
    bodySize: number,
    sourceRef: text,
    expectedRevision: number,
    tags: texts,
    replaces: texts,
    after: texts,
    urgent: flag,
    expiresAt: number,
  },
} as const satisfies { required: Partial<Record<keyof RowIdentity, Check>>; optional: object } & Shape;

const ROW: Shape = {
  required: {
    ...IDENTITY.required,
    state: oneOf('queued', 'sending', 'held', 'blocked'),
    evidence: nested('evidence'),
    version: number,
  },
  optional: {
    ...IDENTITY.optional,
    doubt: flag,
    sentAt: number,
    deferredAt: number,
    heldAt: number,
    blockedAt: number,
    blockedCode: text,
    claim: nested('claim'),
    successorOf: text,
    notBefore: nested('notBefore'),
    receipt: nested('receipt'),
    gone: flag,
    lookupNone: flag,
    awaited: flag,
    overtakenBy: text,
    conflict: nested('conflict'),
    recovery: nested('recovery'),
    noticed: flag,
    orphanedAt: number,
    writer: nested('writer'),
  },
};

const IDENTITY_FIELDS = Object.keys({ ...IDENTITY.required, ...IDENTITY.optional });

export function decodeRow(value: unknown): DecodedRow {
  if (!isRecord(value)) return { type: 'unreadable', reason: 'not a record' };
  // An older writer may have left these out (C3); both have an obvious meaning.
  const row: unknown = { evidence: { attemptCount: 0 }, version: 0, ...present(value) };
  const reason = wrongField(row);
  return isRow(row, reason) ? { type: 'row', row } : { type: 'unreadable', reason: reason ?? 'not a record' };
}

/** As it is stored: without fields whose value is `undefined`. */
export function encodeRow(row: Row): Row {
  const known = Object.keys(SHAPES).filter((name) => isRecord(Reflect.get(row, name)));
  return Object.assign(
    present(row),
    ...known.map((name) => ({ [name]: present(Object(Reflect.get(row, name))) })),
  );
}

/**
 * A write over a stored row (R2): known fields are the draft's, absent ones included; fields that this release
 * does not know are kept, inside nested records too, unless the draft names them.
 */
export function mergeRow(stored: Row, draft: Row): Row {
  const merged = { ...unknownFields(stored, ROW), ...present(draft) };
  for (const [name, shape] of Object.entries(SHAPES)) {
    const before: unknown = Reflect.get(stored, name);
    const after: unknown = Reflect.get(draft, name);
    if (isRecord(before) && isRecord(after))
      Object.assign(merged, { [name]: { ...unknownFields(before, shape), ...present(after) } });
  }
  return encodeRow(merged);
}

/** The first identity field that differs from the stored row's, given a comparison by content (R2, R41). */
export function changedIdentity(
  stored: RowIdentity,
  draft: Partial<RowIdentity>,
  same: (a: unknown, b: unknown) => boolean,
): string | undefined {
  return IDENTITY_FIELDS.find((name) => !same(Reflect.get(stored, name), Reflect.get(draft, name)));
}

function isRow(row: unknown, reason: string | undefined): row is Row {
  return reason === undefined && isRecord(row);
}

function wrongField(row: unknown): string | undefined {
  return isRecord(row) ? firstWrong(row, ROW) : 'not a record';
}

function firstWrong(value: Readonly<Record<string, unknown>>, shape: Shape): string | undefined {
  for (const name in shape.required) if (!shape.required[name]?.(value[name])) return name;
  for (const name in shape.optional)
    if (value[name] !== undefined && !shape.optional[name]?.(value[name])) return name;
  return undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function present<T extends object>(value: T): T {
  const copy = { ...value };
  for (const name in copy) if (copy[name] === undefined) delete copy[name];
  return copy;
}

function unknownFields(value: object, { required, optional }: Shape): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name]) => !Object.hasOwn(required, name) && !Object.hasOwn(optional, name),
    ),
  );
}
