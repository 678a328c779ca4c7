/**
 * A world small enough to be searched whole (T32): a device with one key and two hosts, a server with a ledger,
 * a wire that loses one message, one crash. The planners and the store's judge are the real ones; everything
 * else is data, so that a state can be copied, compared and counted.
 */
import { assert, unreachable } from '../../shared/assert.ts';
import { keyToken } from '../../shared/key.ts';
import type { IdEntry, OutcomeType } from '../../shared/outcome.ts';
import type { Receipt } from '../../shared/receipt.ts';
import { type CommandKind, keyOf, type Row } from '../../shared/row.ts';
import type { Attempt } from '../../sw/outbox/attempt.ts';
import type { Material, Needs, NewIdentity, Preparation } from '../../sw/outbox/material.ts';
import {
  type AcknowledgementPlan,
  type JudgedAnswer,
  planAcknowledgement,
  planSettle,
} from '../../sw/outbox/plan-acknowledgement.ts';
import { planClaim } from '../../sw/outbox/plan-claim.ts';
import { planCommand } from '../../sw/outbox/plan-command.ts';
import { planResend } from '../../sw/outbox/plan-resend.ts';
import type { Commit, CommitResult, RowDraft } from '../../sw/outbox/row-store.ts';
import { judge } from '../../sw/storage/judge.ts';
import { claimContext, LEASE_MS } from './claim-context.ts';

export interface SmallCommand {
  readonly id: string;
  readonly kind: CommandKind;
  readonly target: Row['target'];
  readonly expectedRevision?: number;
}

export interface Scenario {
  readonly name: string;
  /** Stored when the world begins. */
  readonly first: SmallCommand;
  /** Enqueued at any moment. */
  readonly second: SmallCommand;
  /** Whether hosts see at once that another is gone (C6). */
  readonly locks: boolean;
  /** Messages that the wire loses, and leases that pass at a bad moment. A host is killed once in any case. */
  readonly losses: number;
  readonly ticks: number;
}

interface Sent {
  readonly id: string;
  readonly origin: string;
  readonly kind: CommandKind;
  readonly target: Row['target'];
  readonly expectedRevision: number | undefined;
}
type Reply =
  | { readonly type: 'receipt'; readonly receipt: Receipt }
  | { readonly type: 'conflict'; readonly actual: number }
  | { readonly type: 'gone' };
type Heard = Reply | { readonly type: 'silence' };

interface Message {
  readonly host: string;
  readonly sent: Sent;
  readonly reply: Reply | undefined;
}

type Host = { readonly name: string } & (
  | { readonly phase: 'idle' }
  | { readonly phase: 'claiming'; readonly commit: Commit; readonly before: Row }
  | { readonly phase: 'settling'; readonly commit: Commit }
  | { readonly phase: 'claimed' | 'waiting'; readonly attempt: Attempt }
  | { readonly phase: 'answered'; readonly attempt: Attempt; readonly heard: Heard }
  | { readonly phase: 'answering'; readonly attempt: Attempt; readonly heard: Heard; readonly commit: Commit }
);

export interface World {
  readonly now: number;
  readonly rows: readonly Row[];
  /** Ends of ids, newest last; what the journal tells. */
  readonly ends: readonly IdEntry[];
  readonly told: readonly (readonly [id: string, type: OutcomeType])[];
  readonly hosts: readonly Host[];
  readonly dead: readonly string[];
  readonly wire: readonly Message[];
  readonly person: 'waiting' | { readonly commit: Commit } | 'done';
  readonly ledger: readonly Receipt[];
  /** Revision of each resource; 0 when deleted. */
  readonly resources: Readonly<Record<string, number>>;
  /** Lines in the order in which the server applied them. */
  readonly applied: readonly string[];
  readonly crashes: number;
  readonly losses: number;
  readonly ticks: number;
}

export interface Step {
  readonly name: string;
  /** The host that acts. */
  readonly by?: string | undefined;
  readonly next: World;
}

const OWNER = 'ann';
const START = 1_000_000;
const CLEAN = { now: START, leaseMs: () => LEASE_MS, foldsBodies: () => false };

export function startWorld({ first, losses, ticks }: Scenario): World {
  const empty: World = {
    now: START,
    rows: [],
    ends: [],
    told: [],
    hosts: [
      { name: 'A', phase: 'idle' },
      { name: 'B', phase: 'idle' },
    ],
    dead: [],
    wire: [],
    person: 'waiting',
    ledger: [],
    resources: { w1: 1 },
    applied: [],
    crashes: 1,
    losses,
    ticks,
  };
  const { world, result } = commit(empty, enqueueCommit(empty, first));
  assert(result.type === 'committed', 'the first command is stored');
  return world;
}

