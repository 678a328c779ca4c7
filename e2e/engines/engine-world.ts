/** One engine on the reference server: a browser for the suite, and for each test an origin nobody has used. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { Intercept } from '../../examples/server/http/exchange.ts';
import { problem } from '../../examples/server/http/problem.ts';
import type { EngineBrowser } from '../support/engine.ts';
import { type OutboxAppServer, serveOutboxApp } from '../support/outbox-app/serve-outbox-app.ts';
import type { Engine } from './engines.ts';
import { openVisit, type Visit } from './visit.ts';
import { openWire, type Wire } from './wire.ts';

export interface EngineWorld {
  readonly browser: EngineBrowser;
  readonly wire: Wire;
  /** A tab of its own with the app in it, signed in with the server. */
  visit(path?: string, browser?: EngineBrowser): Promise<Visit>;
  /** Commands wait at the server, before or after they are carried out, until the returned function lets them go. */
  hold(when: 'before' | 'after'): () => void;
  /** Commands are refused in passing until the returned function is called. */
  refuse(): () => void;
  /** The id of the next command that comes, or of one that came and was not asked for. */
  arrival(): Promise<string>;
  /** What a page that acts by itself says next. */
  told(): Promise<object>;
  /** Requests of this path wait until it is opened. */
  shut(path: string): Gate;
  sent(id: string): number;
  /** Each of these ids was carried out once, and nothing else was. */
  expectApplied(ids: readonly string[]): Promise<void>;
}

export interface Gate {
  /** Resolves when the first request has come. */
  readonly reached: Promise<void>;
  open(): void;
}

interface Queue<T> {
  push(value: T): void;
  next(): Promise<T>;
}

function createQueue<T>(): Queue<T> {
  const values: T[] = [];
  const waiting: ((value: T) => void)[] = [];
  return {
    push(value) {
      const take = waiting.shift();
      if (take) take(value);
      else values.push(value);
    },
    next: () =>
      new Promise((resolve) => {
        const [value] = values;
        if (value === undefined) waiting.push(resolve);
        else resolve(values.shift() ?? value);
      }),
  };
}

export function engineWorld(engine: Engine): EngineWorld {
  let app: OutboxAppServer;
  let browser: EngineBrowser;
  let wire: Wire;
  let arrivals = createQueue<string>();
  let told = createQueue<object>();
  let visits: Visit[] = [];
  let gates: {
    readonly path: string;
    readonly when: 'before' | 'after';
    readonly open: Promise<void>;
    readonly reach: () => void;
  }[] = [];
  let openers: (() => void)[] = [];
  let isRefusing = false;

  const intercept: Intercept = async (request, next) => {
    const { path, headers } = request;
    if (path === '/api/told') {
      told.push(JSON.parse(new TextDecoder().decode(request.bytes)) as object);
      return { status: 204, headers: {} };
    }
    const key = headers['idempotency-key']?.replaceAll('"', '');
    if (key !== undefined) arrivals.push(key);
    if (key !== undefined && isRefusing) return problem(503, 'trouble', 'As the test wanted');
    const on = gates.filter((gate) => (gate.path === '' ? key !== undefined : path === gate.path));
    for (const { reach } of on) reach();
    await Promise.all(on.map(({ when, open }) => when === 'before' && open));
    const answer = on.some((gate) => gate.path !== '') ? problem(404, 'gate', 'Open') : await next(request);
    await Promise.all(on.map(({ when, open }) => when === 'after' && open));
    return answer;
  };
  const close = (path: string, when: 'before' | 'after'): Gate => {
    let release = (): void => undefined;
    let reach = (): void => undefined;
    const open = new Promise<void>((resolve) => {
      release = resolve;
    });
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const gate = { path, when, open, reach };
    gates.push(gate);
    openers.push(release);
    return {
      reached,
      open() {
        gates = gates.filter((one) => one !== gate);
        release();
      },
    };
  };

  beforeAll(async () => {
    [app, browser] = await Promise.all([
      serveOutboxApp({ worker: 'e2e/engines/worker.ts', beside: 'e2e/engines/beside.ts' }),
      engine.launch(),
    ]);
  });
  beforeEach(async () => {
    await app.reset();
    isRefusing = false;
    app.intercept(intercept);
    arrivals = createQueue();
    told = createQueue();
    wire = await openWire(app.server.port);
  });
  afterEach(async () => {
    for (const open of openers) open();
    [gates, openers] = [[], []];
    const open = visits;
    visits = [];
    // A tab that the test closed, or one that went away with its browser.
    for (const { tab } of open) await tab.close().catch(() => undefined);
    await wire.close();
  });
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  return {
    get browser() {
      return browser;
    },
    get wire() {
      return wire;
    },
    async visit(path = '/', inside = browser) {
      const visit = await openVisit(inside, wire.url + path);
      visits.push(visit);
      return visit;
    },
    hold: (when) => close('', when).open,
    shut: (path) => close(path, 'before'),
    refuse() {
      isRefusing = true;
      return () => {
        isRefusing = false;
      };
    },
    arrival: () => arrivals.next(),
    told: () => told.next(),
    sent: (id) =>
      app.server.requests().filter(({ key, path }) => key === id && !path.includes('receipts')).length,
    async expectApplied(ids) {
      const { effects, applied } = await app.server.statistics('ada');
      // Keys of their own leave side by side: which comes first is the network's.
      expect(effects.map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(applied.filter(({ count }) => count !== 1)).toEqual([]);
    },
  };
}
