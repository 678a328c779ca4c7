import { describe, expect, it } from 'vitest';
import { defineOutbox, document } from '../../../shared/family.ts';
import { textAnswer } from '../../../sw/testing/scripted-fault.ts';
import { dispatchWorld } from '../../support/dispatch-world.ts';

describe('two hosts', () => {
  it('[C2, C41] that flush together send each row once', async () => {
    const world = await dispatchWorld();
    world.server.latencyMs = 20;
    for (let i = 0; i < 50; i++) await world.put(`t${i}`);
    const other = await world.start();
    await world.run(Promise.all([world.engine.flush('ann', 'flush'), other.engine.flush('ann', 'flush')]));
    expect(world.server.requests).toHaveLength(50);
    expect(world.server.mostOpenOfKey).toBe(1);
    expect(await world.rows()).toEqual([]);
  });

  it('[C6, C46] take over at once from one that was killed, and its late answer changes nothing', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.next({ type: 'delay', ms: 6_000 });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    const engine = await world.restart();
    const result = await world.run(engine.flush('ann', 'start'));
    expect(result.outcomes).toMatchObject([{ type: 'committed', receipt: { replayed: true } }]);
    expect(world.server.requestsOf(row.id)).toHaveLength(2);
    expect(world.server.applied).toHaveLength(1);
  });

  it('[C6] without locks wait for the lease, and say when it ends', async () => {
    const world = await dispatchWorld({ hasLocks: false });
    await world.put('a');
    world.server.next({ type: 'hang' });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    const engine = await world.restart();
    await world.run(engine.flush('ann', 'start'));
    expect(world.server.requests).toHaveLength(1);
    const { wakeAt = 0 } = engine.progress('ann');
    expect(wakeAt - world.clock.now()).toBe(9_000);
    await world.clock.advance(9_000);
    await world.run(engine.flush('ann', 'timer'));
    expect(world.server.requests).toHaveLength(2);
    expect(world.server.applied).toHaveLength(1);
  });

  it('[C6, D29] never take over early in a family without receipts', async () => {
    const definition = defineOutbox({ plan: document({ receipts: 'none' }) });
    const world = await dispatchWorld({ definition });
    await world.put('a');
    world.server.next({ type: 'hang' });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    const engine = await world.restart();
    await world.run(engine.flush('ann', 'start'));
    expect(world.server.requests).toHaveLength(1);
  });

  it('[C4, C10, C42, A20] after a clock that jumped a day: the other takes over, the first one’s failure is nothing', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.next([
      {
        type: 'answer',
        answer: textAnswer(503, 'text/plain'),
      },
    ]);
    world.server.latencyMs = 5_000;
    const first = world.engine.flush('ann', 'flush');
    await world.clock.advance(2_000);
    world.clock.jump(86_400_000);
    const other = await world.start();
    const second = other.engine.flush('ann', 'flush');
    await world.clock.advance(100);
    expect(await world.row(row.id)).toMatchObject({ claim: { fence: 2, host: other.engine.host } });
    const [lost, won] = await world.run(Promise.all([first, second]));
    expect(lost.outcomes).toEqual([]);
    expect(won.outcomes.map(({ type }) => type)).toEqual(['committed']);
    expect(world.server.applied).toHaveLength(1);
  });
});

describe('an attempt', () => {
  it('[C5, D4, A50] is cut at the lease, sent again under its id, and "in progress" keeps the doubt', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    world.server.next({ type: 'slow', ms: 45_000, retryAfter: '5' });
    const startedAt = world.clock.now();
    const outcomes: string[] = [];
    for (let i = 0; i < 6 && (await world.rows()).length > 0; i++) {
      const result = await world.flush();
      outcomes.push(...result.outcomes.map(({ type }) => type));
      for (const left of await world.rows()) expect(left).toMatchObject({ state: 'queued', doubt: true });
      await world.clock.advance(startedAt + (i + 1) * 12_000 - world.clock.now());
    }
    const [first, ...others] = world.server.requestsOf(row.id);
    expect((first?.endedAt ?? 0) - startedAt).toBeLessThanOrEqual(10_000);
    expect(others.length).toBeGreaterThan(2);
    expect(outcomes.at(-1)).toBe('committed');
    expect(outcomes.slice(0, -1).every((type) => type === 'deferred')).toBe(true);
    expect(world.server.mostOpenOfKey).toBe(1);
    expect(world.server.applied).toHaveLength(1);
  });

  it('[C5, D4, A52] whose answer never ends is cut by its limit, and five other keys do not wait for it', async () => {
    const world = await dispatchWorld();
    const stuck = await world.put('stuck');
    // It ignores its signal, as a body does that nobody reads to its end.
    const { sender } = world.server;
    const host = await dispatchWorld({
      sender: {
        send: (request, signal) =>
          request.id === stuck.id ? new Promise(() => undefined) : sender.send(request, signal),
      },
    });
    await host.put('stuck', { id: stuck.id });
    for (const target of ['b', 'c', 'd', 'e', 'f']) await host.put(target);
    const flush = host.engine.flush('ann', 'flush');
    await host.clock.advance(1_000);
    expect(await host.rows()).toHaveLength(1);
    const result = await host.run(flush);
    expect(result.outcomes.at(-1)).toMatchObject({ type: 'deferred', failure: { code: 'timeout' } });
    expect(await host.row(stuck.id)).toMatchObject({ state: 'queued', doubt: true });
  });

  it('[C5] lasts no longer than the family’s own lease', async () => {
    const definition = defineOutbox({ plan: document({ leaseMs: 30_000 }) });
    const world = await dispatchWorld({ definition });
    await world.put('a');
    world.server.next({ type: 'delay', ms: 25_000 });
    expect((await world.flush()).outcomes.map(({ type }) => type)).toEqual(['committed']);
  });
});

