/**
 * A release from before there were claims (C3, C49): it marks a row as being sent and sends it, keeps fields it does
 * not know, and removes its own row when the server has accepted it. It respects what is in flight, and nothing else.
 */

import { wireKindOf } from '../../../shared/family.ts';
import { keyToken } from '../../../shared/key.ts';
import { isIntent, keyOf, type Row } from '../../../shared/row.ts';
import type { Commit } from '../../outbox/row-store.ts';
import { isInFlight, isNoted, isUnproven } from '../../outbox/standing.ts';
import { LEASE_MS } from './host.ts';
import type { World } from './world.ts';

let names = 0;

export function sendAsOlderRelease(world: World, of: number, ends: 'answers' | 'dies'): void {
  const { loop, truth, network, weather } = world;
  const { active } = truth;
  const rows = [...truth.rows.values()].filter(({ owner }) => owner === active);
  const context = { now: loop.now(), leaseMs: () => LEASE_MS };
  const beside = (row: Row) => rows.filter((other) => keyToken(keyOf(other)) === keyToken(keyOf(row)));
  const sendable = rows.filter(
    (row) =>
      row.state === 'queued' &&
      !isIntent(row) &&
      !isNoted(row) &&
      !isUnproven(row) &&
      beside(row).every(
        (other) => !isInFlight(other, context) && (other.seq >= row.seq || other.state === 'blocked'),
      ),
  );
  const row = sendable[of % Math.max(1, sendable.length)];
  if (!row) return;
  const who = `older${++names}`;
  const base = (expected: readonly Row[], current: Row): Commit => ({
    owner: row.owner,
    reason: 'acknowledge',
    keys: [keyOf(row)],
    expected,
    write: [{ ...current }],
    remove: [],
    outcomes: [],
    durability: 'relaxed',
  });
  const step = (what: string, run: () => Promise<void>): void =>
    loop.add({ who: '', line: who, name: () => `${who} ${what} ${row.id.slice(-4)}`, run: () => void run() });

  step('marks', async () => {
    // That it touched a row shows by when it did (R7): never at the very instant of an answer to somebody else.
    loop.pass(1);
    const { era, store, watched } = world;
    const expected = beside(row);
    const sentAt = loop.now();
    const write = { ...row, state: 'sending', sentAt, writtenByOlder: who } as const;
    const [marked] = await watched.commit([{ ...base(expected, row), write: [write], durability: 'strict' }]);
    if (marked?.type !== 'committed') return;
    const body = truth.bodyOf(row);
    step('sends', async () => {
      // It went with the power, or with the database.
      if (world.era !== era) return;
      const { id, requestHash, owner, family, kind, target, expectedRevision, sourceRef } = row;
      const answered = network.send(
        who,
        {
          id,
          requestHash,
          owner,
          family,
          kind,
          wireKind: wireKindOf(family, kind),
          target,
          expectedRevision,
          sourceRef,
          body,
          headers: { session: `${weather.session.number}` },
          attempt: 1,
        },
        new AbortController().signal,
      );
      if (ends === 'dies') return;
      const answer = await answered;
      step('answers for', async () => {
        if (world.era !== era) return;
        const [now = []] = await store.readKeys([keyOf(row)]);
        const own = now.find(
          (other) => other.id === id && other.state === 'sending' && other.sentAt === sentAt,
        );
        if (!own) return;
        const isDone = answer.type === 'response' && answer.ok && world.server.receipt(id) !== undefined;
        const commit = base(now, own);
        if (isDone) {
          const outcome = { type: 'committed', receipt: world.server.receipt(id), row: own } as const;
          const { receipt } = outcome;
          if (!receipt) return;
          await watched.commit([
            {
              ...commit,
              write: [],
              remove: [id],
              outcomes: [{ outcome: { ...outcome, receipt }, requestHash }],
            },
          ]);
        } else {
          const deferred = { ...own, state: 'queued', sentAt: undefined, deferredAt: loop.now() } as const;
          await watched.commit([{ ...commit, write: [deferred] }]);
        }
      });
    });
  });
}
