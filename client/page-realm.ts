import type { RegistrationLike } from './find-worker.ts';

/** What the page's part uses of `window`; a test gives another one. */
export interface PageRealm extends Pick<EventTarget, 'addEventListener'> {
  readonly document: Pick<Document, 'hidden' | 'addEventListener'>;
  readonly navigator: {
    readonly onLine: boolean;
    readonly locks?: Pick<LockManager, 'request'> | undefined;
    readonly storage?: Partial<Pick<StorageManager, 'estimate' | 'persisted' | 'persist'>> | undefined;
    readonly serviceWorker?:
      | { register(script: string | URL, options?: RegistrationOptions): Promise<RegistrationLike> }
      | undefined;
  };
  readonly crypto: Pick<Crypto, 'randomUUID'>;
  /** Reading it throws where storage is forbidden. */
  readonly localStorage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  readonly Date: Pick<DateConstructor, 'now'>;
  setTimeout(callback: () => void, ms: number): number;
  clearTimeout(timer: number | undefined): void;
}
