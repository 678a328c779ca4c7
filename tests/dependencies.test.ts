/** Records that belong to other records (W60), through the whole engine: typed in the definition, whatever befalls the parents. */
import { describe, expect, it } from 'vitest';
import type { CommandInput } from '../shared/command.ts';
import {
  InvalidBodyError,
  InvalidCommandError,
  InvalidOptionError,
  NoSuchTargetError,
} from '../shared/errors.ts';
import { defineOutbox, record } from '../shared/family.ts';
import type { Target } from '../shared/key.ts';
import { isRecord } from '../shared/row-codec.ts';
import type { StandardSchema } from '../shared/standard-schema.ts';
import { createTestWorld, testCommand } from '../sw/testing/create-test-world.ts';

interface Photo {
  readonly name: string;
  readonly workoutId?: string;
  readonly albumId?: string;
}
const photoSchema: StandardSchema<Photo> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      isRecord(value) && typeof value['name'] === 'string'
        ? { value: { ...value, name: value['name'] } }
        : { issues: [{ message: 'no name' }] },
  },
};

const definition = defineOutbox({
  workout: record(),
  album: record(),
  photo: record({
    create: photoSchema,
    under: {
      workout: (photo, { target }) => ({ ...photo, workoutId: target }),
      album: (photo, { target }) => ({ ...photo, albumId: target }),
    },
  }),
  /** A comment may be under another comment. */
  comment: record({
    under: {
      photo: (comment, { target }) => Object.assign({}, comment, { photoId: target }),
      comment: (comment, { target }) => Object.assign({}, comment, { replyTo: target }),
    },
  }),
});

async function setUp() {
  const world = createTestWorld({ definition });
  const { engine } = await world.start();
  await engine.signIn('ann');
  const create = async (family: string, body: unknown, under?: CommandInput['under']) => {
    const { row, action } = await engine.enqueue(
      testCommand(world, { family, body, ...(under && { under }) }),
    );
    if (!row) throw new Error('nothing waits');
    return { id: row.id, origin: row.origin, target: row.target, action };
  };
  const flush = () => world.run(engine.flush('ann', 'flush'));
  const sent = () => world.server.applied.map(({ family, body }) => [family, body]);
  const rows = async () => (await engine.rows('ann', { limit: 99 })).rows;
  const reason = async (id: string) => (await engine.explain('ann', id))?.reason;
  return { world, engine, create, flush, sent, rows, reason };
}

