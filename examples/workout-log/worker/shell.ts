/**
 * The app's own part of the worker: its shell opens without the network. Holdfast neither knows nor minds; it adds
 * no fetch handling.
 */
import { clientsClaim } from 'workbox-core/clientsClaim.js';
import { type PrecacheEntry, precacheAndRoute } from 'workbox-precaching';

/** Put in by the build: every file of the shell with the hash of its content. */
declare const SHELL_FILES: readonly PrecacheEntry[];

export function serveShell(worker: ServiceWorkerGlobalScope): void {
  precacheAndRoute([...SHELL_FILES]);
  worker.addEventListener('install', () => void worker.skipWaiting());
  clientsClaim();
}
