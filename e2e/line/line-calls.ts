/** What a test asks of the line app's page. */
import type { Page } from 'puppeteer';
import type { ViewSnapshot } from '../../client/view-snapshot.ts';
import type { FlushResult, Settled } from '../../shared/outcome.ts';

export const connect = (page: Page, options = {}): Promise<string> =>
  page.evaluate((given) => globalThis.line.connect(given), options);

export const create = (page: Page, kg: number): Promise<string> =>
  page.evaluate(async (weight) => (await globalThis.line.outbox.workout.create({ kg: weight })).id, kg);

export const settled = (page: Page, id: string): Promise<Settled> =>
  page.evaluate((of) => globalThis.line.outbox.settled(of, { final: true }), id);

export const flush = (page: Page): Promise<FlushResult> =>
  page.evaluate(() => globalThis.line.outbox.flush());

/** Resolves with the live view once it satisfies `condition`, a function of the page. */
export const viewOnce = (page: Page, condition: (view: ViewSnapshot) => boolean): Promise<ViewSnapshot> =>
  page.evaluate(
    (text) =>
      new Promise<ViewSnapshot>((resolve) => {
        const { view } = globalThis.line.outbox;
        const isMet: (view: ViewSnapshot) => boolean = new Function(`return (${text})`)();
        const look = (): void => {
          if (isMet(view.getSnapshot())) resolve(view.getSnapshot());
        };
        view.subscribe(look);
        look();
      }),
    String(condition),
  );
