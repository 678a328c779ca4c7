/** Serves the demo's files (V8): right types, a strict policy, and a worker script that is never stale. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { extname, join, normalize, resolve, sep } from 'node:path';
import type { ApiRequest } from './exchange.ts';

export interface StaticFilesOptions {
  /** Looked through in order. */
  readonly directories: readonly string[];
  readonly contentSecurityPolicy: string | undefined;
}

/** Only this origin's own files; no inline script or style, no eval, no frame around it. */
export const STRICT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
};

export function createStaticFiles(options: StaticFilesOptions) {
  const roots = options.directories.map((directory) => resolve(directory));

  return async (request: ApiRequest, response: ServerResponse): Promise<void> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    const file = await findFile(roots, request.path);
    if (!file) {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Not found\n');
      return;
    }
    const { bytes, name } = file;
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const isWorker = /(^|[/\\])sw(\.[\w.-]+)?\.js$/.test(name);
    const headers: Record<string, string> = {
      'content-type': TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream',
      'content-length': String(bytes.length),
      // Revalidated each time: the precache of the worker is what makes it fast, not this cache.
      'cache-control': isWorker ? 'no-store' : 'no-cache',
      etag,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    };
    if (isWorker) headers['service-worker-allowed'] = '/';
    if (options.contentSecurityPolicy !== undefined)
      headers['content-security-policy'] = options.contentSecurityPolicy;
    if (!isWorker && request.headers['if-none-match'] === etag) {
      delete headers['content-length'];
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : bytes);
  };
}

async function findFile(roots: readonly string[], path: string) {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return undefined;
  }
  if (decoded.includes('\0')) return undefined;
  const wanted = decoded.endsWith('/') ? `${decoded}index.html` : decoded;
  for (const root of roots) {
    const name = join(root, normalize(wanted));
    if (!name.startsWith(root + sep)) continue;
    try {
      return { bytes: await readFile(name), name };
    } catch {
      // Not in this directory, or a directory itself.
    }
  }
  return undefined;
}
