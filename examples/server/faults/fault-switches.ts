/**
 * Faults on request (V9): each is a rule with a filter and a count. It stands between the listener and the
 * routes and knows answers only, so that what it does to an answer is done after the change was committed.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Answer, ApiRequest, Exchange } from '../http/exchange.ts';
import { isJsonObject } from '../http/json-body.ts';
import { problem } from '../http/problem.ts';
import { inProgress } from '../http/router.ts';
import type { Fault, FaultRule } from './fault-rule.ts';

export interface FaultState {
  readonly stopped: boolean;
  readonly rules: readonly (FaultRule & { readonly hits: number })[];
}

export interface FaultSwitches {
  /** Replaces all rules. */
  set(rules: readonly FaultRule[]): void;
  add(rule: FaultRule): void;
  clear(): void;
  /** A stopped server breaks every connection of `/api/`, but for the switches themselves. */
  stop(): void;
  start(): void;
  state(): FaultState;
  readonly intercept: (request: ApiRequest, next: Exchange) => Promise<Answer>;
}

export interface FaultOptions {
  /** Ends delays when the server closes. */
  readonly closing: AbortSignal;
  /** A number in [0, 1), for rules with `percent`. */
  readonly random: () => number;
  /** Ends the process as a power cut would; absent where that would end somebody else. */
  readonly crash?: (() => never) | undefined;
}

interface ActiveRule {
  readonly rule: FaultRule;
  hits: number;
}

export function createFaultSwitches(options: FaultOptions): FaultSwitches {
  let active: ActiveRule[] = [];
  let stopped = false;

  function take(request: ApiRequest): readonly Fault[] {
    const taken: Fault[] = [];
    for (const one of active) {
      const { rule } = one;
      if (rule.count !== undefined && one.hits >= rule.count) continue;
      if (!matches(rule, request)) continue;
      if (rule.percent !== undefined && options.random() * 100 >= rule.percent) continue;
      one.hits += 1;
      taken.push(rule.fault);
    }
    return taken;
  }

  return {
    set: (rules) => {
      active = rules.map((rule) => ({ rule, hits: 0 }));
    },
    add: (rule) => {
      active.push({ rule, hits: 0 });
    },
    clear: () => {
      active = [];
    },
    stop: () => {
      stopped = true;
    },
    start: () => {
      stopped = false;
    },
    state: () => ({ stopped, rules: active.map(({ rule, hits }) => ({ ...rule, hits })) }),
    intercept: async (request, next) => {
      if (request.path.startsWith('/api/_test/')) return next(request);
      if (stopped) return broken('reset');
      const faults = take(request);
      for (const fault of faults) {
        const answer = await before(fault, options);
        if (answer) return answer;
      }
      let answer = await next(request);
      for (const fault of faults) answer = await after(fault, answer, options);
      return answer;
    },
  };
}

/** A rule without family, kind or key is about requests; with one, about commands, in a batch or alone. */
function matches(rule: FaultRule, request: ApiRequest): boolean {
  const { match = {} } = rule;
  const ofCommands = match.family !== undefined || match.kind !== undefined || match.key !== undefined;
  if (request.inBatch && !ofCommands && match.path === undefined) return false;
  const kind = request.headers['holdfast-kind'];
  if (match.method !== undefined && match.method !== request.method) return false;
  if (match.path !== undefined && !request.path.startsWith(match.path)) return false;
  if (match.kind !== undefined && match.kind !== kind) return false;
  if (match.family !== undefined && kind?.slice(0, kind.lastIndexOf('.')) !== match.family) return false;
  if (match.key !== undefined && !request.headers['idempotency-key']?.includes(match.key)) return false;
  return true;
}

/** What happens instead of applying; `undefined` lets the request through. */
async function before(fault: Fault, options: FaultOptions): Promise<Answer | undefined> {
  switch (fault.type) {
    case 'delay':
      await wait(fault.ms, undefined, { signal: options.closing }).catch(() => undefined);
      return undefined;
    case 'status':
      return problem(fault.status, fault.code ?? codeFor(fault.status), 'A fault switch is on', {
        headers: fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) },
        members: fault.members,
      });
    case 'in_progress':
      return inProgress();
    case 'redirect':
      return { status: 302, headers: { location: fault.to ?? '/login' } };
    case 'portal':
      return portal(fault.status ?? 200);
    case 'reset_before':
      return broken('reset');
    case 'silence_before':
      return broken('silence');
    default:
      return undefined;
  }
}

/** What becomes of the answer of a request that was carried out. */
async function after(fault: Fault, answer: Answer, options: FaultOptions): Promise<Answer> {
  switch (fault.type) {
    case 'delay_after':
      await wait(fault.ms, undefined, { signal: options.closing }).catch(() => undefined);
      return answer;
    case 'drop_answer':
      return { ...answer, ending: 'silence' };
    case 'reset_after':
      return { ...answer, ending: 'reset' };
    case 'truncate':
      return { ...answer, ending: 'truncate' };
    case 'status_after':
      return problem(fault.status, codeFor(fault.status), 'A fault switch is on', {
        headers: fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) },
      });
    case 'portal_after':
      return portal(200);
    case 'no_receipt':
      return isJsonObject(answer.json) ? { ...answer, json: without(answer.json, 'receipt') } : answer;
    case 'empty':
      return { status: 204, headers: {} };
    case 'wrong_receipt':
      return isJsonObject(answer.json) && isJsonObject(answer.json['receipt'])
        ? {
            ...answer,
            json: { ...answer.json, receipt: { ...answer.json['receipt'], [fault.field]: wrong(fault) } },
          }
        : answer;
    case 'crash_after':
      return options.crash ? options.crash() : { ...answer, ending: 'reset' };
    default:
      return answer;
  }
}

function wrong(fault: Extract<Fault, { type: 'wrong_receipt' }>): unknown {
  if (fault.value !== undefined) return fault.value;
  switch (fault.field) {
    case 'id':
      return '00000000-0000-4000-8000-000000000000';
    case 'requestHash':
      return '0'.repeat(64);
    case 'kind':
      return 'somebody.else';
    case 'target':
      return 'another-resource';
    case 'revision':
      return 0;
    case 'generation':
      return -1;
    case 'committedAt':
      return false;
  }
}

function without(value: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}

function portal(status: number): Answer {
  const text = '<!doctype html><title>Free Wi-Fi</title><h1>Accept the terms to go online</h1>';
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, text };
}

function broken(ending: 'reset' | 'silence'): Answer {
  return { status: 503, headers: {}, ending };
}

function codeFor(status: number): string {
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 410:
      return 'gone';
    case 429:
      return 'too_many_requests';
    case 503:
      return 'unavailable';
    default:
      return status < 500 ? 'invalid' : 'internal';
  }
}
