import { describe, expect, it, test } from 'vitest';
import { InvalidOptionError } from '../../shared/errors.ts';
import { defineOutbox, document, record } from '../../shared/family.ts';
import type { OwnerChange } from '../../sw/engine.ts';
import { type EngineOptions, readOptions } from '../../sw/engine-options.ts';
import { createTestEngine } from '../../sw/testing/create-test-engine.ts';
import { definition, dispatchWorld } from '../support/dispatch-world.ts';

describe('what became of an id', () => {
  it('[D41, D42, W17, A74] is told to every caller, also a day later and to two pages at once', async () => {
    const world = await dispatchWorld();
    const row = await world.put('a');
    const before = await world.engine.journal('ann', undefined, 10);
    const engine = await world.restart();
    await world.run(engine.flushActive('sync'));
    await world.clock.advance(86_400_000);
    const next = await world.restart();
    const both = await Promise.all([next.settled('ann', row.id), next.settled('ann', row.id)]);
    for (const settled of both) expect(settled).toMatchObject({ type: 'uploaded', receipt: { id: row.id } });
    const { entries, truncated } = await next.journal('ann', { epoch: before.epoch, n: before.last }, 10);
    expect(truncated).toBe(false);
    expect(entries).toMatchObject([{ n: before.last + 1, outcome: { type: 'committed' } }]);
    const last = entries[0]?.n ?? 0;
    expect((await next.journal('ann', { epoch: before.epoch, n: last }, 10)).entries).toEqual([]);
  });

  it('[D41] is trimmed after a drain to the last thousand, and a page that was behind is told so', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 1_100; i++) await world.put(`t${i}`);
    const { epoch } = await world.engine.rows('ann', { limit: 1 });
    await world.flush();
    const behind = await world.engine.journal('ann', { epoch, n: 1 }, 2_000);
    expect(behind).toMatchObject({ truncated: true, last: 1_100 });
    expect(behind.entries).toHaveLength(1_000);
    const current = await world.engine.journal('ann', { epoch, n: 1_090 }, 2_000);
    expect(current).toMatchObject({ truncated: false });
    expect(current.entries).toHaveLength(10);
  });

  it('[D42, A44] that nobody knows is not_found, without hanging', async () => {
    const { engine } = await createTestEngine({ definition });
    expect(await engine.settled('ann', 'nobody')).toEqual({ type: 'not_found', id: 'nobody' });
  });

  it('[D42] follows to the row that took over, and says so', async () => {
    const world = await dispatchWorld();
    const first = await world.put('w', { body: { v: 1 } });
    const second = await world.put('w', { body: { v: 2 } });
    expect(await world.engine.settled('ann', first.id)).toMatchObject({ type: 'waiting', id: second.id });
    await world.flush();
    expect(await world.engine.settled('ann', first.id)).toMatchObject({
      type: 'uploaded',
      id: second.id,
      via: [first.id],
    });
  });
});

describe('the change stream', () => {
  it('[W18, D41] tells every commit once, numbered without a gap, with its rows, outcomes and counts', async () => {
    const world = await dispatchWorld();
    const changes: OwnerChange[] = [];
    world.engine.onChange((change) => changes.push(change));
    const row = await world.put('a');
    world.server.next({ type: 'status', status: 500 });
    await world.flush();
    await world.flush();
    await world.clock.settle();
    const generations = changes.map(({ generation }) => generation);
    expect(generations).toEqual(generations.map((_, place) => (generations[0] ?? 0) + place));
    expect(changes.map(({ reason }) => reason)).toEqual([
      'enqueue',
      'claim',
      'acknowledge',
      'claim',
      'acknowledge',
    ]);
    expect(changes[2]?.passing).toMatchObject([{ type: 'deferred', row: { id: row.id } }]);
    expect(changes.at(-1)).toMatchObject({
      owner: 'ann',
      removed: [row.id],
      entries: [{ outcome: { type: 'committed' } }],
      counts: { queued: 0, sending: 0 },
    });
    expect(changes[0]?.epoch).toBe((await world.engine.rows('ann', { limit: 1 })).epoch);
  });

  it('[W18] a listener that throws does not disturb the others, one that has left hears nothing', async () => {
    const world = await dispatchWorld();
    const heard = { first: 0, second: 0, progress: 0 };
    const throwing = () => {
      throw new Error('a page');
    };
    world.engine.onChange(throwing);
    world.engine.onProgress(throwing);
    const leave = world.engine.onChange(() => heard.first++);
    world.engine.onChange(() => heard.second++);
    world.engine.onProgress(() => heard.progress++);
    await world.put('a');
    await world.clock.settle();
    leave();
    await world.put('b');
    await world.clock.settle();
    expect(heard).toEqual({ first: 1, second: 2, progress: 2 });
  });
});