export function stepsOf(world: World, scenario: Scenario): readonly Step[] {
  // Until one has done something, the two hosts are the same: let it be A.
  const untouched = world.rows.every((row) => !row.claim) && world.applied.length === 0;
  const fresh = untouched && world.dead.length === 0 && world.hosts.every(({ phase }) => phase === 'idle');
  const hosts = fresh ? world.hosts.slice(0, 1) : world.hosts;
  const steps: Step[] = [
    ...personSteps(world, scenario),
    ...hosts.flatMap((host) => hostSteps(world, host, scenario).map((step) => ({ ...step, by: host.name }))),
    ...wireSteps(world),
  ];
  if (world.crashes > 0) for (const host of hosts) steps.push(crash(world, host));
  // Time passes at a bad moment as often as `ticks` allows, and whenever nothing else can happen.
  const nothingElse = steps.length === 0 && world.rows.length > 0;
  if (world.ticks > 0 || nothingElse)
    steps.push({
      name: 'a lease passes',
      next: { ...world, now: world.now + LEASE_MS, ticks: Math.max(0, world.ticks - 1) },
    });
  return steps;
}

/** Nothing waits, nothing is under way: what T30 calls rest. */
export function isAtRest(world: World): boolean {
  return (
    world.rows.length === 0 &&
    world.wire.length === 0 &&
    world.person === 'done' &&
    world.hosts.every(({ phase }) => phase === 'idle')
  );
}

/** Equal for states that cannot be told apart by what may still happen, or by what T30 asks about the past. */
export function tokenOf(world: World): string {
  const ago = (instant: number | undefined) =>
    instant === undefined ? undefined : Math.max(instant - world.now, -LEASE_MS);
  // What only people read is left out, and instants but for their distance from now.
  const row = ({ id, seq, state, doubt, claim, sentAt, conflict, receipt, gone, ...more }: Row) => [
    id,
    seq,
    state,
    doubt,
    claim && [claim.host, claim.fence, ago(claim.expiresAt)],
    ago(sentAt),
    conflict?.originalId,
    [receipt?.id, gone, more.successorOf, more.expectedRevision, more.overtakenBy, more.target],
    more.evidence.attemptCount === 0,
  ];
  const of = ({ reason, expected, write, keys }: Commit) => [
    reason,
    expected.map(row),
    write.map(({ id, state, claim }) => [id, state, ago(claim?.expiresAt)]),
    keys.length,
  ];
  const host = (given: Host) => [
    given.name,
    given.phase,
    'commit' in given && of(given.commit),
    'attempt' in given && [
      given.attempt.claimed.id,
      given.attempt.claimed.claim?.fence,
      given.attempt.before.doubt,
    ],
    'heard' in given && given.heard,
  ];
  const { person } = world;
  return JSON.stringify([
    world.rows.map(row),
    world.hosts.map(host),
    world.wire,
    typeof person === 'string' ? person : of(person.commit),
    world.dead,
    world.ledger.map(({ id }) => id),
    world.resources,
    world.told.map(([id, type]) => (type === 'committed' ? id : '')).sort(),
    [world.crashes, world.losses, world.ticks],
  ]);
}

function commit(world: World, given: Commit): { readonly world: World; readonly result: CommitResult } {
  const { results, writes } = judge(
    {
      rows: world.rows,
      unreadableIds: [],
      ends: world.ends,
      taken: world.rows.map(({ owner, seq }) => ({ owner, seq })),
      owners: new Map(),
      activeOwner: OWNER,
      guards: [],
      lastSeq: Math.max(0, ...world.rows.map(({ seq }) => seq), world.told.length + world.rows.length),
    },
    [given],
    { now: world.now, notesUnmirrored: false },
  );
  const [result] = results;
  assert(result, 'one result per commit');
  if (result.type !== 'committed') return { world, result };
  const gone = new Set(writes.removedRows.map(({ seq }) => seq));
  const written = new Set(writes.rows.map(({ seq }) => seq));
  const rows = world.rows.filter(({ seq }) => !gone.has(seq) && !written.has(seq));
  return {
    result,
    world: {
      ...world,
      rows: [...rows, ...writes.rows].sort((a, b) => a.seq - b.seq),
      ends: [...world.ends, ...writes.ids],
      told: [...world.told, ...given.outcomes.map(({ outcome }) => [outcome.row.id, outcome.type] as const)],
    },
  };
}

