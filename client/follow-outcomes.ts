/**
 * Outcomes for an app's reactions (D41): each page hears each of them once, also those of a time when no page was
 * open, and one page, one that is looked at, hears what the person should be told. The journal is the truth;
 * broadcasts only say that there is more to read.
 */
import type { JournalPage } from '../shared/answers.ts';
import type { JournalEntry } from '../shared/outcome.ts';
import { type Broadcast, channelName } from '../shared/protocol.ts';
import type { OutboxMethods } from './outbox.ts';
import type { PageRealm } from './page-realm.ts';

export interface OutcomeBatch {
  readonly owner: string;
  /** In their order. */
  readonly entries: readonly JournalEntry[];
  /** Some in front of these are gone, or the database was made anew: read again whatever was kept of the server. */
  readonly truncated: boolean;
}

export interface FollowOptions {
  /** In every page. `pageReactions` says what to do. */
  readonly react: (batch: OutcomeBatch) => void | Promise<void>;
  /** In one page that is visible, whichever that is; what no page has told yet. */
  readonly notice?: ((batch: OutcomeBatch) => void | Promise<void>) | undefined;
  /** The outbox's name, where an origin has several. Default `holdfast`. */
  readonly name?: string | undefined;
  /** Given by tests. */
  readonly realm?: PageRealm | undefined;
}

/** A place in an owner's journal. */
interface Place {
  readonly epoch: string;
  readonly n: number;
}

/** `seen`: some page has reacted up to here. `noticed`: the person has been told up to here. */
type PlaceName = 'seen' | 'noticed';

const GATHER_MS = 50;

/**
 * A page that has never been here begins with what happens from now on; one that comes back, where the last page was.
 * The place is kept when `react` has returned, so what a page was reacting to when it ended comes again.
 */
export function followOutcomes(
  outbox: Pick<OutboxMethods<never>, 'journal' | 'owner'>,
  { react, notice, name = 'holdfast', realm = window }: FollowOptions,
): () => void {
  const end = new AbortController();
  const { signal } = end;
  let owner: string | undefined;
  let place: Place | undefined;
  let work: Promise<void> = Promise.resolve();
  let isWaiting = false;

  const placeKey = (of: string, which: PlaceName): string => JSON.stringify(['holdfast', name, which, of]);
  const readPlace = (of: string, which: PlaceName): Place | undefined => {
    try {
      const found: Partial<Place> | null = JSON.parse(
        realm.localStorage.getItem(placeKey(of, which)) ?? 'null',
      );
      const { epoch, n } = found ?? {};
      return typeof epoch === 'string' && typeof n === 'number' ? { epoch, n } : undefined;
    } catch {
      return undefined;
    }
  };
  const writePlace = (of: string, which: PlaceName, at: Place): void => {
    try {
      realm.localStorage.setItem(placeKey(of, which), JSON.stringify(at));
    } catch {
      // Without storage this page still hears everything once; another one may hear it again.
    }
  };

  /** Hands over what comes after `from`, page by page; answers where that ends. Without `from`: the end itself. */
  const readOn = async (
    of: string,
    from: Place | undefined,
    hand: (batch: OutcomeBatch) => void | Promise<void>,
    reached: (at: Place) => void,
  ): Promise<void> => {
    for (let at = from; !signal.aborted; ) {
      const page: JournalPage = await outbox.journal(at);
      if (of !== outbox.owner()) return;
      const { epoch, entries, truncated, last } = page;
      if (at && (entries.length > 0 || truncated)) await hand({ owner: of, entries, truncated });
      at = { epoch, n: entries.at(-1)?.n ?? last };
      reached(at);
      if (at.n >= last) return;
    }
  };

  const tellPerson = async (of: string): Promise<void> => {
    if (!notice || realm.document.hidden) return;
    const turn = (): Promise<void> =>
      readOn(of, readPlace(of, 'noticed'), notice, (at) => writePlace(of, 'noticed', at));
    const { locks } = realm.navigator;
    await (locks ? locks.request(JSON.stringify(['holdfast-notice', name, of]), turn) : turn());
  };

  const step = async (): Promise<void> => {
    isWaiting = false;
    const now = outbox.owner();
    if (now !== owner) {
      owner = now;
      place = now === undefined ? undefined : readPlace(now, 'seen');
    }
    if (now === undefined || signal.aborted) return;
    await readOn(now, place, react, (at) => {
      place = at;
      writePlace(now, 'seen', at);
    });
    await tellPerson(now);
  };
  /** One step at a time; what comes meanwhile is one more. A step that fails is taken up by the next. */
  const ring = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    realm.setTimeout(() => {
      work = work.then(step).catch(() => undefined);
    }, GATHER_MS);
  };

  const channel = new BroadcastChannel(channelName(name));
  channel.onmessage = ({ data }: MessageEvent<readonly Broadcast[]>) => {
    const isNews = data.some(
      (message) =>
        message.type === 'active' ||
        message.type === 'host' ||
        (message.type === 'change' && message.entries.length > 0),
    );
    if (isNews) ring();
  };
  signal.addEventListener('abort', () => channel.close());
  realm.addEventListener('pageshow', ring, { signal });
  realm.document.addEventListener('visibilitychange', ring, { signal });
  // At once, so that two pages that open together both begin where the last one was.
  work = step().catch(() => undefined);
  return () => end.abort();
}
