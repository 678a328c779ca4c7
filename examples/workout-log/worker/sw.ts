/** The demo's worker: its own shell, and the outbox beside it. */
import { startOutbox } from 'holdfast/sw';
import { definition } from '../definition/outbox.ts';
import { sending } from './sending.ts';
import { serveShell } from './shell.ts';

declare const self: ServiceWorkerGlobalScope;

serveShell(self);
startOutbox(definition, sending);
