/** A tab with the outbox app in it, and what a person or a test does there. */
import type { ViewSnapshot } from '../../client/view-snapshot.ts';
import type { FlushCause } from '../../shared/answers.ts';
import type { FlushResult, Settled } from '../../shared/outcome.ts';
import type { EngineBrowser, EngineTab } from '../support/engine.ts';

export interface Visit {
  readonly tab: EngineTab;
  /** Answers which host the page has. */
  connect(worker?: string): Promise<'worker' | 'page'>;
  create(weightKg: number): Promise<string>;
  update(target: string, weightKg: number): Promise<string>;
  plan(date: string, title: string): Promise<string>;
  /** To the end, or only to where it waits or rests. */
  settled(id: string, final?: boolean): Promise<Settled>;
  view(): Promise<ViewSnapshot>;
  whenView(pattern: object): Promise<ViewSnapshot>;
  flush(): Promise<FlushResult>;
  /** Triggers that the page posted to its worker. */
  posted(): Promise<readonly FlushCause[]>;
  /** The Web Locks of hosts that run, of this origin. */
  hosts(): Promise<readonly string[]>;
  /** Resolves when none of these hosts holds its lock any more. */
  whenGone(hosts: readonly string[]): Promise<void>;
  /** What is left in the database: rows and bodies. */
  left(): Promise<{ readonly rows: number; readonly bodies: number }>;
}

export async function openVisit(browser: EngineBrowser, url: string): Promise<Visit> {
  const tab = await browser.openTab(url);
  await tab.run(() => globalThis.beside.enter());
  return visitIn(tab);
}

export function visitIn(tab: EngineTab): Visit {
  return {
    tab,
    connect: (worker = '/sw.js') =>
      tab.run((path) => globalThis.outboxApp.connect({ owner: 'ada', worker: path }), worker),
    create: (weightKg) =>
      tab.run(async (kg) => {
        const { workout } = globalThis.outboxApp.outbox;
        return (await workout.create({ date: '2026-11-30', exercise: 'Squat', weightKg: kg })).id;
      }, weightKg),
    update: (target, weightKg) =>
      tab.run(
        async (of, kg) => (await globalThis.outboxApp.outbox.workout.update(of, { weightKg: kg })).id,
        target,
        weightKg,
      ),
    plan: (date, title) =>
      tab.run(
        async (of, words) => (await globalThis.outboxApp.outbox.plan.put(of, { title: words })).id,
        date,
        title,
      ),
    settled: (id, final = true) =>
      tab.run((of, toTheEnd) => globalThis.outboxApp.outbox.settled(of, { final: toTheEnd }), id, final),
    view: () => tab.run(() => globalThis.outboxApp.outbox.view.getSnapshot()),
    whenView: (pattern) => tab.run((wanted) => globalThis.outboxApp.whenView(wanted), pattern),
    flush: () => tab.run(() => globalThis.outboxApp.outbox.flush()),
    posted: () => tab.run(() => globalThis.beside.posted),
    hosts: () =>
      tab.run(async () => {
        const { held = [] } = await navigator.locks.query();
        return held.map(({ name = '' }) => name).filter((name) => name.startsWith('holdfast-host:'));
      }),
    whenGone: (hosts) =>
      tab.run(async (names) => {
        for (const name of names) await navigator.locks.request(name, { mode: 'shared' }, () => undefined);
      }, hosts),
    left: () => tab.run(() => globalThis.beside.left()),
  };
}
