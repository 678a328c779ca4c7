/** The one definition that the page and the worker share: what can be changed, and what a change looks like. */
import { defineOutbox, document, record } from 'holdfast/shared';
import * as v from 'valibot';

const day = v.pipe(v.string(), v.isoDate());

const workout = v.object({
  date: day,
  exercise: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(200)),
  weightKg: v.number(),
  sets: v.number(),
  reps: v.number(),
  note: v.optional(v.string()),
  /** Epoch ms, by the device's clock: the order within a day. */
  loggedAt: v.optional(v.number()),
});

export const definition = defineOutbox({
  workout: record({
    create: workout,
    update: v.partial(workout),
    // Bodies of updates are patches: an edit of what has not left yet folds into it.
    merge: (earlier, later) => ({ ...earlier, ...later }),
  }),
  photo: record({
    create: v.object({ picture: v.blob(), workoutId: v.optional(v.string()) }),
    under: { workout: (photo, { target }) => ({ ...photo, workoutId: target }) },
    maxBodyBytes: 32 * 1024 * 1024,
  }),
  plan: document({
    put: v.object({ title: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(500)) }),
  }),
});

export type Workout = v.InferOutput<typeof workout>;
export type Plan = { readonly title: string };
