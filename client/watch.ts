/**
 * What a page learns without asking: the live view, the ends that callers wait for, the triggers only a page sees, a
 * worker's wish for credentials. A chunk of its own that follows the first one by itself, since nothing here is in
 * the way of the first save.
 */
import type { DrainProgress } from '../shared/answers.ts';
import type { Settled } from '../shared/outcome.ts';
import { type Broadcast, channelName, type HandCredentials, type WorkerApi } from '../shared/protocol.ts';
import { createLiveView } from './live-view.ts';
import type { PageRealm } from './page-realm.ts';
import { listenForTriggers } from './page-triggers.ts';
import { createPageWitness } from './page-witness.ts';
import { createSettling, type SettledOptions } from './settling.ts';
import { unpackOutcome } from './unpack-outcome.ts';
import type { LiveView, ViewSnapshot } from './view-snapshot.ts';

export interface Watch {
  readonly view: LiveView;
  settled(id: string, options?: SettledOptions): Promise<Settled>;
  /** The outbox shows another owner, or nobody. */
  show(owner: string | undefined): void;
  /** A call failed. */
  noteFailure(error: unknown): void;
}

export interface WatchDeps {
  readonly name: string;
  readonly realm: PageRealm;
  readonly empty: ViewSnapshot;
  /** What the host said of the drain when the page connected. */
  readonly progress: DrainProgress | undefined;
  /** Calls the host for the owner who is shown. */
  readonly own: <T>(use: (api: WorkerApi, owner: string) => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
  readonly activeChanged: (owner: string | undefined) => void;
  readonly credentials: HandCredentials | undefined;
}

export function startWatch({
  name,
  realm,
  empty,
  progress,
  own,
  signal,
  activeChanged,
  credentials,
}: WatchDeps): Watch {
  let owner: string | undefined;
  const view = createLiveView(
    empty,
    (after, limit) => own((api, of) => api.rows(of, { after, limit })),
    realm,
  );
  const witness = createPageWitness({ name, realm, own, signal });
  const settling = createSettling((id) => own((api, of) => api.settled(of, id)));
  /** A service to the host: when it fails, the next trigger comes. */
  const quietly = (use: (api: WorkerApi, owner: string) => Promise<unknown>): void => {
    own(use).catch(() => undefined);
  };
  /** Changes were missed. */
  const lookAgain = (): void => {
    settling.askAgain();
    witness.noteAll();
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

  const receive = (message: Broadcast): void => {
    if ('owner' in message && message.owner !== owner) return;
    switch (message.type) {
      case 'change':
        settling.hear(
          [...message.entries, ...message.passing].map((one) => unpackOutcome(one, message.owner)),
        );
        if (view.take(message)) lookAgain();
        else witness.note(message);
        break;
      case 'progress': {
        const { running, done, total, stoppedBy, wakeAt, stuckSince, accepted } = message;
        noteProgress(message);
        if (!running) witness.rewrite();
        view.note({
          progress: { running, done, total },
          storage: message.isFull ? 'full' : 'ok',
          stoppedBy,
          wakeAt,
          stuckSince,
          accepted,
        });
        noteConnection();
        break;
      }
      case 'host':
        // Whatever the one before had not told any more must be read.
        check();
        break;
      case 'triggers':
        view.note({ triggers: message.triggers });
        break;
      case 'active':
        activeChanged(message.active);
        if (message.discarded !== undefined) witness.forget(message.discarded);
        break;
      case 'credentials':
        if (credentials) {
          quietly(async (api, of) => api.giveCredentials(of, await credentials(of, message.refused)));
        }
    }
  };
  const channel = new BroadcastChannel(channelName(name));
  channel.onmessage = ({ data }: MessageEvent<readonly Broadcast[]>) => data.forEach(receive);
  signal.addEventListener('abort', () => channel.close());
  for (const type of ['online', 'offline']) realm.addEventListener(type, noteConnection, { signal });
  noteConnection();

  return {
    view,
    settled: settling.wait,
    show(next) {
      owner = next;
      settling.hold();
      view.show(next);
      witness.show(next);
      if (progress && progress.owner === next) receive({ type: 'progress', ...progress });
    },
    noteFailure(error) {
      if (!(error instanceof Error && 'code' in error)) return;
      if (error.code === 'quota') view.note({ storage: 'full' });
      if (error.code === 'outbox_unavailable') view.note({ storage: 'unavailable' });
    },
  };
}
