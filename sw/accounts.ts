/**
 * Who is signed in (W30, W32). The active owner is remembered in the store, credentials never are. Another owner's
 * rows are neither sent nor shown; they wait until that owner is back, unless a person discards them. That word is noted
 * with the sign-out and stands until the owner is back: a host that is killed leaves nothing half done.
 */
import type { SignedOut, SignOutPolicy } from '../shared/answers.ts';
import { InvalidCommandError, OutboxContentionError, SignedOutError } from '../shared/errors.ts';
import { keyToken } from '../shared/key.ts';
import type { FlushResult, StateCounts, StoppedBy } from '../shared/outcome.ts';
import { keyOf, type Row } from '../shared/row.ts';
import type { Clock, HostLocks, Timers } from './environment.ts';
import { outcomeOf } from './outbox/attempt.ts';
import { findGoneHosts } from './outbox/host-id.ts';
import type { LeaseOf } from './outbox/lease.ts';
import { idNoteOf } from './outbox/plan-acceptance.ts';
import { type Commit, FACTS, type FactWrite, type RowStore } from './outbox/row-store.ts';
import { isInFlight, isNoted } from './outbox/standing.ts';

export interface Accounts {
  activeOwner(): Promise<string | undefined>;
  /** Resolves when no attempt of the owner who was active before is open any more. @throws InvalidCommandError */
  signIn(owner: string): Promise<void>;
  /**
   * Discarding is for the owner who is signed in; a repeat goes on with what was begun.
   * @throws SignedOutError for any other owner: nothing of theirs is touched (W16)
   */
  signOut(owner: string, policy: SignOutPolicy): Promise<SignedOut>;
  /** Owners whose rows were discarded and who have not signed in since. */
  discarded(): Promise<readonly string[]>;
  /** Finishes discarding for hosts that were killed in the middle of it. */
  finishDiscards(): Promise<void>;
}

export interface AccountsDeps {
  readonly host: () => string;
  readonly store: RowStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly locks: HostLocks;
  readonly leaseMs: LeaseOf;
  readonly longestLeaseMs: number;
  readonly readCounts: (owner: string) => Promise<StateCounts>;
  readonly flush: (owner: string) => Promise<FlushResult>;
  readonly quiet: (owner: string, by: StoppedBy, graceMs: number) => Promise<void>;
  /** Clears the host's own witness of an owner. */
  readonly forget: (owner: string) => Promise<void>;
}

/** What is open when the owner changes may still be answered for so long, then it is cut, in ms. */
const GRACE_MS = 2_000;
const LOOK_AGAIN_MS = 250;
const PAGE = 64;
const MAX_ROUNDS = 3;
/** Accounts of one device that were discarded; more than this no start looks for. */
const MOST_DISCARDED = 50;

