/**
 * The property behind the replace table (T33): whatever of a sequence of commands has been sent, lost, applied
 * without an answer or delayed, the server ends up as if every command had been sent, each once, in order.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../shared/errors.ts';
import type { Target } from '../../../shared/key.ts';
import type { Receipt } from '../../../shared/receipt.ts';
import { type CommandKind, keyOf, type Row } from '../../../shared/row.ts';
import { createAcknowledger } from '../../../sw/outbox/acknowledger.ts';
import type { JudgedAnswer } from '../../../sw/outbox/plan-acknowledgement.ts';
import { attemptOf, planClaim } from '../../../sw/outbox/plan-claim.ts';
import { claimContext } from '../../support/claim-context.ts';
import { LEASE_MS, outboxFixture } from '../../support/outbox-fixture.ts';

type Body = Readonly<Record<string, number>>;
interface Resource {
  readonly body: Body | undefined;
  readonly revision: number;
}

/** One resource; `patches`: an update changes the fields it names. */
function apply(state: Resource, kind: CommandKind, body: Body, patches: boolean): Resource {
  const revision = state.revision + 1;
  switch (kind) {
    case 'create':
    case 'put':
      return { body, revision };
    case 'update':
      if (state.body === undefined) return state;
      return { body: patches ? { ...state.body, ...body } : body, revision };
    case 'delete':
    case 'remove':
      return state.body === undefined ? state : { body: undefined, revision };
  }
}

type Fate =
  | 'accepted'
  /** Applied, the answer lost. */
  | 'unanswered'
  /** Not applied; it may still arrive. */
  | 'delayed'
  /** The server says that it was not applied. */
  | 'limited'
  /** Applied, and the host is gone before it hears so. */
  | 'killed';
type Step =
  | { readonly type: 'command'; readonly kind: CommandKind; readonly body: Body }
  | { readonly type: 'send'; readonly fate: Fate }
  | { readonly type: 'arrive' };

interface World {
  readonly family: 'workout' | 'note' | 'plan';
  /** Absent: the sequence begins with a creation. */
  readonly resource: Body | undefined;
  readonly steps: readonly Step[];
}

const FAILURE = { class: 'transient', code: 'lost' } as const;

