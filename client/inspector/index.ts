/** The surface of `holdfast/inspector`: one custom element that shows an outbox to people (W50). */

export { defineInspector, type HoldfastInspector } from './inspector.ts';
export type { InspectedOutbox } from './model.ts';
export type { InspectorWords } from './words.ts';
