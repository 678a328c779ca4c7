import * as v from 'valibot';
import { expectTypeOf, it } from 'vitest';
import {
  defineOutbox,
  document,
  type Families,
  type OutboxDefinition,
  record,
} from '../../../shared/family.ts';
import { httpSender } from '../../../sw/dispatch/http-sender.ts';
import type { SenderFor } from '../../../sw/dispatch/sender.ts';
import { url } from '../../../sw/dispatch/url.ts';

const definition = defineOutbox({
  workout: record({
    create: v.object({ date: v.string(), weightKg: v.number() }),
    update: v.object({ weightKg: v.optional(v.number()) }),
  }),
  note: record({ create: v.object({ text: v.string() }) }),
  plan: document({ put: v.object({ title: v.string() }) }),
  raw: record(),
});

/** As `startOutbox` takes it. */
function start<F extends Families>(
  _definition: OutboxDefinition<F>,
  options: { sender: SenderFor<F> },
): SenderFor<F> {
  return options.sender;
}

it('[W17] routes are typed from the definition, without a cast and without naming it again', () => {
  const sender = start(definition, {
    sender: httpSender({
      workout: {
        create: ({ body, id }) => {
          expectTypeOf(body).toEqualTypeOf<{ date: string; weightKg: number }>();
          expectTypeOf(id).toEqualTypeOf<string>();
          return { method: 'POST', url: '/api/workouts', json: body };
        },
        update: ({ target, body }) => {
          expectTypeOf(body).toEqualTypeOf<{ weightKg?: number | undefined }>();
          return { method: 'PATCH', url: url`/api/workouts/${target}`, json: body };
        },
        delete: ({ target }) => ({ method: 'DELETE', url: url`/api/workouts/${target}` }),
      },
      note: {
        update: ({ body }) => {
          expectTypeOf(body).toEqualTypeOf<{ text: string }>();
          return { method: 'PATCH', url: '/', json: body };
        },
      },
      plan: {
        put: ({ target, body }) => {
          expectTypeOf(body).toEqualTypeOf<{ title: string }>();
          return { method: 'PUT', url: url`/api/plans/${target}`, json: body };
        },
        // @ts-expect-error a document has no create
        create: () => ({ method: 'POST', url: '/' }),
      },
      raw: {
        create: ({ body }) => {
          expectTypeOf(body).toBeUnknown();
          return { method: 'POST', url: '/', json: body };
        },
      },
    }),
  });
  expectTypeOf(sender).toExtend<SenderFor<typeof definition.families>>();
});
