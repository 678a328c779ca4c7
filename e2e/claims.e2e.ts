/** Two senders over one outbox in real Chromium: a worker, a page that has none, two such pages (docs/claims.md). */
import type { Page } from 'puppeteer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../examples/server/database/database.ts';
import { RELEASE } from '../shared/protocol.ts';
import { openTestPglite } from '../tests/support/test-pglite.ts';
import {
  activateNew,
  BODY,
  connect,
  create,
  flush,
  type Host,
  heardHosts,
  lockIsFree,
  lockIsHeld,
  pause,
  resume,
  sendingOnce,
  setClock,
  settled,
  update,
  updateWorker,
  watchDrains,
  watchHosts,
  whenDrained,
} from './claims/page-calls.ts';
import type { ReleaseOptions } from './claims/sending.ts';
import { type ClaimsApp, OLDER, serveClaims } from './claims/serve-claims.ts';
import { rewriteRow, storedRows, told, whenQuiet } from './claims/stored.ts';
import { awaitedLater } from './support/awaited-later.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { openServiceWorkerControl } from './support/service-worker-control.ts';

const LEASE = 60_000;
/** Longer than any of these tests takes: what happens before it ends, happens for another reason. */
const LONG = { leaseMs: 600_000 };

const PAIRS: readonly { readonly a: Host; readonly b: Host }[] = [
  { a: 'worker', b: 'page' },
  { a: 'page', b: 'worker' },
  { a: 'page', b: 'page' },
];

/**
 * Freezes `page` while it holds no transaction open, seen from `other`: the browser by itself freezes no page that
 * keeps others from the database. Answers the way back.
 */
