/** Two senders over one outbox in real Chromium: a worker, a page that has none, two such pages (docs/claims.md). */
import type { Page } from 'puppeteer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ViewSnapshot } from '../client/view-snapshot.ts';
import type { Database } from '../examples/server/database/database.ts';
import type { FlushResult, Settled } from '../shared/outcome.ts';
import { openTestPglite } from '../tests/support/test-pglite.ts';
import type { ReleaseOptions } from './claims/sending.ts';
import { type ClaimsApp, serveClaims } from './claims/serve-claims.ts';
import { storedRows, told } from './claims/stored.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

type Host = ViewSnapshot['host'];

const LEASE = 10_000;
/** Longer than any of these tests takes: what happens before it ends, happens for another reason. */
const LONG = { leaseMs: 600_000 };
const BODY = { date: '2026-11-30', exercise: 'Squat', weightKg: 60 };

const PAIRS: readonly { readonly a: Host; readonly b: Host }[] = [
  { a: 'worker', b: 'page' },
  { a: 'page', b: 'worker' },
  { a: 'page', b: 'page' },
];

const create = (page: Page, weightKg = 60): Promise<string> =>
  page.evaluate(async (body) => (await globalThis.claims.outbox.workout.create(body)).id, {
    ...BODY,
    weightKg,
  });
const flush = (page: Page): Promise<FlushResult> => page.evaluate(() => globalThis.claims.outbox.flush());
const pause = (page: Page): Promise<void> => page.evaluate(() => globalThis.claims.outbox.pause());
const resume = (page: Page): Promise<void> => page.evaluate(() => globalThis.claims.outbox.resume());
const settled = (page: Page, id: string): Promise<Settled> =>
  page.evaluate((of) => globalThis.claims.outbox.settled(of, { final: true }), id);
const setClock = (page: Page, aheadMs: number): Promise<void> =>
  page.evaluate((ms) => globalThis.claims.setClock(ms), aheadMs);

/** Resolves when the live view shows so many rows in flight. */
const sendingOnce = (page: Page, count: number): Promise<void> =>
  page.evaluate(
    (wanted) =>
      new Promise<void>((resolve) => {
        const { view } = globalThis.claims.outbox;
        const look = (): void => {
          if (view.getSnapshot().counts.sending === wanted) resolve();
        };
        view.subscribe(look);
        look();
      }),
    count,
  );

