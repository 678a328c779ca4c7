/**
 * Turns an answer into facts (D10): status, codes, and what can be seen without understanding it. What the facts
 * mean is decided in `classify-failure.ts`. Message texts are carried for people, never read to decide.
 * Never throws, whatever it is given.
 */
import { HoldfastError } from '../../shared/errors.ts';
import { readRevision, revisionOfEtag } from './revision.ts';
import type { Answer } from './sender.ts';

export type Fact =
  /** No answer at all. */
  | 'network'
  | 'timeout'
  | 'aborted'
  /** The store or the quota of this device. */
  | 'device'
  | 'revision_conflict'
  | 'idempotency_conflict'
  | 'not_found'
  | 'redirect_secure'
  | 'redirect_plain'
  /** HTML where JSON was asked: somebody else's page. */
  | 'page'
  /** Neither JSON nor a problem document where that was asked: not the API's own word. */
  | 'foreign'
  /** A wait that can be read (D3). */
  | 'retry_after'
  /** The answer names the revision it has. */
  | 'revision'
  /** The server says that it refuses this key for good (D45). */
  | 'refused_for_good';

export interface FailureSignals {
  readonly status: number | undefined;
  /** A 2xx that is not somebody else's page or the end of a redirect. */
  readonly isSuccess: boolean;
  /** Codes of a problem type, a `code` member or the error and its causes, outermost first. */
  readonly codes: readonly string[];
  readonly facts: ReadonlySet<Fact>;
  /** For people: a problem's detail or title, or an error's message, cut short. */
  readonly detail: string | undefined;
  readonly json: unknown;
  readonly actualRevision: number | undefined;
  readonly retryAt: number | undefined;
  /** The request was never handed to the network (R7). */
  readonly neverLeft: boolean;
}

const MAX_CAUSES = 8;
const MAX_DETAIL = 200;

const FACT_OF_NAME: Readonly<Record<string, Fact>> = {
  // What `fetch` rejects with when there is no connection; it has no code and no name of its own.
  TypeError: 'network',
  NetworkError: 'network',
  TimeoutError: 'timeout',
  AbortError: 'aborted',
  QuotaExceededError: 'device',
  InvalidStateError: 'device',
  UnknownError: 'device',
  TransactionInactiveError: 'device',
  RevisionConflictError: 'revision_conflict',
  IdempotencyConflictError: 'idempotency_conflict',
  NotFoundError: 'not_found',
};

/** Codes of sockets and resolvers, as Node and common clients name them. */
const NETWORK_CODE =
  /^(ECONN\w+|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ERR_NETWORK|UND_ERR_\w+)$/;

/** `retryAt`: the answer's `Retry-After` as an instant, where it can be read. */
export function failureSignals(answer: Answer, retryAt?: number | undefined): FailureSignals {
  try {
    return answer?.type === 'response' ? responseSignals(answer, retryAt) : errorSignals(answer);
  } catch {
    // A sender that hands over something that cannot even be looked at.
    return { ...NOTHING, facts: new Set() };
  }
}

const NOTHING = {
  status: undefined,
  isSuccess: false,
  codes: [],
  detail: undefined,
  json: undefined,
  actualRevision: undefined,
  retryAt: undefined,
  neverLeft: false,
};

