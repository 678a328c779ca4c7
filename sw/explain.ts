/** Reads what `explainRow` judges: the row that stands for an id now, its key, and the facts that hold its owner (W19). */
import type { ExplainedRow } from '../shared/answers.ts';
import { keyOf } from '../shared/row.ts';
import { judgeFacts, readSendingFacts } from './dispatch/sending-facts.ts';
import type { DispatchSettings } from './dispatch/settings.ts';
import type { Clock, HostLocks } from './environment.ts';
import { explainRow } from './outbox/explain-row.ts';
import { followId } from './outbox/follow-id.ts';
import { findGoneHosts } from './outbox/host-id.ts';
import { neededOrigins } from './outbox/plan-intent.ts';
import type { RowStore } from './outbox/row-store.ts';

export interface ExplainDeps {
  readonly host: () => string;
  readonly store: RowStore;
  readonly clock: Clock;
  readonly locks: HostLocks;
  readonly settings: DispatchSettings;
}

export function createExplain(
  deps: ExplainDeps,
): (owner: string, id: string) => Promise<ExplainedRow | undefined> {
  const { store, clock, settings } = deps;
  return async (owner, id) => {
    const followed = await followId(store, owner, id);
    if (followed.type !== 'row') return undefined;
    const { row } = followed;
    const [[rows = []], facts, named] = await Promise.all([
      store.readKeys([keyOf(row)]),
      readSendingFacts(store, owner),
      store.findByOrigin(neededOrigins(row)),
    ]);
    const now = clock.now();
    const { retry: policy, release, leaseMs } = settings;
    const gate = judgeFacts(facts, owner, { now, overrides: false, policy });
    return explainRow(row, rows, {
      now,
      host: deps.host(),
      release,
      leaseMs,
      longestWaitMs: policy.believedMs,
      waits: 'all',
      restUntil: gate?.until,
      isKnownFamily: (family) => settings.familyOf(family) !== undefined,
      canAsk: ({ family }) => settings.portsOf(family).findReceipt !== undefined,
      saidNone: new Set(),
      ledgerDays: (family) => settings.familyOf(family)?.ledgerDays,
      goneHosts: await findGoneHosts(rows, deps.host(), deps.locks),
      isActive: facts.activeOwner === owner,
      isPaused: facts.isPaused,
      isSignedOut: facts.held !== undefined,
      named: named.flatMap((found) => found ?? []),
    });
  };
}
