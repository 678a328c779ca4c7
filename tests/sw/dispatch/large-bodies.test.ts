/** Bodies that take a slow link longer than a lease: photos of somebody in the field. */
import { describe, expect, it } from 'vitest';
import { dispatchWorld } from '../../support/dispatch-world.ts';

const MB = 1024 * 1024;

const isLarge = ({ body }: { readonly body?: unknown }) =>
  typeof body === 'object' && body !== null && 'picture' in body;
const photo = (size = MB) => ({ body: { picture: new Uint8Array(size) } });

describe('large bodies', () => {
  it('[C1, C5] have the time that a slow link takes: sent once, however long beyond the lease', async () => {
    const world = await dispatchWorld();
    const { id } = await world.put('a', photo());
    world.server.always({ type: 'delay', ms: 40_000 }, isLarge);
    const result = await world.flush();
    expect(result.outcomes).toMatchObject([{ type: 'committed' }]);
    expect(world.server.requestsOf(id)).toHaveLength(1);
  });

  it('[C5, D4] end with the lease of their size all the same, and the key rests', async () => {
    const world = await dispatchWorld();
    const { id } = await world.put('a', photo());
    world.server.next({ type: 'hang' });
    const startedAt = world.clock.now();
    const result = await world.flush();
    expect(result.outcomes).toMatchObject([{ type: 'deferred' }]);
    expect(world.clock.now() - startedAt).toBe(10_000 + 32_000);
    expect((await world.row(id)).evidence.lastErrorCode).toBe('timeout');
  });

  it('[C1, C3, C4] another host believes the longer lease', async () => {
    const world = await dispatchWorld({ hasLocks: false });
    await world.put('a', photo());
    world.server.next({ type: 'hang' });
    void world.engine.flush('ann', 'flush');
    await world.clock.advance(15_000);
    const engine = await world.restart();
    await world.run(engine.flush('ann', 'start'));
    expect(world.server.requests).toHaveLength(1);
    const { wakeAt = 0 } = engine.progress('ann');
    expect(wakeAt - world.clock.now()).toBe(27_000);
    await world.clock.advance(27_000);
    await world.run(engine.flush('ann', 'timer'));
    expect(world.server.requests).toHaveLength(2);
  });

  it('[C31] leave one at a time, so that none takes the others’ part of the link, and small ones beside them', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 8; i++) await world.put(`photo${i}`, photo(300_000));
    for (let i = 0; i < 8; i++) await world.put(`small${i}`);
    world.server.always({ type: 'delay', ms: 5_000 }, isLarge);
    world.server.latencyMs = 100;
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(4_000);
    const early = world.server.requests;
    expect(early.filter(isLarge)).toHaveLength(1);
    expect(early.filter((request) => !isLarge(request))).toHaveLength(8);
    expect((await world.rows()).filter(({ state }) => state === 'sending')).toHaveLength(1);
    await world.clock.advance(30_000);
    expect(world.server.open).toBe(1);
    await world.run(flush);
    expect(world.server.applied).toHaveLength(16);
    expect(world.server.requests.filter(isLarge).map(({ target }) => target)).toEqual(
      Array.from({ length: 8 }, (_, place) => ({ type: 'id', id: `photo${place}` })),
    );
  });

  it('[C31, S3] hundreds of them keep no small one waiting that is near, and all leave', async () => {
    const world = await dispatchWorld();
    for (let i = 0; i < 150; i++) await world.put(`photo${i}`, photo(262_144));
    const small = await world.put('small');
    world.server.always({ type: 'delay', ms: 1_000 }, isLarge);
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(900);
    expect(world.server.requestsOf(small.id)).toHaveLength(1);
    const result = await world.run(flush);
    expect(result.remaining).toMatchObject({ queued: 0, sending: 0 });
    expect(world.server.applied).toHaveLength(151);
  });

  it('[C7] say nothing of the pace of small ones, which are claimed ahead as before', async () => {
    const world = await dispatchWorld({ concurrency: 2 });
    await world.put('photo', photo());
    for (let i = 0; i < 400; i++) await world.put(`small${i}`);
    world.server.always({ type: 'delay', ms: 20_000 }, isLarge);
    world.server.latencyMs = 100;
    const flush = world.engine.flush('ann', 'flush');
    await world.clock.advance(20_300);
    expect(world.server.applied.filter(({ body }) => isLarge({ body }))).toHaveLength(1);
    expect((await world.rows()).filter(({ state }) => state === 'sending').length).toBeGreaterThan(10);
    await world.run(flush);
    expect(world.server.applied).toHaveLength(401);
  });

  it('[C5, C31, D3] eight of them over one slow link: each is sent once', async () => {
    /** Bytes in a second, shared by what is open. */
    const link = { bytes: 40_000, open: 0 };
    const world = await dispatchWorld({
      sender: {
        async send(request, signal) {
          link.open++;
          for (
            let left = isLarge(request) ? MB : 0;
            left > 0 && !signal.aborted;
            left -= link.bytes / link.open
          )
            await new Promise<void>((resolve) => world.clock.after(1_000, resolve));
          link.open--;
          return world.server.sender.send(request, signal);
        },
      },
    });
    for (let i = 0; i < 8; i++) await world.put(`photo${i}`, photo());
    const result = await world.flush();
    expect(result.outcomes.map(({ type }) => type)).toEqual(Array.from({ length: 8 }, () => 'committed'));
    expect(world.server.requests).toHaveLength(8);
  });

  it('[V7] share a batch with nobody, and many middling ones share it in parts', async () => {
    /** Sizes of the bodies that travelled together. */
    const batches: number[][] = [];
    const size = ({ body }: { readonly body?: unknown }) =>
      body instanceof Object && 'picture' in body && body.picture instanceof Uint8Array
        ? body.picture.length
        : 0;
    const world = await dispatchWorld({
      sender: {
        async send(request, signal) {
          batches.push([size(request)]);
          return world.server.sender.send(request, signal);
        },
        batchLimit: () => 10,
        async sendBatch(requests, signal) {
          batches.push(requests.map(size));
          return Promise.all(requests.map((request) => world.server.sender.send(request, signal)));
        },
      },
    });
    await world.put('small');
    await world.flush();
    for (let i = 0; i < 6; i++) await world.put(`middling${i}`, photo(100_000));
    await world.put('large', photo());
    for (let i = 0; i < 3; i++) await world.put(`small${i}`);
    await world.flush();
    expect(world.server.applied).toHaveLength(11);
    expect(batches.filter((sizes) => sizes.includes(MB))).toEqual([[MB]]);
    expect(batches.filter((sizes) => sizes.length > 1 && sizes.every((one) => one > 0))).toContainEqual([
      100_000, 100_000,
    ]);
    const sums = batches.map((sizes) => sizes.reduce((sum, one) => sum + one, 0));
    expect(sums.filter((sum) => sum > 262_144)).toEqual([MB]);
  });

  it('[C31, C32] one that fails lets the next one go', async () => {
    const world = await dispatchWorld();
    await world.put('a', photo(300_000));
    await world.put('b', photo(300_000));
    world.server.next({ type: 'status', status: 500 });
    const { outcomes } = await world.flush();
    expect(outcomes.map(({ type }) => type)).toEqual(['deferred', 'committed']);
  });
});

