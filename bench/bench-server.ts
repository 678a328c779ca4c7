/**
 * A server that costs next to nothing, so that the figures are the client's: it answers every command with the
 * receipt it asks for and remembers keys, over HTTP/1.1 or HTTP/2.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface BenchServer {
  /** An origin of its own for each name, on the same server: nothing is shared between them but the machine. */
  originOf(name: string): string;
  /** Before every answer, in ms. */
  delayMs: number;
  /** Commands applied, each key once. */
  readonly appliedCount: number;
  forget(): void;
  close(): Promise<void>;
}

type Request = IncomingMessage | Http2ServerRequest;
type Response = ServerResponse | Http2ServerResponse;

const TYPES: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.html': 'text/html' };

export async function serveBench(
  files: ReadonlyMap<string, string>,
  protocol: 'http1' | 'http2',
): Promise<BenchServer> {
  const ledger = new Set<string>();
  const state = { delayMs: 0 };

  function answer(request: Request, response: Response): void {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const file = files.get(path === '/' ? '/index.html' : path);
    if (file !== undefined) {
      const type = TYPES[path.slice(path.lastIndexOf('.'))] ?? 'text/html';
      // Isolated, so that clocks tick in microseconds.
      const isolation = {
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-embedder-policy': 'require-corp',
      };
      write(response, 200, { 'content-type': type, 'cache-control': 'no-store', ...isolation }, file);
      return;
    }
    request.resume();
    request.on('end', () => {
      const reply = (): void => reply200(request, response, ledger);
      if (state.delayMs === 0) reply();
      else setTimeout(reply, state.delayMs);
    });
  }

  const server: Server =
    protocol === 'http1'
      ? createServer({ keepAliveTimeout: 60_000 }, answer)
      : createSecureServer({ ...makeCertificate(), allowHTTP1: true }, answer);
  const sockets = new Set<Socket>();
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  };
  server.on('connection', track);
  server.on('secureConnection', track);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    originOf: (name) => `${protocol === 'http1' ? 'http' : 'https'}://${name}.localhost:${port}`,
    get delayMs() {
      return state.delayMs;
    },
    set delayMs(ms) {
      state.delayMs = ms;
    },
    get appliedCount() {
      return ledger.size;
    },
    forget: () => ledger.clear(),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function reply200(request: Request, response: Response, ledger: Set<string>): void {
  const header = (name: string): string => {
    const value = request.headers[name];
    return typeof value === 'string' ? value : '';
  };
  const id = header('idempotency-key').replaceAll('"', '');
  const replayed = ledger.has(id);
  if (id !== '') ledger.add(id);
  const receipt = {
    id,
    requestHash: header('holdfast-request-hash'),
    kind: header('holdfast-kind'),
    target: id,
    revision: 1,
    generation: 1,
    committedAt: Date.now(),
    ...(replayed ? { replayed } : {}),
  };
  const body = JSON.stringify({ receipt, pad: 'x'.repeat(40) });
  write(response, 200, { 'content-type': 'application/json', 'cache-control': 'no-store' }, body);
}

function write(
  response: Response,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  // One signature for both protocols.
  const plain = response as ServerResponse;
  plain.writeHead(status, headers);
  plain.end(body);
}

function makeCertificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cert-'));
  const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'];
  const files = ['-keyout', 'key.pem', '-out', 'cert.pem', '-addext', 'subjectAltName=DNS:*.localhost'];
  try {
    execFileSync('openssl', [...options, ...files], { cwd: folder, stdio: 'ignore' });
    return { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
