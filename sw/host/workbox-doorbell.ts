/**
 * The standing sync tag through workbox's queue, which stays empty: it would take a request out before sending it
 * and count any answer as delivery. Workbox is touched nowhere else, and its module only loads in a worker.
 */
import { Queue } from 'workbox-background-sync/Queue.js';
import type { MakeDoorbell } from './background-sync.ts';

/** Workbox refuses a name it has seen, so this runs once per name, synchronously while the worker starts. */
export const workboxDoorbell: MakeDoorbell = (name, onSync) => new Queue(name, { onSync });
