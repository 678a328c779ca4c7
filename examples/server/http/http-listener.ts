/**
 * Node's HTTP server around an exchange: reads a bounded body, writes an answer, and carries out the endings
 * that faults ask for. Whatever arrives, the process goes on.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer, ApiRequest, Exchange } from './exchange.ts';
import { problem } from './problem.ts';

export interface ListenerOptions {
  readonly exchange: Exchange;
  /** Answers what is not under `/api/`. */
  readonly fallback: (request: ApiRequest, response: ServerResponse) => Promise<void>;
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** The same for images. */
  readonly maxFileBytes: number;
  readonly report: (error: unknown) => void;
}

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

export async function listen(options: ListenerOptions): Promise<Listener> {
  const server = createServer((message, response) => {
    // A client that goes away while it is answered is no event for anybody.
    response.on('error', () => undefined);
    serve(message, response, options).catch((error: unknown) => {
      options.report(error);
      if (response.headersSent) response.destroy();
      else write(response, problem(500, 'internal', 'The request could not be answered'));
    });
  });
  // Longer than browsers keep idle connections, so that it is never this end that closes one in use.
  server.keepAliveTimeout = 75_000;
  // Node's own limit, 5 minutes for a whole request, is less than a slow link needs for a photo.
  server.requestTimeout = 1_200_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

async function serve(message: IncomingMessage, response: ServerResponse, options: ListenerOptions) {
  const { method = 'GET', url = '/' } = message;
  if (!URL.canParse(url, 'http://server'))
    return write(response, problem(400, 'invalid', 'The address is malformed'));
  const { pathname, searchParams } = new URL(url, 'http://server');
  const isApi = pathname.startsWith('/api/');
  const isImage = message.headers['content-type']?.startsWith('image/') ?? false;
  const limit = isImage ? options.maxFileBytes : options.maxBodyBytes;
  const bytes = await readBody(message, limit);
  if (bytes === 'gone') return;
  if (bytes === 'too_large') {
    const detail = `A request has at most ${limit} bytes`;
    return write(response, problem(413, 'too_large', detail, { headers: { connection: 'close' } }));
  }
  const request = { method, path: pathname, query: searchParams, headers: headersOf(message), bytes };
  if (!isApi) return options.fallback(request, response);
  write(response, await options.exchange(request));
}

/** Repeated headers are joined as HTTP says; only these can be. */
function headersOf(message: IncomingMessage): ApiRequest['headers'] {
  return Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

async function readBody(message: IncomingMessage, limit: number): Promise<Uint8Array | 'too_large' | 'gone'> {
  if (Number(message.headers['content-length'] ?? 0) > limit) {
    message.resume();
    return 'too_large';
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of message.iterator({ destroyOnReturn: false })) {
      size += chunk.length;
      if (size > limit) {
        message.resume();
        return 'too_large';
      }
      chunks.push(chunk);
    }
  } catch {
    // The client broke off before its request was whole: there is nothing to carry out and nobody to answer.
    return 'gone';
  }
  return Buffer.concat(chunks);
}

function write(response: ServerResponse, answer: Answer): void {
  switch (answer.ending) {
    case 'silence':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    default:
  }
  const text = answer.text ?? (answer.json === undefined ? undefined : JSON.stringify(answer.json));
  const body = answer.bytes ?? text;
  const headers: Record<string, string> = { 'x-content-type-options': 'nosniff', ...answer.headers };
  if (body !== undefined) {
    headers['content-type'] ??= 'application/json; charset=utf-8';
    headers['content-length'] = String(Buffer.byteLength(body));
  }
  response.writeHead(answer.status, headers);
  if (answer.ending === 'truncate' && body !== undefined) {
    response.write(body.slice(0, Math.floor(body.length / 2)), () => response.destroy());
    return;
  }
  response.end(body);
}
