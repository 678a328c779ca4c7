/**
 * Lets a page react to what became of changes (D41, D42): what is about data in every page, what is said to the person
 * in one page of the browser. Reads the journal on from where this browser was last told something, so that what ended
 * while no page was open is reacted to when one opens.
 */
import type { JournalPlace as Place } from '../shared/answers.ts';
import type { JournalEntry, Outcome } from '../shared/outcome.ts';
import type { OutboxMethods } from './outbox.ts';
import { type PageStep, pageReactions } from './page-reactions.ts';
import type { PageRealm } from './page-realm.ts';

/** Said to the person, each once. */
export type PersonStep = Extract<PageStep, { readonly type: 'announce' | 'notice' }>;
export type DataStep = Exclude<PageStep, PersonStep>;

export interface ReactionOptions {
  /** Carries out what is about data, in every page; one batch is awaited before the next comes. */
  readonly apply: (steps: readonly DataStep[], outcomes: readonly Outcome[]) => unknown;
  /** Outcomes are gone that this page has not heard (D41): read again whatever is shown. */
  readonly readAgain: () => unknown;
  /** Tells the person, in one page of the browser, once per drain: the page they look at, where there is one. */
  readonly tell: (step: PersonStep) => unknown;
  /** The outbox's name, where it has one of its own. */
  readonly name?: string | undefined;
  /** Given by tests. */
  readonly realm?:
    | Pick<PageRealm, 'document' | 'navigator' | 'localStorage' | 'Date' | 'setTimeout'>
    | undefined;
}

/** While a drain runs its outcomes are read so often; at its end all of them. */
const READ_EVERY_MS = 250;
/** A page that nobody sees leaves it to one that is seen. */
const HIDDEN_MS = 1_000;

/** The returned function ends it. What `apply`, `readAgain` or `tell` throws is reported as any uncaught error is. */
export function runReactions(
  outbox: Pick<OutboxMethods<never>, 'journal' | 'view'>,
  { apply, readAgain, tell, name = 'holdfast', realm = window }: ReactionOptions,
): () => void {
  const { view, journal } = outbox;
  let owner: string | undefined;
  let place: Place | undefined;
  /** What the person has not been told, as far as this page knows. */
  let untold: JournalEntry[] = [];
  let isReading = false;
  let isBehind = false;
  let hasEnded = false;
  let lastReadAt = Number.NEGATIVE_INFINITY;

  const placeName = (of: string): string => JSON.stringify(['holdfast', name, 'told', of]);
  const carryOut = async (work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // The app's mistake is the app's to see; what comes after goes on.
      realm.setTimeout(() => {
        throw error;
      }, 0);
    }
  };

  /** Under a lock, so that of several pages one finds it untold. */
  const tellPerson = async (of: string, upTo: Place, entries: readonly JournalEntry[]): Promise<void> => {
    const key = placeName(of);
    if (isPast(readPlace(realm, key), upTo)) return;
    if (realm.document.hidden) await new Promise<void>((resolve) => realm.setTimeout(resolve, HIDDEN_MS));
    const tellOnce = async (): Promise<void> => {
      const told = readPlace(realm, key);
      if (hasEnded || isPast(told, upTo)) return;
      const since = told?.epoch === upTo.epoch ? told.n : 0;
      const fresh = entries.filter(({ n }) => n > since).map(({ outcome }) => outcome);
      writePlace(realm, key, upTo);
      for (const step of pageReactions(fresh, { owner: of }).filter(isForPerson))
        await carryOut(() => tell(step));
    };
    const { locks } = realm.navigator;
    await (locks ? locks.request(key, tellOnce) : tellOnce());
  };

  const readOn = async (mine: string): Promise<void> => {
    if (owner !== mine) {
      owner = mine;
      place = readPlace(realm, placeName(mine));
      untold = [];
    }
    lastReadAt = realm.Date.now();
    const { epoch, entries, truncated, last, lastAt } = await journal(place);
    if (hasEnded || view.getSnapshot().owner !== mine) return;
    const isFirst = place === undefined;
    const { n, at } = entries.at(-1) ?? { n: last, at: lastAt };
    place = { epoch, n, at };
    isBehind ||= place.n < last;
    if (isFirst) {
      // This browser begins here, unless another page of it has begun meanwhile.
      if (!readPlace(realm, placeName(mine))) writePlace(realm, placeName(mine), place);
      return;
    }
    if (truncated) await carryOut(readAgain);
    const outcomes = entries.map(({ outcome }) => outcome);
    const steps = pageReactions(outcomes, { owner: mine });
    const data = steps.filter((step) => !isForPerson(step));
    if (data.length > 0) await carryOut(() => apply(data, outcomes));
    for (const entry of entries)
      if (pageReactions([entry.outcome], { owner: mine }).some(isForPerson)) untold.push(entry);
  };

  const readAll = async (): Promise<void> => {
    do {
      isBehind = false;
      const { owner: mine } = view.getSnapshot();
      if (mine === undefined) return;
      await readOn(mine);
    } while (isBehind && !hasEnded);
    const { owner: mine, progress } = view.getSnapshot();
    if (progress.running || !place || mine !== owner || mine === undefined) return;
    const entries = untold;
    untold = [];
    tellPerson(mine, place, entries).catch(() => undefined);
  };

  const check = (): void => {
    if (hasEnded) return;
    const isSoon = realm.Date.now() - lastReadAt < READ_EVERY_MS;
    if (view.getSnapshot().progress.running && isSoon) return;
    isBehind = true;
    if (isReading) return;
    isReading = true;
    readAll()
      // The host did not answer; the next change of the outbox asks again.
      .catch(() => undefined)
      .finally(() => {
        isReading = false;
      });
  };
  const end = view.subscribe(check);
  check();
  return () => {
    hasEnded = true;
    end();
  };
}

function isForPerson(step: PageStep): step is PersonStep {
  return step.type === 'announce' || step.type === 'notice';
}

function isPast(told: Place | undefined, place: Place): boolean {
  return told !== undefined && told.epoch === place.epoch && told.n >= place.n;
}

type Stored = Pick<PageRealm, 'localStorage'>;

/** Where storage is forbidden each page begins where the journal ends, and tells for itself. */
function readPlace(realm: Stored, key: string): Place | undefined {
  try {
    const { epoch, n, at } = JSON.parse(realm.localStorage.getItem(key) ?? '{}') as Partial<Place>;
    return typeof epoch === 'string' && typeof n === 'number' ? { epoch, n, at } : undefined;
  } catch {
    return undefined;
  }
}

function writePlace(realm: Stored, key: string, { epoch, n, at }: Place): void {
  try {
    realm.localStorage.setItem(key, JSON.stringify({ epoch, n, at }));
  } catch {
    // Full or forbidden: at worst something is told twice.
  }
}