export function createAccounts(deps: AccountsDeps): Accounts {
  const { store, clock, timers } = deps;

  const activeOwner = async (): Promise<string | undefined> => {
    const owner = await store.readFact(FACTS.activeOwner);
    return typeof owner === 'string' ? owner : undefined;
  };

  const isDiscarded = async (owner: string): Promise<boolean> =>
    (await store.readFact(FACTS.discarded(owner))) !== undefined;

  /** The fact first: from then on no claim of the old owner commits, on any host (W30). */
  const change = async (
    from: string | undefined,
    to: string | undefined,
    notes: readonly FactWrite[] = [],
  ): Promise<void> => {
    if (from === to) return;
    await store.writeFacts([{ name: FACTS.activeOwner, value: to }, ...notes], 'strict');
    if (from === undefined) return;
    await deps.quiet(from, 'owner', GRACE_MS);
    await othersAreQuiet(from);
  };

  /** Attempts of other hosts end by their leases at the latest; a host that is gone is not waited for. */
  const othersAreQuiet = async (owner: string): Promise<void> => {
    for (let waitedMs = 0; waitedMs < deps.longestLeaseMs; waitedMs += LOOK_AGAIN_MS) {
      const { counts } = await store.ownerFacts(owner);
      if (counts.sending === 0) return;
      // A row whose receipt was noted while it was sent stands in the other lane (C11).
      const lanes = (['ready', 'asking'] as const).map((lane) =>
        store.readLane(owner, lane, { limit: PAGE }),
      );
      const rows = (await Promise.all(lanes)).flat();
      const sending = rows.filter(({ state }) => state === 'sending');
      const gone = await findGoneHosts(sending, deps.host(), deps.locks);
      // What this host has still claimed it no longer sends.
      const goneHosts = new Set(gone).add(deps.host());
      const context = { now: clock.now(), leaseMs: deps.leaseMs, goneHosts };
      if (sending.length >= counts.sending && !sending.some((row) => isInFlight(row, context))) return;
      await new Promise<void>((resolve) => timers.after(LOOK_AGAIN_MS, resolve));
    }
  };

  /** Nothing is stored for an owner who is signed out, so what is read before the note is looked at is meant by it. */
  const discardAll = async (owner: string): Promise<void> => {
    for (let failures = 0; ; ) {
      const rows = await store.index(owner, { limit: PAGE });
      if (rows.length === 0 || !(await isDiscarded(owner))) break;
      const results = await store.commit(byKey(rows).map(discardCommit));
      failures = results.some(({ type }) => type === 'committed') ? 0 : failures + 1;
      if (failures >= MAX_ROUNDS)
        throw new OutboxContentionError('Nothing could be discarded', { rows: rows.length });
    }
    const facts = [FACTS.heldOwner(owner), FACTS.restOwner(owner), FACTS.paused(owner)];
    await store.writeFacts(
      facts.map((name) => ({ name, value: undefined })),
      'relaxed',
    );
    // A ledger that cannot be reached now is brought in line by its notes (S22): each row left one.
    await deps.forget(owner).catch(() => undefined);
  };
  const discarded = async (): Promise<readonly string[]> => {
    const notes = await store.readFacts([FACTS.discarded('')[0]], MOST_DISCARDED);
    return notes.map(({ name }) => String(name[1]));
  };

  return {
    activeOwner,
    discarded,
    async finishDiscards() {
      for (const owner of await discarded()) await discardAll(owner);
    },
    async signIn(owner) {
      if (typeof owner !== 'string' || owner === '')
        throw new InvalidCommandError('An owner is a string that is not empty', { path: 'owner' });
      const wasDiscarded = await isDiscarded(owner);
      if (wasDiscarded) await discardAll(owner);
      const note = { name: FACTS.discarded(owner), value: undefined };
      await change(await activeOwner(), owner, wasDiscarded ? [note] : []);
    },
    async signOut(owner, policy) {
      const active = await activeOwner();
      const isActive = active === owner;
      if (!isActive && (policy === 'discard' ? !(await isDiscarded(owner)) : active !== undefined))
        throw new SignedOutError('This owner is not signed in here', { owner });
      const waiting = await deps.readCounts(owner);
      const flushed = policy === 'flush' && isActive ? await deps.flush(owner) : undefined;
      const note = { name: FACTS.discarded(owner), value: { at: clock.now() } };
      if (isActive) await change(owner, undefined, policy === 'discard' ? [note] : []);
      if (policy === 'discard') await discardAll(owner);
      return { waiting, ...(flushed && { flushed }) };
    },
  };
}

function byKey(rows: readonly Row[]): readonly (readonly Row[])[] {
  const keys = new Map<string, Row[]>();
  for (const row of rows) {
    const token = keyToken(keyOf(row));
    const ofKey = keys.get(token) ?? [];
    ofKey.push(row);
    keys.set(token, ofKey);
  }
  return [...keys.values()];
}

function discardCommit(rows: readonly Row[]): Commit {
  const [first] = rows;
  return {
    owner: first?.owner ?? '',
    reason: 'discard_owner',
    keys: first ? [keyOf(first)] : [],
    expected: rows,
    write: [],
    remove: rows.map(({ id }) => id),
    outcomes: rows.filter((row) => !isNoted(row)).map((row) => outcomeOf(row, { type: 'discarded' })),
    // C11: the server has these, and that was told when it was noted.
    ids: rows.filter(isNoted).map(idNoteOf),
    durability: 'relaxed',
  };
}
