/**
 * A story, written from a seed before anything happens: what pages ask for, and what befalls them (T31). Every
 * action makes sense in any state, since what it picks is taken modulo what there is: so a shorter story is a story.
 */
import type { CommandKind } from '../../../shared/row.ts';
import type { FlushCause, SignOutPolicy } from '../../engine.ts';
import type { ScriptedFault } from '../scripted-fault.ts';
import type { AppFault, StoreFault } from './host.ts';
import type { Mishap } from './network.ts';
import { createRandom, type Random } from './random.ts';

export type Action =
  /** `of`: which of the resources that the page knows. `revision`: as last heard, or none named. */
  | {
      readonly type: 'enqueue';
      readonly host: number;
      readonly kind: CommandKind;
      readonly of: number;
      readonly revision: boolean;
      /** Which of the creations it waits for (W60). */
      readonly after?: readonly number[] | undefined;
      readonly urgent?: boolean | undefined;
      /** Expires after so many ms. */
      readonly expires?: number | undefined;
    }
  /** The same call again, by the same id: its answer was lost. */
  | { readonly type: 'repeat'; readonly host: number; readonly of: number }
  | { readonly type: 'flush'; readonly host: number; readonly cause: FlushCause }
  /** Lets up to `count` steps happen, in an order that `salt` decides. */
  | { readonly type: 'steps'; readonly count: number; readonly salt: number }
  | { readonly type: 'time'; readonly ms: number }
  | { readonly type: 'jump'; readonly ms: number }
  | {
      readonly type: 'person';
      readonly host: number;
      readonly does: 'retry' | 'overwrite' | 'discard' | 'cancel' | 'recover';
      readonly of: number;
    }
  | { readonly type: 'start' }
  | { readonly type: 'kill' | 'freeze' | 'thaw'; readonly host: number }
  /** Of the transactions that were not flushed to disk, all but the first `kept` are gone, and every host with them. */
  | { readonly type: 'power_cut'; readonly kept: number }
  | { readonly type: 'lose_store'; readonly snapshot: 'kept' | 'none' | 'unreadable' }
  | { readonly type: 'snapshot'; readonly host: number }
  | { readonly type: 'store'; readonly fault: StoreFault | 'read' }
  | { readonly type: 'ledger'; readonly fault: 'fail' | 'hang' | 'heal' }
  | { readonly type: 'server'; readonly fault: ScriptedFault }
  | { readonly type: 'mishap'; readonly what: Mishap | 'deaf_lookup' }
  | { readonly type: 'network'; readonly up: boolean; readonly isKnown: boolean }
  | { readonly type: 'app'; readonly what: 'prepare' | 'resolve' | 'credentials'; readonly fault: AppFault }
  | { readonly type: 'resolver'; readonly answer: 'resend' | 'block' | 'drop' | 'body' }
  | { readonly type: 'session'; readonly isOpen: boolean }
  | { readonly type: 'sign_in'; readonly host: number; readonly owner: number }
  | { readonly type: 'sign_out'; readonly host: number; readonly policy: SignOutPolicy }
  | { readonly type: 'elsewhere'; readonly of: number; readonly deletes: boolean }
  | { readonly type: 'older_release'; readonly of: number; readonly ends: 'answers' | 'dies' }
  | { readonly type: 'plant' }
  | { readonly type: 'pause' | 'resume'; readonly host: number }
  | { readonly type: 'late_answers'; readonly often: number };

export type FaultGroup =
  | 'hosts'
  | 'network'
  | 'server'
  | 'store'
  | 'ledger'
  | 'power'
  | 'loss'
  | 'clocks'
  | 'accounts'
  | 'releases'
  | 'apps'
  | 'others';

export const FAULT_GROUPS: readonly FaultGroup[] = [
  'hosts',
  'network',
  'server',
  'store',
  'ledger',
  'power',
  'loss',
  'clocks',
  'accounts',
  'releases',
  'apps',
  'others',
];

