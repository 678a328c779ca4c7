/**
 * One seeded story in a real browser (T30): two tabs save while the worker is stopped, tabs close, the browser is
 * killed and comes back, and the server does what servers do. What each call was told is written down beside it.
 */
import type { Page } from 'puppeteer';
import type { Fault } from '../../examples/server/faults/fault-rule.ts';
import type { Target } from '../../shared/key.ts';
import type { Settled } from '../../shared/outcome.ts';
import { createRandom, type Random } from '../../sw/testing/simulation/random.ts';
import { launchChromium } from '../support/launch-chromium.ts';
import { type Device, openDevice, SQUAT } from '../support/outbox-app/device.ts';
import type { OutboxAppServer } from '../support/outbox-app/serve-outbox-app.ts';
import { openServiceWorkerControl } from '../support/service-worker-control.ts';

export interface Command {
  readonly id: string;
  /** The order in which pages asked. */
  readonly n: number;
  readonly kind: 'create' | 'update' | 'delete' | 'put';
  /** What it is about: a creation's id, or a day. */
  readonly about: string;
  /** `told`: the page heard that it is saved. `gone`: the tab went before it heard anything. */
  state: 'asked' | 'told' | 'refused' | 'gone';
  /** How many had been asked when it was told: those after them came later, the others beside it. */
  toldAt?: number;
  /** What a refused call was told. */
  error?: string;
}

export interface Totals {
  commands: number;
  told: number;
  refused: number;
  stops: number;
  closedTabs: number;
  kills: number;
  outages: number;
  faults: number;
  requests: number;
  applied: number;
}

export interface Chaos {
  readonly commands: readonly Command[];
  readonly totals: Totals;
  /** What a page that comes afterwards hears of each. */
  readonly ends: ReadonlyMap<string, Settled>;
  readonly left: readonly { readonly id: string; readonly state: string }[];
  close(): Promise<void>;
}

const OWNER = 'ada';
const FAULTS: readonly [Fault, ...Fault[]] = [
  { type: 'drop_answer' },
  { type: 'reset_before' },
  { type: 'reset_after' },
  { type: 'truncate' },
  { type: 'portal' },
  { type: 'status', status: 500 },
  { type: 'status', status: 503, retryAfter: 1 },
  { type: 'status_after', status: 502 },
  // Longer than the lease of a plan, which is a second.
  { type: 'delay', ms: 1_500 },
  { type: 'delay_after', ms: 1_500 },
];

/** All but signing in, which is the app's and not the outbox's. */
const PATHS = ['/api/workouts', '/api/workouts', '/api/plans', '/api/receipts'] as const;

export async function playChaos(app: OutboxAppServer, seed: number, ms: number): Promise<Chaos> {
  const random = createRandom(seed);
  const commands: Command[] = [];
  const totals: Totals = {
    commands: 0,
    told: 0,
    refused: 0,
    stops: 0,
    closedTabs: 0,
    kills: 0,
    outages: 0,
    faults: 0,
    requests: 0,
    applied: 0,
  };
  let chromium = await launchChromium();
  const tabs: Device[] = [];
  const calls: Promise<unknown>[] = [];

  async function open(): Promise<void> {
    const [page] = await chromium.browser.pages();
    if (!page) throw new Error('The browser has no page');
    const tab = await openDevice(chromium, app, { page });
    await tab.signIn(OWNER);
    tabs.push(tab);
  }

  function save({ page }: Device): void {
    const n = commands.length + 1;
    const creations = commands.filter(({ kind, state }) => kind === 'create' && state === 'told');
    const creation = creations[random.below(creations.length)];
    const roll = random.next();
    const kind = !creation || roll < 0.3 ? 'create' : roll < 0.65 ? 'update' : roll < 0.72 ? 'delete' : 'put';
    const id = crypto.randomUUID();
    const days = ['2026-12-01', '2026-12-02', '2026-12-03'] as const;
    const about = kind === 'create' ? id : kind === 'put' ? random.pick(days) : (creation?.id ?? id);
    const command: Command = { id, n, kind, about, state: 'asked' };
    commands.push(command);
    calls.push(
      ask(page, command).then(
        () => {
          Object.assign(command, { state: 'told', toldAt: commands.length });
        },
        (error: unknown) => {
          const isGone = page.isClosed() || (error instanceof Error && error.name === 'TargetCloseError');
          if (isGone) command.state = 'gone';
          else Object.assign(command, { state: 'refused', error: `${error}` });
        },
      ),
    );
  }

  const befall: readonly [weight: number, () => Promise<void>][] = [
    [
      12,
      async () => {
        for (let more = random.below(4); more >= 0; more--)
          save(tabs[random.below(tabs.length)] ?? (await first(tabs)));
      },
    ],
    [2, () => stopWorker(tabs, totals)],
    [
      1,
      async () => {
        const [tab] = tabs.splice(random.below(tabs.length), 1);
        totals.closedTabs++;
        await tab?.page.close();
        await open();
      },
    ],
    [
      0.25,
      async () => {
        totals.kills++;
        tabs.length = 0;
        await chromium.kill();
        chromium = await chromium.relaunch();
        await open();
        await open();
      },
    ],
    [
      1,
      async () => {
        totals.outages++;
        app.server.faults.stop();
        await passed(200 + random.below(800));
        app.server.faults.start();
      },
    ],
    [
      4,
      async () => {
        totals.faults++;
        app.server.faults.add({ fault: random.pick(FAULTS), count: 1, match: { path: random.pick(PATHS) } });
      },
    ],
  ];

  await open();
  await open();
  for (const until = Date.now() + ms; Date.now() < until; ) {
    await choose(befall, random)();
    await passed(random.below(60));
  }
  app.server.faults.clear();
  app.server.faults.start();
  await Promise.all(calls);
  const left = await comeToRest(await first(tabs));
  const ends = await endsOf(await first(tabs), commands);
  totals.commands = commands.length;
  totals.told = commands.filter(({ state }) => state === 'told').length;
  totals.refused = commands.filter(({ state }) => state === 'refused').length;
  totals.requests = app.server.requests().filter(({ key }) => key !== undefined).length;
  totals.applied = (await app.server.statistics(OWNER)).effects.length;
  return { commands, totals, ends, left, close: () => chromium.close() };
}

