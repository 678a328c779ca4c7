/** Serves a built app beside a server that keeps notes and answers with receipts. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AppServer, serveApp } from '../support/serve-app.ts';
import type { BuiltApp } from './build-app.ts';

export interface NotesServer extends AppServer {
  /** Each once, in their order. */
  readonly notes: readonly unknown[];
}

/** The page of an app that esbuild made, which writes no HTML. */
const HTML =
  '<!doctype html><meta charset="utf-8"><title>notes</title><script type="module" src="/page.js"></script>';

export async function serveNotes({ served, address }: BuiltApp): Promise<NotesServer> {
  const notes: unknown[] = [];
  const receipts = new Map<string, object>();

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const id = String(request.headers['idempotency-key']).replaceAll('"', '');
    const known = receipts.get(id);
    const receipt = known ?? {
      id,
      requestHash: request.headers['holdfast-request-hash'],
      kind: request.headers['holdfast-kind'],
      target: `note-${notes.length + 1}`,
      revision: 1,
      generation: 1,
      committedAt: Date.now(),
    };
    if (!known) notes.push(JSON.parse(Buffer.concat(parts).toString()));
    receipts.set(id, receipt);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ receipt }));
  }

  const app = await serveApp({
    folder: served,
    files: new Map(address === '/' ? [['/index.html', HTML]] : []),
    route(request, response, url) {
      if (url.pathname !== '/api/notes') return false;
      take(request, response).catch(() => response.destroy());
      return true;
    },
  });
  return { ...app, notes };
}
