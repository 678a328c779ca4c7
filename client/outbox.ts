/**
 * The outbox as an app holds it (W17-W19): families and their methods, what a person may choose, the live view. Puts
 * the page's parts together and listens to what hosts broadcast.
 */
import type {
  Cancelled,
  EditedCopy,
  ExportedOutbox,
  JournalPage,
  JournalPlace,
  SignedOut,
  SignOutPolicy,
} from '../shared/answers.ts';
import { EnqueueUnknownError, SignedOutError } from '../shared/call-errors.ts';
import type { Families, OutboxDefinition } from '../shared/family.ts';
import type { FlushResult, Settled } from '../shared/outcome.ts';
import type { HandCredentials, HostFacts, WorkerApi } from '../shared/protocol.ts';
import type { Explanation } from './add-words.ts';
import { createHandle, type Handle } from './handle.ts';
import type { PageRealm } from './page-realm.ts';
import type { SettledOptions } from './settling.ts';
import { type AllMethods, createFamilyMethods, type Enqueue, type FamilyMethods } from './typed-api.ts';
import { emptySnapshot, type LiveView } from './view-snapshot.ts';
import type { Watch } from './watch.ts';
import type { CallOptions, HostLink } from './worker-link.ts';

export interface OutboxMethods<F extends Families> {
  /** The methods of a family by its name, whatever that is. */
  family<Name extends keyof F & string>(name: Name): FamilyMethods<F[Name]>;
  /** What became of a command, now or after a reload (D42). */
  settled(id: string, options?: SettledOptions): Promise<Settled>;
  /** Sends what waits, past the engine's own waits but not the server's; resolves when that is over. */
  flush(): Promise<FlushResult>;
  /** Sends a blocked row again. `overwrite`: the person's word for a document that a later one has overtaken (C33). */
  retry(id: string, options?: { readonly overwrite?: boolean }): Promise<Handle>;
  /** Sends an edited copy of a refused row, in its place (R34). */
  recover(id: string, edited?: EditedCopy): Promise<Handle>;
  /** Gives up a blocked row; answers what went with it. */
  discard(id: string): Promise<{ readonly removed: readonly string[] }>;
  /** Withdraws a row that the server cannot have; an id not known yet is refused when it comes. */
  cancel(id: string): Promise<Cancelled>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Why this row has not been sent (W19). */
  explain(id: string): Promise<Explanation | undefined>;
  /** Payloads of waiting rows, by row id. */
  bodies(ids: readonly string[]): Promise<readonly { readonly id: string; readonly body: unknown }[]>;
  /** Everything of the owner, for a person who wants a copy. */
  export(): Promise<ExportedOutbox>;
  /** Outcomes after a place in the journal; without one, where it ends. `runReactions` does this for you. */
  journal(after: JournalPlace | undefined): Promise<JournalPage>;
  /**
   * Resolves when no other owner's request is under way any more. Where a cookie is the credential: sign out, change
   * the cookie, then sign in (W30).
   */
  signIn(owner: string): Promise<void>;
  /** Default `keep`. `discard` is the person's word that what waits may be lost (W32). */
  signOut(policy?: SignOutPolicy): Promise<SignedOut>;
  /**
   * Asks the browser to keep this origin's storage when the device runs short, which it may ask the person about: call
   * it at a moment that makes sense to them, after their first change say. Answers what the browser said.
   */
  persist(): Promise<boolean>;
  readonly view: LiveView;
  /** Ends listening. What is stored goes on being sent. */
  close(): void;
}

export type Outbox<F extends Families = Families> = AllMethods<F> & OutboxMethods<F>;

export interface OutboxDeps {
  readonly link: HostLink;
  /** Asks the host who it is and whom it serves. */
  readonly greet: () => Promise<HostFacts>;
  readonly facts: HostFacts;
  readonly realm: PageRealm;
  readonly name: string;
  readonly credentials: HandCredentials | undefined;
}

/** The engine's part of an enqueue's time; the rest is for the way there and back. */
const ENQUEUE_MS = 10_000;
/** Other owners' attempts may have to end first, each within its lease. */
const SIGN_IN_MS = 30_000;
const JOURNAL_PAGE = 500;