describe('a record that belongs to another', () => {
  it('[W60] is sent after it, with the id that the server gave it', async () => {
    const { create, flush, sent } = await setUp();
    const workout = await create('workout', { kg: 60 });
    const photo = await create('photo', { name: 'squat' }, { workout: workout.target });
    expect(photo.action).toBe('intent');
    await flush();
    expect(sent()).toEqual([
      ['workout', { kg: 60 }],
      ['photo', { name: 'squat', workoutId: 'srv-1' }],
    ]);
  });

  it('[W60] named by origin in `after` gets the id as well', async () => {
    const { world, engine, create, flush, sent } = await setUp();
    const { origin } = await create('workout', { kg: 60 });
    await engine.enqueue(testCommand(world, { family: 'photo', body: { name: 'squat' }, after: [origin] }));
    await flush();
    expect(sent().at(-1)).toEqual(['photo', { name: 'squat', workoutId: 'srv-1' }]);
  });

  it('[W60] under an id of the server’s waits for nothing', async () => {
    const { create, flush, sent, rows } = await setUp();
    const { action } = await create(
      'photo',
      { name: 'squat' },
      { workout: 'w-7', album: { type: 'id', id: 'a-1' } },
    );
    expect(action).toBe('queued');
    expect((await rows())[0]?.after).toBeUndefined();
    await flush();
    expect(sent()).toEqual([['photo', { name: 'squat', workoutId: 'w-7', albumId: 'a-1' }]]);
  });

  it('[W60] under `undefined` belongs to nothing', async () => {
    const { create, flush, sent } = await setUp();
    await create('photo', { name: 'squat' }, { workout: undefined });
    await flush();
    expect(sent()).toEqual([['photo', { name: 'squat' }]]);
  });

  it('[W60] waits for several parents in other families, and gets each one’s id', async () => {
    const { create, flush, sent } = await setUp();
    const workout = await create('workout', { kg: 60 });
    const album = await create('album', { title: 'May' });
    await create('photo', { name: 'squat' }, { workout: workout.target, album: album.target });
    // Both are accepted at the same moment: the later of the two commits sees the earlier one.
    await flush();
    expect(sent().at(-1)).toEqual(['photo', { name: 'squat', workoutId: 'srv-1', albumId: 'srv-2' }]);
  });

  it('[W60] stands on several levels, each sent once the one above has its id', async () => {
    const { create, flush, sent, rows } = await setUp();
    const workout = await create('workout', { kg: 60 });
    const photo = await create('photo', { name: 'squat' }, { workout: workout.target });
    const comment = await create('comment', { text: 'deep' }, { photo: photo.target });
    await create('comment', { text: 'deeper' }, { comment: comment.target, photo: photo.target });
    await flush();
    await flush();
    expect(sent()).toEqual([
      ['workout', { kg: 60 }],
      ['photo', { name: 'squat', workoutId: 'srv-1' }],
      ['comment', { text: 'deep', photoId: 'srv-2' }],
      ['comment', { text: 'deeper', replyTo: 'srv-3', photoId: 'srv-2' }],
    ]);
    expect(await rows()).toEqual([]);
  });

  it('[W60, R16] edited while it waits is filled with what it says in the end', async () => {
    const { world, engine, create, flush, sent } = await setUp();
    const workout = await create('workout', { kg: 60 });
    const { target } = await create('photo', { name: 'squat' }, { workout: workout.target });
    const edit = { family: 'photo', kind: 'update', target, body: { name: 'bench' } } as const;
    await engine.enqueue(testCommand(world, edit));
    await flush();
    expect(sent().at(-1)).toEqual(['photo', { name: 'bench', workoutId: 'srv-1' }]);
  });
});

describe('its parent', () => {
  it('[W60] accepted just now, or long ago, gives its id all the same', async () => {
    const { world, create, flush, sent } = await setUp();
    const workout = await create('workout', { kg: 60 });
    await flush();
    await create('photo', { name: 'soon' }, { workout: workout.target });
    await flush();
    // Past what the journal keeps: only the server knows it.
    world.clock.jump(40 * 86_400_000);
    for (let n = 0; n < 20; n++) {
      await create('workout', { n });
      await flush();
    }
    world.clock.jump(40 * 86_400_000);
    await flush();
    expect(sent()[1]).toEqual(['photo', { name: 'soon', workoutId: 'srv-1' }]);
  });

  it('[W60, W19] refused, is what the child waits for, and what is shown; recovered under a new id it leads on', async () => {
    const { world, engine, create, flush, sent, rows, reason } = await setUp();
    world.server.next({ type: 'status', status: 422, code: 'invalid' });
    const workout = await create('workout', { kg: -1 });
    const photo = await create('photo', { name: 'squat' }, { workout: workout.target });
    await flush();
    expect(await reason(photo.id)).toEqual({ type: 'waits_for', origin: workout.origin, id: workout.id });
    expect(await reason(workout.id)).toMatchObject({ type: 'blocked' });
    const { row } = await engine.recover('ann', workout.id, { body: { kg: 1 } });
    expect(row?.id).not.toBe(workout.id);
    expect(await reason(photo.id)).toEqual({ type: 'waits_for', origin: workout.origin, id: row?.id });
    await flush();
    expect(sent()).toEqual([
      ['workout', { kg: 1 }],
      ['photo', { name: 'squat', workoutId: 'srv-1' }],
    ]);
    expect(await rows()).toEqual([]);
  });

  it('[W60] discarded, takes along what is under it, level by level, and says so', async () => {
    const { world, engine, create, flush, rows } = await setUp();
    world.server.next({ type: 'status', status: 422, code: 'invalid' });
    const workout = await create('workout', { kg: -1 });
    const photo = await create('photo', { name: 'squat' }, { workout: workout.target });
    const comment = await create('comment', { text: 'deep' }, { photo: photo.target });
    await flush();
    const { removed } = await engine.discard('ann', workout.id);
    expect(removed).toEqual([workout.id, photo.id, comment.id]);
    expect(await rows()).toEqual([]);
    await expect(create('photo', { name: 'late' }, { workout: workout.target })).rejects.toThrow(
      NoSuchTargetError,
    );
  });

  it('[W60, W19] of several, the one that is still missing is shown', async () => {
    const { world, create, flush, reason } = await setUp();
    const workout = await create('workout', { kg: 60 });
    const album = await create('album', { title: 'May' });
    const photo = await create('photo', { name: 'squat' }, { workout: workout.target, album: album.target });
    world.server.next({ type: 'status', status: 422, code: 'invalid' }, ({ family }) => family === 'album');
    await flush();
    expect(await reason(photo.id)).toEqual({ type: 'waits_for', origin: album.origin, id: album.id });
  });
});

