/** What page and worker of the line's suites share. */
import * as v from 'valibot';
import { defineOutbox, document, record } from '../../shared/family.ts';
import type { StandardSchema } from '../../shared/standard-schema.ts';

/** Admits what the server lets through its gate, so that a test can stop a worker in the middle of an enqueue. */
const gated: StandardSchema<{ readonly kg: number }> = {
  '~standard': {
    version: 1,
    vendor: 'holdfast-e2e',
    async validate(value) {
      await fetch('/gate');
      return { value: value as { readonly kg: number } };
    },
  },
};

const fields = { kg: v.number(), note: v.optional(v.string()) };

export const definition = defineOutbox({
  workout: record({ create: v.object(fields), update: v.partial(v.object(fields)) }),
  gated: record({ create: gated }),
  plan: document({ put: v.object({ title: v.string() }) }),
});
