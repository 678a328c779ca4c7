/** Sending and its answers, in Chromium against the reference server and its fault switches. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../examples/server/faults/fault-rule.ts';
import { BLOCKED_REASONS } from '../shared/blocked-code.ts';
import { type Chromium, launchChromium } from './support/launch-chromium.ts';
import { type Device, type End, openDevice, SQUAT } from './support/outbox-app/device.ts';
import { type OutboxAppServer, serveOutboxApp } from './support/outbox-app/serve-outbox-app.ts';
import { setWorkerOffline } from './support/service-worker-control.ts';

let app: OutboxAppServer;
let chromium: Chromium;
let device: Device;

beforeAll(async () => {
  [app, chromium] = await Promise.all([serveOutboxApp(), launchChromium()]);
});
beforeEach(async () => {
  [device] = await Promise.all([openDevice(chromium, app), app.reset()]);
  await device.signIn('ada');
});
afterEach(() => device.close());
afterAll(async () => {
  await chromium.close();
  await app.close();
});

/** Accepted, and told so once. */
const SAVED: End = {
  settled: 'uploaded',
  said: 'Saved.',
  heard: ['committed'],
  row: undefined,
  answers: ['201'],
  applied: 1,
};

/** Only commands meet it; without `count` until it is cleared. */
function fail(fault: Fault, count?: number): void {
  app.server.faults.set(['workout', 'plan'].map((family) => ({ fault, count, match: { family } })));
}

const mend = (): void => app.server.faults.clear();

/** A workout that the server has, from another device. */
async function existing(): Promise<string> {
  const response = await app.ask('ada', 'POST', '/api/workouts', { date: '2026-11-30', exercise: 'Row' });
  const { receipt } = (await response.json()) as { readonly receipt: { readonly target: string } };
  return receipt.target;
}

async function serverHas(target: string): Promise<unknown> {
  return await (await app.ask('ada', 'GET', `/api/workouts/${target}`)).json();
}

async function otherDevice(method: 'PATCH' | 'DELETE', target: string, body?: object): Promise<void> {
  const { ok } = await app.ask('ada', method, `/api/workouts/${target}`, body);
  if (!ok) throw new Error(`The other device could not ${method}`);
}