describe('refused at once, with nothing stored', () => {
  const pending = (origin: string): Target => ({ type: 'pending', origin });

  it.each([
    { what: 'an unknown parent', under: { workout: pending('nobody') }, error: InvalidCommandError },
    { what: 'a family that it does not belong to', under: { plan: 'monday' }, error: InvalidCommandError },
    { what: 'nothing at all', under: { workout: JSON.parse('null') }, error: InvalidCommandError },
    { what: 'an empty id', under: { workout: '' }, error: InvalidCommandError },
  ])('[W60, R46] $what', async ({ under, error }) => {
    const { create, rows } = await setUp();
    await expect(create('photo', { name: 'squat' }, under)).rejects.toThrow(error);
    expect(await rows()).toEqual([]);
  });

  it('[W60] a record under itself, and under one that is under it: neither can be said', async () => {
    const { world, engine, create, rows } = await setUp();
    const id = world.uuid();
    const self = testCommand(world, { id, family: 'comment', under: { comment: pending(id) } });
    await expect(engine.enqueue(self)).rejects.toThrow(InvalidCommandError);
    // The only way round is by an id that is not stored yet.
    const later = world.uuid();
    await expect(create('comment', {}, { comment: pending(later) })).rejects.toThrow(InvalidCommandError);
    expect(await rows()).toEqual([]);
  });

  it('[W60] a definition under a family that is none', () => {
    const under = { workout: <Body>(body: Body) => body };
    expect(() => defineOutbox({ photo: record({ under }) })).toThrow(InvalidOptionError);
  });

  it('[W60, R46] where the definition’s own function fails', async () => {
    const fails = (): never => {
      throw new Error('of the app');
    };
    const broken = defineOutbox({ workout: record(), photo: record({ under: { workout: fails } }) });
    const world = createTestWorld({ definition: broken });
    const { engine } = await world.start();
    await engine.signIn('ann');
    const at = testCommand(world, { family: 'photo', under: { workout: 'w-1' } });
    await expect(engine.enqueue(at)).rejects.toThrow(InvalidBodyError);
    const parent = await engine.enqueue(testCommand(world, {}));
    const { row } = await engine.enqueue(
      testCommand(world, { family: 'photo', under: { workout: pending(parent.row?.origin ?? '') } }),
    );
    await world.run(engine.flush('ann', 'flush'));
    const { rows } = await engine.rows('ann', { limit: 9 });
    expect(rows).toMatchObject([{ id: row?.id, state: 'blocked', blockedCode: 'successor_unprepared' }]);
  });
});
