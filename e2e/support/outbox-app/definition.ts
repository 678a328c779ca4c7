/** What page and worker of the outbox app share: the resources of the reference server. */
import * as v from 'valibot';
import { defineOutbox, document, record } from '../../../shared/family.ts';

const fields = {
  date: v.string(),
  exercise: v.string(),
  weightKg: v.number(),
  note: v.optional(v.string()),
};

export const definition = defineOutbox({
  workout: record({
    create: v.object(fields),
    update: v.partial(v.object(fields)),
    merge: (earlier, later) => ({ ...earlier, ...later }),
  }),
  photo: record({
    create: v.object({ picture: v.blob(), workoutId: v.optional(v.string()) }),
    under: { workout: (photo, { target }) => ({ ...photo, workoutId: target }) },
  }),
  // A lease of a second: its requests give up after that, where those of workouts have ten.
  plan: document({ put: v.object({ title: v.string() }), leaseMs: 1_000 }),
});

export type AppFamilies = typeof definition.families;
