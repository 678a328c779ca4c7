/** The demo as a person uses it: by labels and words, never by its insides. */
import type { Page } from 'puppeteer';

export interface WorkoutEntry {
  readonly exercise: string;
  readonly weightKg: number;
  readonly sets: number;
  readonly reps: number;
  readonly note?: string | undefined;
}

export interface SeenWorkout {
  readonly exercise: string;
  readonly weightKg: number;
  /** `Waiting`, `Needs you`, …; absent where the server has all of it. */
  readonly badge?: string | undefined;
}

export interface SeenChange {
  readonly title: string;
  readonly badge: string;
  readonly why: string;
  readonly buttons: readonly string[];
}

export interface DemoPage {
  readonly page: Page;
  signIn(name: 'Ada' | 'Grace'): Promise<void>;
  /** Resolves when the log shows it, which is after it was stored. */
  log(workout: WorkoutEntry): Promise<void>;
  edit(exercise: string, changes: Partial<WorkoutEntry>): Promise<void>;
  remove(exercise: string): Promise<void>;
  planToday(title: string): Promise<void>;
  /** The workouts on screen, in their order. */
  workouts(): Promise<readonly SeenWorkout[]>;
  changes(): Promise<readonly SeenChange[]>;
  /** A button of the change whose title begins so. */
  press(changeTitle: string, button: string): Promise<void>;
  /** A switch or a radio button of the lab, or any button, by its words. */
  lab(label: string): Promise<void>;
  /** `All saved`, `2 waiting`, `1 needs you`. */
  headline(): Promise<string>;
  whenHeadline(text: string): Promise<void>;
  whenText(text: string): Promise<void>;
  whenWorkout(exercise: string): Promise<void>;
  /** Fills in the form that `Put right` opened. */
  putRight(changes: Partial<WorkoutEntry>): Promise<void>;
  removePlan(): Promise<void>;
  /** Through the account's dialog; with a policy where something waits. */
  signOut(policy?: 'Keep them here' | 'Send them first' | 'Throw them away'): Promise<void>;
  /** The lab's switch, also where its panel is not on screen. */
  setOffline(isOff: boolean): Promise<void>;
  /** The server's session ends behind the page's back. */
  endSession(): Promise<void>;
}

const NEW_FORM = 'form[aria-label="Log a workout"]';
const FIELDS = ['exercise', 'weightKg', 'sets', 'reps', 'note'] as const;

export function demoPage(page: Page): DemoPage {
  async function fill(form: string, values: Partial<WorkoutEntry>): Promise<void> {
    await page.waitForSelector(form);
    for (const name of FIELDS) {
      const value = values[name];
      if (value !== undefined) await page.locator(`${form} [name=${name}]`).fill(String(value));
    }
    // As a person does where the bar at the bottom of a small window lies over the button.
    await page.$eval(`${form} button[type=submit]`, (button) => button.scrollIntoView({ block: 'center' }));
    await page.locator(`${form} button[type=submit]`).click();
  }

  const whenText = async (text: string): Promise<void> => {
    await page.waitForFunction((wanted) => document.body.textContent.includes(wanted), {}, text);
  };

  const whenWorkout = async (exercise: string): Promise<void> => {
    await page.waitForFunction(
      (wanted) => [...document.querySelectorAll('.card h4')].some((h4) => h4.textContent === wanted),
      {},
      exercise,
    );
  };

  return {
    page,
    async signIn(name) {
      await page.locator(`::-p-xpath(//button[contains(., '${name}')])`).click();
      await page.waitForSelector(NEW_FORM);
    },
    async log(workout) {
      await fill(NEW_FORM, workout);
      await whenWorkout(workout.exercise);
    },
    async edit(exercise, changes) {
      await page.locator(`button[aria-label="Edit ${exercise}"]`).click();
      const form = `form[aria-label="Edit ${exercise}"]`;
      await fill(form, changes);
      await page.waitForSelector(form, { hidden: true });
    },
    async remove(exercise) {
      await page.locator(`button[aria-label="Delete ${exercise}"]`).click();
    },
    async planToday(title) {
      await page.locator('.plan-empty').click();
      await page.locator('.plan-form [name=title]').fill(title);
      await page.locator('.plan-form button[type=submit]').click();
    },
    workouts: () =>
      page.$$eval('.card', (cards) =>
        cards.map((card) => {
          const badge = card.querySelector('.badge')?.textContent?.trim();
          return {
            exercise: card.querySelector('h4')?.textContent ?? '',
            weightKg: Number(card.querySelector('.card-figure b')?.textContent),
            ...(badge === undefined ? {} : { badge }),
          };
        }),
      ),
    changes: () =>
      page.$$eval('.change', (items) =>
        items.map((item) => ({
          title: item.querySelector('h4')?.textContent ?? '',
          badge: item.querySelector('.badge')?.textContent?.trim() ?? '',
          why: item.querySelector('.change-why')?.textContent ?? '',
          buttons: [...item.querySelectorAll('.change-buttons > button')].map(
            (button) => button.textContent?.trim() ?? '',
          ),
        })),
      ),
    async press(changeTitle, button) {
      const change = `//li[contains(@class, 'change') and .//h4[starts-with(., '${changeTitle}')]]`;
      await page.locator(`::-p-xpath(${change}//button[contains(., '${button}')])`).click();
    },
    async lab(label) {
      await page.locator(`::-p-xpath(//*[self::label or self::button][contains(., '${label}')])`).click();
    },
    headline: () => page.$eval('.status > span', (span) => span.textContent ?? ''),
    async whenHeadline(text) {
      await page.waitForFunction(
        (wanted) => document.querySelector('.status > span')?.textContent === wanted,
        {},
        text,
      );
    },
    whenText,
    whenWorkout,
    putRight: (changes) => fill('form[aria-label^="Put right"]', changes),
    async removePlan() {
      await page.locator('button[aria-label="Remove the plan"]').click();
    },
    async signOut(policy) {
      await page.locator('button[aria-label^="Account"]').click();
      if (policy !== undefined) {
        await page.locator(`::-p-xpath(//label[contains(., '${policy}')])`).click();
      }
      await page.locator('dialog .button-main').click();
      await page.waitForSelector('.accounts');
    },
    async setOffline(isOff) {
      await page.evaluate(async (wanted) => {
        const cache = await caches.open('basement-log:lab');
        if (wanted) await cache.put('/lab/offline', new Response('on'));
        else await cache.delete('/lab/offline');
      }, isOff);
      await page.reload();
      await page.waitForSelector('#app > *');
    },
    async endSession() {
      await page.evaluate(async () => {
        await fetch('/api/session', { method: 'DELETE' });
      });
    },
  };
}
