/** One device with the outbox app open: a browser profile of its own, and what a person or a test does there. */
import type { BrowserContext, Page } from 'puppeteer';
import type { Explanation } from '../../../client/add-words.ts';
import { sentenceOf } from '../../../client/sentences.ts';
import type { SettledOptions } from '../../../client/settling.ts';
import type { CommandOptions } from '../../../client/typed-api.ts';
import type { ViewSnapshot } from '../../../client/view-snapshot.ts';
import type { EditedCopy, SignedOut, SignOutPolicy } from '../../../shared/answers.ts';
import type { FlushResult, JournalEntry, OutcomeType, Settled } from '../../../shared/outcome.ts';
import type { ViewRow } from '../../../shared/protocol.ts';
import type { Reported } from '../../../sw/dispatch/report.ts';
import type { Chromium } from '../launch-chromium.ts';
import type { ConnectTo } from './page.ts';
import type { Account, OutboxAppServer } from './serve-outbox-app.ts';
import type { ShownWorkouts } from './shown-workouts.ts';

export interface Workout {
  readonly date: string;
  readonly exercise: string;
  readonly weightKg: number;
  readonly note?: string | undefined;
}

/** What all the witnesses say about a command that has come to rest. */
export interface End {
  readonly settled: Settled['type'];
  /** The sentence the person reads. */
  readonly said: string;
  /** Outcomes the page heard, of this id and of those that took over; passing ones in a row as one. */
  readonly heard: readonly OutcomeType[];
  /** The row that stands for it in the live view, where one is left: its state, and why it is blocked. */
  readonly row: string | undefined;
  /** How the server answered each request, in order; the same refusals in a row as one. */
  readonly answers: readonly string[];
  /** How often the server carried it out. */
  readonly applied: number;
}

export interface Device {
  readonly page: Page;
  /** Signs in with the server, and with the outbox. */
  signIn(account: Account, to?: ConnectTo): Promise<void>;
  /** The server's session of this browser becomes another account's, or nobody's, and the outbox hears nothing. */
  changeCookie(account: Account | undefined): Promise<void>;
  create(workout?: Partial<Workout>, options?: CommandOptions): Promise<string>;
  update(target: string, patch: Partial<Workout>, options?: CommandOptions): Promise<string>;
  delete(target: string, options?: CommandOptions): Promise<string>;
  plan(date: string, title: string, options?: CommandOptions): Promise<string>;
  settled(id: string, options?: SettledOptions): Promise<Settled>;
  /** The receipt's target, once the server has it. */
  uploaded(id: string): Promise<string>;
  flush(): Promise<FlushResult>;
  retry(id: string): Promise<string>;
  recover(id: string, edited: EditedCopy): Promise<string>;
  signOut(policy?: SignOutPolicy): Promise<SignedOut>;
  view(): Promise<ViewSnapshot>;
  whenView(pattern: unknown): Promise<ViewSnapshot>;
  whenHeard(id: string, type: OutcomeType): Promise<void>;
  heard(id?: string): Promise<readonly OutcomeType[]>;
  explain(id: string): Promise<Explanation | undefined>;
  reports(): Promise<readonly Reported[]>;
  journal(): Promise<readonly JournalEntry[]>;
  /** Shows what the server has, and reacts to outcomes from now on. */
  react(): Promise<void>;
  whenShown(pattern: unknown): Promise<ShownWorkouts>;
  /** Flushes, and gathers what became of a command that waits no longer, or needs a person. */
  endOf(id: string): Promise<End>;
  close(): Promise<void>;
}

export const SQUAT: Workout = { date: '2026-11-30', exercise: 'Squat', weightKg: 60 };
const PASSING: readonly OutcomeType[] = ['deferred', 'held'];
const PASSWORDS = { ada: 'lovelace', grace: 'hopper' } as const;

