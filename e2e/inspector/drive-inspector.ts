/** The inspector as a person uses it: by rows, words and keys. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'puppeteer';

export interface SeenRow {
  readonly title: string;
  readonly state: string;
  readonly text: string;
  readonly buttons: readonly string[];
}

export interface InspectorDriver {
  text(): Promise<string>;
  whenText(text: string | RegExp): Promise<void>;
  rows(): Promise<readonly SeenRow[]>;
  /** Of the row's line, by its origin. */
  row(origin: string): Promise<SeenRow | undefined>;
  /** A button by its words; of a row where one is named. */
  press(label: string, origin?: string): Promise<void>;
  open(origin: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  /** What a screen reader was told last. */
  told(): Promise<{ readonly status: string; readonly alert: string }>;
  /** What has the focus: its name, and whether it can be seen. */
  focused(): Promise<{ readonly name: string; readonly isShown: boolean } | undefined>;
  /** What axe-core finds wrong, as one line each. */
  complaints(): Promise<readonly string[]>;
}

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export function driveInspector(page: Page): InspectorDriver {
  const IN = 'holdfast-inspector >>> ';

  const rows = (): Promise<readonly SeenRow[]> =>
    page.$$eval(`${IN}.row`, (items) =>
      items.map((item) => ({
        title: item.querySelector('h4')?.textContent ?? '',
        state: item.querySelector('.badge')?.textContent ?? '',
        text: item.textContent ?? '',
        buttons: [...item.querySelectorAll(':is(.buttons, .ask) button')].map((one) => one.textContent ?? ''),
      })),
    );
  /** Puppeteer's own waiting looks again when the page changes, and does not see what changes in a shadow root. */
  const whenThere = async (selector: string): Promise<void> => {
    await page.waitForFunction(
      (wanted) => {
        const root = document.querySelector('holdfast-inspector')?.shadowRoot;
        return root?.querySelector(wanted) instanceof Element;
      },
      {},
      selector,
    );
  };
  const idOf = (origin: string): string => `[id="row-${origin}"]`;

  return {
    text: () => page.$eval('holdfast-inspector', (element) => element.shadowRoot?.textContent ?? ''),
    async whenText(text) {
      await page.waitForFunction(
        (source, flags) => {
          const shown = document.querySelector('holdfast-inspector')?.shadowRoot?.textContent ?? '';
          return new RegExp(source, flags).test(shown);
        },
        {},
        typeof text === 'string' ? text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&') : text.source,
        typeof text === 'string' ? '' : text.flags,
      );
    },
    rows,
    async row(origin) {
      const place = await page.$$eval(
        `${IN}.row`,
        (items, id) => items.findIndex((item) => item.querySelector(`[id="${id}"]`) !== null),
        `row-${origin}`,
      );
      return (await rows())[place];
    },
    async press(label, origin) {
      const buttons = origin === undefined ? 'button' : `li:has(${idOf(origin)}) button`;
      await whenThere(buttons);
      await page.$$eval(
        IN + buttons,
        (found, wanted) => {
          const button = found.find(
            (one) => one.textContent?.trim() === wanted || one.getAttribute('aria-label') === wanted,
          );
          if (!(button instanceof HTMLElement)) throw new Error(`No button “${wanted}”`);
          button.click();
        },
        label,
      );
    },
    async open(origin) {
      await whenThere(idOf(origin));
      await page.$eval(IN + idOf(origin), (toggle) => {
        if (toggle instanceof HTMLElement) toggle.click();
      });
      await whenThere(`li:has(${idOf(origin)}) .explained`);
    },
    async fill(selector, text) {
      await whenThere(selector);
      await page.$eval(IN + selector, (field) => {
        if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return;
        field.focus();
        field.select();
      });
      await page.keyboard.press('Delete');
      await page.keyboard.type(text);
    },
    told: () =>
      page.$eval('holdfast-inspector', ({ shadowRoot }) => ({
        status: shadowRoot?.querySelector('[role=status]')?.textContent?.trim() ?? '',
        alert: shadowRoot?.querySelector('[role=alert]')?.textContent?.trim() ?? '',
      })),
    focused: () =>
      page.evaluate(() => {
        const active = document.activeElement?.shadowRoot?.activeElement;
        if (!(active instanceof HTMLElement)) return undefined;
        const label = active instanceof HTMLTextAreaElement ? active.labels[0]?.textContent : undefined;
        const box = active.getBoundingClientRect();
        const { outlineStyle } = getComputedStyle(active);
        return {
          name: (active.getAttribute('aria-label') ?? label ?? active.textContent ?? '').trim(),
          isShown: box.width > 0 && box.height > 0 && outlineStyle !== 'none',
        };
      }),
    async complaints() {
      const axe = await readFile(AXE, 'utf8');
      // Evaluated through the debugger, which the page's policy does not meet.
      await page.evaluate(axe);
      const { violations } = (await page.evaluate("axe.run('holdfast-inspector')")) as AxeResults;
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary = '' }) => `${id}: ${html} ${failureSummary}`),
      );
    },
  };
}
