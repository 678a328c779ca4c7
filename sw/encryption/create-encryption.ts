/**
 * Encryption of bodies at rest (W63): a store in front of the store. What goes in is sealed before the transaction
 * begins, what comes out is opened after it has ended; rows, journal and facts pass as they are. Bodies stored before
 * it was switched on, or after it was switched off, are read as they are.
 */
import { EncryptionUnavailableError } from '../../shared/errors.ts';
import type { BodyEncryption } from '../body-encryption.ts';
import type { BodyRead, BodyWrite, Commit } from '../outbox/row-store.ts';
import { isSealed } from '../outbox/sealed-body.ts';
import { createBodyKeys, currentKeyOf, type NamedKey } from './body-keys.ts';
import type { Cipher } from './cipher.ts';
import { openBody, sealBody } from './seal-body.ts';

export interface EncryptionOptions {
  /**
   * Whether this owner's bodies are encrypted from now on; asked for every body that is stored. What is stored already
   * stays as it is. Default: always.
   */
  readonly when?: ((owner: string) => boolean | Promise<boolean>) | undefined;
  /**
   * Where keys can be neither made nor kept: `refuse` (default) rejects every call that would store a body with
   * `EncryptionUnavailableError`; `plain` stores it unencrypted, which is the app's own choice.
   */
  readonly whenUnavailable?: 'refuse' | 'plain' | undefined;
}

/** @throws EncryptionUnavailableError where there is no Web Crypto and `whenUnavailable` is `refuse` */
export function createEncryption<Key>(
  cipher: Cipher<Key>,
  { when = () => true, whenUnavailable = 'refuse' }: EncryptionOptions = {},
): BodyEncryption {
  if (!cipher.isAvailable && whenUnavailable === 'refuse') throw unavailable(undefined);
  return (parts) => {
    const { store } = parts;
    const keys = createBodyKeys(parts, cipher);

    /** `undefined`: bodies of this owner are stored as they are. */
    async function keyFor(owner: string): Promise<NamedKey<Key> | undefined> {
      if (!(await when(owner))) return undefined;
      if (!cipher.isAvailable) return undefined;
      try {
        return await keys.current(owner);
      } catch (cause) {
        if (whenUnavailable === 'plain') return undefined;
        throw unavailable(cause);
      }
    }

    /** A key that another host has destroyed meanwhile makes the commit stale: it is planned again, with the next. */
    async function seal(commit: Commit): Promise<Commit> {
      const { owner, bodies = [] } = commit;
      const current = bodies.length > 0 ? await keyFor(owner) : undefined;
      if (!current) return commit;
      const sealed: BodyWrite[] = [];
      for (const { bodyId, body } of bodies)
        sealed.push({ bodyId, body: await sealBody(cipher, current, bodyId, body) });
      const guard = { name: currentKeyOf(owner), value: current.id };
      return { ...commit, bodies: sealed, guard: commit.guard ?? guard };
    }

    async function open(bodyId: string, read: BodyRead | undefined): Promise<BodyRead> {
      if (read?.type !== 'body' || !isSealed(read.body)) return read ?? { type: 'missing' };
      const key = await keys.find(read.body.key);
      if (key === undefined) return { type: 'unreadable' };
      try {
        return { type: 'body', body: await openBody(cipher, key, bodyId, read.body) };
      } catch {
        // Altered, or not ours: it stays where it is, and its row says so (R3).
        return { type: 'unreadable' };
      }
    }

    return {
      store: {
        ...store,
        async commit(commits) {
          if (!commits.some(({ bodies = [] }) => bodies.length > 0)) return store.commit(commits);
          const results = await store.commit(await Promise.all(commits.map(seal)));
          for (const [place, result] of results.entries())
            if (result.type === 'stale' && result.reason === 'guard')
              keys.forgetCurrent(commits[place]?.owner ?? '');
          return results;
        },
        async readBodies(bodyIds) {
          const reads = await store.readBodies(bodyIds);
          return Promise.all(bodyIds.map((bodyId, place) => open(bodyId, reads[place])));
        },
      },
      async ofBody(owner, sha256) {
        const current = await keyFor(owner);
        return current ? cipher.hash(current.key, sha256) : sha256;
      },
      forgetKeys: keys.destroy,
    };
  };
}

function unavailable(cause: unknown): EncryptionUnavailableError {
  const message = 'Bodies are to be encrypted here, and keys can be neither made nor kept';
  return new EncryptionUnavailableError(message, {}, { cause });
}
