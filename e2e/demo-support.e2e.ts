/** The demo's support view and the badge on its icon. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { driveInspector } from './inspector/drive-inspector.ts';
import { type DemoPage, demoPage } from './support/demo-page.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type DemoServer, serveDemo } from './support/serve-demo.ts';

declare global {
  /** What the page asked the browser to show on the icon, in turn; nothing shows it where there is no screen. */
  var badges: (number | 'clear' | undefined)[] | undefined;
}

describe('the demo for whoever looks after it', () => {
  let demo: DemoServer;
  let chromium: Chromium;
  let log: DemoPage;
  const asked: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    demo = await serveDemo();
    chromium = await launchChromium();
    const page = await chromium.browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    page.on('request', (request) => asked.push(request.url()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) complaints.push(message.text());
    });
    await page.evaluateOnNewDocument(() => {
      const badges: (number | 'clear' | undefined)[] = [];
      globalThis.badges = badges;
      Object.assign(Navigator.prototype, {
        setAppBadge: async (count?: number) => void badges.push(count),
        clearAppBadge: async () => void badges.push('clear'),
      });
    });
    await page.goto(demo.url);
    log = demoPage(page);
  });
  afterAll(async () => {
    await chromium.close();
    await demo.remove();
  });

  const badges = () => log.page.evaluate(() => globalThis.badges ?? []);

  it('[W51] shows on the icon how many changes wait, and nothing when all are sent or the account has gone', async () => {
    await log.signIn('Ada');
    await expect.poll(badges).toEqual(['clear']);
    await log.lab('Pretend there is no connection');
    await log.log({ exercise: 'Squat', weightKg: 60, sets: 5, reps: 5 });
    await log.log({ exercise: 'Press', weightKg: 40, sets: 5, reps: 5 });
    await log.whenHeadline('2 waiting');
    await expect.poll(async () => (await badges()).at(-1)).toBe(2);
    await log.signOut('Keep them here');
    await expect.poll(async () => (await badges()).at(-1)).toBe('clear');
    await log.setOffline(false);
    await log.signIn('Ada');
    await log.whenHeadline('All saved');
    await expect.poll(async () => (await badges()).at(-1)).toBe('clear');
  });

  it('[W50, V8] has the inspector in a view of its own, loaded when somebody looks', async () => {
    await log.log({ exercise: 'Lunge', weightKg: 4_000, sets: 3, reps: 12 });
    await log.whenHeadline('1 needs you');
    expect(await log.page.evaluate(() => customElements.get('holdfast-inspector'))).toBeUndefined();
    const before = asked.length;
    await log.lab('Support');
    const inspector = driveInspector(log.page);
    await inspector.whenText('1 change needs you');
    expect(asked.slice(before).some((url) => url.includes('/chunks/'))).toBe(true);
    expect(await inspector.rows()).toMatchObject([
      { state: 'Blocked', buttons: ['Send again', 'Edit and send', 'Discard'] },
    ]);
    // The page's own custom properties have common names, and the inspector takes some of them.
    const surfaces = await log.page.evaluate(() => {
      const panel = document.querySelector('holdfast-inspector')?.shadowRoot?.querySelector('.panel');
      const page = document.querySelector('body');
      return [panel, page].map((one) => (one ? getComputedStyle(one).backgroundColor : ''));
    });
    expect(surfaces).toEqual(['rgb(255, 254, 251)', 'rgb(244, 242, 236)']);
    expect(await inspector.complaints()).toEqual([]);
    const [row] = await log.page.$$eval('holdfast-inspector >>> .toggle', (all) => all.map(({ id }) => id));
    const origin = row?.replace('row-', '') ?? '';
    await inspector.press('Discard', origin);
    await inspector.press('Discard', origin);
    await inspector.whenText('Everything is with the server');
    await log.lab('Back to the log');
    await log.whenHeadline('All saved');
    expect(complaints).toEqual([]);
  });

  it('[W50] has it without the network too', async () => {
    await demo.stop();
    await log.page.reload();
    await log.lab('Support');
    const inspector = driveInspector(log.page);
    await inspector.whenText('Outbox of ada');
    await inspector.whenText('The last five minutes');
    await demo.start();
  });
});