/** `beside`: a tab more on the device of another page; without it the profile is new, and in memory only. */
export async function openDevice(
  chromium: Chromium,
  app: OutboxAppServer,
  beside?: Pick<Device, 'page'> | undefined,
): Promise<Device> {
  const context: BrowserContext =
    beside?.page.browserContext() ?? (await chromium.browser.createBrowserContext());
  const page = await context.newPage();
  await page.goto(app.url);

  const settled: Device['settled'] = (id, options = { final: true }) =>
    page.evaluate((of, given) => globalThis.outboxApp.outbox.settled(of, given), id, options);
  const view = () => page.evaluate(() => globalThis.outboxApp.outbox.view.getSnapshot());
  const heard: Device['heard'] = async (id) => {
    const all = await page.evaluate(() => globalThis.outboxApp.heard);
    return all.filter((one) => id === undefined || one.id === id).map(({ type }) => type);
  };
  const journal: Device['journal'] = () =>
    page.evaluate(async () => {
      const { outbox } = globalThis.outboxApp;
      const { epoch } = await outbox.journal(undefined);
      return (await outbox.journal({ epoch, n: 0 })).entries;
    });
  const changeCookie: Device['changeCookie'] = (account) =>
    page.evaluate(
      async (body) => {
        const method = body === undefined ? 'DELETE' : 'POST';
        const headers = { 'content-type': 'application/json' };
        await fetch('/api/session', { method, headers, ...(body !== undefined && { body }) });
      },
      account && JSON.stringify({ account, password: PASSWORDS[account] }),
    );

  return {
    page,
    changeCookie,
    async signIn(account, to = {}) {
      await changeCookie(account);
      await page.evaluate((options) => globalThis.outboxApp.connect(options), { owner: account, ...to });
    },
    create: (workout, options) =>
      page.evaluate(
        async (body, given) => (await globalThis.outboxApp.outbox.workout.create(body, given)).id,
        { ...SQUAT, ...workout },
        options,
      ),
    update: (target, patch, options) =>
      page.evaluate(
        async (of, body, given) => (await globalThis.outboxApp.outbox.workout.update(of, body, given)).id,
        target,
        patch,
        options,
      ),
    delete: (target, options) =>
      page.evaluate(
        async (of, given) => (await globalThis.outboxApp.outbox.workout.delete(of, given)).id,
        target,
        options,
      ),
    plan: (date, title, options) =>
      page.evaluate(
        async (of, body, given) => (await globalThis.outboxApp.outbox.plan.put(of, body, given)).id,
        date,
        { title },
        options,
      ),
    settled,
    async uploaded(id) {
      const end = await settled(id);
      if (end.type !== 'uploaded') throw new Error(`Not uploaded: ${JSON.stringify(end)}`);
      return end.receipt.target;
    },
    flush: () => page.evaluate(() => globalThis.outboxApp.outbox.flush()),
    retry: (id) => page.evaluate(async (of) => (await globalThis.outboxApp.outbox.retry(of)).id, id),
    recover: (id, edited) =>
      page.evaluate(async (of, copy) => (await globalThis.outboxApp.outbox.recover(of, copy)).id, id, edited),
    signOut: (policy) => page.evaluate((given) => globalThis.outboxApp.outbox.signOut(given), policy),
    view,
    whenView: (pattern) => page.evaluate((wanted) => globalThis.outboxApp.whenView(wanted), pattern),
    whenHeard: (id, type) => page.evaluate((wanted) => globalThis.outboxApp.whenHeard(wanted), { id, type }),
    heard,
    explain: (id) => page.evaluate((of) => globalThis.outboxApp.outbox.explain(of), id),
    reports: () => page.evaluate(() => globalThis.outboxApp.reports),
    journal,
    react: () => page.evaluate(() => globalThis.outboxApp.react()),
    whenShown: (pattern) => page.evaluate((wanted) => globalThis.outboxApp.whenShown(wanted), pattern),
    async endOf(id) {
      const end = await settled(id);
      await page.evaluate(() => globalThis.outboxApp.rest());
      const ids = [...(end.via ?? []), end.id];
      const { owner = '', rows } = await view();
      const row = rows.find((one) => ids.includes(one.id));
      const { effects } = await app.server.statistics(owner);
      const entries = (await journal()).map(({ outcome }) => outcome);
      const told = (await Promise.all(ids.map(heard))).flat();
      const kept = ids.flatMap((of) => entries.filter((one) => one.row.id === of).map(({ type }) => type));
      const lasting = told.filter((type) => !PASSING.includes(type));
      if (lasting.join() !== kept.join())
        throw new Error(`The page heard ${lasting.join()}, and the journal says ${kept.join()}`);
      const answers = app.server.requests().flatMap(({ key, status, ending }) => {
        if (key === undefined || !ids.includes(key)) return [];
        return [ending === 'sent' ? `${status}` : `${status} ${ending}`];
      });
      return {
        settled: end.type,
        said: sentenceOf(end),
        heard: told.filter((type, place) => !PASSING.includes(type) || told[place - 1] !== type),
        row: row && standingOf(row),
        answers: answers.filter((one, place) => /^20\d$/.test(one) || answers[place - 1] !== one),
        applied: effects.filter((effect) => ids.includes(effect.id)).length,
      };
    },
    async close() {
      if (beside) await page.close();
      else if (!context.closed) await context.close();
    },
  };
}

function standingOf({ state, blockedCode, doubt }: ViewRow): string {
  return [state, blockedCode, doubt && 'in doubt'].filter(Boolean).join(', ');
}