// The person

function personSteps(world: World, { second }: Scenario): readonly Step[] {
  if (world.person === 'done') return [];
  if (world.person === 'waiting')
    return [
      { name: 'the person edits', next: { ...world, person: { commit: enqueueCommit(world, second) } } },
    ];
  const { world: next, result } = commit(world, world.person.commit);
  return [
    {
      name: `the edit is ${result.type}`,
      next: { ...next, person: result.type === 'committed' ? 'done' : 'waiting' },
    },
  ];
}

/** What the replace table makes of a command, with ids that tell where they came from. */
function enqueueCommit(world: World, command: SmallCommand): Commit {
  const { id, kind, expectedRevision } = command;
  const creationEnd = world.ends.find(
    (end) => command.target.type === 'pending' && end.origin === command.target.origin,
  );
  // Its receipt known, a command on the creation goes on at the server's id (R27).
  const accepted = creationEnd?.end === 'committed' && kind !== 'create';
  const target = accepted ? ({ type: 'id', id: 'srv-1' } as const) : command.target;
  const key = { owner: OWNER, family: 'workout', target };
  const rows = world.rows.filter((row) => keyToken(keyOf(row)) === keyToken(key));
  const plan = planCommand(
    rows,
    { kind, target },
    { now: world.now, leaseMs: () => LEASE_MS, patches: false, end: creationEnd ? 'gone' : undefined },
  );
  const common = {
    owner: OWNER,
    reason: 'enqueue',
    keys: [key],
    expected: rows,
    activeOwner: OWNER,
    durability: 'strict',
  } as const;
  const draft: RowDraft = {
    format: 1,
    id,
    origin: id,
    owner: OWNER,
    family: 'workout',
    kind,
    target,
    savedAt: START,
    requestHash: `h:${id}`,
    bodyId: id,
    expectedRevision: accepted ? 1 : expectedRevision,
    state: 'queued',
    doubt: false,
    evidence: { attemptCount: 0 },
  };
  const ended = (removed: readonly Row[], by: string) => removed.map((row) => outcomeFor(row, by));
  const note = (end: OutcomeType, by?: string): IdEntry => ({
    id,
    key: [OWNER, 'workout', target.type, target.type === 'id' ? target.id : target.origin],
    requestHash: `h:${id}`,
    origin: id,
    end,
    ...(by !== undefined && { by }),
  });
  switch (plan.type) {
    case 'write':
      return {
        ...common,
        write: [{ ...draft, successorOf: plan.successorOf }],
        remove: plan.remove.map((row) => row.id),
        outcomes: ended(plan.remove, id),
      };
    case 'rewrite': {
      const { create } = plan;
      const made = `${create.id}+${id}`;
      return {
        ...common,
        write: [
          {
            ...draft,
            id: made,
            requestHash: `h:${made}`,
            kind: 'create',
            origin: create.origin,
            seq: create.seq,
          },
        ],
        remove: plan.remove.map((row) => row.id),
        outcomes: ended(plan.remove, made),
        ids: [note('merged', made)],
      };
    }
    case 'drop':
      return {
        ...common,
        write: [],
        remove: plan.remove.map((row) => row.id),
        outcomes: plan.remove.map((row) => ({
          requestHash: row.requestHash,
          outcome: { type: 'dropped', reason: 'table', row },
        })),
        ids: [note('dropped')],
      };
    default:
      throw new Error(`The scenario does not expect ${plan.type}`);
  }
}

function outcomeFor(row: Row, by: string) {
  return { requestHash: row.requestHash, outcome: { type: 'replaced', by, row } } as const;
}

// Hosts

