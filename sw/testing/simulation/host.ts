/**
 * One simulated host: an engine whose every step at a port is a step of the loop, so that it can be stopped between
 * any two, frozen while it keeps its lock, or left waiting while others go on (T31).
 */
import { CommitUnknownError, QuotaError, StoreTimeoutError } from '../../../shared/errors.ts';
import type { BodyEncryption } from '../../body-encryption.ts';
import { createEngine } from '../../create-engine.ts';
import type { CredentialsOffer } from '../../dispatch/credentials.ts';
import type { FamilyPorts } from '../../dispatch/family-ports.ts';
import type { Engine } from '../../engine.ts';
import type { HostLocks } from '../../environment.ts';
import type { Ledger } from '../../mirror/ledger.ts';
import type { Commit, CommitResult, RowStore } from '../../outbox/row-store.ts';
import { sha256 } from '../../sha256.ts';
import { ledgerSeenBy } from '../memory-ledger.ts';
import type { Loop } from './loop.ts';
import type { Network } from './network.ts';
import type { Random } from './random.ts';
import type { Subject } from './subject.ts';

/** What befalls a transaction: rolled back, landed without a word, no room, or no answer for as long as a store waits. */
export type StoreFault = 'abort' | 'landed' | 'quota' | 'hang' | 'hang_landed' | 'one_of_many';
/** What an app's own function does instead of answering. */
export type AppFault = 'throw' | 'hang';

export interface Weather {
  readonly storeFaults: StoreFault[];
  readFaults: number;
  readonly appFaults: Record<'prepare' | 'resolve' | 'credentials', AppFault[]>;
  isOnline: boolean;
  /** Whether credentials can be had, and which ones the server takes. */
  session: { readonly isOpen: boolean; readonly number: number };
  /** How often an answer comes later than its effect. */
  lateAnswers: number;
  resolver: 'resend' | 'block' | 'drop' | 'body';
}

export interface SimulatedHost {
  readonly name: string;
  readonly engine: Engine;
  readonly release: string;
}

export interface HostDeps {
  readonly loop: Loop;
  readonly network: Network;
  readonly weather: Weather;
  readonly store: RowStore;
  readonly ledger: Ledger;
  readonly locks: HostLocks;
  readonly subject: Subject;
  readonly uuid: () => string;
  /** Chooses whether an answer is late. */
  readonly random: () => Random;
  readonly isGone: () => boolean;
  readonly encryption: BodyEncryption | undefined;
}

/** How long a store waits before it gives a transaction up (S10), in ms. */
const STORE_LIMIT_MS = 8_000;
export const LEASE_MS = 10_000;

