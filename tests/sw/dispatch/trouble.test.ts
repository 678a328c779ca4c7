import { describe, expect, it } from 'vitest';
import { QuotaError } from '../../../shared/errors.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';

const lost = () => new DOMException('Connection to Indexed Database server lost', 'UnknownError');

describe('trouble in the device’s own book-keeping', () => {
  it('[D46] after the server accepted is not a failed send: one request, one outcome, and the page is told', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    for (let i = 0; i < 3; i++)
      world.store.failNext({ reason: 'acknowledge', error: new QuotaError('full') });
    const told = new Set<string>();
    world.engine.onProgress(({ accepted = [] }) => {
      for (const id of accepted) told.add(id);
    });
    const result = await world.flush();
    expect(result.outcomes.map(({ type }) => type)).toEqual(['committed']);
    expect(world.server.requests).toHaveLength(1);
    expect([...told]).toEqual([row.id]);
    expect(world.engine.progress('ann').accepted).toBeUndefined();
    expect(await world.rows()).toEqual([]);
  });

  it('[D46, A40] a store that is gone for a minute: prompt refusals, few tries, and the acceptance ends as one', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.latencyMs = 1_000;
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(500);
    let calls = 0;
    world.store.failReads(lost());
    const commit = world.store.commit;
    Object.assign(world.store, {
      commit: () => {
        calls++;
        return Promise.reject(lost());
      },
    });
    const refused = await Promise.allSettled([world.put('b'), world.put('c')]);
    expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect((await world.run(flush)).stoppedBy).toBe('store');
    expect(world.engine.progress('ann').accepted).toEqual([row.id]);
    await world.clock.advance(15_000);
    for (const cause of ['visible', 'enqueue', 'flush'] as const)
      await world.run(world.engine.flush('ann', cause));
    expect(calls).toBeLessThan(60);
    world.store.failReads(undefined);
    Object.assign(world.store, { commit });
    const result = await world.flush();
    expect(result.outcomes.map(({ type }) => type)).toEqual(['committed']);
    expect(world.server.applied).toHaveLength(1);
    expect(world.engine.progress('ann').accepted).toBeUndefined();
    expect(await world.rows()).toEqual([]);
  });

  it('[D46] an answer that was no acceptance is not told as one while it waits for the store', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.next({ type: 'status', status: 500 });
    world.store.failNext({ reason: 'acknowledge', error: lost() });
    const told: unknown[] = [];
    world.engine.onProgress(({ accepted }) => told.push(...(accepted ?? [])));
    await world.flush();
    expect(told).toEqual([]);
    expect(await world.row(row.id)).toMatchObject({
      state: 'queued',
      evidence: { lastErrorCode: 'http_500' },
    });
  });

  it('[C8, D3] a lane that cannot be read any further stops the flush, and what was claimed is given back', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 300; i++) await world.put(`t${i}`);
    world.server.latencyMs = 10;
    let pages = 0;
    const { engine } = await world.start({
      ...world.store,
      readLane: (owner, lane, page) => {
        if (page.limit > 1 && lane === 'ready' && ++pages > 2) return Promise.reject(lost());
        return world.store.readLane(owner, lane, page);
      },
    });
    const result = await world.run(engine.flush('ann', 'flush'));
    expect(result.stoppedBy).toBe('store');
    const rows = await world.rows();
    expect(rows.length + world.server.applied.length).toBe(300);
    expect(rows.every(({ state, doubt }) => state === 'queued' && doubt === false)).toBe(true);
  });

  it('[D46] killed while the acceptance waits: the same id is sent again and the ledger answers', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    const held = world.store.holdNext('acknowledge');
    void world.engine.flush('ann', 'flush');
    await held.reached;
    world.host.kill();
    const engine = await world.restart();
    const result = await world.run(engine.flush('ann', 'start'));
    expect(result.outcomes).toMatchObject([{ type: 'committed', receipt: { replayed: true } }]);
    expect(world.server.requestsOf(row.id)).toHaveLength(2);
    expect(world.server.applied).toHaveLength(1);
    held.release();
    await world.clock.settle();
    const { entries } = await engine.journal('ann', undefined, 100);
    expect(entries.filter(({ outcome }) => outcome.type === 'committed')).toHaveLength(1);
  });

  it('[C8, D3] a claim that the store refuses stops the flush; nothing was sent, and it says when to try again', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.store.failNext({ reason: 'claim', error: lost() });
    const result = await world.flush();
    expect(result).toMatchObject({ stoppedBy: 'store', remaining: { queued: 1 } });
    expect(world.server.requests).toHaveLength(0);
    expect(world.engine.progress('ann').wakeAt).toBeGreaterThan(world.clock.now());
    expect((await world.flush()).outcomes).toHaveLength(1);
  });

  it('[D47, C11] a receipt noted under a lost claim settles the row without another request', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.latencyMs = 5_000;
    const first = world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    world.clock.jump(20_000);
    const other = await world.start();
    world.server.next({ type: 'status', status: 422 }, () => true);
    const second = other.engine.flush('ann', 'flush');
    await world.clock.advance(100);
    expect((await world.row(row.id)).claim?.fence).toBe(2);
    const [accepted, refused] = await world.run(Promise.all([first, second]));
    expect(accepted.outcomes.map(({ type }) => type)).toEqual(['committed']);
    // The holder's refusal finds the receipt: the row goes as accepted, and nothing is told twice.
    expect(refused.outcomes).toEqual([]);
    expect(await world.rows()).toEqual([]);
    const { entries } = await other.engine.journal('ann', undefined, 100);
    expect(entries.map(({ outcome }) => outcome.type)).toEqual(['committed']);
  });

  it('[C11] a row whose receipt is noted is settled by the next flush when its holder is gone', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.server.latencyMs = 5_000;
    const first = world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    world.clock.jump(20_000);
    const other = await world.start();
    void other.engine.flush('ann', 'flush');
    await world.clock.advance(10);
    other.kill();
    await world.run(first);
    const [noted] = await world.rows();
    expect(noted?.receipt).toBeDefined();
    const result = await world.flush();
    expect(result.outcomes).toEqual([]);
    expect(await world.rows()).toEqual([]);
    expect(world.server.requests).toHaveLength(2);
    expect(await world.engine.settled('ann', noted?.id ?? '')).toMatchObject({ type: 'uploaded' });
  });

  it('[D3] a flush never rejects, also when nothing can be read', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.store.failReads(lost());
    expect(await world.flush()).toMatchObject({ stoppedBy: 'store', outcomes: [] });
    world.store.failReads(undefined);
    expect((await world.flush()).outcomes).toHaveLength(1);
  });

  it('[D40] what is left is not said to be nothing where it cannot be counted', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.server.reachable = false;
    expect((await world.flush()).isUncounted).toBeUndefined();
    await world.restart();
    world.store.failReads(lost());
    expect(await world.flush()).toMatchObject({ stoppedBy: 'store', isUncounted: true });
    world.store.failReads(undefined);
    const commit = world.store.commit;
    Object.assign(world.store, { commit: () => Promise.reject(lost()) });
    // It can be read, though not written.
    const result = await world.flush();
    expect(result).toMatchObject({ stoppedBy: 'store', remaining: { queued: 1 } });
    expect(result.isUncounted).toBeUndefined();
    Object.assign(world.store, { commit });
  });
});