export interface Script {
  readonly seed: number;
  readonly hosts: number;
  readonly hasLocks: boolean;
  /** Bodies are encrypted at rest (W63). */
  readonly isEncrypted: boolean;
  readonly actions: readonly Action[];
}

const CAUSES = ['flush', 'flush', 'sync', 'online', 'timer', 'enqueue', 'start'] as const;
const KINDS = ['create', 'update', 'update', 'update', 'delete', 'put', 'put', 'remove'] as const;
const STORE = ['abort', 'landed', 'quota', 'hang', 'hang_landed', 'one_of_many', 'read'] as const;
const OFF = [
  { id: 'another' },
  { requestHash: 'another' },
  { kind: 'another' },
  { revision: 0 },
  { generation: -1 },
] as const;
const SERVER: readonly [ScriptedFault, ...ScriptedFault[]] = [
  { type: 'status', status: 500 },
  { type: 'status', status: 502 },
  { type: 'status', status: 503, retryAfter: '20' },
  { type: 'status', status: 429, retryAfter: '30' },
  { type: 'status', status: 408 },
  { type: 'status', status: 400, code: 'invalid' },
  { type: 'status', status: 403, code: 'forbidden' },
  { type: 'status', status: 404 },
  { type: 'status', status: 409 },
  { type: 'status', status: 409, code: 'in_progress', retryAfter: '5' },
  { type: 'unauthorized' },
  { type: 'portal' },
  { type: 'no_receipt' },
  { type: 'drop_answer' },
  { type: 'drop_answer' },
  { type: 'reset' },
  { type: 'hang' },
  { type: 'slow', ms: 3_000 },
  { type: 'slow', ms: 15_000 },
];
const JUMPS = [-86_400_000, -3_600_000, -15_000, -4_000, 4_000, 15_000, 7_200_000] as const;

/** One story. `length`: about how many actions; which groups of faults befall it is the seed's choice among `groups`. */
export function writeScript(
  seed: number,
  {
    length = 40,
    groups = FAULT_GROUPS,
  }: { readonly length?: number; readonly groups?: readonly FaultGroup[] } = {},
): Script {
  const random = createRandom(seed);
  const chosen = groups.filter(() => random.chance(0.35));
  const trouble = 0.15 + 0.3 * random.next();
  // Things go wrong between changes of the same thing, so a story is about few of them.
  const few = 1 + random.below(3);
  const pool = Array.from({ length: few }, () => random.below(64));
  const about: Pool = () => (random.chance(0.1) ? random.below(64) : (pool[random.below(few)] ?? 0));
  const count = Math.ceil(length * (0.5 + random.next()));
  const actions: Action[] = [{ type: 'sign_in', host: 0, owner: 0 }, steps(random, 12)];
  while (actions.length < count) {
    const group = random.chance(trouble) ? chosen[random.below(chosen.length)] : undefined;
    if (group) actions.push(befall(group, random));
    else actions.push(...ask(random, about));
  }
  return {
    seed,
    hosts: 1 + random.below(3),
    hasLocks: random.chance(0.7),
    isEncrypted: random.chance(0.3),
    actions,
  };
}

/** Chooses what a command or a person's choice is about. */
type Pool = () => number;

function steps(random: Random, most: number): Action {
  return { type: 'steps', count: 1 + random.below(most), salt: random.below(1_000_000) };
}

/** What pages and browsers do on a good day. */
function ask(random: Random, about: Pool): readonly Action[] {
  const host = random.below(4);
  const roll = random.next();
  if (roll < 0.34) return enqueue(random, host, about);
  if (roll < 0.56) {
    const flush = { type: 'flush', host, cause: random.pick(CAUSES) } as const;
    return random.chance(0.7) ? [flush, steps(random, 50)] : [flush];
  }
  if (roll < 0.78) return [steps(random, 40)];
  if (roll < 0.86) return [{ type: 'time', ms: random.pick([300, 1_000, 3_000, 6_000, 11_000, 40_000]) }];
  if (roll < 0.93) return [{ type: 'person', host, does: random.pick(PERSON), of: random.below(64) }];
  if (roll < 0.96) return [{ type: 'repeat', host, of: random.below(64) }];
  if (roll < 0.98) return [{ type: 'snapshot', host }];
  return [{ type: 'late_answers', often: random.pick([0, 0.2, 0.6]) }];
}

