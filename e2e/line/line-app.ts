/** The suites' app: page, worker, and a server in memory whose answers a test can hold, lose or refuse. */
import { buildFixture } from '../support/build-fixture.ts';
import { type AppServer, serveApp } from '../support/serve-app.ts';
import { type CommandServer, createCommandServer } from './command-server.ts';

export interface LineApp extends AppServer, Omit<CommandServer, 'route'> {
  /** By path; another text is another release. */
  readonly files: Map<string, string>;
  /** While set, requests to the API end without an answer and without being applied. */
  cut(isCut: boolean): void;
  /** While shut, enqueues of the family `gated` wait in its validator. Call it to open. */
  shutGate(): () => void;
  /** Resolves when the next command has arrived (and has been applied unless refused). */
  nextCommand(): Promise<unknown>;
}

export interface LineOptions {
  /** Sent with every file. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Scripts of its own in place of the line's. */
  readonly entries?: { readonly worker: string; readonly page: string } | undefined;
}

export async function serveLine({ headers, entries }: LineOptions = {}): Promise<LineApp> {
  const [worker, page] = await Promise.all([
    buildFixture({ entry: { file: entries?.worker ?? 'e2e/line/worker.ts' } }),
    buildFixture({ entry: { file: entries?.page ?? 'e2e/line/page.ts' } }),
  ]);
  const { route, ...server } = createCommandServer();
  let gate: Promise<void> | undefined;

  const files = new Map([
    [
      '/index.html',
      '<!doctype html><meta charset="utf-8"><title>line</title><script src="/page.js"></script>',
    ],
    ['/page.js', page],
    ['/sw.js', worker],
  ]);
  let isCutOff = false;
  const app = await serveApp({
    files,
    headers,
    route(request, response, url) {
      if (url.pathname === '/gate') {
        void (gate ?? Promise.resolve()).then(() => response.writeHead(204).end());
        return true;
      }
      if (isCutOff && url.pathname.startsWith('/api/')) {
        response.destroy();
        return true;
      }
      return route(request, response, url);
    },
  });
  return {
    ...app,
    ...server,
    files,
    cut(isCut) {
      isCutOff = isCut;
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
    nextCommand: () =>
      app.nextRequest(({ path }) => path.startsWith('/api/') && !path.startsWith('/api/receipts/')),
  };
}