describe('a power cut', () => {
  it('[D41, S14] lets no page miss an outcome that was given the number of one that was lost', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    await world.put('b');
    await world.flush();
    const { epoch, last: n, lastAt: at } = await world.engine.journal('ann', undefined, 100);
    world.store.forgetRelaxed();
    await world.clock.advance(60_000);
    await world.restart();
    world.server.next({ type: 'status', status: 422 });
    const refused = await world.put('c', { urgent: true });
    await world.flush();
    const page = await world.engine.journal('ann', { epoch, n, at }, 100);
    expect(page.truncated).toBe(true);
    expect(page.entries.map(({ outcome }) => outcome.row.id)).toContain(refused.id);
    const { lastAt } = page;
    expect(await world.engine.journal('ann', { epoch, n: page.last, at: lastAt }, 100)).toMatchObject({
      truncated: false,
      entries: [],
    });
  });
});

describe('the report port', () => {
  it('[D48] hears once of each unknown and blocked row, with no body, and not of the network', async () => {
    const world = await dispatchWorld();
    const [refused, unproven] = [await world.put('a', { body: { secret: 's3cret' } }), await world.put('b')];
    world.server.next({ type: 'status', status: 422, code: 'invalid' }, ({ id }) => id === refused.id);
    world.server.next({ type: 'no_receipt' }, ({ id }) => id === unproven.id);
    const lostRow = await world.put('c');
    world.server.always({ type: 'reset' }, ({ id }) => id === lostRow.id);
    await world.flush();
    await world.flush();
    expect(world.reported).toMatchObject([
      { type: 'blocked', code: 'rejected', row: { id: refused.id }, failure: { status: 422 } },
      { type: 'unknown', rejection: { code: 'receipt_missing' }, row: { id: unproven.id } },
    ]);
    expect(JSON.stringify(world.reported)).not.toContain('s3cret');
  });

  it('[D48] a port that throws stops nothing', async () => {
    const world = await dispatchWorld({
      report: () => {
        throw new Error('telemetry');
      },
    });
    await world.put('a');
    world.server.next({ type: 'status', status: 422 });
    expect((await world.flush()).outcomes.map(({ type }) => type)).toEqual(['blocked']);
  });
});

describe('a permanent refusal', () => {
  it('[C14, D10, R34, A08] keeps the data, is told once, and no trigger sends it again', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a', { body: { kg: 80 } });
    world.server.next({ type: 'status', status: 422, code: 'invalid' });
    const refused = await world.flush();
    expect(refused.outcomes).toMatchObject([{ type: 'blocked', code: 'rejected' }]);
    const engine = await world.restart();
    for (const cause of ['start', 'sync', 'online', 'connect', 'flush'] as const)
      expect((await world.run(engine.flush('ann', cause))).outcomes).toEqual([]);
    expect(world.server.requests).toHaveLength(1);
    expect(await world.row(row.id)).toMatchObject({ state: 'blocked', doubt: false, seq: row.seq });
    expect(await engine.bodies('ann', [row.id])).toEqual([{ id: row.id, body: { kg: 80 } }]);
    const { entries } = await engine.journal('ann', undefined, 100);
    expect(entries.filter(({ outcome }) => outcome.type === 'blocked')).toHaveLength(1);
    const retried = await engine.retry('ann', row.id);
    expect(retried.row).toMatchObject({ seq: row.seq, state: 'queued' });
    expect(retried.row?.id).not.toBe(row.id);
    expect((await world.flush()).outcomes.map(({ type }) => type)).toEqual(['committed']);
    expect(await engine.settled('ann', row.id)).toMatchObject({ type: 'uploaded' });
  });
});