describe('explain', () => {
  it('[W19] says why a row has not been sent, and what will wake it', async () => {
    const world = await dispatchWorld();
    const { engine } = world;
    const row = await world.put('w', { body: { v: 1 } });
    const reason = async (id = row.id) => (await engine.explain('ann', id))?.reason;
    expect(await reason()).toEqual({ type: 'ready' });

    world.server.next({ type: 'delay', ms: 2_000 });
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(1_000);
    expect(await reason()).toEqual({
      type: 'sending',
      host: engine.host,
      leaseEndsAt: world.clock.now() + 9_000,
    });
    const later = await world.put('w', { body: { v: 2 } });
    expect(await reason(later.id)).toEqual({ type: 'waits_for', origin: row.origin, id: row.id });
    await world.run(flush);
    world.server.next({ type: 'status', status: 500 });
    await world.flush();
    expect(await engine.explain('ann', later.id)).toMatchObject({
      reason: { type: 'waits_until', by: 'engine' },
      wakes: ['timer', 'online', 'sync', 'flush'],
      row: { evidence: { attemptCount: 1, lastErrorCode: 'http_500', attempts: [{ end: 'deferred' }] } },
    });
    await engine.pause('ann');
    expect(await engine.explain('ann', later.id)).toMatchObject({
      reason: { type: 'paused' },
      wakes: ['resume'],
    });
    await engine.resume('ann');
    world.server.next({ type: 'unauthorized' });
    await world.flush();
    expect(await engine.explain('ann', later.id)).toMatchObject({
      reason: { type: 'signed_out' },
      wakes: ['sign_in'],
    });
    world.server.next({ type: 'status', status: 422 });
    await world.flush();
    expect(await engine.explain('ann', later.id)).toMatchObject({
      reason: { type: 'blocked', code: 'rejected' },
      wakes: ['person'],
    });
    await engine.signOut('ann', 'keep');
    expect(await reason(later.id)).toEqual({ type: 'other_owner' });
    expect(await engine.explain('ann', 'nobody')).toBeUndefined();
  });

  it('[W19, C20] an intent waits for its creation; a row that nothing proves needs its receipt', async () => {
    const world = await dispatchWorld();
    const creation = await world.enqueue({ family: 'workout', kind: 'create', body: {} });
    world.server.next({ type: 'hang' });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(100);
    const intent = await world.enqueue({
      family: 'workout',
      kind: 'update',
      target: { type: 'pending', origin: creation.origin },
      body: {},
    });
    expect((await world.engine.explain('ann', intent.id))?.reason).toEqual({
      type: 'waits_for',
      origin: creation.origin,
      id: creation.id,
    });
  });
});

describe('health', () => {
  it('[W19] says since when flushes have tried in vain, and forgets it with the first row that ends', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    const startedAt = world.clock.now();
    const stop = world.server.always({ type: 'reset' });
    for (let i = 0; i < 2; i++) await world.flush();
    expect(world.engine.progress('ann').stuckSince).toBeUndefined();
    await world.clock.advance(60_000);
    await world.flush();
    expect(world.engine.progress('ann').stuckSince).toBe(startedAt);
    await world.run(world.engine.flush('ann', 'enqueue'));
    expect(world.engine.progress('ann').stuckSince).toBe(startedAt);
    stop();
    await world.flush();
    expect(world.engine.progress('ann').stuckSince).toBeUndefined();
  });

  it('[W19, W22] standing still because the device is offline is no trouble', async () => {
    const world = await dispatchWorld();
    await world.put('a');
    world.isOnline = false;
    for (let i = 0; i < 5; i++) await world.flush();
    expect(world.engine.progress('ann').stuckSince).toBeUndefined();
  });
});

describe('export', () => {
  it('[W17, R3] holds every row with its body, and what cannot be read as it is', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 70; i++) await world.put(`t${i}`, { body: { i } });
    world.store.plant({ owner: 'ann', seq: 1 }, { format: 99, odd: true });
    world.store.plant({ owner: 'bob', seq: 2 }, { format: 99, other: true });
    const exported = await world.engine.exportOwner('ann');
    expect(exported.rows).toHaveLength(70);
    expect(exported.rows[69]).toMatchObject({ row: { owner: 'ann' }, body: { i: 69 } });
    expect(exported.unreadable).toEqual([{ format: 99, odd: true }]);
  });
});

