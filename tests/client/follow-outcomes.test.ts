import { afterEach, describe, expect, it } from 'vitest';
import { type FollowOptions, followOutcomes, type OutcomeBatch } from '../../client/follow-outcomes.ts';
import { defineOutbox, record } from '../../shared/family.ts';
import { createLineWorld, type LineWorld, type Page } from '../support/line-world.ts';

const definition = defineOutbox({ workout: record() });
type Families = typeof definition.families;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

async function start(): Promise<LineWorld<Families>> {
  const world = await createLineWorld(definition);
  ends.push(world.end);
  return world;
}

interface Follower {
  readonly page: Page<Families>;
  /** Ids of what this page reacted to, and of what it told the person. */
  readonly reacted: string[];
  readonly told: string[];
  readonly batches: OutcomeBatch[];
  close(): void;
}

async function follow(
  world: LineWorld<Families>,
  page: Page<Families>,
  over: Partial<FollowOptions> = {},
): Promise<Follower> {
  const reacted: string[] = [];
  const told: string[] = [];
  const batches: OutcomeBatch[] = [];
  const end = followOutcomes(page.outbox, {
    name: world.name,
    realm: page.realm,
    react(batch) {
      batches.push(batch);
      reacted.push(...batch.entries.map(({ outcome }) => outcome.row.id));
    },
    notice: ({ entries }) => void told.push(...entries.map(({ outcome }) => outcome.row.id)),
    ...over,
  });
  ends.push(end);
  await settle(world);
  return {
    page,
    reacted,
    told,
    batches,
    close() {
      end();
      page.close();
    },
  };
}

/** Everything that is under way, and the moments that are waited for on purpose. */
async function settle(world: LineWorld<Families>): Promise<void> {
  for (let round = 0; round < 6; round++) {
    await world.clock.settle(20);
    await world.clock.advance(50);
  }
}

async function upload(world: LineWorld<Families>, { outbox }: Page<Families>): Promise<string> {
  const saved = await world.run(outbox.workout.create({ kg: 60 }));
  await world.run(saved.settled);
  await settle(world);
  return saved.id;
}

describe('following outcomes', () => {
  it('[D41] every page reacts to each outcome once; one of them tells the person', async () => {
    const world = await start();
    const a = await follow(world, await world.open());
    const b = await follow(world, await world.open());
    const ids = [await upload(world, a.page), await upload(world, b.page)];
    expect([a.reacted, b.reacted]).toEqual([ids, ids]);
    expect([...a.told, ...b.told].sort()).toEqual([...ids].sort());
  });

  it('[D41, A74] a page opened a day later learns what it missed, exactly once, and so do two at once', async () => {
    const world = await start();
    const first = await follow(world, await world.open());
    const before = await upload(world, first.page);
    world.server.reachable = false;
    const missed = await world.run(first.page.outbox.workout.create({ kg: 61 }));
    await settle(world);
    first.close();
    world.server.reachable = true;
    await world.clock.advance(86_400_000);
    const [x, y] = [await world.open(), await world.open()];
    const [a, b] = await Promise.all([follow(world, x), follow(world, y)]);
    await world.run(x.outbox.flush());
    await settle(world);
    expect([a.reacted, b.reacted]).toEqual([[missed.id], [missed.id]]);
    expect([...a.told, ...b.told]).toEqual([missed.id]);
    expect([before, first.told]).toEqual([first.reacted[0], [before]]);
    a.close();
    const later = await follow(world, await world.open());
    expect([later.reacted, later.told]).toEqual([[], []]);
  });

  it('[D41] a page that has never been here begins with what happens from now on', async () => {
    const world = await start();
    const page = await world.open();
    await upload(world, page);
    const { reacted, told } = await follow(world, page);
    expect([reacted, told]).toEqual([[], []]);
    const id = await upload(world, page);
    expect([reacted, told]).toEqual([[id], [id]]);
  });

  it('[D41] the notice waits for a page that is looked at', async () => {
    const world = await start();
    const page = await world.open();
    page.realm.setHidden(true);
    const { reacted, told } = await follow(world, page);
    // The end of the journal is found when somebody looks for the first time.
    page.realm.setHidden(false);
    await settle(world);
    page.realm.setHidden(true);
    const id = await upload(world, page);
    expect([reacted, told]).toEqual([[id], []]);
    page.realm.setHidden(false);
    await settle(world);
    expect(told).toEqual([id]);
  });

  it('[D41] what a page was reacting to when it failed comes again', async () => {
    const world = await start();
    const page = await world.open();
    let failures = 1;
    const seen: string[] = [];
    await follow(world, page, {
      react({ entries }) {
        if (failures-- > 0) throw new Error('no cache');
        seen.push(...entries.map(({ outcome }) => outcome.row.id));
      },
    });
    const first = await upload(world, page);
    expect(seen).toEqual([]);
    const second = await upload(world, page);
    expect(seen).toEqual([first, second]);
  });

  it('[D41, S31] another database says that everything must be read again', async () => {
    const world = await start();
    const page = await world.open();
    page.realm.localStorage.setItem(
      JSON.stringify(['holdfast', world.name, 'seen', 'ann']),
      JSON.stringify({ epoch: 'of a database that is lost', n: 7 }),
    );
    const { batches } = await follow(world, page);
    expect(batches).toEqual([{ owner: 'ann', entries: [], truncated: true }]);
    const id = await upload(world, page);
    expect(batches.at(-1)).toMatchObject({ truncated: false, entries: [{ outcome: { row: { id } } }] });
  });

  it('[D43, W30] hears nothing of another owner, and goes on where it was when its own is back', async () => {
    const world = await start();
    const a = await follow(world, await world.open());
    const mine = await upload(world, a.page);
    const b = await world.open({ owner: 'bob' });
    await settle(world);
    await upload(world, b);
    expect(a.reacted).toEqual([mine]);
    await world.run(b.outbox.signIn('ann'));
    await settle(world);
    const again = await upload(world, a.page);
    expect(a.reacted).toEqual([mine, again]);
  });

  it('[D41] where storage is forbidden the page still hears everything once', async () => {
    const world = await start();
    const page = await world.open();
    const realm = Object.defineProperty({ ...page.realm }, 'localStorage', {
      get() {
        throw new DOMException('denied', 'SecurityError');
      },
    });
    const { reacted } = await follow(world, page, { realm });
    const ids = [await upload(world, page), await upload(world, page)];
    expect(reacted).toEqual(ids);
  });

  it('[A75] leaves no listener behind', async () => {
    const world = await start();
    const page = await world.open();
    const { close, reacted } = await follow(world, page);
    close();
    const other = await world.open();
    await upload(world, other);
    expect([reacted, page.realm.listenerCount]).toEqual([[], 0]);
  });
});
