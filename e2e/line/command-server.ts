/** A server in memory with a ledger, whose answers a test can hold, lose or refuse. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Route } from '../support/serve-app.ts';

export interface AppliedRequest {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly body: unknown;
}

export interface CommandServer {
  /** Answers whatever is asked of it below `/api/`. */
  readonly route: Route;
  /** Each once, in the order in which the server applied them. */
  readonly applied: readonly AppliedRequest[];
  /** Resolves when something more has been applied. */
  nextApplied(): Promise<void>;
  /** Resolves when so many have been applied in all. */
  whenApplied(count: number): Promise<void>;
  /** Requests per idempotency key. */
  sent(id: string): number;
  /** While set, requests wait here before they are answered (they have been applied). Call it to let them go. */
  hold(): () => void;
  /** Answers every command with this status instead, until called again with `undefined`. */
  refuseWith(status: number | undefined): void;
}

export function createCommandServer(): CommandServer {
  const ledger = new Map<string, object>();
  const revisions = new Map<string, number>();
  const applied: AppliedRequest[] = [];
  const counts = new Map<string, number>();
  const watching = new Set<() => void>();
  let held: Promise<void> | undefined;
  let refusal: number | undefined;

  function apply(request: IncomingMessage, url: URL, text: string): object {
    const id = String(request.headers['idempotency-key']).replaceAll('"', '');
    counts.set(id, (counts.get(id) ?? 0) + 1);
    const known = ledger.get(id);
    if (known) return { receipt: { ...known, replayed: true } };
    const [, , , name] = url.pathname.split('/');
    const target = name === undefined ? `srv-${ledger.size + 1}` : decodeURIComponent(name);
    const revision = (revisions.get(target) ?? 0) + 1;
    revisions.set(target, revision);
    const kind = String(request.headers['holdfast-kind']);
    const requestHash = String(request.headers['holdfast-request-hash']);
    const receipt = { id, requestHash, kind, target, revision, generation: 1, committedAt: Date.now() };
    ledger.set(id, receipt);
    applied.push({ id, kind, target, body: text === '' ? undefined : JSON.parse(text) });
    for (const tell of watching) tell();
    watching.clear();
    return { receipt };
  }

  async function answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const reply = (status: number, json: object, type = 'application/json'): void => {
      response.writeHead(status, { 'content-type': type }).end(JSON.stringify(json));
    };
    if (url.pathname.startsWith('/api/receipts/')) {
      const receipt = ledger.get(url.pathname.split('/')[3] ?? '');
      if (receipt) reply(200, { receipt });
      else reply(404, { type: 'urn:holdfast:problem:no_such_receipt' }, 'application/problem+json');
      return;
    }
    if (refusal !== undefined) {
      reply(refusal, { type: 'urn:holdfast:problem:trouble' }, 'application/problem+json');
      return;
    }
    const json = apply(request, url, Buffer.concat(parts).toString());
    await held;
    reply(200, json);
  }

  const nextApplied = (): Promise<void> => new Promise((resolve) => watching.add(resolve));
  return {
    route(request, response, url) {
      if (!url.pathname.startsWith('/api/')) return false;
      answer(request, response, url).catch(() => response.destroy());
      return true;
    },
    applied,
    nextApplied,
    async whenApplied(count) {
      while (applied.length < count) await nextApplied();
    },
    sent: (id) => counts.get(id) ?? 0,
    hold() {
      let release = (): void => undefined;
      held = new Promise((resolve) => {
        release = () => {
          held = undefined;
          resolve();
        };
      });
      return release;
    },
    refuseWith(status) {
      refusal = status;
    },
  };
}
