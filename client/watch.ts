/**
 * What a page learns without asking: the live view, the ends that callers wait for, the triggers only a page sees, a
 * worker's wish for credentials. A chunk of its own that follows the first one by itself, since nothing here is in
 * the way of the first save.
 */
import { SignedOutError } from '../shared/call-errors.ts';
import { isUnreadable } from '../shared/is-unreadable.ts';
import type { Settled } from '../shared/outcome.ts';
import {
  type Broadcast,
  channelName,
  type HandCredentials,
  type HostFacts,
  type ViewPage,
  type WorkerApi,
} from '../shared/protocol.ts';
import { createLiveView } from './live-view.ts';
import type { PageRealm } from './page-realm.ts';
import { listenForTriggers } from './page-triggers.ts';
import { createPageWitness } from './page-witness.ts';
import { snapshotName } from './read-snapshot.ts';
import { createSettling, type SettledOptions } from './settling.ts';
import { unpackOutcome } from './unpack-outcome.ts';
import type { LiveView, ViewSnapshot } from './view-snapshot.ts';
import { createStorageWatch } from './watch-storage.ts';

export interface Watch {
  readonly view: LiveView;
  settled(id: string, options?: SettledOptions): Promise<Settled>;
  /** The outbox shows another owner, or nobody. */
  show(owner: string | undefined): void;
  /** A call failed. Answers whether it is worth repeating. */
  noteFailure(error: unknown): Promise<boolean>;
  persist(): Promise<boolean>;
}

