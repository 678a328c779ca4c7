/** The suites' app: page, worker, and a server in memory whose answers a test can hold, lose or refuse. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buildFixture } from '../support/build-fixture.ts';
import { type AppServer, serveApp } from '../support/serve-app.ts';

export interface AppliedRequest {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly body: unknown;
}

export interface LineApp extends AppServer {
  /** Each once, in the order in which the server applied them. */
  readonly applied: readonly AppliedRequest[];
  /** Resolves when something more has been applied. */
  nextApplied(): Promise<void>;
  /** Requests per idempotency key. */
  sent(id: string): number;
  /** While set, requests wait here before they are answered (they have been applied). Call it to let them go. */
  hold(): () => void;
  /** While shut, enqueues of the family `gated` wait in its validator. Call it to open. */
  shutGate(): () => void;
  /** Answers every command with this status instead, until called again with `undefined`. */
  refuseWith(status: number | undefined): void;
  /** Resolves when the next command has arrived (and has been applied unless refused). */
  nextCommand(): Promise<unknown>;
}

export async function serveLine(headers?: Readonly<Record<string, string>>): Promise<LineApp> {
  const [worker, page] = await Promise.all([
    buildFixture({ entry: { file: 'e2e/line/worker.ts' } }),
    buildFixture({ entry: { file: 'e2e/line/page.ts' } }),
  ]);
  const ledger = new Map<string, object>();
  const revisions = new Map<string, number>();
  const applied: AppliedRequest[] = [];
  const counts = new Map<string, number>();
  const watching = new Set<() => void>();
  let held: Promise<void> | undefined;
  let refusal: number | undefined;
  let gate: Promise<void> | undefined;

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

  const app = await serveApp({
    files: new Map([
      [
        '/index.html',
        '<!doctype html><meta charset="utf-8"><title>line</title><script src="/page.js"></script>',
      ],
      ['/page.js', page],
      ['/sw.js', worker],
    ]),
    headers,
    route(request, response, url) {
      if (url.pathname === '/gate') {
        void (gate ?? Promise.resolve()).then(() => response.writeHead(204).end());
        return true;
      }
      if (!url.pathname.startsWith('/api/')) return false;
      answer(request, response, url).catch(() => response.destroy());
      return true;
    },
  });
  return {
    ...app,
    applied,
    nextApplied: () => new Promise((resolve) => watching.add(resolve)),
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
    shutGate() {
      let open = (): void => undefined;
      gate = new Promise((resolve) => {
        open = () => {
          gate = undefined;
          resolve();
        };
      });
      return open;
    },
    refuseWith(status) {
      refusal = status;
    },
    nextCommand: () =>
      app.nextRequest(({ path }) => path.startsWith('/api/') && !path.startsWith('/api/receipts/')),
  };
}