describe('rows claimed ahead', () => {
  it('[C7] are none before the first answer, and later what starts within a third of the lease', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 100; i++) await world.put(`t${i}`);
    world.server.latencyMs = 1_000;
    void world.engine.flush('ann', 'flush');
    const sending = async () => (await world.rows()).filter(({ state }) => state === 'sending').length;
    await world.clock.advance(500);
    expect(await sending()).toBe(6);
    let most = 0;
    for (let i = 0; i < 10; i++) {
      await world.clock.advance(500);
      most = Math.max(most, await sending());
    }
    expect(most).toBeGreaterThan(12);
    expect(most).toBeLessThanOrEqual(6 + 18 + 6);
  });

  it('[C7] are claimed anew when less than half of the lease is left before they start', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    world.server.latencyMs = 100;
    for (let i = 0; i < 12; i++) await world.put(`t${i}`);
    // Fast at first, so that rows are claimed ahead; then one that takes almost a lease.
    world.server.next([
      { type: 'delay', ms: 0 },
      { type: 'delay', ms: 0 },
      { type: 'delay', ms: 7_000 },
    ]);
    const fences = new Set<number>();
    world.engine.onChange(({ written }) => {
      for (const { claim } of written) if (claim) fences.add(claim.fence);
    });
    const result = await world.flush();
    expect(fences).toEqual(new Set([1, 2]));
    expect(result.outcomes).toHaveLength(12);
    expect(world.server.requests).toHaveLength(12);
    expect(world.server.requests.every(({ attempt }) => attempt === 1)).toBe(true);
  });

  it('[C8, W4, A61] a drain ends before its event does, gives back what never left, and repeats nothing', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 200; i++) await world.put(`t${i}`);
    world.server.latencyMs = 3_000;
    const { engine, clock } = world;
    const startedAt = clock.now();
    const result = await world.run(engine.flush('ann', 'sync', { until: startedAt + 60_000 }));
    expect(result.stoppedBy).toBe('time');
    expect(world.server.requests.every(({ at }) => at < startedAt + 60_000)).toBe(true);
    expect(clock.now() - startedAt).toBeLessThan(64_000);
    const rest = await world.rows();
    expect(result.remaining).toMatchObject({ queued: rest.length, sending: 0 });
    for (const row of rest) {
      expect(row).toMatchObject({ state: 'queued', doubt: false, evidence: { attemptCount: 0 } });
      expect(row.claim?.expiresAt ?? 0).toBeLessThanOrEqual(clock.now());
    }
    await world.flush();
    expect(world.server.requests).toHaveLength(200);
    expect(world.server.applied).toHaveLength(200);
  });

  it('[C7, W3, A61] after a kill at most the open requests and a third of a lease are of unknown result', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 200; i++) await world.put(`t${i}`);
    world.server.latencyMs = 3_000;
    void world.engine.flush('ann', 'sync');
    await world.clock.advance(50_000);
    const open = world.server.open;
    const engine = await world.restart();
    const unknown = (await world.rows()).filter(({ doubt }) => doubt);
    expect(open).toBeLessThanOrEqual(6);
    expect(unknown.length).toBeLessThanOrEqual(6 + 6 + 6);
    await world.run(engine.flush('ann', 'start'));
    expect(world.server.applied).toHaveLength(200);
    expect(await world.rows()).toEqual([]);
  });

  it('[C8] keep what they were before the claim: evidence, doubt and waits', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    const rows = [];
    for (let i = 0; i < 4; i++) rows.push(await world.put(`t${i}`));
    world.server.next([{ type: 'delay', ms: 0 }, { type: 'reset' }]);
    await world.flush();
    const [, , third] = rows;
    const row = await world.row(third?.id ?? '');
    expect(row).toMatchObject({ state: 'queued', doubt: false, evidence: { attemptCount: 0 } });
    expect(row.sentAt).toBeUndefined();
    expect(row.claim?.fence).toBe(1);
  });

  it('[W4] a later trigger with more time lets a running drain go on', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    for (let i = 0; i < 10; i++) await world.put(`t${i}`);
    world.server.latencyMs = 1_000;
    const { engine, clock } = world;
    const until = clock.now() + 3_500;
    const first = engine.flush('ann', 'sync', { until });
    await clock.advance(2_000);
    const second = engine.flush('ann', 'visible', { until: until + 60_000 });
    expect((await world.run(first)).outcomes).toHaveLength(10);
    expect((await world.run(second)).remaining.queued).toBe(0);
  });

  it('[R3] a body that is missing or unreadable blocks its row alone', async () => {
    const world = await dispatchWorld();
    const [missing, unreadable] = [await world.put('a'), await world.put('b'), await world.put('c')];
    world.store.spoilBody(missing?.bodyId ?? '', 'missing');
    world.store.spoilBody(unreadable?.bodyId ?? '', 'unreadable');
    const result = await world.flush();
    expect(result.outcomes.map(({ type }) => type).sort()).toEqual(['blocked', 'blocked', 'committed']);
    for (const row of await world.rows())
      expect(row).toMatchObject({ state: 'blocked', blockedCode: 'body_unreadable', doubt: false });
  });
});