export interface WatchDeps {
  readonly name: string;
  readonly realm: PageRealm;
  readonly empty: ViewSnapshot;
  /** What the host said when the page connected. */
  readonly facts: Pick<HostFacts, 'progress' | 'discarded'>;
  readonly greet: () => Promise<HostFacts>;
  readonly signIn: (owner: string) => Promise<void>;
  /** The database in which the owner was signed in; `undefined` where that could not be done. */
  readonly entered: () => string | undefined;
  /** Calls the host for the owner who is shown. */
  readonly own: <T>(use: (api: WorkerApi, owner: string) => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
  readonly show: (owner: string | undefined) => void;
  readonly credentials: HandCredentials | undefined;
}

const ASK_AGAIN_MS = 5_000;

export function startWatch({
  name,
  realm,
  empty,
  facts: { progress, discarded },
  greet,
  signIn,
  entered,
  own,
  signal,
  show: activeChanged,
  credentials,
}: WatchDeps): Watch {
  let owner: string | undefined;
  /** The database that was read last. */
  let lastRead: string | undefined;
  let reentering: Promise<boolean> | undefined;

  const readPage = async (after: number | undefined, limit: number): Promise<ViewPage> => {
    try {
      const page = await own((api, of) => api.rows(of, { after, limit }));
      storage.noteRows(page.isReadOnly ? 'read_only' : 'ok');
      if (!page.isReadOnly) lastRead = page.epoch;
      return page;
    } catch (error) {
      const page = isUnreadable(error) && (await readOwnSnapshot());
      if (!page) throw error;
      storage.noteRows('read_only');
      return page;
    }
  };
  /** Not even the ledger answers: this page's own witness is left (S15). */
  const readOwnSnapshot = async (): Promise<ViewPage | undefined> => {
    if (owner === undefined) return undefined;
    const { readSnapshotRows } = await import('./snapshot-rows.ts');
    const items = { getItem: (key: string) => realm.localStorage.getItem(key) };
    return readSnapshotRows(items, snapshotName(name, owner));
  };
  const view = createLiveView(empty, readPage, realm);
  const storage = createStorageWatch({
    realm,
    own,
    current: () => view.getSnapshot().storage,
    changed: (now) => view.note({ storage: now }),
  });
  /**
   * The database was made anew under this page, or could not be read when it signed in: then nobody is signed in there.
   * Where it is the same one, somebody signed out.
   */
  const reenter = async (): Promise<boolean> => {
    const mine = owner;
    const { activeOwner, epoch, discarded } = await greet();
    forget(discarded);
    if (mine === undefined || mine !== owner) return false;
    if (activeOwner !== undefined || (epoch && (epoch === entered() || epoch === lastRead))) {
      // The word about it went astray: this page was frozen, or the host ended before it could say so.
      activeChanged(activeOwner);
      return false;
    }
    if (epoch === undefined) return false;
    await signIn(mine);
    check();
    return true;
  };
  const witness = createPageWitness({ name, realm, own, signal });
  /** Whoever it is: this page may be the first one to hear of it. */
  const forget = (owners: readonly string[] = []): void => owners.forEach(witness.forget);
  const settling = createSettling(
    (id) => own((api, of) => api.settled(of, id)),
    (run) => realm.setTimeout(() => signal.aborted || run(), ASK_AGAIN_MS),
  );
  /** A service to the host: when it fails, the next trigger comes. */
  const quietly = (use: (api: WorkerApi, owner: string) => Promise<unknown>): void => {
    own(use).catch(() => undefined);
  };
  /** Changes were missed. */
  const lookAgain = (): void => {
    settling.askAgain();
    witness.noteAll();
    storage.noteLeft();
  };
  const check = (): void => {
    view.check().then(
      (isMissed) => isMissed && lookAgain(),
      () => undefined,
    );
  };
  const noteConnection = (): void => {
    const isOnline = realm.navigator.onLine && view.getSnapshot().stoppedBy !== 'network';
    view.note({ connection: isOnline ? 'online' : 'offline' });
  };
  const noteProgress = listenForTriggers(realm, signal, (cause) => {
    quietly((api) => api.trigger(cause));
    // This page may have been frozen, or its host gone without a word.
    if (cause !== 'timer') check();
  });

  /** What a host said of them before this page listened. */
  const askTriggers = (): void => {
    const { sync } = view.getSnapshot().triggers;
    if (sync === 'missing' || sync === 'proven') return;
    greet().then(
      ({ triggers }) => view.note({ triggers }),
      () => undefined,
    );
  };

  const receive = (message: Broadcast): void => {
    if ('owner' in message && message.owner !== owner) return;
    switch (message.type) {
      case 'change':
        settling.hear(
          [...message.entries, ...message.passing].map((one) => unpackOutcome(one, message.owner)),
        );
        lastRead = message.epoch;
        if (message.removed.length + message.entries.length > 0) storage.noteLeft();
        if (view.take(message)) lookAgain();
        else witness.note(message);
        break;
      case 'progress': {
        const { running, done, total, stoppedBy, wakeAt, stuckSince, accepted } = message;
        noteProgress(message);
        if (!running) witness.flushed();
        if (!running && stoppedBy === 'auth') settling.hold(true);
        view.note({
          progress: { running, done, total },
          stoppedBy,
          wakeAt,
          stuckSince,
          accepted,
        });
        storage.noteFull(message.isFull === true);
        if (!running) storage.look();
        noteConnection();
        break;
      }
      case 'host':
        // Whatever the one before had not told any more must be read.
        check();
        storage.look();
        askTriggers();
        break;
      case 'storage':
        storage.look();
        break;
      case 'triggers':
        view.note({ triggers: message.triggers });
        break;
      case 'active':
        activeChanged(message.active);
        if (message.discarded !== undefined) forget([message.discarded]);
        break;
      case 'credentials':
        if (credentials) {
          quietly(async (api, of) => api.giveCredentials(of, await credentials(of, message.refused)));
        }
    }
  };
  const channel = new BroadcastChannel(channelName(name));
  channel.onmessage = ({ data }: MessageEvent<readonly Broadcast[]>) => {
    try {
      data.forEach(receive);
    } catch {
      // None of ours, or half of one (W16): what it left behind is read anew.
      check();
    }
  };
  signal.addEventListener('abort', () => channel.close());
  for (const type of ['online', 'offline']) realm.addEventListener(type, noteConnection, { signal });
  noteConnection();
  askTriggers();
  forget(discarded);

  return {
    view,
    settled: settling.wait,
    show(next) {
      owner = next;
      settling.hold();
      view.show(next);
      witness.show(next);
      if (next !== undefined) storage.look();
      if (progress && progress.owner === next) receive({ type: 'progress', ...progress });
    },
    async noteFailure(error) {
      storage.noteFailure(error);
      if (!(error instanceof SignedOutError)) return false;
      reentering ??= reenter()
        .catch(() => false)
        .finally(() => {
          reentering = undefined;
        });
      return await reentering;
    },
    persist: storage.persist,
  };
}
