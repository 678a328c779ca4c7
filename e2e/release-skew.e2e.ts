/** This release beside an older one that was kept (e2e/fixtures), worker and page, in real Chromium. */
import type { Page } from 'puppeteer';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { snapshotName } from '../client/read-snapshot.ts';
import type { Database } from '../examples/server/database/database.ts';
import { PROTOCOL, RELEASE } from '../shared/protocol.ts';
import { openTestPglite } from '../tests/support/test-pglite.ts';
import {
  activateNew,
  BODY,
  connect,
  create,
  flush,
  type Host,
  pause,
  resume,
  settled,
  update,
  updateWorker,
} from './claims/page-calls.ts';
import { type ClaimsApp, OLDER, serveClaims } from './claims/serve-claims.ts';
import { ledgerAttempt, rewriteRow, storedRows, told } from './claims/stored.ts';
import { awaitedLater } from './support/awaited-later.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';

const LEASE = 60_000;
const OPTIONS = { leaseMs: LEASE };

type Bundle = 'current' | 'older';
const RELEASES = { current: RELEASE, older: OLDER } as const;

interface Heard {
  readonly holdfast?: string;
  readonly value?: unknown;
}

/** What the active worker says to a call that is written by hand: its acknowledgement, if any, and its answer. */
const call = (page: Page, protocol: number, name: string): Promise<readonly Heard[]> =>
  page.evaluate(
    async (number, path) => {
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      const heard: Heard[] = [];
      const answered = new Promise<void>((resolve) => {
        port1.onmessage = ({ data }) => {
          heard.push(data);
          if (data.id === 'm1') resolve();
        };
      });
      const message = { id: 'm1', type: 'APPLY', path: [path], argumentList: [] };
      active?.postMessage({ holdfast: 'call', protocol: number, message }, [port2]);
      await answered;
      return heard;
    },
    protocol,
    name,
  );

/** The row as the page's snapshot has it. */
const inSnapshot = (page: Page, id: string): Promise<unknown> =>
  page.evaluate(
    (name, of) => {
      const { rows = [] } = JSON.parse(localStorage.getItem(name) ?? '{}');
      return rows.find(({ row }: { readonly row: { readonly id: string } }) => row.id === of)?.row;
    },
    snapshotName('holdfast', 'ada'),
    id,
  );