describe('the same command', () => {
  it('[D1, D40, D41] leaves at once while the server is there, and counts once', async () => {
    const id = await device.create();
    expect(await device.endOf(id)).toEqual(SAVED);
  });

  it('[D3] waits while the server breaks every connection, and leaves once it is back', async () => {
    app.server.faults.stop();
    const id = await device.create();
    await device.whenHeard(id, 'deferred');
    const view = await device.whenView({ connection: 'offline', rows: [{ id, state: 'queued' }] });
    expect(view).toMatchObject({ stoppedBy: 'network', counts: { queued: 1 } });
    app.server.faults.start();
    await device.flush();
    expect(await device.endOf(id)).toEqual({
      ...SAVED,
      heard: ['deferred', 'committed'],
      answers: ['503 reset', '201'],
    });
    expect(await device.view()).toMatchObject({ connection: 'online' });
  });

  it('[W22, D3] makes no request while the device is offline, and leaves by itself when it is not', async () => {
    const offline = await setWorkerOffline(await chromium.connectCdp(), app.url);
    await device.page.setOfflineMode(true);
    const id = await device.create();
    await device.whenView({ connection: 'offline', stoppedBy: 'network', rows: [{ id }] });
    expect((await device.flush()).stoppedBy).toBe('network');
    await offline.lift();
    await device.page.setOfflineMode(false);
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    expect(await device.endOf(id)).toEqual(SAVED);
  });

  it('[D3] rests after a 500, lets others go on, and is sent again by itself', async () => {
    fail({ type: 'status', status: 500 }, 1);
    const id = await device.create();
    await device.whenHeard(id, 'deferred');
    const waits = { id, state: 'queued', notBefore: { by: 'engine' } };
    const view = await device.whenView({ progress: { running: false }, rows: [waits] });
    expect(view).toMatchObject({ connection: 'online', wakeAt: view.rows[0]?.notBefore?.at });
    const other = await device.create({ exercise: 'Lunge' });
    expect(await device.settled(other)).toMatchObject({ type: 'uploaded' });
    expect((await device.view()).rows).toMatchObject([{ id, state: 'queued' }]);
    await device.settled(id);
    expect(await device.endOf(id)).toEqual({
      ...SAVED,
      heard: ['deferred', 'committed'],
      answers: ['500', '201'],
    });
  });

  it('[D5, W31] is held while the session has ended, and leaves with the next sign-in', async () => {
    await device.changeCookie(undefined);
    const id = await device.create();
    await device.whenHeard(id, 'held');
    await device.whenView({ stoppedBy: 'auth', counts: { held: 1 }, rows: [{ id, state: 'held' }] });
    expect(await device.settled(id, {})).toEqual({ type: 'held', id });
    expect(await device.explain(id)).toMatchObject({ reason: { type: 'signed_out' } });
    await device.signIn('ada');
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded' });
    expect(await device.endOf(id)).toEqual({
      ...SAVED,
      heard: ['held', 'committed'],
      answers: ['401', '201'],
    });
    expect((await device.reports())[0]).toMatchObject({ type: 'stopped', by: 'auth' });
  });

  it.each([
    { by: 'its validation', fault: undefined, weightKg: 4000, status: 422 },
    { by: 'a 403', fault: { type: 'status', status: 403 }, weightKg: 60, status: 403 },
    { by: 'a 413', fault: { type: 'status', status: 413 }, weightKg: 60, status: 413 },
    { by: 'a 501', fault: { type: 'status', status: 501 }, weightKg: 60, status: 501 },
  ] as const)('[D11, D48] is blocked once $by refuses it for good', async ({ fault, weightKg, status }) => {
    if (fault) fail(fault);
    const id = await device.create({ weightKg });
    const { sentence, waysOut } = BLOCKED_REASONS.rejected;
    const doubt = status === 501 ? ', in doubt' : '';
    expect(await device.endOf(id)).toEqual({
      settled: 'blocked',
      said: sentence,
      heard: ['blocked'],
      row: `blocked, rejected${doubt}`,
      answers: [`${status}`],
      applied: 0,
    });
    expect(await device.explain(id)).toMatchObject({ reason: { type: 'blocked', sentence, waysOut } });
    expect(await device.reports()).toMatchObject([{ type: 'blocked', code: 'rejected', row: { id } }]);
  });

  it('[D11, R34] that was refused leaves as an edited copy, under a key of its own', async () => {
    const id = await device.create({ weightKg: 4000 });
    await device.settled(id);
    const copy = await device.recover(id, { body: { ...SQUAT, weightKg: 40 } });
    expect(await device.endOf(copy)).toEqual(SAVED);
    expect(await device.heard(id)).toEqual(['blocked', 'replaced']);
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded', via: [id] });
  });
});

describe('a wait that the server names', () => {
  it.each([
    { status: 503, rests: 'everybody', others: 0 },
    { status: 429, rests: 'the account', others: 0 },
    { status: 500, rests: 'that key only', others: 1 },
  ])('[D3, C4] of a $status rests $rests, whatever triggers come', async ({ status, others }) => {
    fail({ type: 'status', status, retryAfter: 1 }, 1);
    const id = await device.create();
    await device.whenHeard(id, 'deferred');
    const view = await device.whenView({ rows: [{ id, state: 'queued', notBefore: { by: 'server' } }] });
    expect(view.connection).toBe('online');
    mend();
    const other = await device.create({ exercise: 'Lunge' });
    await device.flush();
    const sent = (key: string): number => app.server.requests().filter((one) => one.key === key).length;
    expect([sent(id), sent(other)]).toEqual([1, others]);
    await device.settled(other);
    const end = await device.endOf(id);
    expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: [`${status}`, '201'] });
    const [first, second] = app.server.requests().filter(({ key }) => key === id);
    expect((second?.startedAt ?? 0) - (first?.endedAt ?? 0)).toBeGreaterThanOrEqual(990);
  });

  it('[D3, V2] of a 409 in progress rests its key, which then gets its answer', async () => {
    fail({ type: 'in_progress' }, 1);
    const id = await device.create();
    await device.whenHeard(id, 'deferred');
    await device.whenView({ rows: [{ id, state: 'queued', notBefore: { by: 'server' }, doubt: true }] });
    const end = await device.endOf(id);
    expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: ['409', '201'] });
  });
});

