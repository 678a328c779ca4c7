/** The surface of `holdfast/client`: what a page needs. */
export { connectOutbox } from './connect-outbox.ts';
