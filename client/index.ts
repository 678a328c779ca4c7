/** The surface of `holdfast/client`: what a page needs. */

export type { Cancelled, EditedCopy, ExportedOutbox, SignedOut } from '../shared/answers.ts';
export type { HandCredentials, HandedCredentials, Triggers, ViewRow } from '../shared/protocol.ts';
export type { Explanation } from './add-words.ts';
export { type ConnectOptions, connectOutbox } from './connect-outbox.ts';
export type { Handle } from './handle.ts';
export type { Outbox, OutboxMethods } from './outbox.ts';
export type { PageHostSetup } from './page-host.ts';
export type { SettledOptions } from './settling.ts';
export type { CommandOptions, DocumentMethods, RecordMethods, TargetRef } from './typed-api.ts';
export type { LiveView, ViewSnapshot } from './view-snapshot.ts';