describe('an answer that never comes', () => {
  it.each([
    { how: 'breaks off before it', fault: { type: 'reset_after' }, first: '201 reset' },
    { how: 'breaks off inside it', fault: { type: 'truncate' }, first: '201 truncate' },
    { how: 'is a proxy’s 502 after all', fault: { type: 'status_after', status: 502 }, first: '502' },
    { how: 'is a portal’s page', fault: { type: 'portal_after' }, first: '200' },
  ] as const)(
    '[D10, R7] because it $how: sent again under its key, applied once',
    async ({ fault, first }) => {
      fail(fault);
      const id = await device.create();
      await device.whenHeard(id, 'deferred');
      const [row] = (await device.whenView({ rows: [{ id, state: 'queued', doubt: true }] })).rows;
      expect(row?.attemptCount).toBe(1);
      mend();
      await device.flush();
      expect(await device.settled(id)).toMatchObject({
        type: 'uploaded',
        id,
        receipt: { id, replayed: true },
      });
      const end = await device.endOf(id);
      expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: [first, '201'] });
    },
  );

  it.each([
    { what: 'applied', fault: { type: 'drop_answer' }, replayed: true, first: '200 silence' },
    { what: 'not applied', fault: { type: 'silence_before' }, replayed: undefined, first: '503 silence' },
  ] as const)('[D4, C5] is given up at its time limit and asked for again: $what', async (the) => {
    fail(the.fault, 1);
    const id = await device.plan('2026-11-30', 'Legs');
    await device.whenHeard(id, 'deferred');
    await device.flush();
    const { receipt } = (await device.settled(id)) as { readonly receipt?: { readonly replayed?: boolean } };
    expect(receipt?.replayed).toBe(the.replayed);
    const end = await device.endOf(id);
    expect(end).toMatchObject({ ...SAVED, heard: ['deferred', 'committed'], answers: expect.anything() });
    expect(end.answers[0]).toBe(the.first);
  });

  it.each([
    { how: 'the connection breaks', fault: { type: 'reset_before' }, first: '503 reset' },
    { how: 'a captive portal answers', fault: { type: 'portal' }, first: '200' },
    { how: 'a redirect answers', fault: { type: 'redirect', to: '/login' }, first: '302' },
    { how: 'a 404 of no API answers', fault: { type: 'portal', status: 404 }, first: '404' },
  ] as const)('[D10] because $how first: nothing is taken for done, and it is sent again', async (the) => {
    fail(the.fault);
    const id = await device.create();
    await device.whenHeard(id, 'deferred');
    await device.whenView({ rows: [{ id, state: 'queued' }] });
    mend();
    await device.flush();
    const end = await device.endOf(id);
    expect(end).toEqual({ ...SAVED, heard: ['deferred', 'committed'], answers: [the.first, '201'] });
    expect(app.server.requests().some(({ path }) => path === '/login')).toBe(false);
  });

  it('[D45] to a refused request: asking again brings the refusal, and proves that it was not applied', async () => {
    fail({ type: 'reset_after' });
    const id = await device.create({ weightKg: 4000 });
    await device.whenHeard(id, 'deferred');
    mend();
    await device.flush();
    expect(await device.endOf(id)).toEqual({
      settled: 'blocked',
      said: BLOCKED_REASONS.rejected.sentence,
      heard: ['deferred', 'blocked'],
      row: 'blocked, rejected',
      answers: ['422 reset', '422'],
      applied: 0,
    });
  });
});

