/**
 * Headers that pages hand over (W31). They live in this object only: never stored, logged, mirrored or exported, and
 * gone with the worker, which then asks the pages that are open.
 */
import type { HandedCredentials } from '../../shared/protocol.ts';
import type { Credentials, CredentialsOffer } from '../dispatch/credentials.ts';
import type { Timers } from '../environment.ts';

export interface PageCredentials extends Credentials {
  /**
   * A page's answer, or its own initiative; `undefined`: it has none, which only counts where no other page has some.
   * Answers whether rows may leave now that
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
/** For how long a page that has some may still contradict one that has none. */
const DISSENT_MS = 500;
/** A worker that lives through more new headers than this may try an old one again. */
const MOST_SEEN = 50;

export function createPageCredentials({ after, hasPages, ask }: PageCredentialsDeps): PageCredentials {
  const known = new Map<string, CredentialsOffer>();
  /** What was given so far, refused or not, as text: two pages with different old ones would be news to each other for ever. */
  const seen = new Map<string, Set<string>>();
  const asking = new Map<
    string,
    { readonly offer: Promise<CredentialsOffer>; readonly settle: () => void; readonly doubt: () => void }
  >();

  const askPages = (owner: string, refused: boolean): Promise<CredentialsOffer> => {
    const current = asking.get(owner);
    if (current) return current.offer;
    let settle = (): void => undefined;
    let cancelDissent = (): void => undefined;
    const offer = new Promise<CredentialsOffer>((resolve, reject) => {
      const cancel = after(PATIENCE_MS, () => {
        asking.delete(owner);
        reject(new Error('No page answered when it was asked for credentials'));
      });
      settle = () => {
        cancel();
        cancelDissent();
        asking.delete(owner);
        resolve(known.get(owner) ?? { type: 'none' });
      };
    });
    let isDoubted = false;
    const doubt = (): void => {
      if (!isDoubted) cancelDissent = after(DISSENT_MS, settle);
      isDoubted = true;
    };
    asking.set(owner, { offer, settle, doubt });
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
      const question = asking.get(owner);
      if (!credentials) {
        question?.doubt();
        return false;
      }
      const text = JSON.stringify(credentials);
      const texts = seen.get(owner) ?? new Set();
      const isNews = !question && !texts.has(text);
      if (texts.size >= MOST_SEEN) texts.clear();
      seen.set(owner, texts.add(text));
      known.set(owner, { type: 'headers', ...credentials });
      question?.settle();
      return isNews;
    },
    forget(owner) {
      known.delete(owner);
      seen.delete(owner);
    },
  };
}