async function first(tabs: readonly Device[]): Promise<Device> {
  const [tab] = tabs;
  if (!tab) throw new Error('No tab is open');
  return tab;
}

async function stopWorker(tabs: readonly Device[], totals: Totals): Promise<void> {
  totals.stops++;
  const control = await openServiceWorkerControl((await first(tabs)).page);
  await control.stop();
  await control.close();
}

/** Saved by the page; a call that a closed tab takes along never answers. */
function ask(page: Page, { id, n, kind, about }: Command): Promise<unknown> {
  const gone = new Promise((_, reject) => page.once('close', () => reject(new Error('The tab is closed'))));
  const call = page.evaluate(
    async (given) => {
      const { workout, plan } = globalThis.outboxApp.outbox;
      const target: Target = { type: 'pending', origin: given.about };
      const { id: by } = given;
      if (given.kind === 'create') await workout.create({ ...given.body, weightKg: given.n }, { id: by });
      else if (given.kind === 'update') await workout.update(target, { weightKg: given.n }, { id: by });
      else if (given.kind === 'delete') await workout.delete(target, { id: by });
      else await plan.put(given.about, { title: `${given.n}` }, { id: by });
    },
    { id, n, kind, about, body: SQUAT },
  );
  return Promise.race([call, gone]);
}

/** T30.5: what is left after some flushes is blocked. */
async function comeToRest({ page }: Device): Promise<Chaos['left']> {
  return page.evaluate(async () => {
    const { outbox } = globalThis.outboxApp;
    for (let round = 0; round < 60; round++) {
      await outbox.flush();
      const { counts } = outbox.view.getSnapshot();
      if (counts.queued + counts.sending + counts.held === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    const { rows } = await outbox.export();
    return rows.map(({ row: { id, state } }) => ({ id, state }));
  });
}

async function endsOf({ page }: Device, commands: readonly Command[]): Promise<ReadonlyMap<string, Settled>> {
  const all = await page.evaluate(
    async (ids) => {
      const { outbox } = globalThis.outboxApp;
      const late = (id: string) =>
        new Promise<{ type: 'waiting'; id: string }>((resolve) =>
          setTimeout(() => resolve({ type: 'waiting', id }), 20_000),
        );
      return Promise.all(
        ids.map(
          async (id) => [id, await Promise.race([outbox.settled(id, { final: true }), late(id)])] as const,
        ),
      );
    },
    commands.map(({ id }) => id),
  );
  return new Map(all.flatMap(([id, end]) => (end.type === 'waiting' ? [] : [[id, end] as const])));
}

function choose(
  befall: readonly [weight: number, () => Promise<void>][],
  random: Random,
): () => Promise<void> {
  let roll = random.next() * befall.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, what] of befall) {
    roll -= weight;
    if (roll < 0) return what;
  }
  return async () => undefined;
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