describe('pause', () => {
  it('[W18] is told at once, also where nothing was under way', async () => {
    const world = await dispatchWorld();
    const told: (string | undefined)[] = [];
    world.engine.onProgress(({ stoppedBy }) => told.push(stoppedBy));
    await world.run(world.engine.pause('ann'));
    await world.clock.advance(0);
    expect(told.at(-1)).toBe('paused');
    await world.run(world.engine.resume('ann'));
    await world.flush();
    expect(world.engine.progress('ann').stoppedBy).toBeUndefined();
  });

  it('[W17, C8] starts nothing new at once, lets what is open end, and lasts over a restart until resume', async () => {
    const world = await dispatchWorld({ concurrency: 2 });
    world.server.latencyMs = 1_000;
    for (let i = 0; i < 8; i++) await world.put(`t${i}`);
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(500);
    await world.engine.pause('ann');
    expect(world.server.open).toBe(2);
    expect((await world.run(flush)).stoppedBy).toBe('paused');
    expect(world.server.applied).toHaveLength(2);
    await world.restart();
    expect((await world.flush()).stoppedBy).toBe('paused');
    expect(world.server.requests).toHaveLength(2);
    await world.engine.resume('ann');
    await world.flush();
    expect(world.server.applied).toHaveLength(8);
  });
});

describe('stop', () => {
  it('[C8, W2] starts nothing more, gives back what was claimed ahead, and resolves when nothing is open', async () => {
    const world = await dispatchWorld({ concurrency: 1 });
    world.server.latencyMs = 100;
    for (let i = 0; i < 20; i++) await world.put(`t${i}`);
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(450);
    await world.run(world.engine.stop());
    expect(world.server.open).toBe(0);
    const sent = world.server.requests.length;
    expect((await world.rows()).every(({ state, doubt }) => state === 'queued' && doubt === false)).toBe(
      true,
    );
    expect((await world.flush()).stoppedBy).toBe('paused');
    expect(world.server.requests).toHaveLength(sent);
  });
});

describe('options', () => {
  const sender = { send: async () => ({ type: 'failure', error: undefined, timedOut: false }) as const };
  const valid: EngineOptions = { definition, sender };

  it('[C1, C5, D3, D4] have defaults that need no thought', () => {
    const settings = readOptions(valid);
    expect(settings).toMatchObject({ concurrency: 6, appLimitMs: 8_000, shortestLeaseMs: 10_000 });
    expect(settings.retry).toEqual({ firstMs: 2_000, longestMs: 300_000, believedMs: 3_600_000 });
    expect(settings.leaseMs({ family: 'plan' })).toBe(10_000);
    expect(settings.familyOf('__proto__')).toBeUndefined();
    expect(settings.portsOf('constructor')).toEqual({});
  });

  it('[C1] a family’s own lease is its own', () => {
    const own = defineOutbox({ photo: record({ leaseMs: 60_000 }), plan: document() });
    const settings = readOptions({ definition: own, sender });
    expect(settings.leaseMs({ family: 'photo' })).toBe(60_000);
    expect(settings.shortestLeaseMs).toBe(10_000);
  });

  it('[C1] a body adds a second for each 32 KB of it, up to the largest that a family takes', () => {
    const own = defineOutbox({ photo: record({ leaseMs: 60_000, maxBodyBytes: 2 ** 20 }), plan: document() });
    const settings = readOptions({ definition: own, sender });
    const leases = [0, 32_767, 32_768, 10 * 2 ** 20].map((bodySize) =>
      settings.leaseMs({ family: 'plan', bodySize }),
    );
    expect(leases).toEqual([10_000, 10_000, 11_000, 330_000]);
    expect(settings.leaseMs({ family: 'photo', bodySize: 2 ** 20 })).toBe(92_000);
    expect(settings.longestLeaseMs).toBe(810_000);
  });

  test.each([
    ['leaseMs', { leaseMs: 10 }],
    ['concurrency', { concurrency: 0 }],
    ['concurrency', { concurrency: Number.NaN }],
    ['appLimitMs', { appLimitMs: -1 }],
    ['attemptTimeoutMs', { attemptTimeoutMs: 0 }],
    ['retry.longestMs', { retry: { longestMs: 1 } }],
    ['retry.believedMs', { retry: { believedMs: 1_000 } }],
    ['definition', { definition: { families: {} } }],
    ['ports', { ports: { nobody: {} } }],
    ['photo.leaseMs', { definition: defineOutbox({ photo: record({ leaseMs: 5 }) }) }],
  ] satisfies [string, Partial<EngineOptions>][])(
    '[R46] %s that makes no sense is refused by name',
    (option, over) => {
      const read = () => readOptions({ ...valid, ...over });
      expect(read).toThrow(InvalidOptionError);
      expect(read).toThrow(option);
    },
  );
});
