/**
 * Headers that pages hand over (W31). They live in this object only: never stored, logged, mirrored or exported, and
 * gone with the worker, which then asks the pages that are open.
 */
import type { HandedCredentials } from '../../shared/protocol.ts';
import type { Credentials, CredentialsOffer } from '../dispatch/credentials.ts';
import type { Timers } from '../environment.ts';

export interface PageCredentials extends Credentials {
  /**
   * A page's answer, or its own initiative; `undefined`: nobody is signed in. Answers whether rows may leave now that
   * could not before. Nothing that answers a question does: several pages answer one, and a flush each would ask anew,
   * for ever.
   */
  give(owner: string, credentials: HandedCredentials | undefined): boolean;
  /** The account signed out, or made room for another. */
  forget(owner: string): void;
}

export interface PageCredentialsDeps {
  readonly after: Timers['after'];
  readonly hasPages: () => Promise<boolean>;
  /** Asks every page of this owner; whoever has them calls `giveCredentials`. */
  readonly ask: (owner: string, refused: boolean) => void;
}

const PATIENCE_MS = 4_000;

export function createPageCredentials({ after, hasPages, ask }: PageCredentialsDeps): PageCredentials {
  const known = new Map<string, CredentialsOffer>();
  /** What was given last, refused or not, as text. */
  const last = new Map<string, string>();
  const asking = new Map<
    string,
    { readonly offer: Promise<CredentialsOffer>; readonly settle: () => void }
  >();

  const askPages = (owner: string, refused: boolean): Promise<CredentialsOffer> => {
    const current = asking.get(owner);
    if (current) return current.offer;
    let settle = (): void => undefined;
    const offer = new Promise<CredentialsOffer>((resolve, reject) => {
      const cancel = after(PATIENCE_MS, () => {
        asking.delete(owner);
        reject(new Error('No page answered when it was asked for credentials'));
      });
      settle = () => {
        cancel();
        asking.delete(owner);
        resolve(known.get(owner) ?? { type: 'none' });
      };
    });
    asking.set(owner, { offer, settle });
    ask(owner, refused);
    return offer;
  };

  return {
    async offer(owner, refused) {
      if (refused) known.delete(owner);
      const offer = known.get(owner);
      if (offer) return offer;
      return (await hasPages()) ? askPages(owner, refused) : { type: 'none' };
    },
    give(owner, credentials) {
      const text = JSON.stringify(credentials);
      const question = asking.get(owner);
      const isNews = credentials !== undefined && !question && last.get(owner) !== text;
      if (credentials) {
        known.set(owner, { type: 'headers', ...credentials });
        last.set(owner, text);
      } else known.delete(owner);
      question?.settle();
      return isNews;
    },
    forget(owner) {
      known.delete(owner);
      last.delete(owner);
    },
  };
}
