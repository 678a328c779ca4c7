/** The inspector in real Chromium, over the real worker and the reference server. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PAGE_ROWS } from '../client/inspector/rows.ts';
import { driveInspector, type InspectorDriver } from './inspector/drive-inspector.ts';
import { openScene, type Scene } from './inspector/scene.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type Device, openDevice } from './support/outbox-app/device.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';

let app: OutboxAppServer;
let chromium: Chromium;

beforeAll(async () => {
  app = await serveOutboxApp({ beside: 'e2e/inspector/page.ts' });
  chromium = await launchChromium();
});
afterAll(async () => {
  await chromium.close();
  await app.close();
});
afterEach(() => {
  app.server.faults.clear();
});

describe('the inspector of an outbox in trouble', () => {
  let scene: Scene;
  let seen: InspectorDriver;

  beforeAll(async () => {
    scene = await openScene(chromium, app);
    seen = driveInspector(scene.device.page);
    await seen.whenText('Create workout');
  });
  afterAll(async () => {
    await scene.device.close();
    await app.reset();
  });

  it('[W50] lists what waits, in its order, with states and the way out of each', async () => {
    const states = async () => (await seen.rows()).map(({ state }) => state);
    await expect
      .poll(states)
      .toEqual(['Blocked', 'Blocked', 'Waiting', 'Waiting', 'Waiting', 'Waiting', 'Waiting']);
    const refused = await seen.row(scene.ids.refused);
    expect(refused).toMatchObject({ buttons: ['Send again', 'Edit and send', 'Discard'] });
    expect(refused?.text).toContain('The server did not accept this change.');
    expect(refused?.text).toContain('tried once');
    expect(await seen.text()).toMatch(/Paused, 5 changes waiting.*2 changes need you/);
  });

  it('[W50] says what surrounds them: host, triggers, storage, second copy, and what ended', async () => {
    await seen.whenText('Accepted');
    await seen.whenText(/Used[\d.,]+ .?B of/);
    const text = await seen.text();
    expect(text).toContain('Runs ina Service Worker');
    expect(text).toContain('Background Sync');
    expect(text).toContain('Outboxopen');
    expect(text).toContain('Second copybeing written');
    expect(text).toContain('Put plan 2026-12-03');
  });

  it('[W50, W19] shows the attempts, the claim and the reason of a row that is opened', async () => {
    const { tried } = scene.ids;
    await seen.open(tried);
    const explained = await scene.device.explain(tried);
    const attempts = explained?.row.evidence.attempts ?? [];
    expect(attempts.length).toBeGreaterThan(1);
    const row = await seen.row(tried);
    for (const { code = '', fence } of attempts) {
      expect(row?.text).toContain(code);
      expect(row?.text).toContain(`fence ${fence}`);
    }
    expect(row?.text).toContain(explained?.row.claim?.host);
    expect(row?.text).toContain('Sending is paused.');
    expect(row?.text).toContain(`Idempotency key${tried}`);
    // R35: the server may have it, so it cannot be withdrawn.
    expect(row?.buttons).toEqual([]);
    await seen.press('Show the content', tried);
    await seen.whenText('"exercise": "Overhead press"');
  });

  it('[W50, W60] leads from a row to the one it waits for', async () => {
    const { parent, child } = scene.ids;
    expect((await seen.row(child))?.text).toContain(
      `Waits forCreate workout no id yet · ${parent.slice(0, 8)}…`,
    );
    expect((await seen.row(parent))?.text).toContain('1 change behind this one');
    await scene.device.page.$$eval(`holdfast-inspector >>> li:has([id="row-${child}"]) .link`, ([link]) => {
      if (link instanceof HTMLElement) link.click();
    });
    await expect
      .poll(() => seen.focused())
      .toMatchObject({ name: expect.stringContaining(parent.slice(0, 8)) });
    await seen.whenText(`Idempotency key${parent}`);
  });

  it('[W50] filters by state, family and text', async () => {
    await seen.press('Blocked2');
    expect(await seen.rows()).toHaveLength(2);
    await seen.press('All7');
    const page = scene.device.page;
    await page.select('holdfast-inspector >>> select', 'plan');
    expect((await seen.rows()).map(({ title }) => title)).toEqual(['Put plan2026-12-04']);
    await page.select('holdfast-inspector >>> select', '');
    await seen.fill('[type=search]', 'week-49');
    await expect.poll(async () => (await seen.rows()).length).toBe(1);
    await seen.fill('[type=search]', 'nothing like it');
    await seen.whenText('No change matches.');
    await seen.fill('[type=search]', '');
    await expect.poll(async () => (await seen.rows()).length).toBe(7);
  });

  it.each([
    { scheme: 'light', width: 320 },
    { scheme: 'light', width: 1280 },
    { scheme: 'dark', width: 320 },
    { scheme: 'dark', width: 1280 },
  ])('[W50] leaves axe-core nothing to say in $scheme at $width px, and fits', async ({ scheme, width }) => {
    const { page } = scene.device;
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.setViewport({ width, height: 800 });
    const { refused, conflict } = scene.ids;
    const edit = (await seen.row(refused))?.buttons.includes('Edit and send');
    if (edit) await seen.press('Edit and send', refused);
    if ((await seen.row(conflict))?.buttons.includes('Send again')) await seen.press('Discard', conflict);
    await seen.whenText('Content as JSON');
    await seen.whenText('Its content will be gone for good.');
    expect(await seen.complaints()).toEqual([]);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBe(0);
  });

  it('[W50] follows the device’s scheme unless the attribute says otherwise', async () => {
    const { page } = scene.device;
    const surface = (theme: string | undefined): Promise<string> =>
      page.$eval(
        'holdfast-inspector',
        (element, wanted) => {
          if (wanted === undefined) element.removeAttribute('theme');
          else element.setAttribute('theme', wanted);
          const panel = element.shadowRoot?.querySelector('.panel');
          return panel ? getComputedStyle(panel).backgroundColor : '';
        },
        theme,
      );
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    const light = await surface(undefined);
    const dark = await surface('dark');
    expect(dark).not.toBe(light);
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    expect(await surface('light')).toBe(light);
    expect(await surface(undefined)).toBe(dark);
  });

  it('[W50] keeps its marks where colours are forced, and stands still where motion is not wanted', async () => {
    const { page } = scene.device;
    const cdp = await page.createCDPSession();
    await cdp.send('Emulation.setEmulatedMedia', {
      features: [
        { name: 'forced-colors', value: 'active' },
        { name: 'prefers-reduced-motion', value: 'reduce' },
      ],
    });
    const marks = await page.$eval('holdfast-inspector', ({ shadowRoot }) => {
      const of = (selector: string, pseudo?: string): CSSStyleDeclaration | undefined => {
        const element = shadowRoot?.querySelector(selector);
        return element ? getComputedStyle(element, pseudo) : undefined;
      };
      return {
        badge: of('.badge')?.borderStyle,
        pressed: of('.tab[aria-pressed=true]')?.outlineStyle,
        line: of('.line')?.stroke === of('.bars')?.fill,
        moves: of('.toggle .icon')?.transitionDuration,
      };
    });
    expect(marks).toEqual({ badge: 'solid', pressed: 'solid', line: false, moves: '0s' });
    await cdp.send('Emulation.setEmulatedMedia', { features: [] });
    await cdp.detach();
  });

  it('[W50, W16] needs no leave of a strict policy', async () => {
    expect(await scene.device.page.evaluate(() => globalThis.inspectorPage.violations)).toEqual([]);
  });
});

describe('a person at the inspector', () => {
  let device: Device;
  let seen: InspectorDriver;

  beforeEach(async () => {
    await app.reset();
    device = await openDevice(chromium, app);
    await device.page.setViewport({ width: 900, height: 900 });
    await device.signIn('grace');
    seen = driveInspector(device.page);
  });
  afterEach(() => device.close());

  const show = (): Promise<void> => device.page.evaluate(() => globalThis.inspectorPage.show());

  it('[W50, R34] edits a refused change and sends it', async () => {
    const id = await device.create({ exercise: 'Lunge', weightKg: 4_000 });
    await device.settled(id);
    await show();
    await seen.whenText('1 change needs you');
    await seen.press('Edit and send', id);
    await expect.poll(() => seen.focused()).toMatchObject({ name: 'Content as JSON' });
    await seen.fill('textarea', '{ "date": ');
    await seen.press('Send this', id);
    await seen.whenText('This is not JSON');
    await seen.fill('textarea', '{ "date": "2026-11-30", "exercise": "Lunge", "weightKg": 40 }');
    await seen.press('Send this', id);
    await seen.whenText('Everything is with the server');
    const { effects } = await app.server.statistics('grace');
    expect(effects.map(({ kind }) => kind)).toEqual(['workout.create']);
    expect((await seen.told()).status).not.toBe('');
  });

  it('[W50, R35] gives a change up, after a word about what goes with it', async () => {
    const parent = await device.create({ exercise: 'Lunge', weightKg: 4_000 });
    await device.settled(parent);
    const child = await device.create({}, { after: [parent] });
    await show();
    await seen.whenText('Create workout');
    await seen.press('Discard', parent);
    await seen.whenText('1 change that cannot be sent without it will go too.');
    await expect.poll(() => seen.focused()).toMatchObject({ name: 'Keep it' });
    await seen.press('Keep it', parent);
    expect((await seen.row(parent))?.buttons).toContain('Discard');
    await seen.press('Discard', parent);
    await seen.press('Discard', parent);
    await seen.whenText('Everything is with the server');
    expect(await device.settled(child)).toMatchObject({ type: 'discarded' });
    // The keyboard goes on where the row was.
    await expect.poll(() => seen.focused()).toMatchObject({ name: 'Changes' });
  });

  it('[W50] pauses, withdraws what waits, resumes, and sends', async () => {
    await show();
    await seen.whenText('Everything is with the server');
    await seen.press('Pause');
    await seen.whenText('Paused');
    const first = await device.create();
    const second = await device.create({ exercise: 'Press' });
    await seen.whenText('Paused, 2 changes waiting');
    await seen.open(first);
    await seen.press('Withdraw', first);
    await seen.press('Withdraw', first);
    await seen.whenText('Paused, 1 change waiting');
    expect(await device.settled(first)).toMatchObject({ type: 'cancelled' });
    await seen.press('Resume');
    await device.uploaded(second);
    await seen.whenText('Everything is with the server');
  });

  it('[W50] saves a copy of everything as a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-downloads-'));
    const cdp = await device.page.createCDPSession();
    await cdp.send('Browser.setDownloadBehavior', {
      behavior: 'allow',
      downloadPath: folder,
      browserContextId: device.page.browserContext().id,
    });
    await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
    const id = await device.create({ note: 'keep me' });
    await show();
    await seen.press('Export');
    await expect.poll(() => readdir(folder)).toEqual([expect.stringMatching(/^outbox-\d+\.json$/)]);
    const [name = ''] = await readdir(folder);
    const exported: unknown = JSON.parse(await readFile(join(folder, name), 'utf8'));
    expect(exported).toMatchObject({ owner: 'grace', rows: [{ row: { id }, body: { note: 'keep me' } }] });
    expect((await seen.told()).status).toBe('A copy was saved');
    await rm(folder, { recursive: true });
  });

  it('[W50] says what did not work, in the error’s own words', async () => {
    const id = await device.create({ weightKg: 4_000 });
    await device.settled(id);
    await show();
    await seen.whenText('Create workout');
    await device.page.evaluate(async (of) => {
      await globalThis.outboxApp.outbox.discard(of);
      await globalThis.outboxApp.outbox.discard(of).catch(() => undefined);
    }, id);
    await seen.press('Send again', id).catch(() => undefined);
    await seen.whenText('Everything is with the server');
    await device.page.evaluate(() => globalThis.outboxApp.outbox.signOut());
    await seen.whenText('Nobody is signed in');
    expect(await seen.rows()).toEqual([]);
    expect(await seen.text()).not.toContain('Lunge');
  });

  it('[W50] does all of it with the keyboard alone', async () => {
    const id = await device.create({ exercise: 'Lunge', weightKg: 4_000 });
    await device.settled(id);
    await show();
    await seen.whenText('Send again');
    const { keyboard } = device.page;
    const walk: string[] = [];
    for (let step = 0; step < 20; step++) {
      await keyboard.press('Tab');
      const at = await seen.focused();
      if (!at) break;
      expect(at.isShown, at.name).toBe(true);
      walk.push(at.name);
    }
    const title = `Create workoutno id yet · ${id.slice(0, 8)}…`;
    expect(walk).toEqual([
      'Send now',
      'Pause',
      'Export',
      'As a table',
      'All1',
      'Waiting0',
      'Sending0',
      'Held0',
      'Blocked1',
      'Find by id, target, tag or code',
      title,
      'Send again',
      'Edit and send',
      'Discard',
      'Ask the browser',
    ]);
    const back = async (to: string): Promise<void> => {
      for (let step = 0; step < 20 && (await seen.focused())?.name !== to; step++) {
        await keyboard.down('Shift');
        await keyboard.press('Tab');
        await keyboard.up('Shift');
      }
      expect((await seen.focused())?.name).toBe(to);
    };
    await keyboard.down('Shift');
    await keyboard.press('Tab');
    await keyboard.up('Shift');
    await back(title);
    await keyboard.press('Enter');
    await seen.whenText('Idempotency key');
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    await keyboard.press('Tab');
    expect((await seen.focused())?.name).toBe('Discard');
    await keyboard.press('Space');
    await expect.poll(() => seen.focused()).toMatchObject({ name: 'Keep it' });
    await back('Discard');
    await keyboard.press('Enter');
    await seen.whenText('Everything is with the server');
    expect((await seen.told()).status).toMatch(/Discarded|Everything is with the server/);
  });

  it('[W50] speaks the app’s words, and calls rows what the app calls them', async () => {
    await device.page.evaluate(() => globalThis.outboxApp.outbox.pause());
    await device.create({ exercise: 'Kniebeuge' });
    await device.page.evaluate(() =>
      globalThis.inspectorPage.show({
        words: { title: 'Ausgang', pause: 'Anhalten', resume: 'Fortsetzen', depth: 'Wartend' },
        nameOf: (row) => (row.family === 'workout' ? 'Training' : undefined),
      }),
    );
    await seen.whenText('Training');
    await seen.whenText('Wartend');
    const text = await seen.text();
    expect(text).toContain('Ausgang of grace');
    expect(text).toContain('Fortsetzen');
  });

  it('[W50] shows a page of 10,000 rows, and one change touches one row', async () => {
    const touched = await device.page.evaluate(async () => {
      const many = globalThis.inspectorPage.showMany(10_000);
      const root = document.querySelector('holdfast-inspector')?.shadowRoot;
      const whenRows = () =>
        new Promise<void>((resolve) => {
          const look = (): void => {
            if (root?.querySelector('.row')) resolve();
            else requestAnimationFrame(look);
          };
          look();
        });
      await whenRows();
      if (!root) throw new Error('No shadow root');
      const rows = root.querySelectorAll('.row').length;
      const text = root.querySelector('.pages')?.textContent;
      const changed = new Set<Element | null>();
      const whenChanged = new Promise<void>((resolve) => {
        new MutationObserver((records) => {
          for (const { target } of records)
            changed.add((target.parentElement ?? null)?.closest('.row') ?? null);
          if ([...changed].some((row) => row !== null)) resolve();
        }).observe(root, { subtree: true, childList: true, characterData: true, attributes: true });
      });
      many.touch(3);
      await whenChanged;
      return { rows, text, changedRows: [...changed].filter((row) => row !== null).length };
    });
    expect(touched).toEqual({ rows: PAGE_ROWS, text: `1–${PAGE_ROWS} of 10,000`, changedRows: 1 });
    await seen.press('Next page');
    expect((await seen.told()).status).toBe(`${PAGE_ROWS + 1}–${2 * PAGE_ROWS} of 10,000`);
    await seen.press('Previous page');
    await seen.press('Previous page');
    expect((await seen.rows())[0]?.title).toContain('w0');
  });
});
