/** What a person sees while a change leaves, over pages, a worker and the real engine in memory. */

import * as v from 'valibot';
import { afterEach, describe, expect, it } from 'vitest';
import { type OverlaidItem, overlayPending } from '../../client/overlay-pending.ts';
import { type PendingOptions, watchPending } from '../../client/watch-pending.ts';
import { defineOutbox, record } from '../../shared/family.ts';
import { createLineWorld, type LineWorld, type Page } from '../support/line-world.ts';

const fields = { kg: v.number(), note: v.optional(v.string()) };
const definition = defineOutbox({
  workout: record({ create: v.object(fields), update: v.partial(v.object(fields)) }),
});
type Families = typeof definition.families;

interface Workout {
  readonly id: string;
  readonly revision: number;
  readonly kg: number;
  readonly note?: string;
}

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function start({ mayKeep = true } = {}) {
  const world = await createLineWorld(definition);
  ends.push(world.end);
  const page = await world.open();
  const view = watch(world, page, { mayKeep });
  // Long enough for the page to see it wait.
  world.server.latencyMs = 200;
  return Object.assign(view, {
    world,
    page,
    outbox: page.outbox,
    async create(kg: number) {
      const saved = await world.run(page.outbox.workout.create({ kg }));
      view.pending.note(saved, { kg });
      return saved;
    },
  });
}

/** A page that shows workouts, with a copy of the server that is read when the test lets it be. */
function watch(world: LineWorld<Families>, { outbox, realm }: Page<Families>, { mayKeep = true } = {}) {
  let copy: readonly Workout[] = [];
  let reads = 0;
  let isReachable = true;
  const looks: (readonly OverlaidItem<Workout>[])[] = [];
  const waiting = new Set<() => void>();
  const gates: (() => void)[] = [];
  const readServer = (): readonly Workout[] => {
    const targets = new Set(world.server.applied.map(({ target }) => target));
    return [...targets].flatMap((target) => {
      const found = world.server.resource('ann', 'workout', target);
      const body = found?.body as Omit<Workout, 'id' | 'revision'>;
      return found && !found.deleted ? [{ id: target, revision: found.revision, ...body }] : [];
    });
  };
  const options: PendingOptions = {
    async refetch() {
      reads += 1;
      const answer = readServer();
      if (!isReachable) throw new TypeError('No connection');
      await new Promise<void>((resolve) => void gates.push(resolve));
      copy = answer;
      look();
    },
    name: world.name,
    mayKeep: () => mayKeep,
    realm,
  };
  const pending = watchPending(outbox, options);
  const shown = (): readonly OverlaidItem<Workout>[] =>
    overlayPending({
      ...pending.getSnapshot(),
      family: 'workout',
      items: copy,
      idOf: ({ id }) => id,
      revisionOf: ({ revision }) => revision,
    });
  function look(): void {
    looks.push(shown());
    for (const check of [...waiting]) check();
  }
  pending.subscribe(look);
  ends.push(pending.close);
  return {
    pending,
    shown,
    /** What was on the screen after each change of it. */
    looks,
    openGates: () => {
      for (const open of gates.splice(0)) open();
    },
    setReachable: (value: boolean) => {
      isReachable = value;
    },
    get reads() {
      return reads;
    },
    /** Moves time until the screen shows it. */
    until: (isMet: () => boolean) =>
      world.run(
        new Promise<void>((resolve) => {
          const check = (): void => {
            if (!isMet()) return;
            waiting.delete(check);
            resolve();
          };
          waiting.add(check);
          check();
        }),
      ),
  };
}

