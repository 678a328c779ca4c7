/** What the benchmark's page, worker and driver agree on. */
import { defineOutbox, record } from '../../shared/family.ts';
import type { StandardSchema } from '../../shared/standard-schema.ts';

export interface Item {
  readonly n: number;
  readonly text: string;
}

/** Lets everything in: checking the payload is the app's own cost. */
const anything: StandardSchema<Item, Item> = {
  '~standard': { version: 1, vendor: 'bench', validate: (value) => ({ value: value as Item }) },
};

export const definition = defineOutbox({ item: record({ create: anything }) });

export const OWNER = 'bench';
/** The size of a row's payload as JSON, unless said otherwise. */
export const ROW_BYTES = 2_007;
export const ITEMS_PATH = '/api/items';

export function makeItem(n: number, bytes: number = ROW_BYTES): Item {
  const bare = JSON.stringify({ n, text: '' }).length;
  return { n, text: 'x'.repeat(bytes - bare) };
}
