/**
 * What pages may ask of this host, over its engine (W16, W30). Reads and choices are for the owner who is signed in
 * and for no other; an enqueue is judged by the engine, in the same transaction that would store it.
 */
import type { FlushCause, JournalPlace } from '../../shared/answers.ts';
import { InvalidCommandError, SignedOutError } from '../../shared/errors.ts';
import { isUnreadable } from '../../shared/is-unreadable.ts';
import type { FlushResult } from '../../shared/outcome.ts';
import type { FlushAnswer, HostFacts, WorkerApi } from '../../shared/protocol.ts';
import type { SnapshotOffer } from '../../shared/snapshot.ts';
import { toViewRow } from '../../shared/view-row.ts';
import type { Engine } from '../engine.ts';
import type { Clock, Timers } from '../environment.ts';
import type { PageCredentials } from './page-credentials.ts';

/** What pages hand over, where this host asks them (W31). */
export type HandedOver = Pick<PageCredentials, 'give' | 'forget'>;

export const NOTHING_HANDED_OVER: HandedOver = { give: () => false, forget: () => undefined };

export interface WorkerApiDeps {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly facts: () => Promise<Omit<HostFacts, 'activeOwner' | 'awaitsSnapshot' | 'progress' | 'discarded'>>;
  /** Flushes the active owner and keeps the host alive for it. */
  readonly ring: (cause: FlushCause) => Promise<FlushResult | undefined>;
  /** The same for a trigger nobody waits for; never rejects. */
  readonly start: (cause: FlushCause) => Promise<void>;
  /** Tells pages that another owner is active now, or that an owner's rows were discarded. */
  readonly ownerChanged: (active: string | undefined, discarded?: string) => void;
  readonly credentials: HandedOver;
  /** Commands come by message, so that what they hold is nobody else's. */
  readonly areCopies: boolean;
}

/** A call is answered within this, so that a page's deadline means something; a longer flush is asked again. */
const LONGEST_WAIT_MS = 10_000;
const LARGEST_PAGE = 1_000;
/** Of everything but the body, whose size the engine judges by its family (R46). */
const MAX_COMMAND_LENGTH = 65_536;