/** Answers when the host may take commands of the owner it has. */
export async function createOutbox<F extends Families>(
  definition: OutboxDefinition<F>,
  { link, greet, facts, realm, name, credentials }: OutboxDeps,
): Promise<Outbox<F>> {
  const closing = new AbortController();
  const empty = emptySnapshot(facts);
  let owner: string | undefined;
  /** Whose page this is: anybody's at first. */
  let isMine = (_active: string | undefined): boolean => true;
  let watch: Watch | undefined;
  let loading: Promise<Watch> | undefined;
  /** The database in which the owner was signed in: a lost one forgets that. */
  let { epoch } = facts;

  const own = async <T>(
    use: (api: WorkerApi, owner: string) => Promise<T>,
    options?: CallOptions,
  ): Promise<T> => {
    const mine = owner;
    if (mine === undefined) throw new SignedOutError('Nobody is signed in');
    try {
      return await link.call((api) => use(api, mine), options);
    } catch (error) {
      if (await watch?.noteFailure(error)) return await own(use, options);
      throw error;
    }
  };
  const show = (active: string | undefined): void => {
    const next = isMine(active) ? active : undefined;
    if (next === owner) return;
    owner = next;
    watch?.show(next);
  };
  const load = async (): Promise<Watch> => {
    const { startWatch } = await import('./watch.ts');
    const { signal } = closing;
    watch = startWatch({
      ...{ name, realm, empty, facts, greet, own, signal, credentials, show, signIn: methods.signIn },
      entered: () => epoch,
    });
    watch.show(owner);
    return watch;
  };
  const watching = (): Promise<Watch> => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  /** After a loss of the database this page may hold the only copy there is (S31). */
  const offerSnapshot = async (of: string): Promise<void> => {
    const { offerOf } = await import('./read-snapshot.ts');
    const offer = offerOf(realm, name, of);
    await link.call((api) => api.offerSnapshot(of, offer));
  };
  const settled = async (id: string, options?: SettledOptions): Promise<Settled> =>
    (await watching()).settled(id, options);

  const enqueue: Enqueue = async (command) => {
    const { id } = command;
    // At once: what the caller does to the object afterwards is another matter.
    const body = await clone(command.body);
    const enqueued = await own((api, of) => api.enqueue({ ...command, body, owner: of }, ENQUEUE_MS), {
      unanswered: () => new EnqueueUnknownError('It may have been stored', { id }),
    });
    return createHandle(command, enqueued, settled);
  };
  const methods: OutboxMethods<Families> = {
    family: (family) => createFamilyMethods(family, realm, enqueue),
    settled,
    async flush() {
      const ticket = realm.crypto.randomUUID();
      for (;;) {
        const answer = await own((api, of) => api.flush(of, ticket));
        if (answer.type === 'ended') return answer.result;
      }
    },
    retry: async (id, options = {}) =>
      createHandle({ id }, await own((api, of) => api.retry(of, id, options)), settled),
    async recover(id, edited) {
      const copy = await clone(edited);
      return createHandle({ id }, await own((api, of) => api.recover(of, id, copy)), settled);
    },
    discard: (id) => own((api, of) => api.discard(of, id)),
    cancel: (id) => own((api, of) => api.cancel(of, id)),
    pause: () => own((api, of) => api.pause(of)),
    resume: () => own((api, of) => api.resume(of)),
    async explain(id) {
      const found = await own((api, of) => api.explain(of, id));
      return found && (await import('./add-words.ts')).addWords(found);
    },
    bodies: (ids) => own((api, of) => api.bodies(of, ids)),
    persist: async () => (await watching()).persist(),
    export: () => own((api, of) => api.exportOwner(of)),
    journal: (after) => own((api, of) => api.journal(of, after, after ? JOURNAL_PAGE : 0)),
    async signIn(next) {
      epoch = undefined;
      try {
        const entered = await link.call((api) => api.signIn(next), { deadlineMs: SIGN_IN_MS });
        if (entered.awaitsSnapshot) await offerSnapshot(next);
        epoch = entered.epoch;
      } finally {
        // Also where the outbox cannot be read: then what waits is shown, and the next call tries again (S15).
        isMine = (active) => active === next;
        show(next);
      }
    },
    async signOut(policy = 'keep') {
      const flushed = policy === 'flush' ? await methods.flush() : undefined;
      const answer = await own((api, of) => api.signOut(of, flushed ? 'keep' : policy), {
        deadlineMs: SIGN_IN_MS,
      });
      isMine = () => false;
      show(undefined);
      return { ...answer, flushed };
    },
    view: {
      getSnapshot: () => watch?.view.getSnapshot() ?? empty,
      subscribe(listener) {
        let end = (): void => {
          end = () => undefined;
        };
        const begun = end;
        watching().then(
          ({ view }) => {
            if (end === begun) end = view.subscribe(listener);
          },
          () => undefined,
        );
        return () => end();
      },
    },
    close: () => closing.abort(),
  };

  const { activeOwner, awaitsSnapshot } = facts;
  if (activeOwner && awaitsSnapshot) await offerSnapshot(activeOwner);
  show(activeOwner);
  watching().catch(() => undefined);
  link.call((api) => api.trigger('connect')).catch(() => undefined);
  const families = Object.keys(definition.families).map((family) => [family, methods.family(family)]);
  // The only place where the object and its type are made to meet: both come from the definition.
  return { ...Object.fromEntries(families), ...methods } as Outbox<F>;
}

async function clone<T>(value: T): Promise<T> {
  try {
    return structuredClone(value);
  } catch (cause) {
    const { uncloneableBody } = await import('./uncloneable.ts');
    throw uncloneableBody(value, cause);
  }
}