async function freeze(page: Page, other: Page): Promise<() => Promise<void>> {
  const session = await page.createCDPSession();
  const set = async (state: 'frozen' | 'active') => {
    await session.send('Page.setWebLifecycleState', { state });
  };
  await other.bringToFront();
  for (let tries = 0; tries < 10; tries++) {
    await whenQuiet(other);
    await set('frozen');
    const isQuiet = await whenQuiet(other, 1_000).then(
      () => true,
      () => false,
    );
    if (isQuiet) return () => set('active');
    await set('active');
  }
  throw new Error('The page was never found between two transactions');
}

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
    expect(await connect(page, host, options)).toBe(host);
    return page;
  }

  describe.each(PAIRS)('a $a and a $b', ({ a, b }) => {
    const openBoth = async (): Promise<{ readonly pageA: Page; readonly pageB: Page }> => ({
      pageA: await open(a, { leaseMs: LEASE, release: 'A' }),
      pageB: await open(b, { leaseMs: LEASE, release: 'B' }),
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

    /** One holds a request, its lease ends, and the other one has taken the row over and sent it too. */
    async function takeOver(pageA: Page, pageB: Page, round = 1) {
      app.hold();
      const id = await create(pageA);
      const first = await app.next();
      const [claimed] = await storedRows(pageA);
      // Mostly the one that stored it; but the other may just have begun a flush of its own.
      const [former, latter] = claimed?.writer?.release === 'A' ? [pageA, pageB] : [pageB, pageA];
      const formerEnd = awaitedLater(flush(former));
      const ahead = round * (LEASE + 1);
      await Promise.all([setClock(pageA, ahead), setClock(pageB, ahead)]);
      const latterEnd = awaitedLater(flush(latter));
      const second = await app.next();
      expect(second.id).toBe(id);
      const [taken] = await storedRows(pageB);
      expect([claimed?.claim?.fence, taken?.claim?.fence]).toEqual([1, 2]);
      expect(taken?.claim?.host).not.toBe(claimed?.claim?.host);
      return { id, first, second, formerEnd, latterEnd };
    }

    it('[C42, C11] a late success of the one whose lease ended is noted and told once; the row stays', async () => {
      const { pageA, pageB } = await openBoth();
      const { id, first, second, formerEnd, latterEnd } = await takeOver(pageA, pageB);
      await first.answer();
      expect(await settled(pageB, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
      await formerEnd;
      expect(await storedRows(pageB)).toMatchObject([
        { id, state: 'sending', claim: { fence: 2 }, receipt: { id } },
      ]);
      await second.answer();
      await latterEnd;
      expect(await storedRows(pageB)).toEqual([]);
      expect(await told(pageA)).toEqual([`${id} committed`]);
      expect(await app.effects()).toEqual({ [id]: 1 });
    });

    it('[C42, C12, C13, C14] a late 503, 401 or 422 of the one whose lease ended changes nothing', async () => {
      const { pageA, pageB } = await openBoth();
      const committed: string[] = [];
      for (const [round, status] of [503, 401, 422].entries()) {
        const { id, first, second, formerEnd, latterEnd } = await takeOver(pageA, pageB, round + 1);
        const held = await storedRows(pageB);
        await first.answer(status);
        await formerEnd;
        expect(await storedRows(pageB), `after ${status}`).toEqual(held);
        await second.answer();
        await latterEnd;
        committed.push(`${id} committed`);
        expect(await storedRows(pageB)).toEqual([]);
        expect(await told(pageB)).toEqual(committed);
      }
      expect(Object.values(await app.effects())).toEqual([1, 1, 1]);
    });

    it('[C46, C6] the one that ends in flight is followed at once: its free lock tells, long before its lease', async () => {
      const pageA = await open(a, LONG);
      app.hold();
      const id = await create(pageA);
      const first = await app.next();
      await first.carryOut();
      const pageB = await open(b, LONG);
      const before = await flush(pageB);
      expect(before.remaining).toMatchObject({ sending: 1 });
      const [claimed] = await storedRows(pageB);
      if (a === 'page') await pageA.close();
      else await (await openServiceWorkerControl(pageA)).stop();
      await lockIsFree(pageB, claimed?.claim?.host);
      const endB = awaitedLater(flush(pageB));
      const second = await app.next();
      expect(second.id).toBe(id);
      expect(await storedRows(pageB)).toMatchObject([{ id, state: 'sending', claim: { fence: 2 } }]);
      await second.answer();
      await endB;
      expect(await settled(pageB, id)).toMatchObject({ type: 'uploaded', receipt: { id, replayed: true } });
      expect(await storedRows(pageB)).toEqual([]);
      expect(await app.effects()).toEqual({ [id]: 1 });
    });

    it('[C49, C3] a row that a writer without claims is sending is left alone for a lease, then sent as it is', async () => {
      const { pageA, pageB } = await openBoth();
      const workout = await app.createElsewhere(BODY);
      await pause(pageA);
      const older = await update(pageA, workout, 70);
      await rewriteRow(pageA, older.id, {
        set: { state: 'sending', sentAt: Date.now() },
        drop: ['claim', 'writer', 'doubt', 'evidence', 'version'],
      });
      await Promise.all([resume(pageA), resume(pageB)]);
      const ends = await Promise.all([flush(pageA), flush(pageB)]);
      expect(ends.map(({ remaining }) => remaining.sending)).toEqual([1, 1]);
      expect(app.sent(older.id)).toBe(0);
      const next = await update(pageB, workout, 80);
      expect(next).toMatchObject({ action: 'queued', removed: [], row: { successorOf: older.id } });

      app.hold();
      await Promise.all([setClock(pageA, LEASE + 1), setClock(pageB, LEASE + 1)]);
      const end = awaitedLater(flush(pageA));
      const first = await app.next();
      expect(first.id).toBe(older.id);
      expect(await storedRows(pageA)).toMatchObject([
        { id: older.id, requestHash: older.row?.requestHash, claim: { fence: 1 } },
        { id: next.id },
      ]);
      await app.letGo();
      await end;
      expect(await settled(pageB, next.id)).toMatchObject({ type: 'uploaded' });
      expect(await settled(pageB, older.id)).toMatchObject({ type: 'uploaded', id: older.id });
      expect(await app.read(workout)).toMatchObject({ weightKg: 80, revision: 3 });
      expect(await storedRows(pageA)).toEqual([]);
    });
  });

  it.each(['worker', 'page'] as const)(
    '[C6, C5, C16] a frozen page that keeps its lock delays a %s until its lease ends, and changes nothing later',
    async (b) => {
      const pageA = await open('page', LONG);
      app.hold();
      const id = await create(pageA);
      const first = await app.next();
      await first.carryOut();
      const pageB = await open(b, LONG);
      const thaw = await freeze(pageA, pageB);

      const [claimed] = await storedRows(pageB);
      expect((await flush(pageB)).remaining.sending).toBe(1);
      expect(await storedRows(pageB)).toEqual([claimed]);
      await setClock(pageB, LONG.leaseMs + 1);
      const endB = awaitedLater(flush(pageB));
      const second = await app.next();
      expect(await lockIsHeld(pageB, claimed?.claim?.host)).toBe(true);
      expect(await storedRows(pageB)).toMatchObject([{ id, claim: { fence: 2 } }]);
      await second.answer();
      await endB;
      expect(await storedRows(pageB)).toEqual([]);

      await thaw();
      await first.answer();
      await flush(pageA);
      expect(await storedRows(pageB)).toEqual([]);
      expect(await told(pageB)).toEqual([`${id} committed`]);
      expect(await app.effects()).toEqual({ [id]: 1 });
    },
  );

  it('[C6, W20, W40] a page that only looks on takes over from one that closed in flight, with nobody asking', async () => {
    const pageA = await open('page', LONG);
    const pageB = await open('page', LONG);
    app.hold();
    const id = await create(pageA);
    const first = await app.next();
    await first.carryOut();
    await pageA.close();
    // Long before the lease: the lock of the page that closed is free, and that wakes the one that looks on.
    const second = await app.next();
    expect(second.id).toBe(id);
    await second.answer();
    expect(await settled(pageB, id)).toMatchObject({ type: 'uploaded', receipt: { id, replayed: true } });
    expect(await storedRows(pageB)).toEqual([]);
    expect(await app.effects()).toEqual({ [id]: 1 });
  });

  it('[C46, W2] a worker goes on sending for a tab that closed in flight', async () => {
    const page = await open('worker', LONG);
    app.hold();
    const id = await create(page);
    const request = await app.next();
    const claimed = await storedRows(page);
    await page.close();
    const later = await chromium.openPage(app.url);
    expect(await storedRows(later)).toEqual(claimed);
    await request.answer();
    expect(await connect(later, 'worker')).toBe('worker');
    expect(await settled(later, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
    expect(app.sent(id)).toBe(1);
    expect(await storedRows(later)).toEqual([]);
  });

  it('[C46, W3] claim, writer and evidence outlive a killed browser, and the next host goes on from them', async () => {
    let other = await launchChromium();
    const page = await other.openPage(app.url);
    await app.signIn(page);
    await connect(page, 'page', LONG);
    app.hold();
    const id = await create(page);
    const first = await app.next();
    await first.carryOut();
    const before = await storedRows(page);
    expect(before).toMatchObject([
      {
        id,
        state: 'sending',
        doubt: true,
        claim: { fence: 1 },
        writer: { release: RELEASE },
        evidence: { attemptCount: 1 },
      },
    ]);
    await other.kill();
    other = await other.relaunch();
    const later = await other.openPage(app.url);
    expect(await storedRows(later)).toEqual(before);
    await app.signIn(later);
    await connect(later, 'page', LONG);
    const second = await app.next();
    expect(second.id).toBe(id);
    expect(await storedRows(later)).toMatchObject([
      { id, claim: { fence: 2 }, evidence: { attemptCount: 2, doubtSince: before[0]?.evidence.doubtSince } },
    ]);
    await second.answer();
    expect(await settled(later, id)).toMatchObject({ type: 'uploaded', receipt: { id, replayed: true } });
    expect(await storedRows(later)).toEqual([]);
    expect(await app.effects()).toEqual({ [id]: 1 });
    await other.close();
  });

  describe('an update of the worker', () => {
    /** A holds a request; B, which knows a shorter lease, does not believe A's (C4) and takes the row over at its start. */
    async function handOver() {
      await app.deploy(LONG, 'older');
      const page = await chromium.openPage(app.url);
      await app.signIn(page);
      expect(await connect(page, 'worker')).toBe('worker');
      await watchHosts(page);
      app.hold();
      const id = await create(page);
      const first = await app.next();
      const [claimed] = await storedRows(page);
      expect(claimed).toMatchObject({ id, writer: { release: OLDER }, claim: { fence: 1 } });
      await app.deploy({ release: 'B', leaseMs: LEASE });
      await updateWorker(page);
      const second = await app.next();
      const taken = await storedRows(page);
      expect(taken).toMatchObject([{ id, writer: { release: 'B' }, claim: { fence: 2 } }]);
      expect(taken[0]?.claim?.host).not.toBe(claimed?.claim?.host);
      // B's drain goes on until its request is answered, so the next one to end is A's.
      await watchDrains(page);
      return { page, id, first, second, taken };
    }

    it('[W2, C41] old and new one drain one queue side by side, each row once', async () => {
      // The browser has six connections to one server, and the new script has to come through as well.
      const options = { leaseMs: LEASE, concurrency: 2 };
      await app.deploy(options, 'older');
      const page = await chromium.openPage(app.url);
      await app.signIn(page);
      expect(await connect(page, 'worker')).toBe('worker');
      await pause(page);
      const ids = await Promise.all(Array.from({ length: 4 }, (_, n) => create(page, n)));
      app.hold();
      await resume(page);
      await app.next();
      await app.deploy({ ...options, release: 'B' });
      await updateWorker(page);
      await sendingOnce(page, 4);
      const writers = (await storedRows(page)).map(({ writer }) => writer?.release);
      expect(new Set(writers)).toEqual(new Set([OLDER, 'B']));
      await app.letGo();
      await Promise.all(ids.map((id) => settled(page, id)));
      expect(ids.map(app.sent)).toEqual(ids.map(() => 1));
      expect(await storedRows(page)).toEqual([]);
    });

    it('[W2, W18] the new one sends, and no page hears of it before it is the active one', async () => {
      const { page, id, first, second, taken } = await handOver();
      expect(await heardHosts(page)).not.toContain(taken[0]?.claim?.host);
      await second.answer();
      expect(await settled(page, id)).toMatchObject({ type: 'uploaded' });
      expect(await heardHosts(page)).not.toContain(taken[0]?.claim?.host);
      await first.answer();
    });

    it('[W2, C11] a late success of the old one is told once and leaves the row to the new one', async () => {
      const { page, id, first, second, taken } = await handOver();
      await first.answer();
      expect(await settled(page, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
      await whenDrained(page);
      expect(await storedRows(page)).toMatchObject([{ ...taken[0], version: 4, receipt: { id } }]);
      await second.answer();
      await sendingOnce(page, 0);
      expect(await storedRows(page)).toEqual([]);
      expect(await told(page)).toEqual([`${id} committed`]);
      expect(await app.effects()).toEqual({ [id]: 1 });

      // B has asked to skip waiting: with A gone it is the one that pages talk to.
      await activateNew(page);
      app.hold();
      const next = await create(page);
      const request = await app.next();
      expect(await storedRows(page)).toMatchObject([{ id: next, writer: { release: 'B' } }]);
      await request.answer();
      expect(await settled(page, next)).toMatchObject({ type: 'uploaded' });
    });

    it.each([503, 401, 422])(
      '[W2, C10] a late %i of the old one changes nothing that is the new one`s',
      async (status) => {
        const { page, id, first, second, taken } = await handOver();
        await first.answer(status);
        await whenDrained(page);
        expect(await storedRows(page)).toEqual(taken);
        expect(await told(page)).toEqual([]);
        await second.answer();
        expect(await settled(page, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
        expect(await storedRows(page)).toEqual([]);
        expect(await told(page)).toEqual([`${id} committed`]);
        expect(await app.effects()).toEqual({ [id]: 1 });
      },
    );
  });
});