describe('a receipt', () => {
  it.each([
    { off: 'id', fault: { field: 'id' } },
    { off: 'requestHash', fault: { field: 'requestHash' } },
    { off: 'kind', fault: { field: 'kind' } },
    { off: 'target', fault: { field: 'target' } },
    { off: 'revision', fault: { field: 'revision' } },
    { off: 'revision', fault: { field: 'revision', value: 1 } },
    { off: 'generation', fault: { field: 'generation' } },
    { off: 'generation', fault: { field: 'generation', value: 0 } },
  ] as const)(
    '[D20, D28] whose $off is off ($fault) is no success, until the right one is there',
    async (the) => {
      const target = await existing();
      await otherDevice('PATCH', target, { note: 'second' });
      fail({ type: 'wrong_receipt', ...the.fault }, 1);
      const id = await device.update(target, { weightKg: 80 }, { revision: 2 });
      const rejection = { code: 'receipt_mismatch', field: the.off };
      await device.whenHeard(id, 'unknown');
      const end: End = {
        settled: 'unknown',
        said: BLOCKED_REASONS.receipt_mismatch.sentence,
        heard: ['unknown'],
        row: 'blocked, receipt_mismatch, in doubt',
        answers: ['200'],
        applied: 1,
      };
      expect(await device.endOf(id)).toEqual(end);
      expect(await device.reports()).toMatchObject([{ type: 'unknown', rejection, row: { id } }]);
      expect(await device.retry(id)).toBe(id);
      await device.whenHeard(id, 'committed');
      expect(await device.settled(id)).toMatchObject({
        type: 'uploaded',
        receipt: { revision: 3, replayed: true },
      });
      const answers = ['200', '200'];
      expect(await device.endOf(id)).toEqual({ ...SAVED, heard: ['unknown', 'committed'], answers });
    },
  );

  it.each([
    { how: 'is missing', fault: { type: 'no_receipt' }, first: '201' },
    { how: 'is not even tried', fault: { type: 'empty' }, first: '204' },
  ] as const)(
    '[D22, D28] that $how is no success, and the person can ask again',
    async ({ fault, first }) => {
      fail(fault, 1);
      const id = await device.create();
      const { sentence } = BLOCKED_REASONS.receipt_missing;
      expect(await device.endOf(id)).toEqual({
        settled: 'unknown',
        said: sentence,
        heard: ['unknown'],
        row: 'blocked, receipt_missing, in doubt',
        answers: [first],
        applied: 1,
      });
      expect(await device.explain(id)).toMatchObject({ reason: { type: 'blocked', sentence } });
      await device.retry(id);
      await device.whenHeard(id, 'committed');
      const answers = [first, '201'];
      expect(await device.endOf(id)).toEqual({ ...SAVED, heard: ['unknown', 'committed'], answers });
    },
  );

  it('[D24, D28] of another account’s request proves nothing', async () => {
    const response = await app.ask('grace', 'POST', '/api/workouts', { date: '2026-11-30', exercise: 'Row' });
    const { receipt } = (await response.json()) as { readonly receipt: Readonly<Record<string, unknown>> };
    const fields = ['id', 'requestHash', 'target', 'revision', 'generation', 'committedAt'] as const;
    app.server.faults.set(
      fields.map((field) => ({
        fault: { type: 'wrong_receipt', field, value: receipt[field] },
        count: 1,
        match: { family: 'workout' },
      })),
    );
    const id = await device.create();
    await device.whenHeard(id, 'unknown');
    expect(await device.endOf(id)).toMatchObject({
      settled: 'unknown',
      row: 'blocked, receipt_mismatch, in doubt',
    });
    await device.retry(id);
    await device.whenHeard(id, 'committed');
    expect(await device.uploaded(id)).not.toBe(receipt['target']);
    expect((await device.endOf(id)).applied).toBe(1);
  });

  it('[D29, V2] comes twice where a network delivers the request twice: one effect, one outcome', async () => {
    app.intercept(async (request, next) => {
      await next(request);
      return next(request);
    });
    const id = await device.create();
    expect(await device.settled(id)).toMatchObject({ type: 'uploaded', receipt: { replayed: true } });
    expect(await device.endOf(id)).toEqual(SAVED);
  });

  it('[D10, R7] is impossible for a key that another request has used: blocked, in doubt', async () => {
    const id = crypto.randomUUID();
    const headers = { 'idempotency-key': `"${id}"` };
    await app.ask('ada', 'POST', '/api/workouts', { date: '2026-11-30', exercise: 'Other' }, headers);
    expect(await device.create({}, { id })).toBe(id);
    expect(await device.endOf(id)).toEqual({
      settled: 'blocked',
      said: BLOCKED_REASONS.key_reused.sentence,
      heard: ['blocked'],
      row: 'blocked, key_reused, in doubt',
      answers: ['201', '422'],
      applied: 1,
    });
  });
});

