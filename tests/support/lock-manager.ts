/** Web Locks in memory, one manager per origin; a realm ends with `end`, and its locks with it. */
import type { LockPower } from '../../sw/browser-environment.ts';

interface Held {
  readonly realm: string;
  readonly mode: LockMode;
}

export interface LockOrigin {
  /** The API as one realm sees it. */
  realm(name: string): LockPower;
  /** The realm is gone: worker stopped, page closed, browser killed. */
  end(name: string): void;
  /** Locks that a realm holds now. */
  heldBy(name: string): readonly string[];
}

export function createLockOrigin(): LockOrigin {
  const held = new Map<string, Held[]>();
  const holdersOf = (name: string) => held.get(name) ?? [];

  return {
    realm: (realm) => ({
      // The real one is overloaded; only this form is used.
      request: (async (name: string, options: LockOptions, callback: LockGrantedCallback<unknown>) => {
        const mode = options.mode ?? 'exclusive';
        const free = holdersOf(name).every((other) => mode === 'shared' && other.mode === 'shared');
        if (!free) {
          if (!options.ifAvailable) throw new Error('Waiting for a lock is not modelled');
          return callback(null);
        }
        const grant = { realm, mode };
        held.set(name, [...holdersOf(name), grant]);
        const giveBack = () =>
          held.set(
            name,
            holdersOf(name).filter((other) => other !== grant),
          );
        try {
          return await callback({ name, mode });
        } finally {
          giveBack();
        }
      }) as LockPower['request'],
    }),
    end(realm) {
      for (const [name, holders] of held)
        held.set(
          name,
          holders.filter((holder) => holder.realm !== realm),
        );
    },
    heldBy: (realm) =>
      [...held]
        .filter(([, holders]) => holders.some((holder) => holder.realm === realm))
        .map(([name]) => name),
  };
}
