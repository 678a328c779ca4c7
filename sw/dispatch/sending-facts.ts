/** The small facts that decide whether an owner may send at all (W30, D3, D5): read together, judged in one place. */
import type { StoppedBy } from '../../shared/outcome.ts';
import type { Wait } from '../../shared/row.ts';
import { FACTS, type FactWrite, type RowStore } from '../outbox/row-store.ts';
import { type RetryPolicy, waitsUntil } from './retry-policy.ts';

export interface SendingFacts {
  readonly activeOwner: string | undefined;
  readonly isPaused: boolean;
  /** The sender rests, for everyone or for this owner. */
  readonly restAll: Wait | undefined;
  readonly restOwner: Wait | undefined;
  /** Signed out. `wasRefused`: headers were given and answered with a refusal, so the same ones will not do. */
  readonly held: { readonly at: number; readonly wasRefused: boolean } | undefined;
}

export async function readSendingFacts(
  store: Pick<RowStore, 'readFact'>,
  owner: string,
): Promise<SendingFacts> {
  const [activeOwner, paused, restAll, restOwner, held] = await Promise.all(
    [
      FACTS.activeOwner,
      FACTS.paused(owner),
      FACTS.restAll,
      FACTS.restOwner(owner),
      FACTS.heldOwner(owner),
    ].map((name) => store.readFact(name)),
  );
  return {
    activeOwner: typeof activeOwner === 'string' ? activeOwner : undefined,
    isPaused: paused !== undefined,
    restAll: readWait(restAll),
    restOwner: readWait(restOwner),
    held:
      held === undefined
        ? undefined
        : { at: readNumber(held, 'at') ?? 0, wasRefused: readMember(held, 'wasRefused') === true },
  };
}

/** Why this owner may not send now, if so. Signed out is not among them: credentials may have come (D5). */
export function judgeFacts(
  facts: SendingFacts,
  owner: string,
  context: { readonly now: number; readonly overrides: boolean; readonly policy: RetryPolicy },
): { readonly stoppedBy: StoppedBy; readonly until?: number | undefined } | undefined {
  if (facts.activeOwner !== owner) return { stoppedBy: 'owner' };
  if (facts.isPaused) return { stoppedBy: 'paused' };
  const { now, overrides } = context;
  const { believedMs } = context.policy;
  const rests = [facts.restAll, facts.restOwner];
  const ends = rests.flatMap((rest) => waitsUntil(rest, { now, overrides, believedMs }) ?? []);
  return ends.length > 0 ? { stoppedBy: 'rest', until: Math.max(...ends) } : undefined;
}

/** 429 rests its owner's sending, 503 with a time everyone's (D3). A longer rest by the server stays. */
export function restFact(
  scope: 'owner' | 'everyone',
  owner: string,
  wait: Wait,
  known: SendingFacts,
  context: { readonly now: number; readonly policy: RetryPolicy },
): FactWrite {
  const before = scope === 'owner' ? known.restOwner : known.restAll;
  const { believedMs } = context.policy;
  const until =
    before?.by === 'server' && waitsUntil(before, { now: context.now, overrides: false, believedMs });
  return {
    name: scope === 'owner' ? FACTS.restOwner(owner) : FACTS.restAll,
    value: before && until && until > wait.at ? before : wait,
  };
}

export function heldFact(owner: string, at: number, wasRefused: boolean): FactWrite {
  return { name: FACTS.heldOwner(owner), value: { at, wasRefused } };
}

function readMember(value: unknown, member: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, member) : undefined;
}

function readNumber(value: unknown, member: string): number | undefined {
  const number = readMember(value, member);
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** A fact of a release that wrote no `by` is the server's word. */
function readWait(value: unknown): Wait | undefined {
  const at = readNumber(value, 'at');
  if (at === undefined) return undefined;
  return { at, by: readMember(value, 'by') === 'engine' ? 'engine' : 'server' };
}