export function createWorkerApi(deps: WorkerApiDeps): WorkerApi {
  const { engine, clock, timers, ring, start } = deps;
  const flushes = new Map<string, Promise<FlushAnswer>>();

  const own =
    <A extends unknown[], R>(use: (owner: string, ...rest: A) => Promise<R>) =>
    async (owner: string, ...rest: A): Promise<R> => {
      if (typeof owner !== 'string' || owner !== (await engine.activeOwner())) {
        throw new SignedOutError('This owner is not signed in here', { owner });
      }
      return use(owner, ...rest);
    };
  /** Rows may leave now that could not before. */
  const thenStart =
    <A extends unknown[], R>(cause: FlushCause, use: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      const answer = await use(...args);
      void start(cause);
      return answer;
    };

  const startFlush = (owner: string, name: string, hasTicket: boolean): Promise<FlushAnswer> => {
    const flush = ring('flush')
      .then((result): FlushAnswer => {
        // Another one may have signed in on the way.
        if (result?.owner !== owner) throw new SignedOutError('This owner is not signed in here', { owner });
        return { type: 'ended', result };
      })
      .finally(() => {
        // It may end while the page that asked for it is not asking; an older page's next call is another flush.
        if (hasTicket) timers.after(LONGEST_WAIT_MS, () => flushes.delete(name));
        else flushes.delete(name);
      });
    flushes.set(name, flush);
    flush.catch(() => undefined);
    return flush;
  };

  return {
    async hello() {
      const facts = await deps.facts();
      try {
        const [activeOwner, epoch, discarded] = await Promise.all([
          engine.activeOwner(),
          engine.epoch(),
          engine.discarded(),
        ]);
        const awaitsSnapshot = activeOwner !== undefined && (await engine.awaitsSnapshot(activeOwner));
        const progress = activeOwner === undefined ? undefined : engine.progress(activeOwner);
        return { ...facts, activeOwner, awaitsSnapshot, epoch, progress, discarded };
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        return { ...facts, activeOwner: undefined, awaitsSnapshot: false };
      }
    },
    signIn: thenStart('sign_in', async (owner) => {
      const before = await engine.activeOwner();
      await engine.signIn(owner);
      if (before !== owner) {
        if (before !== undefined) deps.credentials.forget(before);
        deps.ownerChanged(owner);
      }
      const [awaitsSnapshot, epoch] = await Promise.all([engine.awaitsSnapshot(owner), engine.epoch()]);
      return { awaitsSnapshot, epoch };
    }),
    async signOut(owner, policy) {
      const answer = await engine.signOut(owner, policy);
      // W31: what this account's pages handed over goes with it.
      deps.credentials.forget(owner);
      deps.ownerChanged(await engine.activeOwner(), policy === 'discard' ? owner : undefined);
      return answer;
    },
    enqueue: thenStart('enqueue', async (command, deadlineMs) => {
      if (!isSmall({ ...command, body: undefined })) {
        throw new InvalidCommandError('The command is too large beside its body', {
          limit: MAX_COMMAND_LENGTH,
        });
      }
      return engine.enqueue(command, { deadlineAt: clock.now() + deadlineMs, isOwn: deps.areCopies });
    }),
    cancel: own((owner, id: string) => engine.cancel(owner, id)),
    discard: own((owner, id: string) => engine.discard(owner, id)),
    retry: thenStart(
      'person',
      own((owner, id: string, options: { readonly overwrite?: boolean }) => engine.retry(owner, id, options)),
    ),
    recover: thenStart(
      'person',
      own((owner, id: string, edited: { readonly body: unknown } | undefined) =>
        engine.recover(owner, id, edited),
      ),
    ),
    flush: own((owner, ticket?: string) => {
      const name = JSON.stringify([owner, ticket]);
      const flush = flushes.get(name) ?? startFlush(owner, name, ticket !== undefined);
      return new Promise((resolve, reject) => {
        const cancel = timers.after(LONGEST_WAIT_MS, () => resolve({ type: 'running' }));
        flush.then(resolve, reject).finally(cancel);
      });
    }),
    async trigger(cause) {
      void start(cause);
    },
    pause: own((owner) => engine.pause(owner)),
    resume: thenStart(
      'person',
      own((owner) => engine.resume(owner)),
    ),
    async rows(owner, { after, limit }) {
      const page = { after, limit: Math.min(limit, LARGEST_PAGE) };
      try {
        const found = await own((mine) => engine.rows(mine, page))(owner);
        return { ...found, rows: found.rows.map(toViewRow) };
      } catch (error) {
        // Where the outbox cannot be read nobody knows who is signed in, and the page's own word must do (S15).
        const found = isUnreadable(error) ? await engine.witnessRows(owner, page) : undefined;
        if (found === undefined) throw error;
        const { rows, counts } = found;
        return { rows: rows.map(toViewRow), counts, generation: 0, epoch: 'read_only', isReadOnly: true };
      }
    },
    storage: async () => engine.storage(),
    bodies: own((owner, ids: readonly string[]) => engine.bodies(owner, ids.slice(0, LARGEST_PAGE))),
    journal: own((owner, after: JournalPlace | undefined, limit: number) =>
      engine.journal(owner, after, Math.min(limit, LARGEST_PAGE)),
    ),
    settled: own((owner, id: string) => engine.settled(owner, id)),
    explain: own((owner, id: string) => engine.explain(owner, id)),
    conflicts: own((owner) => engine.conflicts(owner)),
    exportOwner: own((owner) => engine.exportOwner(owner)),
    offerSnapshot: thenStart(
      'connect',
      own((owner, offer: SnapshotOffer) => engine.offerSnapshot(owner, offer)),
    ),
    readSnapshot: own((owner, ids: readonly string[] | undefined) => engine.readSnapshot(owner, ids)),
    async giveCredentials(owner, credentials) {
      // A late answer, of an account that has signed out: a token nobody would forget again.
      if (owner !== (await engine.activeOwner())) return;
      if (deps.credentials.give(owner, credentials)) void start('sign_in');
    },
  };
}

function isSmall(value: unknown): boolean {
  try {
    return JSON.stringify(value).length <= MAX_COMMAND_LENGTH;
  } catch {
    // A BigInt, or something that contains itself: no command that anybody could have meant.
    return false;
  }
}