describe('a conflict', () => {
  const conflicting = async (
    tags: readonly string[] = [],
  ): Promise<readonly [id: string, target: string]> => {
    const target = await existing();
    await otherDevice('PATCH', target, { note: 'theirs' });
    return [await device.update(target, { note: 'mine' }, { revision: 1, tags }), target];
  };

  it('[D30, D31, D33] with another device is resent on its revision, as a request of its own', async () => {
    const [id, target] = await conflicting();
    const settled = await device.settled(id);
    expect(settled).toMatchObject({ type: 'uploaded', via: [id], receipt: { revision: 3 } });
    expect(await device.endOf(id)).toEqual({
      ...SAVED,
      heard: ['superseded', 'committed'],
      answers: ['412', '200'],
    });
    expect(await serverHas(target)).toMatchObject({ note: 'mine', revision: 3 });
    const keys = app.server.requests().flatMap(({ key, ifMatch }) => (ifMatch ? [[key, ifMatch]] : []));
    expect(keys).toEqual([
      [id, '"1"'],
      [settled.id, '"2"'],
    ]);
    const committed = (await device.journal()).find(({ outcome }) => outcome.type === 'committed');
    expect(committed?.outcome).toMatchObject({ resolvedConflict: true });
  });

  it('[D30] goes to a person where the family says so, and leaves on their word', async () => {
    const [id, target] = await conflicting(['conflict:block']);
    const end = await device.endOf(id);
    expect(end).toEqual({
      settled: 'blocked',
      said: BLOCKED_REASONS.conflict.sentence,
      heard: ['blocked'],
      row: 'blocked, conflict',
      answers: ['412'],
      applied: 0,
    });
    expect(await serverHas(target)).toMatchObject({ note: 'theirs', revision: 2 });
    const copy = await device.recover(id, { body: { note: 'both' }, expectedRevision: 2 });
    expect(await device.endOf(copy)).toEqual({ ...SAVED, answers: ['200'] });
    expect(await serverHas(target)).toMatchObject({ note: 'both', revision: 3 });
  });

  it('[D30] is dropped where the family lets the server’s version win, and an outcome says so', async () => {
    const [id, target] = await conflicting(['conflict:drop']);
    expect(await device.endOf(id)).toEqual({
      settled: 'dropped',
      said: 'Dropped: the version on the server stands.',
      heard: ['dropped'],
      row: undefined,
      answers: ['412'],
      applied: 0,
    });
    expect(await serverHas(target)).toMatchObject({ note: 'theirs', revision: 2 });
  });

  it('[D30] is merged where the family reads what the server has', async () => {
    const [id, target] = await conflicting(['conflict:merge']);
    const end = await device.endOf(id);
    expect(end).toEqual({ ...SAVED, heard: ['superseded', 'committed'], answers: ['412', '200'] });
    expect(await serverHas(target)).toMatchObject({ note: 'theirs, mine', revision: 3 });
  });

  it('[D32] that does not end waits for the next flush; the connection is not to blame', async () => {
    const target = await existing();
    fail({ type: 'status', status: 412, code: 'revision_conflict', members: { actual_revision: 7 } });
    const id = await device.update(target, { note: 'mine' }, { revision: 1 });
    const view = await device.whenView({
      progress: { running: false },
      rows: [{ state: 'queued', lastErrorCode: 'conflict_storm' }],
    });
    expect(view).toMatchObject({ connection: 'online', counts: { queued: 1, blocked: 0 } });
    expect(app.server.requests().filter(({ status }) => status === 412)).toHaveLength(4);
    mend();
    await device.flush();
    expect(await device.endOf(id)).toMatchObject({ settled: 'uploaded', applied: 1, row: undefined });
    expect(await serverHas(target)).toMatchObject({ note: 'mine', revision: 2 });
  });

  it('[D34] that this device made itself is none: a second edit behind the first needs one request', async () => {
    const target = await existing();
    fail({ type: 'delay', ms: 300 }, 1);
    const first = await device.update(target, { note: 'one' }, { revision: 1 });
    await device.whenView({ rows: [{ state: 'sending' }] });
    const second = await device.update(target, { note: 'two' }, { revision: 1 });
    expect(await device.endOf(first)).toEqual({ ...SAVED, answers: ['200'] });
    expect(await device.endOf(second)).toEqual({
      ...SAVED,
      heard: ['rebased', 'committed'],
      answers: ['200'],
    });
    expect(await serverHas(target)).toMatchObject({ note: 'two', revision: 3 });
  });
});