describe('beside an older release, in Chromium', () => {
  let database: Database;
  let chromium: Chromium;
  let app: ClaimsApp;
  let complaints: string[];

  beforeAll(async () => {
    [database, chromium] = await Promise.all([openTestPglite(), launchChromium()]);
  });
  beforeEach(async () => {
    app = await serveClaims(database);
    complaints = [];
  });
  afterEach(async () => {
    await app.letGo();
    const pages = await chromium.browser.pages();
    await Promise.all(pages.slice(1).map((page) => page.close()));
    await app.close();
  });
  afterAll(async () => {
    await chromium.close();
    await database.close();
  });

  async function open(host: Host, bundle: Bundle): Promise<Page> {
    await app.deployPage(bundle);
    const page = await chromium.openPage(app.url);
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      // The browser itself notes every answer that is not a success.
      const isOurs = !message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && isOurs) complaints.push(message.text());
    });
    await app.signIn(page);
    expect(await connect(page, host, OPTIONS)).toBe(host);
    return page;
  }

  it.each([
    { holder: 'older', holding: 'worker', editor: 'current', editing: 'page' },
    { holder: 'current', holding: 'worker', editor: 'older', editing: 'page' },
    { holder: 'older', holding: 'page', editor: 'current', editing: 'worker' },
  ] as const)(
    '[R2, C18, D31, D34] three times in a row: an edit by the $editor $editing beside a request of the $holder $holding waits, conflicts, is resent and lands',
    async ({ holder, holding, editor, editing }) => {
      await app.deploy(OPTIONS, holding === 'worker' ? holder : editor);
      const holderPage = await open(holding, holding === 'worker' ? editor : holder);
      const workout = await app.createElsewhere(BODY);
      let editorPage: Page | undefined;
      let revision = 1;
      const lines: string[] = [];
      for (let round = 1; round <= 3; round++) {
        app.hold();
        const u1 = await update(holderPage, workout, 60 + round, revision);
        const first = await app.next();
        expect(first).toMatchObject({ id: u1.id, ifMatch: `"${revision}"` });
        await first.carryOut();
        const [held] = await storedRows(holderPage);
        expect(held).toMatchObject({ id: u1.id, writer: { release: RELEASES[holder] }, claim: { fence: 1 } });

        editorPage ??= await open(editing, editor);
        const u2 = await update(editorPage, workout, 80 + round, revision);
        expect(u2).toMatchObject({ action: 'queued', removed: [], row: { successorOf: u1.origin } });
        expect(await storedRows(editorPage)).toEqual([held, u2.row]);

        const elsewhere = await app.changeElsewhere(workout, { note: `round ${round}` });
        expect(elsewhere).toBe(revision + 2);
        await first.answer();
        const second = await app.next();
        // The receipt removed its own row and nothing else; the other one moved to the new revision.
        expect(second.ifMatch).toBe(`"${revision + 1}"`);
        expect(await storedRows(editorPage)).toMatchObject([{ id: second.id, origin: u2.origin }]);
        await second.answer();
        const third = await app.next();
        expect(third.ifMatch).toBe(`"${elsewhere}"`);
        expect(await storedRows(editorPage)).toMatchObject([
          { id: third.id, origin: u2.origin, conflict: { originalId: second.id, actual: elsewhere } },
        ]);
        await third.answer();
        expect(await settled(editorPage, u2.id)).toMatchObject({
          type: 'uploaded',
          via: [u2.id, second.id],
          receipt: { id: third.id, revision: elsewhere + 1 },
        });
        expect(await settled(holderPage, u1.id)).toMatchObject({ type: 'uploaded', id: u1.id });
        expect(await storedRows(editorPage)).toEqual([]);
        lines.push(
          `${u1.id} committed`,
          `${u2.id} rebased`,
          `${second.id} superseded`,
          `${third.id} committed`,
        );
        revision = elsewhere + 1;
      }
      expect(await told(holderPage)).toEqual(lines);
      expect(await app.read(workout)).toMatchObject({ weightKg: 83, note: 'round 3', revision: 10 });
      expect(Object.values(await app.effects()).every((count) => count === 1)).toBe(true);
      expect(complaints).toEqual([]);
    },
  );

  it.each([
    { host: 'worker', bundle: 'current' },
    { host: 'page', bundle: 'older' },
  ] as const)(
    '[R2] the older $host keeps what it does not know of a row: in store, ledger and snapshot (page: $bundle)',
    async ({ host, bundle }) => {
      await app.deploy(OPTIONS, 'older');
      const page = await open(host, bundle);
      await pause(page);
      const id = await create(page);
      const news = { forecast: { rain: [1, 2] } };
      await rewriteRow(page, id, { set: { ...news, evidence: { attemptCount: 0, network: '4g' } } });
      app.hold();
      await resume(page);
      const first = await app.next();
      const [claimed] = await storedRows(page);
      expect(claimed).toMatchObject({
        ...news,
        state: 'sending',
        claim: { fence: 1 },
        evidence: { attemptCount: 1, network: '4g' },
        writer: { release: OLDER },
      });
      const claim = { ...claimed?.claim, shard: 3 };
      await rewriteRow(page, id, { set: { claim, writer: { ...claimed?.writer, build: 'b7' } } });
      const ended = awaitedLater(flush(page));
      await first.answer(503);
      // The flush that was asked for meanwhile overrides the engine's own wait.
      const second = await app.next();
      const kept = {
        ...news,
        claim: { fence: 2, shard: 3 },
        evidence: { attemptCount: 2, network: '4g', lastErrorCode: expect.anything() },
        writer: { release: OLDER, build: 'b7' },
      };
      expect(await storedRows(page)).toMatchObject([{ ...kept, state: 'sending' }]);
      await second.answer(503);
      await ended;
      expect(await storedRows(page)).toMatchObject([{ ...kept, state: 'queued' }]);
      // Both witnesses follow in a moment, beside the work.
      await expect.poll(() => ledgerAttempt(page, id), { timeout: 10_000 }).toMatchObject(kept);
      await expect.poll(() => inSnapshot(page, id), { timeout: 10_000 }).toMatchObject(kept);
      await app.letGo();
      await flush(page);
      expect(await settled(page, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
      expect(await storedRows(page)).toEqual([]);
    },
  );

  it('[R2, W2] a worker that is rolled back reads, sends and removes what this release stored', async () => {
    await app.deploy(OPTIONS);
    const page = await open('worker', 'current');
    const workout = await app.createElsewhere(BODY);
    await pause(page);
    const ids = await page.evaluate(
      async (target, body) => {
        const { workout: workouts, plan } = globalThis.claims.outbox;
        const created = await workouts.create(body, { tags: ['monday'], urgent: true });
        const handles = [
          created,
          await workouts.update(target, { weightKg: 70 }, { revision: 1 }),
          await plan.put('2026-11-30', { title: 'Legs' }),
          await workouts.create(body, { after: [created.origin] }),
        ];
        globalThis.claimsEnds = Promise.all(handles.map(({ settled: end }) => end));
        return handles.map(({ id }) => id);
      },
      workout,
      BODY,
    );
    await app.deploy(OPTIONS, 'older');
    await updateWorker(page);
    await activateNew(page);
    app.hold();
    await resume(page);
    // Three keys leave side by side, on connections of their own: any of them may be the first at the door.
    let arrived = await app.next();
    while (arrived.id !== ids[0]) arrived = await app.next();
    expect((await storedRows(page)).find(({ id }) => id === ids[0])).toMatchObject({
      urgent: true,
      writer: { release: OLDER },
    });
    await app.letGo();
    const ends = await page.evaluate(() => globalThis.claimsEnds);
    expect(ends?.map(({ type }) => type)).toEqual(['uploaded', 'uploaded', 'uploaded', 'uploaded']);
    expect(await storedRows(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it.each([
    { bundle: 'current', worker: 'older' },
    { bundle: 'older', worker: 'current' },
  ] as const)('[W14] a page of the $bundle release and a worker of the $worker one talk', async (given) => {
    const { bundle, worker } = given;
    await app.deploy(OPTIONS, worker);
    const page = await open('worker', bundle);
    const id = await create(page);
    expect(await settled(page, id)).toMatchObject({ type: 'uploaded', receipt: { id } });
    const [acknowledged, answer] = await call(page, PROTOCOL, 'hello');
    expect(acknowledged).toMatchObject({ holdfast: 'has', protocol: PROTOCOL, release: RELEASES[worker] });
    expect(answer).toMatchObject({
      value: { protocol: PROTOCOL, release: RELEASES[worker], kind: 'worker' },
    });
    // A page of the next protocol is answered in this one; one of another age is told so.
    expect((await call(page, PROTOCOL + 1, 'hello'))[0]).toMatchObject({ protocol: PROTOCOL });
    expect(await call(page, PROTOCOL + 2, 'hello')).toMatchObject([
      { value: { holdfast: { code: 'protocol' } } },
    ]);
    expect(await call(page, PROTOCOL, 'foresee')).toMatchObject([
      { value: { holdfast: { code: 'unknown_call' } } },
    ]);
    expect(complaints).toEqual([]);
  });
});

declare global {
  var claimsEnds: Promise<readonly { readonly type: string }[]> | undefined;
}
