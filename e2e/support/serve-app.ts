/**
 * A loopback server for browser suites: files from memory or a folder, and the test's own routes. Each server
 * is an origin of its own, since its port is.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { extname, join, normalize } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.mjs': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly at: number;
  /** The sender hung up before it had the whole answer. */
  readonly wasCut: boolean;
}

/** Answers a request and says so with `true`; anything else falls through to the files. */
export type Route = (request: IncomingMessage, response: ServerResponse, url: URL) => boolean | undefined;

export interface AppFiles {
  /** By path, e.g. `/sw.js`. May be replaced while serving: a new worker release is a new text. */
  readonly files?: Map<string, string | Uint8Array> | undefined;
  readonly folder?: string | undefined;
  readonly route?: Route | undefined;
  /** Sent with every file, e.g. a Content-Security-Policy. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly port?: number | undefined;
}

export interface AppServer {
  readonly origin: string;
  readonly port: number;
  /** Every request that a route answered, in order of arrival. */
  readonly requests: readonly SeenRequest[];
  /** The next request from now on that matches, once a route has begun to answer it. */
  nextRequest(matches: (request: SeenRequest) => boolean): Promise<SeenRequest>;
  /** Cuts every connection and refuses new ones, as a server that went away. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
}

export async function serveApp(app: AppFiles): Promise<AppServer> {
  const requests: SeenRequest[] = [];
  const waiting = new Set<(request: SeenRequest) => void>();
  const sockets = new Set<Socket>();

  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const seen = {
      method: request.method ?? 'GET',
      path: url.pathname + url.search,
      headers: request.headers,
      at: Date.now(),
      wasCut: false,
    };
    response.on('close', () => {
      seen.wasCut = !response.writableFinished;
    });
    if (app.route?.(request, response, url)) {
      requests.push(seen);
      for (const notify of waiting) notify(seen);
      return;
    }
    answerFile(app, url.pathname, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });

  const listen = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve((server.address() as AddressInfo).port);
      });
    });
  const port = await listen(app.port ?? 0);

  return {
    origin: `http://localhost:${port}`,
    port,
    requests,
    nextRequest: (matches) =>
      new Promise((resolve) => {
        const notify = (request: SeenRequest): void => {
          if (!matches(request)) return;
          waiting.delete(notify);
          resolve(request);
        };
        waiting.add(notify);
      }),
    async stop() {
      if (!server.listening) return;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    async start() {
      await listen(port);
    },
  };
}

async function answerFile(app: AppFiles, pathname: string, response: ServerResponse): Promise<void> {
  const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
  const body = app.files?.get(path) ?? (await readBelow(app.folder, path));
  if (body === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found');
    return;
  }
  response.writeHead(200, {
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'cache-control': 'no-store',
    'service-worker-allowed': '/',
    ...app.headers,
  });
  response.end(body);
}

async function readBelow(folder: string | undefined, path: string): Promise<Uint8Array | undefined> {
  if (folder === undefined) return undefined;
  return await readFile(join(folder, normalize(path))).catch(() => undefined);
}