describe('something that another device deleted', () => {
  it('[D10, D42] needs no second delete: it is gone already, and nobody is asked', async () => {
    const target = await existing();
    await otherDevice('DELETE', target);
    const id = await device.delete(target, { revision: 1 });
    expect(await device.endOf(id)).toEqual({
      settled: 'already_gone',
      said: 'It was deleted already.',
      heard: ['already_gone'],
      row: undefined,
      answers: ['410'],
      applied: 0,
    });
  });

  it('[D11] takes no update: the person keeps the content and decides', async () => {
    const target = await existing();
    await otherDevice('DELETE', target);
    const id = await device.update(target, { note: 'mine' }, { revision: 1 });
    const { sentence, waysOut } = BLOCKED_REASONS.source_deleted;
    expect(await device.endOf(id)).toEqual({
      settled: 'blocked',
      said: sentence,
      heard: ['blocked'],
      row: 'blocked, source_deleted',
      answers: ['410'],
      applied: 0,
    });
    expect(await device.explain(id)).toMatchObject({ reason: { waysOut } });
    expect(await device.page.evaluate((of) => globalThis.outboxApp.outbox.bodies([of]), id)).toEqual([
      { id, body: { note: 'mine' } },
    ]);
  });
});

describe('pages', () => {
  let other: Device;

  beforeEach(async () => {
    other = await openDevice(chromium, app, device);
    await other.signIn('ada');
  });

  it('[D42, D44] both show what one of them saved, as the server has it, and nobody is told', async () => {
    await Promise.all([device.react(), other.react()]);
    const id = await device.create({ exercise: 'Lunge' });
    const target = await device.uploaded(id);
    const shown = { list: [{ id: target, exercise: 'Lunge' }], statistics: { generation: 1, workouts: 1 } };
    expect(await device.whenShown(shown)).toMatchObject({ told: [], badges: [] });
    expect(await other.whenShown(shown)).toMatchObject({ told: [], badges: [] });
  });

  it('[D42, D43] a confirmation brings the revision, so the next edit needs no read and meets no conflict', async () => {
    const target = await existing();
    await device.react();
    await device.page.evaluate((of) => globalThis.outboxApp.open(of), target);
    const first = await device.update(target, { exercise: 'Lunge' }, { revision: 1 });
    await device.settled(first);
    // The content is still what the server was last read to have.
    const { detail, reads } = await device.whenShown({ detail: { revision: 2, exercise: 'Row' } });
    expect(reads.filter((key) => key.includes(target))).toHaveLength(1);
    const second = await device.update(target, { note: 'next' }, { revision: detail?.revision ?? 0 });
    expect(await device.endOf(second)).toEqual({ ...SAVED, answers: ['200'] });
  });

  it('[D41, D42] both mark what was refused, and one of them tells the person, once', async () => {
    await Promise.all([device.react(), other.react()]);
    const id = await device.create({ weightKg: 4000 });
    await device.whenHeard(id, 'blocked');
    const shown = await Promise.all([device, other].map((one) => one.whenShown({ badges: [id] })));
    expect(shown.flatMap(({ told }) => told).length).toBeLessThanOrEqual(1);
    // One of them is in front: it does not wait for the other.
    await Promise.race(
      [device, other].map((one) => one.whenShown({ told: ['One change could not be synced.'] })),
    );
    const copy = await other.recover(id, { body: SQUAT });
    await device.settled(copy);
    await Promise.race(
      [device, other].map((one) =>
        one.whenShown({ told: ['One change could not be synced.', 'Your change is saved.'] }),
      ),
    );
    const told = await Promise.all([device, other].map(async (one) => (await one.whenShown({})).told));
    expect(told.flat()).toEqual(['One change could not be synced.', 'Your change is saved.']);
  });

  it('[D41, D42] a page that was closed hears when it opens, and tells then', async () => {
    await device.react();
    await other.close();
    app.server.faults.stop();
    const id = await device.create({ weightKg: 4000 });
    await device.whenHeard(id, 'deferred');
    // The tab is gone, and with it whoever would have reacted.
    const later = await openDevice(chromium, app, device);
    await device.page.close();
    app.server.faults.start();
    await later.signIn('ada');
    await later.flush();
    await later.whenHeard(id, 'blocked');
    await later.react();
    expect(await later.whenShown({ told: ['One change could not be synced.'] })).toMatchObject({
      badges: [id],
    });
  });
});
