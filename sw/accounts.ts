/**
 * Who is signed in (W30, W32). The active owner is remembered in the store, credentials never are. Another owner's
 * rows are neither sent nor shown; they wait until that owner is back, unless a person discards them.
 */
import type { SignedOut, SignOutPolicy } from '../shared/answers.ts';
import { InvalidCommandError, OutboxContentionError } from '../shared/errors.ts';
import { type Key, keyToken } from '../shared/key.ts';
import type { FlushResult, StateCounts, StoppedBy } from '../shared/outcome.ts';
import { keyOf, type Row } from '../shared/row.ts';
import type { Clock, HostLocks, Timers } from './environment.ts';
import { outcomeOf } from './outbox/attempt.ts';
import { findGoneHosts } from './outbox/host-id.ts';
import { type Commit, FACTS, type RowStore } from './outbox/row-store.ts';
import { isInFlight } from './outbox/standing.ts';

export interface Accounts {
  activeOwner(): Promise<string | undefined>;
  /** Resolves when no attempt of the owner who was active before is open any more. @throws InvalidCommandError */
  signIn(owner: string): Promise<void>;
  signOut(owner: string, policy: SignOutPolicy): Promise<SignedOut>;
}

export interface AccountsDeps {
  readonly host: () => string;
  readonly store: RowStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly locks: HostLocks;
  readonly leaseMs: (row: Pick<Row, 'family'>) => number;
  readonly longestLeaseMs: number;
  readonly readCounts: (owner: string) => Promise<StateCounts>;
  readonly flush: (owner: string) => Promise<FlushResult>;
  readonly quiet: (owner: string, by: StoppedBy, graceMs: number) => Promise<void>;
}

/** What is open when the owner changes may still be answered for so long, then it is cut, in ms. */
const GRACE_MS = 2_000;
const LOOK_AGAIN_MS = 250;
const PAGE = 64;
const MAX_ROUNDS = 3;

export function createAccounts(deps: AccountsDeps): Accounts {
  const { store, clock, timers } = deps;

  const activeOwner = async (): Promise<string | undefined> => {
    const owner = await store.readFact(FACTS.activeOwner);
    return typeof owner === 'string' ? owner : undefined;
  };

  /** The fact first: from then on no claim of the old owner commits, on any host (W30). */
  const change = async (from: string | undefined, to: string | undefined): Promise<void> => {
    if (from === to) return;
    await store.writeFacts([{ name: FACTS.activeOwner, value: to }], 'strict');
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

  const discardAll = async (owner: string): Promise<void> => {
    for (;;) {
      const rows = await store.index(owner, { limit: PAGE });
      if (rows.length === 0) break;
      await discardPage(store, rows);
    }
    const facts = [FACTS.heldOwner(owner), FACTS.restOwner(owner), FACTS.paused(owner)];
    await store.writeFacts(
      facts.map((name) => ({ name, value: undefined })),
      'relaxed',
    );
  };

  return {
    activeOwner,
    async signIn(owner) {
      if (typeof owner !== 'string' || owner === '')
        throw new InvalidCommandError('An owner is a string that is not empty', { path: 'owner' });
      await change(await activeOwner(), owner);
    },
    async signOut(owner, policy) {
      const waiting = await deps.readCounts(owner);
      const isActive = (await activeOwner()) === owner;
      const flushed = policy === 'flush' && isActive ? await deps.flush(owner) : undefined;
      if (isActive) await change(owner, undefined);
      if (policy === 'discard') await discardAll(owner);
      return { waiting, ...(flushed && { flushed }) };
    },
  };
}

/** @throws what the store says, or OutboxContentionError, where nothing of the page could be removed. */
async function discardPage(store: RowStore, rows: readonly Row[]): Promise<void> {
  let open = byKey(rows);
  let removed = 0;
  for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round++) {
    const results = await store.commit(open.map(({ rows: ofKey }) => discardCommit(ofKey)));
    removed += results.filter(({ type }) => type === 'committed').length;
    open = open.flatMap(({ key }, place) => {
      const result = results[place];
      return result?.type === 'stale' && result.rows.length > 0 ? { key, rows: result.rows } : [];
    });
  }
  if (removed === 0) throw new OutboxContentionError('Nothing could be discarded', { rows: rows.length });
}

function byKey(rows: readonly Row[]): readonly { readonly key: Key; readonly rows: readonly Row[] }[] {
  const keys = new Map<string, { readonly key: Key; readonly rows: Row[] }>();
  for (const row of rows) {
    const key = keyOf(row);
    const entry = keys.get(keyToken(key)) ?? { key, rows: [] };
    entry.rows.push(row);
    keys.set(keyToken(key), entry);
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
    outcomes: rows.map((row) => outcomeOf(row, { type: 'discarded' })),
    durability: 'relaxed',
  };
}
