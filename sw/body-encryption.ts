/**
 * The port for bodies encrypted at rest (W63): a store in front of the store, under which nothing sees a body. It
 * knows no row and no cipher; `holdfast/encryption` implements it. Without it an encrypted body does not read.
 */
import type { Digest, Ids, Timers } from './environment.ts';
import type { Ledger } from './mirror/ledger.ts';
import type { RowStore } from './outbox/row-store.ts';
import { isSealed } from './outbox/sealed-body.ts';

export interface EncryptionParts {
  /** Bodies go in and come out as they are stored. */
  readonly store: RowStore;
  /** Keeps the keys too, so that what it restores can be read. */
  readonly ledger: Ledger | undefined;
  readonly ids: Ids;
  readonly timers: Timers;
}

export interface EncryptedBodies {
  /** The store to use in place of the one given. */
  readonly store: RowStore;
  readonly ofBody?: Digest['ofBody'];
  /** Destroys an owner's keys: whatever is left of that owner's bodies can never be read again (W32). */
  forgetKeys?(owner: string): Promise<void>;
}

export type BodyEncryption = (parts: EncryptionParts) => EncryptedBodies;

/** What was encrypted by an app that no longer does must not be sent as it is: it does not read (R3). */
export const NO_ENCRYPTION: BodyEncryption = ({ store }) => ({
  store: {
    ...store,
    async readBodies(bodyIds) {
      const reads = await store.readBodies(bodyIds);
      return reads.map((read) =>
        read.type === 'body' && isSealed(read.body) ? { type: 'unreadable' } : read,
      );
    },
  },
});
