import { defineOutbox, record } from 'holdfast/shared';
import * as v from 'valibot';

export const definition = defineOutbox({ note: record({ create: v.object({ text: v.string() }) }) });
