/** Whatever is posted on an outbox's channel: a page goes on, shows its owner's rows and nothing of anybody else. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defineOutbox, document, record } from '../../shared/family.ts';
import { channelName } from '../../shared/protocol.ts';
import { holdsInTime, junk, nearly } from '../support/fuzz.ts';
import { createLineWorld } from '../support/line-world.ts';

const definition = defineOutbox({ workout: record(), plan: document() });

const row = nearly({
  id: fc.string(),
  version: fc.nat(),
  seq: fc.nat(),
  state: fc.constantFrom('queued', 'sending', 'held', 'blocked'),
});
const outcome = nearly({
  type: fc.constantFrom('committed', 'blocked', 'deferred', 'replaced', 'unknown'),
  by: fc.string(),
  row: nearly({ id: fc.string(), kind: fc.constant('update'), family: fc.constant('workout') }),
});
const message = nearly({
  type: fc.constantFrom(
    'change',
    'progress',
    'host',
    'triggers',
    'storage',
    'active',
    'credentials',
    'other',
  ),
  owner: fc.constantFrom('ann', 'bob'),
  epoch: fc.string(),
  generation: fc.nat(),
  after: fc.nat(),
  counts: fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.nat()),
  rows: fc.array(row, { maxLength: 3 }),
  removed: fc.array(fc.string(), { maxLength: 2 }),
  entries: fc.array(outcome, { maxLength: 2 }),
  passing: fc.array(outcome, { maxLength: 2 }),
  running: fc.boolean(),
  done: fc.nat(),
  total: fc.nat(),
  wakeAt: fc.nat(),
});
/** `active` without a name is a true word: that somebody has signed out. */
const known = message.filter(({ type }) => type !== 'active');

it('[D43, W18] junk on its channel neither stops a page nor shows it rows that are not there', async () => {
  const world = await createLineWorld(definition);
  world.server.reachable = false;
  const strays: unknown[] = [];
  const note = (error: unknown) => strays.push(error);
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  const channel = new BroadcastChannel(channelName(world.name));
  try {
    const { outbox } = await world.open();
    outbox.view.subscribe(() => undefined);
    const saved = await world.run(outbox.workout.create({ kg: 60 }));
    const heard = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    await holdsInTime(fc.oneof(junk, fc.array(fc.oneof(junk, known), { maxLength: 3 })), async (data) => {
      channel.postMessage(structuredClone(data));
      await heard();
      expect(strays.splice(0)).toEqual([]);
    });
    // The next true word sets it right.
    const next = await world.run(outbox.workout.create({ kg: 70 }));
    for (let tries = 0; tries < 20; tries++) {
      await heard();
      await world.clock.advance(6_000);
    }
    const { rows } = outbox.view.getSnapshot();
    expect(rows.map(({ id }) => id)).toEqual([saved.id, next.id]);
  } finally {
    channel.close();
    process.off('uncaughtException', note);
    process.off('unhandledRejection', note);
    world.end();
  }
});
