/** Every fault switch of the demo's lab, and the words a person reads while it is on and when it is over. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BLOCKED_REASONS } from '../shared/blocked-code.ts';
import { type DemoPage, demoPage } from './support/demo-page.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type DemoServer, serveDemo } from './support/serve-demo.ts';

interface Trouble {
  readonly fault: string;
  /** `Next one` is chosen unless a single trouble could be over before anybody has seen it. */
  readonly often?: 'Every one';
  readonly headline: string;
  readonly badge: string;
  readonly why: string;
  /** What the person does about it; nothing where it passes by itself. */
  readonly press?: 'Send now' | 'Send again' | 'Sign in';
  readonly isOffline?: true;
}

const TROUBLES: readonly Trouble[] = [
  {
    fault: 'Slow: 3 seconds',
    headline: '1 waiting',
    badge: 'Sending',
    why: 'On its way to the server.',
  },
  {
    fault: 'Applies, answer lost',
    often: 'Every one',
    headline: '1 waiting',
    badge: 'Waiting',
    why: 'Saved here. Leaves when the connection is back, and counts once.',
    press: 'Send now',
    isOffline: true,
  },
  {
    fault: 'Connection breaks',
    often: 'Every one',
    headline: '1 waiting',
    badge: 'Waiting',
    why: 'Saved here. Leaves when the connection is back, and counts once.',
    press: 'Send now',
    isOffline: true,
  },
  {
    fault: 'Error 500',
    headline: '1 waiting',
    badge: 'Waiting',
    why: 'The server had trouble. It is sent again, and counts once.',
    press: 'Send now',
  },
  {
    fault: '401, signed out',
    often: 'Every one',
    headline: '1 held',
    badge: 'Sign in',
    why: 'Kept here until you sign in again.',
    press: 'Sign in',
  },
  {
    fault: 'Refused for good',
    headline: '1 needs you',
    badge: 'Needs you',
    why: BLOCKED_REASONS.rejected.sentence,
    press: 'Send again',
  },
  {
    fault: 'Captive portal',
    headline: '1 waiting',
    badge: 'Waiting',
    why: 'Something else than the server answered: a Wi-Fi sign-in, perhaps.',
    press: 'Send now',
  },
  {
    fault: 'Receipt of another change',
    headline: '1 needs you',
    badge: 'Needs you',
    why: BLOCKED_REASONS.receipt_mismatch.sentence,
    press: 'Send again',
  },
  {
    fault: 'No receipt',
    headline: '1 needs you',
    badge: 'Needs you',
    why: BLOCKED_REASONS.receipt_missing.sentence,
    press: 'Send again',
  },
];

describe('the demo’s lab', () => {
  let demo: DemoServer;
  let chromium: Chromium;
  let log: DemoPage;

  beforeAll(async () => {
    [demo, chromium] = await Promise.all([serveDemo(), launchChromium()]);
  });
  beforeEach(async () => {
    await fetch(`${demo.url}/api/_test/reset`, { method: 'POST' });
    const context = await chromium.browser.createBrowserContext();
    const page = await context.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(demo.url);
    log = demoPage(page);
    await log.signIn('Ada');
  });
  afterEach(() => log.page.browserContext().close());
  afterAll(async () => {
    await chromium.close();
    await demo.remove();
  });

  const logSquat = () => log.log({ exercise: 'Squat', weightKg: 60, sets: 5, reps: 5 });
  const whenChange = (badge: string, why: string) =>
    log.page.waitForFunction(
      (wanted) => {
        const change = document.querySelector('.change');
        const seen = ['.badge', '.change-why'].map((part) =>
          change?.querySelector(part)?.textContent?.trim(),
        );
        return seen.join() === wanted.join();
      },
      {},
      [badge, why],
    );

  const pressIfThere = (words: string) =>
    log.page.evaluate((wanted) => {
      const buttons = [...document.querySelectorAll('button')];
      buttons.find((button) => button.textContent.trim() === wanted)?.click();
    }, words);

  it.each(TROUBLES)('[V9, D11] $fault: says so, and ends with all saved, once', async (trouble) => {
    await log.lab(trouble.fault);
    if (trouble.often) await log.lab(trouble.often);
    await logSquat();
    await log.whenHeadline(trouble.headline);
    await whenChange(trouble.badge, trouble.why);
    await log.whenText(trouble.isOffline ? 'No connection' : 'Connected');
    if (trouble.often) await log.lab('As it should');
    if (trouble.press === 'Send again') await log.lab(trouble.press);
    // Some trigger may have been quicker than the person, and then the button has nothing to do any more.
    else if (trouble.press) await pressIfThere(trouble.press);
    await log.whenHeadline('All saved');
    expect(await log.workouts()).toEqual([{ exercise: 'Squat', weightKg: 60 }]);
    const { applied } = await demo.server.statistics('ada');
    expect(applied.map(({ count }) => count)).toEqual([1]);
  });

  it('[V9, D3] 429, come back in 20 s: says so, and not even the person’s word sends it before', async () => {
    await log.lab('429, come back in 20 s');
    await logSquat();
    await whenChange('Waiting', 'The server asked to wait. It leaves then.');
    await log.lab('Send now');
    await log.log({ exercise: 'Lunge', weightKg: 20, sets: 3, reps: 8 });
    await log.whenHeadline('2 waiting');
    const sent = demo.server.requests().filter(({ kind }) => kind === 'workout.create');
    expect(sent.map(({ status }) => status)).toEqual([429]);
  });
});
