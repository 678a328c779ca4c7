/** The surface of `holdfast/sw`: what a worker needs. */
export type { Credentials, CredentialsOffer } from './dispatch/credentials.ts';
export type * from './dispatch/family-ports.ts';
export { type HttpSenderOptions, httpSender } from './dispatch/http-sender.ts';
export type { Report, Reported } from './dispatch/report.ts';
export type {
  Answer,
  FindReceipt,
  ReceiptLookup,
  Sender,
  SenderFor,
  SendRequest,
} from './dispatch/sender.ts';
export { url } from './dispatch/url.ts';
export type { ServiceWorkerHost } from './host/service-worker-host.ts';
export type { OutboxSetup } from './start-engine.ts';
export { type StartOptions, startOutbox } from './start-outbox.ts';