describe('claims, in Chromium', () => {
  let database: Database;
  let chromium: Chromium;
  let app: ClaimsApp;

  beforeAll(async () => {
    [database, chromium] = await Promise.all([openTestPglite(), launchChromium()]);
  });
  beforeEach(async () => {
    app = await serveClaims(database);
  });
  afterEach(async () => {
    await app.letGo();
    const pages = await chromium.browser.pages();
    // One stays, since Chromium ends with its last page.
    await Promise.all(pages.slice(1).map((page) => page.close()));
    await app.close();
  });
  afterAll(async () => {
    await chromium.close();
    await database.close();
  });

  async function open(host: Host, options: ReleaseOptions = {}): Promise<Page> {
    const page = await chromium.openPage(app.url);
    await app.signIn(page);
    if (host === 'worker') await app.deploy(options);
    expect(
      await page.evaluate((which, given) => globalThis.claims.connect(which, given), host, options),
    ).toBe(host);
    return page;
  }

  describe.each(PAIRS)('a $a and a $b', ({ a, b }) => {
    interface Both {
      readonly pageA: Page;
      readonly pageB: Page;
    }
    const openBoth = async (options?: ReleaseOptions): Promise<Both> => ({
      pageA: await open(a, options),
      pageB: await open(b, options),
    });

    it('[C41, C2, W40] that flush together: one claims at fence 1 and sends, the other skips', async () => {
      const { pageA, pageB } = await openBoth();
      await pause(pageA);
      const id = await create(pageA);
      app.hold();
      await Promise.all([resume(pageA), resume(pageB)]);
      const request = await app.next();
      // Only the one that does not hold it comes to an end.
      const skipped = await Promise.any([flush(pageA), flush(pageB)]);
      expect(skipped.remaining).toMatchObject({ queued: 0, sending: 1 });
      expect(await storedRows(pageA)).toMatchObject([{ id, state: 'sending', claim: { fence: 1 } }]);
      expect(app.sent(id)).toBe(1);
      await request.answer();
      expect(await settled(pageB, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
      expect(await storedRows(pageA)).toEqual([]);
      expect(await told(pageA)).toEqual([`${id} committed`]);
    });

    it('[C41, T30] that drain one queue together send each row once', async () => {
      const { pageA, pageB } = await openBoth();
      await pause(pageA);
      const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => create(pageA, n)));
      app.hold();
      await Promise.all([resume(pageA), resume(pageB)]);
      // Six at once are a host's limit, and the browser's for one server: half of these wait for a connection.
      await sendingOnce(pageA, 12);
      expect(new Set((await storedRows(pageA)).map(({ claim }) => claim?.host)).size).toBe(2);
      await app.letGo();
      await Promise.all(ids.map((id) => settled(pageB, id)));
      expect(ids.map(app.sent)).toEqual(ids.map(() => 1));
      expect(await app.effects()).toEqual(Object.fromEntries(ids.map((id) => [id, 1])));
      expect(await storedRows(pageA)).toEqual([]);
      expect((await told(pageA)).toSorted()).toEqual(ids.map((id) => `${id} committed`).toSorted());
    });

    /** A holds a request, its lease ends, and B has taken the row over and sent it too. */
    async function takeOver({ pageA, pageB }: Both, round = 1) {
      app.hold();
      const id = await create(pageA);
      const first = await app.next();
      const [claimed] = await storedRows(pageA);
      const endA = flush(pageA);
      const ahead = round * (LEASE + 1);
      await Promise.all([setClock(pageA, ahead), setClock(pageB, ahead)]);
      const endB = flush(pageB);
      const second = await app.next();
      expect(second.id).toBe(id);
      const [taken] = await storedRows(pageB);
      expect([claimed?.claim?.fence, taken?.claim?.fence]).toEqual([1, 2]);
      expect(taken?.claim?.host).not.toBe(claimed?.claim?.host);
      return { id, first, second, endA, endB };
    }

    it('[C42, C11] a late success of the one whose lease ended is noted and told once; the row stays', async () => {
      const both = await openBoth();
      const { id, first, second, endA, endB } = await takeOver(both);
      await first.answer();
      expect(await settled(both.pageB, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
      await endA;
      expect(await storedRows(both.pageB)).toMatchObject([
        { id, state: 'sending', claim: { fence: 2 }, receipt: { id } },
      ]);
      await second.answer();
      await endB;
      expect(await storedRows(both.pageB)).toEqual([]);
      expect(await told(both.pageA)).toEqual([`${id} committed`]);
      expect(await app.effects()).toEqual({ [id]: 1 });
    });

    it('[C42, C12, C13, C14] a late 503, 401 or 422 of the one whose lease ended changes nothing', async () => {
      const both = await openBoth();
      const { pageB } = both;
      const committed: string[] = [];
      for (const [round, status] of [503, 401, 422].entries()) {
        const { id, first, second, endA, endB } = await takeOver(both, round + 1);
        const held = await storedRows(pageB);
        await first.answer(status);
        await endA;
        expect(await storedRows(pageB), `after ${status}`).toEqual(held);
        await second.answer();
        await endB;
        committed.push(`${id} committed`);
        expect(await storedRows(pageB)).toEqual([]);
        expect(await told(pageB)).toEqual(committed);
      }
      expect(Object.values(await app.effects())).toEqual([1, 1, 1]);
    });

    it('[C46, C6] the one that ends in flight is followed at once: its free lock tells, long before its lease', async () => {
      const { pageA, pageB } = await openBoth(LONG);
      app.hold();
      const id = await create(pageA);
      const first = await app.next();
      await first.carryOut();
      const before = await flush(pageB);
      expect(before.remaining).toMatchObject({ sending: 1 });
      if (a === 'page') await pageA.close();
      else await (await openServiceWorkerControl(pageA)).stop();
      const endB = flush(pageB);
      const second = await app.next();
      expect(second.id).toBe(id);
      expect(await storedRows(pageB)).toMatchObject([{ id, state: 'sending', claim: { fence: 2 } }]);
      await second.answer();
      await endB;
      expect(await settled(pageB, id)).toMatchObject({ type: 'uploaded', receipt: { id, replayed: true } });
      expect(await storedRows(pageB)).toEqual([]);
      expect(await app.effects()).toEqual({ [id]: 1 });
    });
  });
});