function enqueue(random: Random, host: number, about: Pool): readonly Action[] {
  const command: Action = {
    type: 'enqueue',
    host,
    kind: random.pick(KINDS),
    of: about(),
    revision: random.chance(0.8),
    ...(random.chance(0.12) && {
      after: Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => random.below(64)),
    }),
    ...(random.chance(0.1) && { urgent: true }),
    ...(random.chance(0.05) && { expires: random.pick([1_000, 12_000, 60_000]) }),
  };
  return random.chance(0.5) ? [command, steps(random, 12)] : [command];
}

const PERSON = ['retry', 'overwrite', 'discard', 'cancel', 'recover'] as const;

function befall(group: FaultGroup, random: Random): Action {
  const host = random.below(4);
  switch (group) {
    case 'hosts':
      return random.pick([
        { type: 'kill', host },
        { type: 'kill', host },
        { type: 'freeze', host },
        { type: 'thaw', host },
        { type: 'start' },
      ] as const);
    case 'network':
      return random.pick([
        { type: 'mishap', what: 'lose_request' },
        { type: 'mishap', what: 'lose_answer' },
        { type: 'mishap', what: 'lose_answer' },
        { type: 'mishap', what: 'repeat_request' },
        { type: 'mishap', what: 'deaf_lookup' },
        { type: 'network', up: false, isKnown: random.chance(0.5) },
        { type: 'network', up: true, isKnown: true },
        { type: 'network', up: true, isKnown: true },
      ] as const);
    case 'server':
      if (random.chance(0.2))
        return { type: 'server', fault: { type: 'wrong_receipt', fields: random.pick(OFF) } };
      return { type: 'server', fault: random.pick(SERVER) };
    case 'store':
      return { type: 'store', fault: random.pick(STORE) };
    case 'ledger':
      return { type: 'ledger', fault: random.pick(['fail', 'hang', 'heal', 'heal'] as const) };
    case 'power':
      return { type: 'power_cut', kept: random.below(6) };
    case 'loss':
      if (random.chance(0.5)) return { type: 'snapshot', host };
      return { type: 'lose_store', snapshot: random.pick(['kept', 'kept', 'none', 'unreadable'] as const) };
    case 'clocks':
      return { type: 'jump', ms: random.pick(JUMPS) };
    case 'accounts': {
      const roll = random.next();
      if (roll < 0.4) return { type: 'sign_in', host, owner: random.below(2) };
      if (roll < 0.5)
        return { type: 'sign_out', host, policy: random.pick(['keep', 'flush', 'discard'] as const) };
      return { type: 'session', isOpen: random.chance(0.7) };
    }
    case 'releases':
      return {
        type: 'older_release',
        of: random.below(64),
        ends: random.pick(['answers', 'answers', 'dies'] as const),
      };
    case 'apps':
      if (random.chance(0.5))
        return { type: 'resolver', answer: random.pick(['resend', 'block', 'drop', 'body'] as const) };
      return {
        type: 'app',
        what: random.pick(['prepare', 'resolve', 'credentials'] as const),
        fault: random.pick(['throw', 'hang'] as const),
      };
    case 'others': {
      const roll = random.next();
      if (roll < 0.7) return { type: 'elsewhere', of: random.below(64), deletes: random.chance(0.15) };
      if (roll < 0.8) return { type: 'plant' };
      return { type: random.pick(['pause', 'resume', 'resume'] as const), host };
    }
  }
}

/** One line of a trace. */
export function describeAction({ type, ...rest }: Action): string {
  const told = Object.entries(rest).map(([name, value]) =>
    typeof value === 'object' ? JSON.stringify(value) : `${name} ${String(value)}`,
  );
  return [type, ...told].join(', ');
}
