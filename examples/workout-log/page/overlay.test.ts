import { describe, expect, it } from 'vitest';
import { overlayPlans, overlayWorkouts } from './overlay.ts';
import type { ServerWorkout } from './server-copy.ts';
import type { WaitingChange } from './waiting-change.ts';

const squat: ServerWorkout = {
  id: 's1',
  revision: 3,
  date: '2026-11-30',
  exercise: 'Squat',
  weightKg: 100,
  sets: 5,
  reps: 5,
};

function waiting(row: Partial<WaitingChange['row']>, body?: unknown): WaitingChange {
  return {
    row: {
      id: 'r1',
      origin: 'r1',
      seq: 1,
      family: 'workout',
      kind: 'update',
      target: { type: 'id', id: 's1' },
      savedAt: 0,
      state: 'queued',
      version: 1,
      attemptCount: 0,
      ...row,
    },
    body,
  };
}

describe('the log as the person left it', () => {
  it('[V8] shows an edit that waits over what the server last said, on its revision', () => {
    const [shown] = overlayWorkouts([squat], [waiting({}, { weightKg: 110 })]);
    expect(shown).toMatchObject({ values: { exercise: 'Squat', weightKg: 110 }, revision: 3 });
    expect(shown?.change?.row.id).toBe('r1');
  });

  it('[V8] shows a workout that the server does not know yet, with the edits that follow it', () => {
    const { id: _id, revision: _revision, ...body } = squat;
    const create = waiting({ kind: 'create', target: { type: 'pending', origin: 'r1' } }, body);
    const edit = waiting(
      { id: 'r2', origin: 'r2', seq: 2, target: { type: 'pending', origin: 'r1' } },
      { note: 'heavy' },
    );
    const shown = overlayWorkouts([], [create, edit]);
    expect(shown).toHaveLength(1);
    expect(shown[0]).toMatchObject({ values: { weightKg: 100, note: 'heavy' }, revision: undefined });
  });

  it('[V8, W60] shows a photo at the workout it waits for, and once only when it has left', () => {
    const { id: _id, revision: _revision, ...body } = squat;
    const picture = new Blob(['x']);
    const create = waiting({ kind: 'create', target: { type: 'pending', origin: 'r1' } }, body);
    const under = { id: 'r2', origin: 'r2', seq: 2, family: 'photo', kind: 'create', after: ['r1'] } as const;
    const target = { type: 'pending', origin: 'r2' } as const;
    const photo = waiting({ ...under, target }, { picture });
    expect(overlayWorkouts([], [create, photo])[0]?.photos).toMatchObject([{ id: 'r2', picture }]);
    const left: WaitingChange = { ...photo, isLeaving: true, accepted: { target: 'p1' } };
    const originOf = (id: string): string | undefined => (id === 's1' ? 'r1' : undefined);
    const photosOf = (photos: readonly string[], change: WaitingChange) =>
      overlayWorkouts([{ ...squat, photos }], [change], [], originOf)[0]?.photos;
    expect(photosOf([], left)).toEqual([{ id: 'r2', picture }]);
    expect(photosOf(['p1'], left)).toEqual([{ id: 'p1' }]);
    // As it is kept over a reload: without the bytes.
    expect(photosOf([], { ...left, body: { picture: {} } })).toEqual([]);
  });

  it('[V8] hides what is being deleted, and shows it again where the deletion was refused', () => {
    expect(overlayWorkouts([squat], [waiting({ kind: 'delete' })])).toEqual([]);
    const [refused] = overlayWorkouts([squat], [waiting({ kind: 'delete', state: 'blocked' })]);
    expect(refused).toMatchObject({ isDeletionRefused: true, values: { exercise: 'Squat' } });
  });

  it('[V8] gives the badge to the change that needs the person, whatever came after it', () => {
    const refused = waiting({ state: 'blocked', blockedCode: 'rejected' }, { reps: 3 });
    const later = waiting({ id: 'r2', origin: 'r2', seq: 2 }, { note: 'later' });
    const [shown] = overlayWorkouts([squat], [refused, later]);
    expect(shown?.change).toBe(refused);
    expect(shown?.values).toMatchObject({ reps: 3, note: 'later' });
  });

  it('[V8] never shows a change whose content has not been read as an empty one', () => {
    expect(overlayWorkouts([], [waiting({ kind: 'create' })])).toEqual([]);
    expect(overlayWorkouts([squat], [waiting({})])[0]?.change).toBeUndefined();
  });

  it('[V8] lays plans over their days', () => {
    const copy = [{ date: '2026-12-01', title: 'Legs', revision: 2 }];
    const put = waiting(
      { family: 'plan', kind: 'put', target: { type: 'id', id: '2026-12-02' } },
      { title: 'Pull' },
    );
    const remove = waiting({ family: 'plan', kind: 'remove', target: { type: 'id', id: '2026-12-01' } });
    const plans = overlayPlans(copy, [put, remove]);
    expect([...plans.values()].map(({ title }) => title)).toEqual(['Pull']);
  });
});
