/** Finds the route of a request and turns whatever goes wrong into a problem document: nothing crashes (V4). */
import {
  DatabaseBusyError,
  DatabaseContentionError,
  DatabaseUnavailableError,
  DatabaseValueError,
} from '../database/database.ts';
import type { Answer, ApiRequest, Exchange } from './exchange.ts';
import { ProblemError, problem } from './problem.ts';

export interface Route {
  readonly method: string;
  /** Such as `/api/workouts/:id`. */
  readonly path: string;
  readonly handle: (request: ApiRequest, parameters: Readonly<Record<string, string>>) => Promise<Answer>;
}

export type Report = (error: unknown, request: ApiRequest) => void;

export function createRouter(routes: readonly Route[], report: Report): Exchange {
  return async (request) => {
    try {
      return await dispatch(routes, request);
    } catch (error) {
      if (error instanceof ProblemError) return error.answer;
      if (error instanceof DatabaseValueError)
        return problem(422, 'invalid', 'The request has a value that cannot be stored, such as U+0000');
      if (error instanceof DatabaseBusyError) return inProgress();
      if (error instanceof DatabaseContentionError || error instanceof DatabaseUnavailableError) {
        report(error, request);
        return problem(503, 'unavailable', 'Send the same request again, under the same key', {
          headers: { 'retry-after': '1' },
        });
      }
      report(error, request);
      // What exactly stays in the server's log: a stack or an SQL text is nobody else's business.
      return problem(500, 'internal', 'The request was not carried out; send it again under the same key');
    }
  };
}

/** 409 with `Retry-After` (V2): the sender asks again under the same key. */
export function inProgress(): Answer {
  return problem(409, 'in_progress', 'Ask again under the same key', { headers: { 'retry-after': '1' } });
}

async function dispatch(routes: readonly Route[], request: ApiRequest): Promise<Answer> {
  const allowed: string[] = [];
  for (const route of routes) {
    const parameters = matchPath(route.path, request.path);
    if (!parameters) continue;
    if (route.method === request.method) return route.handle(request, parameters);
    allowed.push(route.method);
  }
  if (allowed.length === 0) return problem(404, 'not_found', `Nothing is at ${request.path}`);
  return problem(405, 'method_not_allowed', `Try ${allowed.join(', ')}`, {
    headers: { allow: allowed.join(', ') },
  });
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== text) return undefined;
      continue;
    }
    const value = decode(text);
    if (!value) return undefined;
    parameters[part.slice(1)] = value;
  }
  return parameters;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