describe('large bodies that wait for one row', () => {
  async function photosUnderAWorkout(count: number) {
    const world = await dispatchWorld();
    const parent = await world.enqueue({ family: 'workout', kind: 'create' });
    for (let i = 0; i < count; i++)
      await world.enqueue({
        family: 'note',
        kind: 'create',
        after: [parent.origin],
        body: { picture: new Uint8Array(3 * MB), n: i },
      });
    return { world, parent };
  }

  it('[C21, W60] are more than its acceptance prepares: all leave in the same flush, each once and in order', async () => {
    const { world } = await photosUnderAWorkout(7);
    const result = await world.flush();
    expect(result.remaining).toMatchObject({ queued: 0, sending: 0, blocked: 0 });
    expect(await world.rows()).toEqual([]);
    expect(world.server.applied.map(({ family }) => family)).toEqual(['workout', ...Array(7).fill('note')]);
    const sent = world.server.requests.filter(isLarge).map(({ body }) => (body as { readonly n: number }).n);
    expect(sent.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('[C21, C23] and a host that dies between the two loses none: the next one prepares them', async () => {
    const { world } = await photosUnderAWorkout(5);
    const hold = world.store.holdNext('convert');
    void world.engine.flush('ann', 'flush');
    await world.run(hold.reached);
    await world.restart();
    hold.release();
    const result = await world.flush();
    expect(result.remaining).toMatchObject({ queued: 0, sending: 0, blocked: 0 });
    expect(world.server.applied).toHaveLength(6);
    expect(new Set(world.server.applied.map(({ id }) => id)).size).toBe(6);
  });
});
