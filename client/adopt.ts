/** The surface of `holdfast/adopt`: what a queue of another library holds, moved into the outbox once. */
export {
  type AdoptedCommand,
  type AdoptionRealm,
  type AdoptionReport,
  type AdoptOptions,
  type AnyCommand,
  adoptWorkboxQueue,
  type Decision,
  type LeftEntry,
} from './adopt-workbox-queue.ts';
