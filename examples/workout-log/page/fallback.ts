/** Loaded only where no Service Worker can be had: then the engine runs in the page, with the same sending. */
export { sending } from '../worker/sending.ts';
