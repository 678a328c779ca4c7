/**
 * Several commands in one request, an answer each, in order (V7). Every command has its own transaction,
 * receipt and refusal, just as if it had come alone; nothing of a batch is undone because of another part.
 */
import type { Answer, ApiRequest, Ending, Exchange } from '../http/exchange.ts';
import { isJsonObject, type JsonObject, readJson } from '../http/json-body.ts';
import { invalid, problem } from '../http/problem.ts';
import { inProgress, type Route } from '../http/router.ts';

export const BATCH_LIMIT = 100;
const METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** `exchange` is the server's own way for one request, fault switches included. */
export function batchRoute(exchange: Exchange): Route {
  const path = '/api/batch';
  const handle: Route['handle'] = async (request) => {
    const commands = readJson(request)?.['commands'];
    if (!Array.isArray(commands) || commands.length === 0)
      return invalid('A batch is {"commands": [{"id", "requestHash", "owner", "method", "url", "body", …}]}');
    if (commands.length > BATCH_LIMIT)
      return problem(413, 'too_large', `A batch has at most ${BATCH_LIMIT} commands`);
    const parts = commands.map((command: unknown) => toRequest(command, request));
    const answers: Answer[] = [];
    const undecided = new Set<string>();
    for (const part of parts) {
      // Order within a resource stands: what follows a command that was neither applied nor refused must wait.
      const answer =
        typeof part === 'string' || !undecided.has(part.path) ? await answerTo(part) : inProgress();
      answers.push(answer);
      if (typeof part !== 'string' && part.method !== 'POST' && isUndecided(answer)) undecided.add(part.path);
    }
    return {
      status: 200,
      headers: { 'cache-control': 'no-store' },
      json: {
        answers: answers.map(({ status, headers, json, text }, index) => ({
          id: idOf(commands[index]),
          status,
          headers,
          body: json ?? text ?? null,
        })),
      },
      ending: answers.map((answer) => answer.ending).find(isFault),
    };
  };

  async function answerTo(part: ApiRequest | string): Promise<Answer> {
    return typeof part === 'string' ? problem(400, 'invalid', part) : exchange(part);
  }

  return { method: 'POST', path, handle };
}

/** The command as the request it would have been alone, or what is wrong with it. */
function toRequest(command: unknown, batch: ApiRequest): ApiRequest | string {
  if (!isJsonObject(command)) return 'A command is a JSON object';
  const { id, requestHash, owner, wireKind, method, url, ifMatch, sourceRef, body } = command;
  if (typeof id !== 'string' || typeof requestHash !== 'string' || typeof owner !== 'string')
    return 'A command has an id, a requestHash and an owner';
  if (typeof method !== 'string' || !METHODS.has(method))
    return 'A command has a method that changes something';
  if (typeof url !== 'string' || !URL.canParse(url, 'http://batch')) return 'A command has a url';
  if (LONE_SURROGATE.test(owner) || (typeof sourceRef === 'string' && LONE_SURROGATE.test(sourceRef)))
    return 'The owner and the sourceRef are well-formed texts';
  const target = new URL(url, 'http://batch');
  if (target.pathname === batch.path) return 'A batch has no batches in it';
  const hasBody = body !== undefined && body !== null;
  return {
    method,
    path: target.pathname,
    query: target.searchParams,
    headers: {
      authorization: batch.headers['authorization'],
      cookie: batch.headers['cookie'],
      'content-type': hasBody ? 'application/json' : undefined,
      'idempotency-key': `"${id.replace(/["\\]/g, '\\$&')}"`,
      'holdfast-request-hash': requestHash,
      'holdfast-owner': encodeURIComponent(owner),
      'holdfast-kind': typeof wireKind === 'string' ? wireKind : undefined,
      'holdfast-source-ref': typeof sourceRef === 'string' ? encodeURIComponent(sourceRef) : undefined,
      'if-match': ifMatch === undefined || ifMatch === null ? undefined : String(ifMatch),
    },
    bytes: hasBody ? new TextEncoder().encode(JSON.stringify(body)) : new Uint8Array(),
    inBatch: true,
  };
}

/** Lone surrogates have no UTF-8, so no header could carry them either. */
const LONE_SURROGATE = /\p{Surrogate}/u;

function idOf(command: unknown): JsonObject[string] {
  return isJsonObject(command) ? command['id'] : undefined;
}

function isUndecided({ status }: Answer): boolean {
  return status >= 500 || status === 429 || status === 408 || status === 401 || status === 409;
}

function isFault(ending: Ending | undefined): ending is Ending {
  return ending !== undefined && ending !== 'sent';
}
