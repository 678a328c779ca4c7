import type { ApiRequest } from './exchange.ts';
import { invalid } from './problem.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The body as a JSON object; `undefined` where there is no body. @throws ProblemError */
export function readJson(request: ApiRequest): JsonObject | undefined {
  if (request.bytes.length === 0) return undefined;
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return invalid('Send JSON', 415);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(request.bytes));
  } catch {
    return invalid('The body is not JSON in UTF-8');
  }
  return isJsonObject(value) ? value : invalid('The body is not a JSON object');
}