function hostSteps(world: World, host: Host, scenario: Scenario): readonly Step[] {
  const { name } = host;
  const goTo = (next: Host, from: World = world): World => ({
    ...from,
    hosts: from.hosts.map((other) => (other.name === name ? next : other)),
  });
  switch (host.phase) {
    case 'idle':
      return keysOf(world).flatMap((rows) => {
        const plan = planClaim(
          rows,
          claimContext({
            now: world.now,
            host: name,
            goneHosts: scenario.locks ? new Set(world.dead) : undefined,
          }),
        );
        if (plan.type === 'claim') {
          const next = goTo({ name, phase: 'claiming', commit: plan.commit, before: plan.row });
          return [{ name: `${name} plans a claim of ${plan.row.id}`, next }];
        }
        if (plan.type === 'settle') {
          const settled = finished((material) => planSettle(plan.row.id, material, at(world)), rows, world);
          if (settled?.type !== 'commit') return [];
          const next = goTo({ name, phase: 'settling', commit: settled.commit });
          return [{ name: `${name} plans to settle ${plan.row.id}`, next }];
        }
        assert(plan.type === 'skip', `no scenario leads to ${plan.type}`);
        return [];
      });
    case 'claiming': {
      const { world: next, result } = commit(world, host.commit);
      if (result.type !== 'committed')
        return [{ name: `${name}'s claim is ${result.type}`, next: goTo({ name, phase: 'idle' }) }];
      const [claimed] = result.rows;
      assert(claimed, 'a claim writes its row first');
      const attempt = { before: host.before, claimed };
      return [
        { name: `${name} claims ${claimed.id}`, next: goTo({ name, phase: 'claimed', attempt }, next) },
      ];
    }
    case 'settling': {
      const { world: next, result } = commit(world, host.commit);
      return [{ name: `${name}'s settling is ${result.type}`, next: goTo({ name, phase: 'idle' }, next) }];
    }
    case 'claimed': {
      const { id, origin, kind, target, expectedRevision } = host.attempt.claimed;
      const message = { host: name, sent: { id, origin, kind, target, expectedRevision }, reply: undefined };
      const next = goTo({ name, phase: 'waiting', attempt: host.attempt });
      return [{ name: `${name} sends ${id}`, next: { ...next, wire: [...world.wire, message] } }];
    }
    case 'waiting':
      return [];
    case 'answered': {
      const rows = world.rows.filter((row) => keyToken(keyOf(row)) === keyToken(keyOf(host.attempt.claimed)));
      const plan = planAnswer(host.attempt, host.heard, rows, world);
      if (plan.type !== 'commit')
        return [{ name: `${name} has nothing to write`, next: goTo({ name, phase: 'idle' }) }];
      const next = goTo({ ...host, phase: 'answering', commit: plan.commit });
      return [{ name: `${name} plans what the answer means`, next }];
    }
    case 'answering': {
      const { world: next, result } = commit(world, host.commit);
      if (result.type === 'committed')
        return [{ name: `${name} writes the answer`, next: goTo({ name, phase: 'idle' }, next) }];
      const { attempt, heard } = host;
      return [
        {
          name: `${name}'s answer is ${result.type}`,
          next: goTo({ name, phase: 'answered', attempt, heard }),
        },
      ];
    }
    default:
      return unreachable(host);
  }
}

function at(world: World) {
  return { ...CLEAN, now: world.now };
}

function keysOf(world: World): readonly (readonly Row[])[] {
  const keys = new Map<string, Row[]>();
  for (const row of world.rows) {
    const token = keyToken(keyOf(row));
    keys.set(token, [...(keys.get(token) ?? []), row]);
  }
  return [...keys.values()];
}

function planAnswer(attempt: Attempt, heard: Heard, rows: readonly Row[], world: World): AcknowledgementPlan {
  const acknowledge = (answer: JudgedAnswer) =>
    finished((material) => planAcknowledgement(attempt, answer, material, at(world)), rows, world);
  switch (heard.type) {
    case 'receipt':
      return acknowledge({ type: 'accepted', receipt: heard.receipt });
    case 'gone':
      return attempt.claimed.kind === 'delete'
        ? acknowledge({ type: 'already_gone' })
        : acknowledge({ type: 'refused', code: 'source_deleted', applied: 'not_this_attempt' });
    case 'silence':
      return acknowledge({
        type: 'transient',
        failure: { class: 'transient', code: 'network' },
        applied: 'maybe',
      });
    case 'conflict': {
      const identity = identityOf(attempt.claimed, heard.actual);
      const plan = planResend(attempt, { identity, actual: heard.actual, rounds: 0 }, rows, world.now);
      if (plan.type === 'commit' || plan.type === 'nothing') return plan;
      return acknowledge({
        type: 'transient',
        failure: { class: 'conflict', code: 'conflict' },
        applied: 'not_this_attempt',
      });
    }
    default:
      return unreachable(heard);
  }
}

/** As the engine derives them: from the replaced id and the revision. */
function identityOf(row: Row, revision: number): NewIdentity {
  const id = `${row.id}>${revision}`;
  return { id, requestHash: `h:${id}` };
}

