// One definition, imported by the page and by the worker.
import { defineOutbox, record } from 'holdfast/shared';
import * as v from 'valibot';

export const definition = defineOutbox({
  note: record({ create: v.object({ text: v.string() }) }),
});
