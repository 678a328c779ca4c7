/** The faults of V9 as data, and the check of a rule that came over HTTP. */
import { isJsonObject } from '../http/json-body.ts';

export const RECEIPT_FIELDS = [
  'id',
  'requestHash',
  'kind',
  'target',
  'revision',
  'generation',
  'committedAt',
] as const;

export type Fault =
  /** Waits before applying; before the answer with `delay_after`. */
  | { readonly type: 'delay' | 'delay_after'; readonly ms: number }
  /** Answers instead of applying: 500, 503, 429, 401, 403, …; `retryAfter` goes out as it is. */
  | {
      readonly type: 'status';
      readonly status: number;
      readonly code?: string | undefined;
      readonly retryAfter?: string | number | undefined;
      readonly members?: Readonly<Record<string, unknown>> | undefined;
    }
  /** Applies, and then answers with an error all the same. */
  | {
      readonly type: 'status_after';
      readonly status: number;
      readonly retryAfter?: string | number | undefined;
    }
  | { readonly type: 'redirect'; readonly to?: string | undefined }
  /** A captive portal's page instead of the server, or in place of its answer. */
  | { readonly type: 'portal'; readonly status?: number | undefined }
  | {
      readonly type: 'wrong_receipt';
      readonly field: (typeof RECEIPT_FIELDS)[number];
      readonly value?: unknown;
    }
  | {
      readonly type:
        | 'in_progress'
        /** The connection breaks before, or after, applying. */
        | 'reset_before'
        | 'reset_after'
        /** No answer ever, the connection stays open: before applying, or (`drop_answer`) after. */
        | 'silence_before'
        | 'drop_answer'
        /** Applies, and breaks off inside the answer's body. */
        | 'truncate'
        | 'portal_after'
        | 'no_receipt'
        /** Applies and answers 204. */
        | 'empty'
        /** Applies, and the process ends before it answers; where that is not allowed, as `reset_after`. */
        | 'crash_after';
    };

export interface FaultRule {
  readonly fault: Fault;
  /** How many requests it meets; without it, every one. */
  readonly count?: number | undefined;
  /** How many of a hundred. */
  readonly percent?: number | undefined;
  readonly match?: FaultMatch | undefined;
}

export interface FaultMatch {
  readonly method?: string | undefined;
  /** The path's beginning. */
  readonly path?: string | undefined;
  readonly family?: string | undefined;
  /** The wire kind. */
  readonly kind?: string | undefined;
  /** The idempotency key. */
  readonly key?: string | undefined;
}

type FaultType = Fault['type'];

/** Which numbers and names a fault must bring. */
const NEEDS = {
  delay: 'ms',
  delay_after: 'ms',
  status: 'status',
  status_after: 'status',
  redirect: undefined,
  portal: undefined,
  portal_after: undefined,
  wrong_receipt: 'field',
  in_progress: undefined,
  reset_before: undefined,
  reset_after: undefined,
  silence_before: undefined,
  drop_answer: undefined,
  truncate: undefined,
  no_receipt: undefined,
  empty: undefined,
  crash_after: undefined,
} as const satisfies Record<FaultType, 'ms' | 'status' | 'field' | undefined>;

export const FAULT_TYPES: readonly string[] = Object.keys(NEEDS);

/** Says what is wrong with a rule that came over the wire, or that nothing is. */
export function isFaultRule(value: unknown): value is FaultRule {
  if (!isJsonObject(value) || !isJsonObject(value['fault'])) return false;
  const { fault, count, percent, match } = value;
  if (!isFault(fault)) return false;
  if (count !== undefined && !isNumber(count, 0, Number.MAX_SAFE_INTEGER)) return false;
  if (percent !== undefined && !isNumber(percent, 0, 100)) return false;
  return match === undefined || (isJsonObject(match) && Object.values(match).every(isText));
}

function isFault(value: unknown): value is Fault {
  if (!isJsonObject(value) || typeof value['type'] !== 'string' || !Object.hasOwn(NEEDS, value['type']))
    return false;
  switch (NEEDS[value['type'] as FaultType]) {
    case 'ms':
      return isNumber(value['ms'], 0, 600_000);
    case 'status':
      return isNumber(value['status'], 200, 599);
    case 'field':
      return RECEIPT_FIELDS.some((field) => field === value['field']);
    default:
      return true;
  }
}

function isNumber(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
