/** The demo in Chromium: photos, wishes about sending, and encryption on the device, as a person meets them. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type DemoPage, demoPage, type WorkoutEntry } from './support/demo-page.ts';
import { readDatabase } from './support/idb-read.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type DemoServer, serveDemo } from './support/serve-demo.ts';
import { openSlowLink } from './support/slow-link.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const squat: WorkoutEntry = { exercise: 'Squat', weightKg: 60, sets: 5, reps: 5 };

interface AxeResults {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

describe('the demo', () => {
  let demo: DemoServer;
  let chromium: Chromium;
  let log: DemoPage;
  let place: string;
  let picture: string;

  beforeAll(async () => {
    [demo, place] = await Promise.all([serveDemo(), mkdtemp(join(tmpdir(), 'holdfast-picture-'))]);
    picture = join(place, 'squat.png');
  });
  beforeEach(async () => {
    chromium = await launchChromium();
    const page = await chromium.browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(demo.url);
    // A picture that the browser can show, drawn by itself.
    const drawn = await page.evaluate(() => {
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 240;
      const context = canvas.getContext('2d');
      for (let n = 0; n < 24; n++) {
        if (context) context.fillStyle = `hsl(${n * 15} 70% 55%)`;
        context?.fillRect((n % 6) * 40, Math.floor(n / 6) * 60, 40, 60);
      }
      return canvas.toDataURL('image/png').split(',')[1] ?? '';
    });
    await writeFile(picture, Buffer.from(drawn, 'base64'));
    log = demoPage(page);
    await log.signIn('Ada');
  });
  afterEach(async () => {
    demo.server.faults.clear();
    demo.server.faults.start();
    await chromium.close();
  });
  afterAll(async () => {
    await demo.remove();
    await rm(place, { recursive: true, force: true });
  });

  async function attach(exercise: string, file = picture): Promise<void> {
    const input = await log.page.waitForSelector(
      `::-p-xpath(//li[contains(@class, 'card') and .//h4[. = '${exercise}']]//input[@type='file'])`,
    );
    await (input as unknown as { uploadFile(path: string): Promise<void> } | null)?.uploadFile(file);
  }
  const shownPhotos = (exercise: string) =>
    log.page.$$eval(
      '.card',
      (cards, wanted) =>
        cards
          .filter((card) => card.querySelector('h4')?.textContent === wanted)
          .flatMap((card) =>
            [...card.querySelectorAll('.photo')].map((photo) => {
              const image = photo.querySelector('img');
              return {
                isDrawn: (image?.naturalWidth ?? 0) > 0,
                isHere: image?.src.startsWith('blob:') ?? false,
                badge: photo.querySelector('.badge')?.textContent?.trim(),
              };
            }),
          ),
      exercise,
    );
  /** What axe-core finds wrong, as one line each. */
  const complaints = () =>
    log.page.evaluate(async () => {
      const { axe } = globalThis as unknown as {
        readonly axe: { run(): Promise<AxeResults> };
      };
      const { violations } = await axe.run();
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary = '' }) => `${id}: ${html} ${failureSummary}`),
      );
    });
  async function shoot(name: string): Promise<void> {
    const folder = process.env['DEMO_SHOTS'];
    if (folder !== undefined)
      await log.page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }
  /** axe-core finds nothing in light and dark, and nothing is wider than the page. */
  async function expectNoComplaints([width, height]: readonly [number, number], shot: string): Promise<void> {
    for (const scheme of ['light', 'dark']) {
      await log.page.setViewport({ width, height });
      await log.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      expect(await complaints(), `${width} ${scheme}`).toEqual([]);
      const over = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
      expect(await log.page.evaluate(over)).toBe(0);
      await shoot(`${shot}-${width}-${scheme}`);
    }
  }

  it('[W60, V8] a photo of a workout that was logged offline is shown at once, waits behind it, and arrives', async () => {
    await log.setOffline(true);
    await log.log(squat);
    await attach('Squat');
    await expect
      .poll(() => shownPhotos('Squat'))
      .toEqual([{ isDrawn: true, isHere: true, badge: 'Waiting' }]);
    await log.whenText('Leaves right after the workout it belongs to.');
    await shoot('photo-waiting');
    await log.setOffline(false);
    await log.whenHeadline('All saved');
    await expect.poll(() => shownPhotos('Squat')).toEqual([{ isDrawn: true, isHere: false }]);
    await shoot('photo-saved');
  });

  it('[C31, V8] two photos of 10 MB over a slow link: one is on its way, the other says that it waits for it', async () => {
    // Bytes behind a picture's end change nothing of what is seen of it.
    const large = join(place, 'large.png');
    await writeFile(large, Buffer.concat([await readFile(picture), randomBytes(10_000_000)]));
    const link = await openSlowLink(demo.url);
    try {
      const page = await chromium.openPage(link.url);
      await page.setViewport({ width: 1280, height: 900 });
      log = demoPage(page);
      await log.signIn('Ada');
      await log.log({ ...squat, exercise: 'Row' });
      await log.whenHeadline('All saved');
      link.speed(500_000);
      await attach('Row', large);
      await log.whenText('On its way to the server. A photo of this size takes a while');
      await attach('Row', large);
      await log.whenText('Saved here. Photos leave one after the other.');
      await log.whenHeadline('2 waiting');
      expect((await shownPhotos('Row')).map(({ isDrawn, badge }) => [isDrawn, badge])).toEqual([
        [true, 'Sending'],
        [true, 'Waiting'],
      ]);
      expect((await log.changes()).map(({ title }) => title)).toEqual([
        'Photo of a workout · 10.0\u00a0MB',
        'Photo of a workout · 10.0\u00a0MB',
      ]);
      await shoot('photos-under-way');
      link.speed(Number.POSITIVE_INFINITY);
      await log.whenHeadline('All saved');
      await expect
        .poll(async () => (await shownPhotos('Row')).map(({ isHere }) => isHere))
        .toEqual([false, false]);
    } finally {
      await link.close();
    }
  }, 60_000);

  it('[W61, W62] what is to go first, or to leave today or never, says so while it waits', async () => {
    await log.setOffline(true);
    await log.lab('Send first');
    await log.lab('Only if it leaves today');
    await log.log({ ...squat, exercise: 'Deadlift' });
    await log.whenText('Goes first');
    await log.whenText('Until midnight');
    await shoot('wishes');
    const { rows = [] } = (await readDatabase(log.page, 'holdfast')) ?? {};
    const midnight = new Date(new Date().setHours(24, 0, 0, 0)).getTime();
    expect(rows).toMatchObject([{ row: { urgent: true, expiresAt: midnight } }]);
    await log.setOffline(false);
    await log.whenHeadline('All saved');
  });

  it('[V8] at a phone’s width and at a desk’s, light and dark: axe finds nothing, and nothing runs off the side', async () => {
    await log.setOffline(true);
    await log.lab('Send first');
    await log.lab('Only if it leaves today');
    await log.log({ ...squat, exercise: 'Hip thrust' });
    await attach('Hip thrust');
    await log.whenText('Leaves right after the workout it belongs to.');
    // As text through DevTools: the page's policy allows no other script.
    await log.page.evaluate(await readFile(AXE, 'utf8'));
    await expectNoComplaints([390, 844], 'all');
    await expectNoComplaints([1280, 900], 'all');
    await log.setOffline(false);
    await log.whenHeadline('All saved');
  });

  it('[V8] at 360 px the note of what was saved covers nothing of the form, wherever the page is scrolled to', async () => {
    await log.page.setViewport({ width: 360, height: 740 });
    for (const scheme of ['light', 'dark']) {
      await log.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await log.log({ ...squat, exercise: `Row, ${scheme}` });
      await log.whenText(`Row, ${scheme} is saved on this device`);
      await shoot(`note-360-${scheme}`);
      const under = await log.page.evaluate(() => {
        const at = (selector: string) => document.querySelector(selector)?.getBoundingClientRect();
        return (['start', 'center', 'end', 'nearest'] as const).filter((block) => {
          document.querySelector('.workout-form button[type=submit]')?.scrollIntoView({ block });
          const [note, button] = [at('.toast'), at('.workout-form button[type=submit]')];
          if (!note || !button) return true;
          return note.bottom > button.top && note.top < button.bottom;
        });
      });
      expect(under, scheme).toEqual([]);
    }
    await log.whenHeadline('All saved');
  });

  it('[W63, V8] axe has nothing to say about the account’s dialog, where encryption is chosen', async () => {
    await log.page.evaluate(await readFile(AXE, 'utf8'));
    await log.page.locator('button[aria-label^="Account"]').click();
    await log.page.waitForSelector('dialog[open]');
    await expectNoComplaints([360, 740], 'encrypt');
    await expectNoComplaints([1280, 900], 'encrypt');
    await log.page.locator('dialog button[aria-label="Close"]').click();
  });

  it('[W63] the person’s choice to encrypt what waits is kept, and what is saved from then on is sealed', async () => {
    await log.page.locator('button[aria-label^="Account"]').click();
    await log.page.locator('::-p-xpath(//label[contains(., "Encrypt on this device")])').click();
    await shoot('encrypt');
    await log.page.locator('dialog button[aria-label="Close"]').click();
    await log.setOffline(true);
    await log.log({ ...squat, exercise: 'Lunge' });
    const { bodies = [] } = (await readDatabase(log.page, 'holdfast')) ?? {};
    expect(bodies.map((body) => Object.keys(Object(body)))).toEqual([['sealed']]);
    await log.setOffline(false);
    await log.whenHeadline('All saved');
    await log.whenWorkout('Lunge');
  });
});