export function createHost(
  name: string,
  release: string,
  attemptTimeoutMs: number,
  deps: HostDeps,
): SimulatedHost {
  const { loop, network, weather, subject, isGone } = deps;

  /** One step at a port: the effect now, the answer at once or later. */
  function through<T>(line: string, what: () => string, start: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const hear = (told: () => void): void => {
        if (isGone()) return;
        if (deps.random().chance(weather.lateAnswers))
          loop.add({ who: name, name: () => `${name} hears: ${what()}`, run: told });
        else told();
      };
      loop.add({
        who: name,
        line: `${name} ${line}`,
        name: () => `${name}: ${what()}`,
        run: () => {
          start().then(
            (value) => hear(() => resolve(value)),
            (error) => hear(() => reject(error)),
          );
        },
      });
    });
  }

  async function commit(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    const { store } = deps;
    const fault = weather.storeFaults.shift();
    const late = () => new StoreTimeoutError('simulated: the transaction was aborted');
    const unknown = () => new CommitUnknownError('simulated: nobody knows whether this landed');
    switch (fault) {
      case undefined:
        return store.commit(commits);
      case 'abort':
        throw late();
      case 'quota':
        throw new QuotaError('simulated: no room');
      case 'landed':
        await store.commit(commits);
        throw unknown();
      case 'hang':
      case 'hang_landed':
        if (fault === 'hang_landed') await store.commit(commits);
        await new Promise<void>((resolve) => loop.after(name, STORE_LIMIT_MS, resolve));
        throw fault === 'hang' ? late() : unknown();
      case 'one_of_many': {
        const [, ...rest] = commits;
        if (rest.length === 0) throw late();
        return [{ type: 'failed', error: late() }, ...(await store.commit(rest))];
      }
    }
  }

  const lookingAt = (store: RowStore): RowStore => {
    const read = <T>(what: string, start: () => Promise<T>): Promise<T> =>
      through(
        'store',
        () => what,
        () => {
          if (weather.readFaults === 0) return start();
          weather.readFaults--;
          return Promise.reject(new StoreTimeoutError('simulated: a read did not end'));
        },
      );
    return {
      epoch: () => read('reads the epoch', () => store.epoch()),
      commit: (commits) =>
        through(
          'store',
          () => `commits ${describe(commits)}`,
          () => commit(commits),
        ),
      readKeys: (keys) => read('reads rows by key', () => store.readKeys(keys)),
      findRows: (ids) => read('finds rows', () => store.findRows(ids)),
      findByOrigin: (origins) => read('finds rows by origin', () => store.findByOrigin(origins)),
      findWaiting: (origin) => read('finds what waits', () => store.findWaiting(origin)),
      readLane: (owner, lane, page) => read(`reads lane ${lane}`, () => store.readLane(owner, lane, page)),
      index: (owner, page) => read('reads the index', () => store.index(owner, page)),
      readBodies: (bodyIds) => read('reads bodies', () => store.readBodies(bodyIds)),
      ownerFacts: (owner) => read('reads counts', () => store.ownerFacts(owner)),
      owners: () => read('reads owners', () => store.owners()),
      findEnds: (ids) => read('finds ends', () => store.findEnds(ids)),
      findEndOfOrigin: (origin) => read('finds an end', () => store.findEndOfOrigin(origin)),
      findOutcome: (id) => read('finds an outcome', () => store.findOutcome(id)),
      readJournal: (owner, after, limit) =>
        read('reads the journal', () => store.readJournal(owner, after, limit)),
      trim: (owner, now) => read('trims the journal', () => store.trim(owner, now)),
      readFact: (fact) => read(`reads ${fact.join(' ')}`, () => store.readFact(fact)),
      readFacts: (prefix, limit) => read(`reads ${prefix.join(' ')}`, () => store.readFacts(prefix, limit)),
      writeFacts: (facts, durability) =>
        through(
          'store',
          () => `writes ${facts.map((fact) => fact.name.join(' ')).join(', ')}`,
          () => store.writeFacts(facts, durability),
        ),
      unreadable: (limit, after) => read('reads what is unreadable', () => store.unreadable(limit, after)),
      close: () => store.close(),
    };
  };

  function app<T>(what: keyof Weather['appFaults'], answer: () => Promise<T>): Promise<T> {
    return through(
      'app',
      () => `is asked: ${what}`,
      async () => {
        const fault = weather.appFaults[what].shift();
        if (fault === 'throw') throw new Error('simulated: the app threw');
        return fault === 'hang' ? new Promise<never>(() => undefined) : answer();
      },
    );
  }

  const families = Object.entries(subject.definition.families).map(([family]): [string, FamilyPorts] => {
    const own = subject.ports?.[family];
    return [
      family,
      {
        ...own,
        prepareSuccessor: (input) =>
          app('prepare', async () =>
            own?.prepareSuccessor
              ? own.prepareSuccessor(input)
              : { target: input.receipt.target, expectedRevision: input.receipt.revision },
          ),
        resolveConflict: (conflict) =>
          app('resolve', async () => {
            if (own?.resolveConflict) return own.resolveConflict(conflict);
            const { resolver } = weather;
            if (resolver !== 'body') return { type: resolver };
            return conflict.body === undefined ? { type: 'resend' } : { type: 'body', body: conflict.body };
          }),
        findReceipt: network.findReceipt(name),
        readCurrent: network.readCurrent(name),
      },
    ];
  });

  const offer = (): CredentialsOffer => {
    const { isOpen, number } = weather.session;
    if (!isOpen || network.account === undefined) return { type: 'none' };
    return { type: 'headers', headers: { session: `${number}` }, account: network.account };
  };

  const engine = createEngine(
    {
      store: lookingAt(deps.store),
      clock: loop,
      timers: { after: (ms, callback) => loop.after(name, ms, callback) },
      ids: { uuid: deps.uuid, random: () => 0.5 },
      locks: {
        hold: (host) => deps.locks.hold(host),
        check: (host) =>
          through(
            'locks',
            () => 'asks for a lock',
            () => deps.locks.check(host),
          ),
      },
      digest: { sha256: async (bytes) => sha256(bytes) },
      connection: { online: () => weather.isOnline },
      ledger: ledgerSeenBy(deps.ledger, (start) => through('ledger', () => 'uses the ledger', start)),
    },
    {
      definition: subject.definition,
      sender: network.sender(name),
      credentials: { offer: () => app('credentials', async () => offer()) },
      ports: Object.fromEntries(families),
      release,
      attemptTimeoutMs,
      leaseMs: LEASE_MS,
      encryption: deps.encryption,
      concurrency: 3,
    },
  );
  return { name, engine, release };
}

function describe(commits: readonly Commit[]): string {
  return commits
    .map(({ reason, write, remove }) => {
      const short = (ids: readonly string[]) => ids.map((id) => id.slice(-4)).join(' ');
      const wrote = write.length > 0 ? ` +${short(write.map(({ id }) => id))}` : '';
      return `${reason}${wrote}${remove.length > 0 ? ` -${short(remove)}` : ''}`;
    })
    .join(', ');
}
