/** What the compiler knows from the definition alone (W17): no casts, and the wrong call does not compile. */
import * as v from 'valibot';
import { describe, expectTypeOf, it } from 'vitest';
import type { connectOutbox } from '../../client/connect-outbox.ts';
import type { Handle } from '../../client/handle.ts';
import type { Outbox } from '../../client/outbox.ts';
import { defineOutbox, document, record } from '../../shared/family.ts';
import type { Settled } from '../../shared/outcome.ts';

const definition = defineOutbox({
  workout: record({
    create: v.object({ date: v.string(), weightKg: v.number(), note: v.optional(v.string()) }),
    update: v.object({ weightKg: v.optional(v.number()), note: v.optional(v.string()) }),
    merge: (earlier, later) => ({ ...earlier, ...later }),
  }),
  /** The input of a validator may be another thing than what it makes of it. */
  reminder: record({ create: v.object({ at: v.pipe(v.string(), v.transform(Number)) }) }),
  photo: record({
    create: v.object({ picture: v.string(), workoutId: v.optional(v.string()) }),
    under: {
      workout: (photo, { target, receipt }) => {
        expectTypeOf(receipt?.revision).toEqualTypeOf<number | undefined>();
        return { ...photo, workoutId: target };
      },
    },
  }),
  plan: document({ put: v.object({ title: v.string() }) }),
  note: document(),
});
type App = Outbox<typeof definition.families>;

describe('the typed outbox', () => {
  it('[W17] takes what the family’s validators take', () => {
    expectTypeOf<App['workout']['create']>().parameter(0).toEqualTypeOf<{
      date: string;
      weightKg: number;
      note?: string | undefined;
    }>();
    expectTypeOf<App['workout']['update']>().parameter(1).toEqualTypeOf<{
      weightKg?: number | undefined;
      note?: string | undefined;
    }>();
    expectTypeOf<App['reminder']['create']>().parameter(0).toEqualTypeOf<{ at: string }>();
    expectTypeOf<App['plan']['put']>().parameters.toMatchTypeOf<[string, { title: string }, object?]>();
    expectTypeOf<App['note']['put']>().parameter(1).toBeUnknown();
  });

  it('[W17] answers a handle whose target later commands take', () => {
    expectTypeOf<App['workout']['create']>().returns.resolves.toEqualTypeOf<Handle>();
    expectTypeOf<Handle['target']>().toExtend<Parameters<App['workout']['update']>[0]>();
    expectTypeOf<string>().toExtend<Parameters<App['workout']['delete']>[0]>();
    expectTypeOf<Handle['settled']>().resolves.toEqualTypeOf<Settled>();
    expectTypeOf<Extract<Settled, { type: 'uploaded' }>['receipt']['revision']>().toBeNumber();
  });

  it('[W17] knows which family has which methods', () => {
    expectTypeOf<App['workout']>().not.toHaveProperty('put');
    expectTypeOf<App['plan']>().not.toHaveProperty('create');
    expectTypeOf<App>().not.toHaveProperty('workouts');
    expectTypeOf<App['family']>()
      .parameter(0)
      .toEqualTypeOf<'workout' | 'reminder' | 'photo' | 'plan' | 'note'>();
    const plans = (outbox: App) => outbox.family('plan');
    expectTypeOf(plans).returns.toEqualTypeOf<App['plan']>();
  });

  it('[W60, W17] takes as parents what the definition names, by handle or by id', () => {
    type Options = NonNullable<Parameters<App['photo']['create']>[1]>;
    expectTypeOf<Options['after']>().toEqualTypeOf<readonly string[] | undefined>();
    expectTypeOf<keyof NonNullable<Options['under']>>().toEqualTypeOf<'workout'>();
    expectTypeOf<{ workout: Handle['target'] }>().toExtend<NonNullable<Options['under']>>();
    expectTypeOf<{ workout: string }>().toExtend<NonNullable<Options['under']>>();
    expectTypeOf<NonNullable<Parameters<App['workout']['create']>[1]>>().not.toHaveProperty('under');
    const use = (outbox: App, saved: Handle) => [
      outbox.photo.create({ picture: '' }, { under: { workout: saved.target } }),
      outbox.photo.create({ picture: '' }, { after: [saved.origin] }),
      // @ts-expect-error: a photo belongs to no plan
      outbox.photo.create({ picture: '' }, { under: { plan: 'monday' } }),
      // @ts-expect-error: a workout belongs to nothing
      outbox.workout.create({ date: '', weightKg: 1 }, { under: { workout: saved.target } }),
      // @ts-expect-error: the parent's id comes into the body as what the validator takes
      record({ create: v.object({ n: v.number() }), under: { workout: () => ({ n: 'one' }) } }),
    ];
    expectTypeOf(use).toBeFunction();
  });

  it('[W17] comes out of connectOutbox as it is', () => {
    expectTypeOf<typeof connectOutbox<typeof definition.families>>().returns.resolves.toEqualTypeOf<App>();
  });
});