async function run({ family, resource, steps }: World): Promise<void> {
  const fixture = await outboxFixture();
  const { outbox, store, clock, deps } = fixture;
  const acknowledger = createAcknowledger({ ...deps, host: () => 'h', patienceMs: 20_000 });
  const patches = family === 'note';
  const start: Resource = { body: resource, revision: resource ? 1 : 0 };
  let server = start;
  let reference = start;
  const ledger = new Map<string, Receipt>();
  /** Refused for good, and remembered (D45): a late copy of such a request changes nothing. */
  const refused = new Set<string>();
  const applications: string[] = [];
  const delayed: Row[] = [];
  const onServer: Target = { type: 'id', id: 's1' };
  const aim: Target = resource || family === 'plan' ? onServer : { type: 'pending', origin: 'id-0' };
  let ids = 0;

  async function arrive(row: Row): Promise<Receipt> {
    const known = ledger.get(row.id);
    if (known) return known;
    const body = ((await store.readBodies([row.bodyId ?? '']))[0] ?? {}) as { readonly body?: Body };
    server = apply(
      server,
      row.kind,
      row.bodyId === undefined ? {} : (bodies.get(row.bodyId) ?? body.body ?? {}),
      patches,
    );
    applications.push(row.id);
    const receipt: Receipt = {
      id: row.id,
      requestHash: row.requestHash,
      kind: `${row.family}.${row.kind}`,
      target: 's1',
      revision: Math.max(1, server.revision),
      generation: 1,
      committedAt: 0,
    };
    ledger.set(row.id, receipt);
    return receipt;
  }
  /** A request carries its body with it, whatever becomes of the row. */
  const bodies = new Map<string, Body>();

  async function send(fate: Fate): Promise<boolean> {
    const rows = await fixture.rows();
    const keys = new Map(rows.map((row) => [JSON.stringify(row.target), keyOf(row)]));
    for (const key of keys.values()) {
      const [there = []] = await store.readKeys([key]);
      const plan = planClaim(
        there,
        claimContext({ now: clock.now(), leaseMs: () => LEASE_MS, waits: 'server' }),
      );
      if (plan.type !== 'claim') continue;
      const [result] = await store.commit([plan.commit]);
      const claimed = result?.type === 'committed' ? result.rows[0] : undefined;
      if (!claimed) throw new Error('not claimed');
      const [read] = await store.readBodies([claimed.bodyId ?? '']);
      if (claimed.bodyId !== undefined && read?.type === 'body')
        bodies.set(claimed.bodyId, read.body as Body);
      const attempt = attemptOf(plan, claimed);
      const missing = server.body === undefined && !ledger.has(claimed.id);
      if (
        missing &&
        fate !== 'limited' &&
        fate !== 'delayed' &&
        claimed.kind !== 'create' &&
        claimed.kind !== 'put'
      )
        refused.add(claimed.id);
      let answer: JudgedAnswer;
      if (fate === 'limited') answer = { type: 'transient', failure: FAILURE, applied: 'not_this_attempt' };
      else if (fate === 'delayed') {
        delayed.push(claimed);
        answer = { type: 'transient', failure: FAILURE, applied: 'maybe' };
      } else if (missing && (claimed.kind === 'delete' || claimed.kind === 'remove'))
        answer = { type: 'already_gone' };
      else if (missing && claimed.kind === 'update')
        answer = { type: 'refused', code: 'source_deleted', applied: 'not_this_attempt' };
      else {
        const receipt = await arrive(claimed);
        if (fate === 'killed') {
          await clock.advance(LEASE_MS);
          return true;
        }
        answer =
          fate === 'unanswered'
            ? { type: 'transient', failure: FAILURE, applied: 'maybe' }
            : { type: 'accepted', receipt };
      }
      await acknowledger.acknowledge(attempt, answer);
      return true;
    }
    return false;
  }

  for (const step of steps) {
    if (step.type === 'send') await send(step.fate);
    else if (step.type === 'arrive') {
      const late = delayed.shift();
      if (late && !refused.has(late.id)) await arrive(late);
    } else {
      const isCreate = step.kind === 'create';
      const hasBody = step.kind !== 'delete' && step.kind !== 'remove';
      try {
        await outbox.enqueue({
          id: `id-${ids++}`,
          owner: 'ann',
          family,
          kind: step.kind,
          ...(!isCreate && { target: aim }),
          ...(hasBody && { body: step.body }),
        });
        reference = apply(reference, step.kind, step.body, patches);
      } catch (error) {
        // What the table refuses was never accepted from the person.
        if (!(error instanceof HoldfastError)) throw error;
        expect(['target_deleted', 'no_such_target']).toContain(error.code);
      }
    }
    const open = (await fixture.rows()).filter(({ state, kind }) => state !== 'blocked' && kind !== 'delete');
    // A creation and one intent; elsewhere what is on its way or in doubt, and one behind it.
    expect(open.length).toBeLessThanOrEqual(2);
  }
  for (let round = 0; await send('accepted'); round++) if (round > 50) throw new Error('it never rests');
  for (const late of delayed) if (!refused.has(late.id)) await arrive(late);
  expect(server.body).toEqual(reference.body);
  expect(new Set(applications).size).toBe(applications.length);
  expect((await fixture.rows()).filter(({ state }) => state !== 'blocked')).toEqual([]);
}

const body = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 9 }), { maxKeys: 3 });
const sends = fc.oneof(
  fc.record({
    type: fc.constant('send' as const),
    fate: fc.constantFrom<Fate>('accepted', 'unanswered', 'delayed', 'limited', 'killed'),
  }),
  fc.record({ type: fc.constant('arrive' as const) }),
);
const commands = (...kinds: CommandKind[]) =>
  fc.record({ type: fc.constant('command' as const), kind: fc.constantFrom(...kinds), body });
const sequence = (...kinds: CommandKind[]) =>
  fc.array(fc.oneof({ weight: 3, arbitrary: commands(...kinds) }, { weight: 2, arbitrary: sends }), {
    maxLength: 14,
  });

describe('as if every command had been sent', () => {
  it.each(['workout', 'note'] as const)(
    '[T33, R14, R15, R19, R20, R36] to a record of the family %s',
    async (family) => {
      await fc.assert(
        fc.asyncProperty(body, sequence('update', 'update', 'delete'), (resource, steps) =>
          run({ family, resource, steps }),
        ),
        { numRuns: 60 },
      );
    },
  );

  it.each(['workout', 'note'] as const)(
    '[T33, R16, R17, R23, R25, R27, R29] to a creation of the family %s',
    async (family) => {
      await fc.assert(
        fc.asyncProperty(body, sequence('update', 'update', 'update', 'delete'), (first, steps) =>
          run({
            family,
            resource: undefined,
            steps: [{ type: 'command', kind: 'create', body: first }, ...steps],
          }),
        ),
        { numRuns: 60 },
      );
    },
  );

  it('[T33, R30, R31, R32, R33] to a document', async () => {
    await fc.assert(
      fc.asyncProperty(fc.option(body, { nil: undefined }), sequence('put', 'remove'), (resource, steps) =>
        run({ family: 'plan', resource, steps }),
      ),
      { numRuns: 60 },
    );
  });
});
