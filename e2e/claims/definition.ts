/** The resources of the reference server. Nothing is validated here, so that a kept bundle stays small. */
import { defineOutbox, document, record } from '../../shared/family.ts';

export const definition = defineOutbox({ workout: record(), plan: document() });
