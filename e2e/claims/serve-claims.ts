/**
 * The claims app on the real reference server, each on an origin of its own. A test may keep requests at the server's
 * door, let them be carried out, and answer as it likes; and it may put another release of the worker in place.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'puppeteer';
import type { Database } from '../../examples/server/database/database.ts';
import type { Answer, ApiRequest, Exchange } from '../../examples/server/http/exchange.ts';
import { problem } from '../../examples/server/http/problem.ts';
import { createReferenceServer, type ReferenceServer } from '../../examples/server/reference-server.ts';
import { buildFixture, ROOT } from '../support/build-fixture.ts';
import type { ReleaseOptions } from './sending.ts';

/** The release that was kept: see e2e/fixtures/README.md. */
export const OLDER = '0.1.0-alpha';

/** A command that has come to the server's door. */
export interface HeldRequest {
  readonly id: string;
  readonly kind: string;
  readonly ifMatch: string | undefined;
  /** Lets the server carry it out, and keeps the answer. */
  carryOut(): Promise<void>;
  /** Lets the server's own answer go, or, where a status is given, that one, with nothing carried out for it. */
  answer(status?: number): Promise<void>;
}

export interface ClaimsApp {
  readonly url: string;
  readonly server: ReferenceServer;
  /** From now on commands wait at the door. */
  hold(): void;
  /** The next command that came to the door, in their order; each once. */
  next(): Promise<HeldRequest>;
  /** Opens the door, for those that wait too. */
  letGo(): Promise<void>;
  /** The worker's script from now on: this release with its options, or the older one. */
  deploy(options: ReleaseOptions, bundle?: 'current' | 'older'): Promise<void>;
  /** The script of pages that are opened from now on. */
  deployPage(bundle: 'current' | 'older'): Promise<void>;
  /** Signs the page's browser in. */
  signIn(page: Page): Promise<void>;
  /** A change by another device, past the door; answers the new revision. */
  changeElsewhere(workout: string, patch: Readonly<Record<string, unknown>>): Promise<number>;
  /** A workout on the server; answers its id, at revision 1. */
  createElsewhere(body: Readonly<Record<string, unknown>>): Promise<string>;
  /** A workout as the server has it. */
  read(workout: string): Promise<unknown>;
  /** How often each key of this app had an effect. */
  effects(): Promise<Readonly<Record<string, number>>>;
  /** How many requests came with this key. */
  sent(id: string): number;
  close(): Promise<void>;
}

const HTML = '<!doctype html><meta charset="utf-8"><title>claims</title><script src="/page.js"></script>';
const ELSEWHERE = 'elsewhere';

let current: Promise<string> | undefined;

function bundleOf(which: 'current' | 'older'): Promise<string> {
  if (which === 'older') return readFile(join(ROOT, `e2e/fixtures/release-${OLDER}.js`), 'utf8');
  current ??= buildFixture({ entry: { file: 'e2e/claims/bundle.ts' } });
  return current;
}

export async function serveClaims(database: Database, deployed: ReleaseOptions = {}): Promise<ClaimsApp> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-claims-'));
  const arrived: HeldRequest[] = [];
  const waiting: ((request: HeldRequest) => void)[] = [];
  let holding = false;
  let doors: (() => Promise<void>)[] = [];

  function keep(request: ApiRequest, next: Exchange): Promise<Answer> {
    return new Promise((resolve) => {
      let done: Promise<Answer> | undefined;
      const carryOut = (): Promise<Answer> => {
        done ??= next(request);
        return done;
      };
      const held: HeldRequest = {
        id: request.headers['idempotency-key']?.replaceAll('"', '') ?? '',
        kind: request.headers['holdfast-kind'] ?? '',
        ifMatch: request.headers['if-match'],
        carryOut: async () => void (await carryOut()),
        async answer(status) {
          resolve(status === undefined ? await carryOut() : problem(status, 'trouble', 'As the test wanted'));
        },
      };
      doors.push(() => held.answer());
      const take = waiting.shift();
      if (take) take(held);
      else arrived.push(held);
    });
  }

  const server = await createReferenceServer({
    database,
    staticDir: folder,
    intercept(request, next) {
      const isCommand = request.headers['idempotency-key'] !== undefined;
      const isElsewhere = request.headers['holdfast-source-ref'] === ELSEWHERE;
      return holding && isCommand && !isElsewhere ? keep(request, next) : next(request);
    },
  });

  async function ask(method: string, path: string, body: unknown, token?: string): Promise<Response> {
    return await fetch(server.url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        'idempotency-key': `"${crypto.randomUUID()}"`,
        'holdfast-owner': 'ada',
        'holdfast-source-ref': ELSEWHERE,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
  }
  // The database is shared by the suite's servers, one after another.
  await ask('POST', '/api/_test/reset', {});
  const session = (await (
    await ask('POST', '/api/session', { account: 'ada', password: 'lovelace' })
  ).json()) as { readonly token: string };

  async function change(method: string, path: string, body: unknown) {
    const response = await ask(method, path, body, session.token);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    const { receipt } = (await response.json()) as {
      readonly receipt: { readonly target: string; readonly revision: number };
    };
    return receipt;
  }

  async function deploy(options: ReleaseOptions, which: 'current' | 'older' = 'current'): Promise<void> {
    const preamble = `globalThis.releaseOptions = ${JSON.stringify(options)};\n`;
    await writeFile(join(folder, 'sw.js'), preamble + (await bundleOf(which)));
  }
  async function deployPage(which: 'current' | 'older'): Promise<void> {
    await writeFile(join(folder, 'page.js'), await bundleOf(which));
  }

  await writeFile(join(folder, 'index.html'), HTML);
  await Promise.all([deployPage('current'), deploy(deployed)]);

  return {
    url: server.url,
    server,
    hold() {
      holding = true;
    },
    next: () =>
      new Promise((resolve) => {
        const held = arrived.shift();
        if (held) resolve(held);
        else waiting.push(resolve);
      }),
    async letGo() {
      holding = false;
      const all = doors;
      doors = [];
      await Promise.all(all.map((open) => open()));
    },
    deploy,
    deployPage,
    async signIn(page) {
      const status = await page.evaluate(async () => {
        const response = await fetch('/api/session', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ account: 'ada', password: 'lovelace' }),
        });
        return response.status;
      });
      if (status !== 200) throw new Error(`Signing in was answered ${status}`);
    },
    changeElsewhere: async (workout, patch) =>
      (await change('PATCH', `/api/workouts/${workout}`, patch)).revision,
    createElsewhere: async (body) => (await change('POST', '/api/workouts', body)).target,
    async read(workout) {
      const headers = { authorization: `Bearer ${session.token}` };
      return await (await fetch(`${server.url}/api/workouts/${workout}`, { headers })).json();
    },
    async effects() {
      const { applied } = await server.statistics('ada');
      return Object.fromEntries(applied.map(({ id, count }) => [id, count]));
    },
    sent: (id) =>
      server.requests().filter(({ key, path }) => key === id && !path.includes('receipts')).length,
    async close() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
