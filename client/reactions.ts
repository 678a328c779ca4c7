/** The surface of `holdfast/reactions`: what a page does about outcomes, apart from the outbox so that it costs only whom it serves. */
export * from './overlay-pending.ts';
export * from './page-reactions.ts';
export * from './query-cache.ts';
export * from './run-reactions.ts';
export * from './sentences.ts';
export * from './watch-pending.ts';