describe('a change that leaves', () => {
  it('[C20, D43] is on the screen from the moment it is stored until the server’s copy has it, without a gap', async () => {
    const { world, create, pending, shown, looks, openGates, until } = await start();
    const saved = await create(60);
    await until(() => shown().length === 1 && pending.getSnapshot().rows.length === 0);
    const first = looks.findIndex((items) => items.length > 0);
    await world.run(saved.settled);
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    expect(shown()).toMatchObject([
      { item: { kg: 60 }, state: 'saved', target: { type: 'id', id: 'srv-1' }, key: saved.id },
    ]);
    openGates();
    await until(() => pending.getSnapshot().ended.length === 0);
    expect(shown()).toMatchObject([{ item: { id: 'srv-1', kg: 60 }, state: 'saved', key: saved.id }]);
    expect(looks.slice(first).map((items) => items.length)).not.toContain(0);
    expect(looks.slice(first).map((items) => items.length)).not.toContain(2);
  });

  it('[C20] an edit of it is laid over it before and after the server has given it an id', async () => {
    const { world, outbox, create, pending, shown, openGates, until } = await start();
    const saved = await create(60);
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    world.server.reachable = false;
    await world.run(outbox.workout.update(saved.target, { note: 'heavy' }));
    await until(() => shown()[0]?.item.note === 'heavy');
    expect(shown()).toMatchObject([{ item: { kg: 60, note: 'heavy' }, key: saved.id }]);
    expect(shown()[0]?.rows).toHaveLength(1);
    openGates();
    await until(() => pending.getSnapshot().ended.length === 0);
    expect(shown()).toMatchObject([{ item: { id: 'srv-1', kg: 60, note: 'heavy' }, state: 'queued' }]);
  });

  it('[C20] hides what was deleted until the copy is without it', async () => {
    const { world, outbox, create, pending, shown, looks, openGates, until } = await start();
    world.server.change('ann', 'workout', 'w1', { kg: 1 });
    await create(60);
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    openGates();
    await until(() => pending.getSnapshot().ended.length === 0);
    const before = looks.length;
    await world.run(outbox.workout.delete('srv-1'));
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    expect(shown()).toEqual([]);
    openGates();
    await until(() => pending.getSnapshot().ended.length === 0);
    const hidden = looks.slice(before).findIndex((items) => items.length === 0);
    expect(looks.slice(before + hidden).every((items) => items.length === 0)).toBe(true);
  });

  it('[D43] stays on the screen over a reload while the server cannot be read, and is read once it can', async () => {
    const { world, create, pending, page, setReachable, until } = await start();
    setReachable(false);
    await create(60);
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    pending.close();
    page.close();
    const again = watch(world, await world.open());
    await again.until(() => again.shown().length === 1);
    expect(again.shown()).toMatchObject([{ item: { kg: 60 }, state: 'saved', target: { id: 'srv-1' } }]);
    const reading = again.pending.refetch();
    again.openGates();
    await world.run(reading);
    expect(again.pending.getSnapshot().ended).toEqual([]);
    expect(again.shown()).toMatchObject([{ item: { id: 'srv-1', kg: 60 } }]);
  });

  it('[W63] where the app does not say that it may, no content is written down in clear text', async () => {
    const { world, create, pending, page, setReachable, until } = await start({ mayKeep: false });
    setReachable(false);
    await create(60);
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    const place = JSON.stringify(['holdfast', world.name, 'accepted', 'ann']);
    expect(page.realm.localStorage.getItem(place)).toBeNull();
  });

  it('[W63] what was kept while the app allowed it goes when a page opens that does not', async () => {
    const { world, create, pending, page, setReachable, until } = await start();
    setReachable(false);
    await create(60);
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    pending.close();
    page.close();
    const later = await world.open();
    const place = JSON.stringify(['holdfast', world.name, 'accepted', 'ann']);
    expect(later.realm.localStorage.getItem(place)).toContain('srv-1');
    const again = watch(world, later, { mayKeep: false });
    await again.until(() => again.pending.getSnapshot().owner === 'ann');
    expect(later.realm.localStorage.getItem(place)).toBeNull();
  });

  it('[D43, W32] nothing of it is kept for whoever signs in next', async () => {
    const { world, outbox, create, pending, page, setReachable, until } = await start();
    setReachable(false);
    await create(60);
    await until(() => pending.getSnapshot().ended.some(({ accepted }) => accepted !== undefined));
    const place = JSON.stringify(['holdfast', world.name, 'accepted', 'ann']);
    expect(page.realm.localStorage.getItem(place)).toContain('srv-1');
    await world.run(outbox.signOut());
    await until(() => pending.getSnapshot().owner === undefined);
    expect(pending.getSnapshot()).toMatchObject({ rows: [], bodies: [], ended: [] });
    expect(page.realm.localStorage.getItem(place)).toBeNull();
  });

  it('[C20] that is withdrawn goes from the screen with its outcome', async () => {
    const { world, outbox, create, shown, until } = await start();
    world.isOnline = false;
    const saved = await create(60);
    await until(() => shown().length === 1);
    await world.run(outbox.cancel(saved.id));
    await until(() => shown().length === 0);
    expect(shown()).toEqual([]);
  });

  it('[C20] shows at once where the page says what it has just stored', async () => {
    const { world, create, pending, shown, until } = await start();
    world.server.reachable = false;
    const saved = await create(60);
    expect(pending.getSnapshot().bodies).toEqual([{ id: saved.id, body: { kg: 60 } }]);
    await until(() => shown().length === 1);
  });

  it('[D43] reads the server again for calls that come while it is being read, once for all of them', async () => {
    const view = await start();
    const { pending, openGates, world } = view;
    const before = view.reads;
    const calls = [pending.refetch(), pending.refetch(), pending.refetch()];
    openGates();
    await world.run(calls[0] ?? Promise.resolve());
    expect(view.reads).toBe(before + 2);
    openGates();
    await world.run(Promise.all(calls));
    expect(view.reads).toBe(before + 2);
  });
});