function errorSignals(answer: Extract<Answer, { type: 'failure' }> | undefined): FailureSignals {
  const facts = new Set<Fact>();
  const codes: string[] = [];
  let status: number | undefined;
  let detail: string | undefined;
  let json: unknown;
  const nameFacts: Fact[] = [];
  const seen = new Set<unknown>();
  let link: unknown = answer?.error;
  for (let depth = 0; depth < MAX_CAUSES && isObject(link) && !seen.has(link); depth++) {
    seen.add(link);
    status ??= readStatus(link);
    detail ??= readText(readMember(link, 'message'));
    json ??= readMember(readMember(link, 'response'), 'data');
    const code = readMember(link, 'code');
    if (link instanceof HoldfastError) facts.add('device');
    if (typeof code === 'string' && NETWORK_CODE.test(code)) facts.add('network');
    else if (typeof code === 'string' && code !== '') codes.push(code);
    const name = readMember(link, 'name');
    if (typeof name === 'string' && Object.hasOwn(FACT_OF_NAME, name)) {
      const fact = FACT_OF_NAME[name];
      if (fact) nameFacts.push(fact);
    }
    link = readMember(link, 'cause');
  }
  const timedOut = answer?.timedOut === true;
  if (timedOut) facts.add('timeout');
  codes.push(...problemCodes(json));
  // A name only counts where nothing better is known; of several the outermost.
  if (codes.length === 0 && status === undefined && facts.size === 0 && nameFacts[0]) facts.add(nameFacts[0]);
  if (status !== undefined && codes.length === 0 && json === undefined) facts.add('foreign');
  return {
    status: timedOut ? undefined : status,
    isSuccess: false,
    codes: timedOut ? [] : codes,
    facts,
    detail,
    json,
    actualRevision: addRevision(facts, json, undefined),
    retryAt: undefined,
    neverLeft: answer?.neverLeft === true,
  };
}

function responseSignals(
  answer: Extract<Answer, { type: 'response' }>,
  retryAt: number | undefined,
): FailureSignals {
  const facts = new Set<Fact>();
  const { json } = answer;
  const contentType = readText(answer.contentType) ?? '';
  const wantsJson = answer.wantsJson !== false;
  if (answer.redirected) facts.add(answer.secure ? 'redirect_secure' : 'redirect_plain');
  if (wantsJson && answer.ok && /\bx?html\b/i.test(contentType)) facts.add('page');
  // A bare `404` is valid JSON too, and no API's word.
  if (wantsJson && !isObject(json) && !/\bjson\b/i.test(contentType)) facts.add('foreign');
  if (retryAt !== undefined) facts.add('retry_after');
  if (isObject(readMember(json, 'refused'))) facts.add('refused_for_good');
  return {
    status: Number.isInteger(answer.status) ? answer.status : undefined,
    isSuccess: answer.ok === true && !answer.redirected && !facts.has('page'),
    codes: problemCodes(json),
    facts,
    detail: readText(readMember(json, 'detail')) ?? readText(readMember(json, 'title')),
    json,
    actualRevision: addRevision(facts, json, answer.status === 412 ? answer.etag : undefined),
    retryAt,
    neverLeft: false,
  };
}

/** The last segment of a problem's `type` and a `code` member, as the conventions of docs/server.md name codes. */
function problemCodes(json: unknown): string[] {
  const type = readMember(json, 'type');
  const last = typeof type === 'string' ? type.split(/[:/#]/).pop() : undefined;
  const refused = readMember(json, 'refused');
  return [last, readMember(json, 'code'), readMember(refused, 'code')].filter(
    (code): code is string => typeof code === 'string' && code !== '' && code !== 'blank',
  );
}

function addRevision(facts: Set<Fact>, json: unknown, etag: string | undefined): number | undefined {
  const named =
    readRevision(readMember(json, 'actual_revision')) ?? readRevision(readMember(json, 'actualRevision'));
  if (named !== undefined) facts.add('revision');
  return named ?? revisionOfEtag(etag);
}

function readStatus(link: object): number | undefined {
  for (const status of [
    readMember(link, 'status'),
    readMember(link, 'statusCode'),
    readMember(readMember(link, 'response'), 'status'),
  ]) {
    if (Number.isInteger(status) && (status as number) >= 100 && (status as number) < 600)
      return status as number;
  }
  return undefined;
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_DETAIL) : undefined;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** A member, or `undefined` where there is none or reading it throws. */
export function readMember(value: unknown, member: string): unknown {
  if (!isObject(value)) return undefined;
  try {
    return (value as Record<string, unknown>)[member];
  } catch {
    return undefined;
  }
}