/** Supplies what a planner needs, until it says what to write. */
function finished<Plan extends { readonly type: string } | undefined>(
  plan: (material: Material) => Plan | Needs,
  rows: readonly Row[],
  world: World,
): Exclude<Plan, Needs> {
  let material: Material = { keys: rows.slice(0, 1).map(keyOf), rows };
  for (;;) {
    const planned = plan(material);
    if (!isNeeds(planned)) return planned as Exclude<Plan, Needs>;
    const revision = planned.accepted?.receipt.revision ?? 0;
    const target = { type: 'id', id: planned.accepted?.receipt.target ?? '' } as const;
    const wanted = new Set(planned.keys.map(keyToken));
    material = {
      ...material,
      keys: [...material.keys, ...planned.keys],
      rows: [...material.rows, ...world.rows.filter((row) => wanted.has(keyToken(keyOf(row))))],
      waiting: [],
      rehashed: new Map([
        ...(material.rehashed ?? []),
        ...planned.rehash.map((row) => [row.id, identityOf(row, revision)] as const),
      ]),
      prepared: new Map([
        ...(material.prepared ?? []),
        ...planned.prepare.map((intent): [string, Preparation] => [
          intent.id,
          {
            type: 'prepared',
            request: {
              ...identityOf(intent, revision),
              target,
              expectedRevision: revision,
              bodyId: intent.bodyId,
            },
          },
        ]),
      ]),
    };
  }
}

function isNeeds(plan: { readonly type: string } | undefined): plan is Needs {
  return plan?.type === 'needs';
}

// The wire and the server

function wireSteps(world: World): readonly Step[] {
  return world.wire.flatMap((message, place) => {
    const others = world.wire.filter((_, other) => other !== place);
    const { sent, reply, host } = message;
    const steps: Step[] = [];
    if (reply === undefined) {
      const { world: next, reply: given } = serve(world, sent);
      const wire = [...others, { ...message, reply: given }];
      steps.push({
        name: `the server answers ${sent.id} of ${host}: ${given.type}`,
        next: { ...next, wire },
      });
    } else
      steps.push({
        name: `${host} hears of ${sent.id}`,
        next: hear({ ...world, wire: others }, host, reply),
      });
    if (world.losses > 0) {
      const lost = hear({ ...world, wire: others, losses: world.losses - 1 }, host, { type: 'silence' });
      steps.push({
        name: `${reply ? 'the answer to' : 'the request'} ${sent.id} of ${host} is lost`,
        next: lost,
      });
    }
    return steps;
  });
}

function hear(world: World, name: string, heard: Heard): World {
  return {
    ...world,
    hosts: world.hosts.map((host) =>
      host.name === name && host.phase === 'waiting'
        ? { name, phase: 'answered', attempt: host.attempt, heard }
        : host,
    ),
  };
}

function serve(world: World, sent: Sent): { readonly world: World; readonly reply: Reply } {
  const known = world.ledger.find(({ id }) => id === sent.id);
  if (known) return { world, reply: { type: 'receipt', receipt: { ...known, replayed: true } } };
  const { kind } = sent;
  const isNew = kind === 'create';
  const created = Object.keys(world.resources).filter((id) => id.startsWith('srv-')).length;
  const target = sent.target.type === 'id' ? sent.target.id : `srv-${created + 1}`;
  const revision = world.resources[target] ?? 0;
  if (!isNew && kind !== 'put' && revision === 0) return { world, reply: { type: 'gone' } };
  if (sent.expectedRevision !== undefined && sent.expectedRevision !== revision)
    return { world, reply: { type: 'conflict', actual: revision } };
  const made = kind === 'delete' ? 0 : revision + 1;
  const receipt: Receipt = {
    id: sent.id,
    requestHash: `h:${sent.id}`,
    kind: `workout.${kind}`,
    target,
    revision: revision + 1,
    generation: 1,
    committedAt: 0,
  };
  return {
    reply: { type: 'receipt', receipt },
    world: {
      ...world,
      ledger: [...world.ledger, receipt],
      resources: { ...world.resources, [target]: made },
      applied: [...world.applied, sent.origin],
    },
  };
}

/** The host is gone in the middle of whatever it did; another starts in its place. What is on the wire stays there. */
function crash(world: World, host: Host): Step {
  const { name } = host;
  return {
    name: `${name} is killed`,
    next: {
      ...world,
      crashes: world.crashes - 1,
      dead: [...world.dead, name],
      hosts: world.hosts.map((other) => (other === host ? { name: `${name}2`, phase: 'idle' } : other)),
    },
  };
}
