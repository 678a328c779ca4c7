/** The demo in real Chromium: what a person sees when things go wrong, and that its shell is a real PWA. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DemoPage, demoPage, type WorkoutEntry } from './support/demo-page.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type DemoServer, serveDemo } from './support/serve-demo.ts';

const squat: WorkoutEntry = { exercise: 'Squat', weightKg: 60, sets: 5, reps: 5 };

describe('the demo', () => {
  let demo: DemoServer;
  let chromium: Chromium;
  let log: DemoPage;
  const complaints: string[] = [];

  beforeAll(async () => {
    demo = await serveDemo();
  });
  beforeEach(async () => {
    chromium = await launchChromium();
    complaints.length = 0;
    const page = await chromium.browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) complaints.push(message.text());
    });
    await page.goto(demo.url);
    log = demoPage(page);
  });
  afterEach(async () => {
    demo.server.faults.clear();
    demo.server.faults.start();
    await chromium.close();
  });
  afterAll(async () => {
    await demo.remove();
  });

  /** Every key the server carried out for this account had one effect. */
  async function appliedOnce(owner: string): Promise<boolean> {
    const { applied } = await demo.server.statistics(owner);
    return applied.every(({ count }) => count === 1);
  }

  it('[V8, W16] is installable, opens without the network, and runs under a strict policy', async () => {
    await log.signIn('Ada');
    await log.log({ ...squat, exercise: 'Front squat' });
    await log.whenHeadline('All saved');
    await log.whenWorkout('Front squat');
    const session = await log.page.createCDPSession();
    const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
    expect(installabilityErrors).toEqual([]);

    await demo.stop();
    await log.page.reload();
    await log.whenWorkout('Front squat');
    await demo.start();
    expect(complaints).toEqual([]);
  });

  it('[V8] says why a change was refused, and sends it once it is put right', async () => {
    await log.signIn('Ada');
    await log.log({ ...squat, exercise: 'Lunge', weightKg: 4000 });
    await log.whenHeadline('1 needs you');
    const [change] = await log.changes();
    expect(change).toMatchObject({ badge: 'Needs you', buttons: ['Send again', 'Put right', 'Discard'] });
    expect(change?.why).toContain('did not accept');
    await log.press('New: Lunge', 'Put right');
    await log.putRight({ weightKg: 40 });
    await log.whenHeadline('All saved');
    await expect
      .poll(() => log.workouts(), { timeout: 10_000 })
      .toContainEqual({ exercise: 'Lunge', weightKg: 40 });
    await expect.poll(() => log.changes(), { timeout: 10_000 }).toEqual([]);
  });

  it('[V8] lets a person discard what was refused', async () => {
    await log.signIn('Ada');
    await log.log({ ...squat, exercise: 'Yoke walk', weightKg: 5000 });
    await log.whenHeadline('1 needs you');
    await log.press('New: Yoke walk', 'Discard');
    await log.whenHeadline('All saved');
    const shown = async () => (await log.workouts()).map(({ exercise }) => exercise);
    await expect.poll(shown, { timeout: 10_000 }).not.toContain('Yoke walk');
  });

  it('[V8, V9] applies a change once although its answer is lost', async () => {
    await log.signIn('Grace');
    await log.lab('Applies, answer lost');
    await log.log({ ...squat, exercise: 'Pull-up' });
    // By itself: the engine's own wait is over after some seconds, or the browser repeats the request on its own
    // where the connection it had kept open is what broke.
    await log.whenHeadline('All saved');
    expect(await appliedOnce('grace')).toBe(true);
    const pullUps = async () => (await log.workouts()).filter(({ exercise }) => exercise === 'Pull-up');
    await expect.poll(pullUps, { timeout: 10_000 }).toHaveLength(1);
  });

  it('[V8, V9] never shows a receipt of another change as success', async () => {
    await log.signIn('Grace');
    await log.lab('Receipt of another change');
    await log.log({ ...squat, exercise: 'Row' });
    await log.whenHeadline('1 needs you');
    const [change] = await log.changes();
    expect(change?.why).toContain('a different change');
    await log.press('New: Row', 'Send again');
    await log.whenHeadline('All saved');
    expect(await appliedOnce('grace')).toBe(true);
  });

  it('[V8] keeps two accounts apart, and what waits for the one that signed out', async () => {
    await log.signIn('Ada');
    await log.lab('Pretend there is no connection');
    await log.log({ ...squat, exercise: 'Hack squat' });
    await log.whenHeadline('1 waiting');
    await log.signOut('Keep them here');
    await log.setOffline(false);
    await log.signIn('Grace');
    await log.whenHeadline('All saved');
    expect((await log.workouts()).map(({ exercise }) => exercise)).not.toContain('Hack squat');
    await log.signOut();
    await log.signIn('Ada');
    await log.whenWorkout('Hack squat');
    await log.whenHeadline('All saved');
    expect(await appliedOnce('ada')).toBe(true);
  });

  it('[V8] holds what waits when the session has ended, until the person signs in again', async () => {
    await log.signIn('Ada');
    await log.endSession();
    await log.log({ ...squat, exercise: 'Clean' });
    await log.whenHeadline('1 held');
    await log.lab('Sign in');
    await log.whenHeadline('All saved');
    expect(await log.workouts()).toContainEqual({ exercise: 'Clean', weightKg: 60 });
  });

  it('[V8, W20] sends what waits once the server is back, without a hand on the page', async () => {
    await log.signIn('Ada');
    await log.lab('Server down');
    await log.log({ ...squat, exercise: 'Step-up' });
    await log.whenText('No connection');
    await log.lab('Server down');
    await log.whenHeadline('All saved');
    expect(await appliedOnce('ada')).toBe(true);
  });

  it('[V8] keeps an open form open when the server gives the workout its id', async () => {
    await log.signIn('Grace');
    await log.lab('Slow: 3 seconds');
    await log.log({ ...squat, exercise: 'Snatch' });
    await log.page.locator('button[aria-label="Edit Snatch"]').click();
    await log.whenHeadline('All saved');
    await log.page.locator('form[aria-label="Edit Snatch"] [name=reps]').fill('2');
    await log.page.locator('form[aria-label="Edit Snatch"] button[type=submit]').click();
    await log.whenText('5 × 2');
    await log.whenHeadline('All saved');
    const { effects } = await demo.server.statistics('grace');
    expect(effects.at(-1)).toMatchObject({ kind: 'workout.update', revision: 2 });
  });

  it('[V8, W40] works where no Service Worker can be had, and says who sends', async () => {
    await log.page.evaluateOnNewDocument(() => {
      Reflect.deleteProperty(Navigator.prototype, 'serviceWorker');
    });
    await log.page.reload();
    await log.signIn('Grace');
    await log.log({ ...squat, exercise: 'Thruster' });
    await log.whenHeadline('All saved');
    await log.whenText('Sent by this page');
    await log.page.reload();
    await log.whenWorkout('Thruster');
    expect(await appliedOnce('grace')).toBe(true);
  });

  it('[V8] can be used with the keyboard alone, and tells a screen reader what it saved', async () => {
    await log.signIn('Ada');
    const { keyboard } = log.page;
    await log.page.focus('.skip-link');
    await keyboard.press('Enter');
    await log.page.focus('form[aria-label="Log a workout"] [name=exercise]');
    for (const text of ['Burpee', '0', '5', '10']) {
      await keyboard.type(text);
      await keyboard.press('Tab');
    }
    await keyboard.press('Enter');
    await log.whenWorkout('Burpee');
    const status = await log.page.waitForSelector('[role=status] p');
    expect(await status?.evaluate((p) => p.textContent)).toBe('Burpee is saved on this device');
    expect(await log.page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('exercise');
    await log.whenHeadline('All saved');
  });

  it('[V8] plans a day and takes the plan back', async () => {
    await log.signIn('Grace');
    await log.planToday('Legs and core');
    await log.whenText('Legs and core');
    await log.whenHeadline('All saved');
    await log.page.reload();
    await log.whenText('Legs and core');
    await log.removePlan();
    await log.whenHeadline('All saved');
    await log.page.waitForSelector('.plan-empty');
    const { effects } = await demo.server.statistics('grace');
    expect(effects.filter(({ family }) => family === 'plan').map(({ kind }) => kind)).toEqual([
      'plan.put',
      'plan.remove',
    ]);
  });

  it.each([
    { scheme: 'light', width: 320 },
    { scheme: 'dark', width: 1280 },
  ])('[V8] fits $width px in $scheme, and every control has a name', async ({ scheme, width }) => {
    await log.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await log.page.setViewport({ width, height: 720 });
    await log.signIn('Ada');
    await log.log({ ...squat, exercise: 'An exercise with a name as long as the day is', weightKg: 9999 });
    await log.whenHeadline('1 needs you');
    const seen = await log.page.evaluate(() => ({
      overflow: document.documentElement.scrollWidth - innerWidth,
      nameless: [...document.querySelectorAll('button, input, select, summary')]
        .filter((control) => {
          const labels = control instanceof HTMLInputElement ? [...(control.labels ?? [])] : [];
          const words = [
            control.getAttribute('aria-label'),
            control.textContent,
            ...labels.map((l) => l.textContent),
          ];
          return words.every((word) => (word ?? '').trim() === '');
        })
        .map((control) => control.outerHTML),
    }));
    expect(seen).toEqual({ overflow: 0, nameless: [] });
    await log.page.setViewport({ width: 1280, height: 720 });
    await log.press('New: An exercise', 'Discard');
    await log.whenHeadline('All saved');
  });
});
