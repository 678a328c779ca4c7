/**
 * Carries out what an answer means: plan, prepare, commit, and again until the store has answered (C10). Trouble
 * in the device's own book-keeping never turns an answer into a failed send (D46). It is handed judged answers
 * and knows no server, no receipt rules and no page.
 */
import { assert } from '../../shared/assert.ts';
import { keyToken } from '../../shared/key.ts';
import type { Outcome } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import type { Clock } from '../environment.ts';
import type { Attempt } from './attempt.ts';
import type { LeaseOf } from './lease.ts';
import type { Fold, Material, Needs, NewIdentity, Preparation } from './material.ts';
import {
  type AcknowledgementPlan,
  type JudgedAnswer,
  planAcknowledgement,
  planGiveBack,
  planSettle,
} from './plan-acknowledgement.ts';
import { neededOrigins } from './plan-intent.ts';
import { type OwnWord, type PredecessorEnd, planIntentWord, planOwnWord } from './plan-lookup.ts';
import { planResend, type Resend, type ResendPlan } from './plan-resend.ts';
import { foldOver, type PrepareDeps, prepareIntent, readEnd, rehash } from './prepare-intent.ts';
import type { Commit, CommitResult, LanePlace, RowStore } from './row-store.ts';

export type Acknowledged =
  /** `outcomes` are all that happened, those that are not journalled included. */
  | {
      readonly type: 'committed';
      readonly outcomes: readonly Outcome[];
      readonly commit: Commit;
      /** Absent where the commit's end was unknown and turned out to have landed. */
      readonly result: Extract<CommitResult, { readonly type: 'committed' }> | undefined;
      /** The origin for which rows wait that this commit did not prepare (C21). */
      readonly left?: string | undefined;
    }
  | {
      readonly type: 'nothing';
      readonly reason: 'claim_lost' | 'gone' | 'noted_already' | 'unanswered' | 'overtaken' | 'storm';
    }
  /** The store did not answer for `patienceMs`: the row is judged again by a later flush (D46). */
  | { readonly type: 'unsettled'; readonly error: unknown };

export interface Acknowledger {
  acknowledge(attempt: Attempt, answer: JudgedAnswer): Promise<Acknowledged>;
  /** Stores a conflict's resend (D31). `overtaken` and `storm` are for the caller to acknowledge otherwise. */
  resend(attempt: Attempt, resend: Resend): Promise<Acknowledged>;
  /** Accepts a row whose receipt was noted (C11). */
  settle(row: Row): Promise<Acknowledged>;
  /** Gives back what was claimed and never left (C8), in as few transactions as possible. */
  giveBack(attempts: readonly Attempt[]): Promise<readonly Acknowledged[]>;
  /** Carries out the server's word on a row's own id (R34, S37). */
  hear(row: Row, word: OwnWord, againAt: number): Promise<Acknowledged>;
  /** Carries out what became of the rows that an intent waits for (C23). */
  hearPredecessors(
    intent: Row,
    ends: ReadonlyMap<string, PredecessorEnd>,
    againAt: number,
  ): Promise<Acknowledged>;
  /** What the store and its journal know of the rows that an intent waits for; the rest must be asked. */
  readPredecessors(intent: Row): Promise<ReadonlyMap<string, PredecessorEnd>>;
  /** One page of the intents of which some predecessor is not stored. */
  findOrphans(
    owner: string,
    page: { readonly after?: LanePlace | undefined; readonly limit: number },
  ): Promise<{ readonly orphans: readonly Row[]; readonly next: LanePlace | undefined }>;
}

export interface AcknowledgerDeps extends PrepareDeps {
  /** This host's id, which its outcomes carry. */
  readonly host: () => string;
  readonly store: RowStore;
  readonly clock: Clock;
  readonly leaseMs: LeaseOf;
  /** For how long a store that fails is tried again for one answer, in ms. */
  readonly patienceMs: number;
  /** Told while a row that the server accepted waits for the store, and when it no longer does (D46). */
  readonly onWaiting?: ((row: Row, waits: boolean) => void) | undefined;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;

const CONFLICT: JudgedAnswer = {
  type: 'transient',
  failure: { class: 'conflict', code: 'conflict' },
  applied: 'not_this_attempt',
};

interface CarryOutOptions {
  /** Ends that the caller has asked the server for, by origin. */
  readonly known?: ReadonlyMap<string, PredecessorEnd> | undefined;
  readonly isAccepted?: boolean | undefined;
}

const NO_ENDS: ReadonlyMap<string, PredecessorEnd> = new Map();

type Plan = AcknowledgementPlan | Exclude<ResendPlan, { readonly type: 'noted' }>;
type Planner = (material: Material) => Plan;

export function createAcknowledger(deps: AcknowledgerDeps): Acknowledger {
  const { store, clock, timers, families, digest } = deps;

  const context = () => ({
    now: clock.now(),
    leaseMs: deps.leaseMs,
    foldsBodies: (family: string) => {
      const definition = families[family];
      return definition?.type === 'record' && definition.merge !== undefined;
    },
  });

  async function carryOut(
    row: Row,
    plan: Planner,
    { known = NO_ENDS, isAccepted = false }: CarryOutOptions = {},
  ): Promise<Acknowledged> {
    const key = keyOf(row);
    let material: Material | undefined = { keys: [key], rows: [row] };
    /** A commit whose end is not known: it may have removed the row. */
    let unknown: Extract<Plan, { readonly type: 'commit' }> | undefined;
    let pauseMs = FIRST_PAUSE_MS;
    let waitedMs = 0;
    try {
      for (;;) {
        let planned: Plan | undefined;
        try {
          material ??= { keys: [key], rows: (await store.readKeys([key])).flat() };
          planned = plan(material);
          if (planned.type === 'needs') {
            material = await supply(material, planned, known);
            continue;
          }
          if (planned.type !== 'commit') {
            if (unknown && (await hasLanded(unknown.commit, row, material.rows)))
              return { ...unknown, type: 'committed', result: undefined };
            return { type: 'nothing', reason: planned.type === 'nothing' ? planned.reason : planned.type };
          }
          planned = signed(planned);
          const { commit } = planned;
          const [result] = await store.commit([commit]);
          if (result?.type === 'committed') return { ...planned, type: 'committed', result };
          material = afterMiss(material, commit, result);
        } catch (error) {
          if (planned?.type === 'commit') unknown = planned;
          material = undefined;
          if (waitedMs >= deps.patienceMs) return { type: 'unsettled', error };
          if (waitedMs === 0 && isAccepted) deps.onWaiting?.(row, true);
          await new Promise<void>((resolve) => timers.after(pauseMs, resolve));
          waitedMs += pauseMs;
          pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
        }
      }
    } finally {
      if (waitedMs > 0 && isAccepted) deps.onWaiting?.(row, false);
    }
  }

  async function supply(
    material: Material,
    needs: Needs,
    known: ReadonlyMap<string, PredecessorEnd>,
  ): Promise<Material> {
    const { accepted } = needs;
    const waiting =
      needs.waitingFor === undefined ? material.waiting : await store.findWaiting(needs.waitingFor);
    const rehashed = new Map<string, NewIdentity | 'keep'>(material.rehashed);
    for (const row of needs.rehash)
      rehashed.set(row.id, await rehash(digest, row, accepted?.receipt.revision ?? 0));
    const prepared = new Map<string, Preparation>(material.prepared);
    for (const intent of needs.prepare)
      prepared.set(intent.id, await prepareIntent(deps, intent, accepted, known));
    const folds = new Map<string, Fold>(material.folds);
    for (const { intent, later } of needs.fold) {
      const preparation = prepared.get(intent.id);
      if (preparation?.type === 'prepared')
        folds.set(intent.id, await foldOver(deps, preparation.request, later));
    }
    const keys = needs.keys.filter(
      (key, place) => needs.keys.findIndex((other) => keyToken(other) === keyToken(key)) === place,
    );
    const read = keys.length > 0 ? (await store.readKeys(keys)).flat() : [];
    return {
      keys: [...material.keys, ...keys],
      rows: [...material.rows, ...read],
      waiting,
      rehashed,
      prepared,
      folds,
    };
  }

  type Planned = Extract<Plan, { readonly type: 'commit' }>;
  function signed({ commit, ...plan }: Planned): Planned {
    const outcomes = commit.outcomes.map((draft) => ({ ...draft, host: deps.host() }));
    return { ...plan, commit: { ...commit, outcomes } };
  }

  /** A commit of unknown end that the store now shows: what it told, or its row as it was to be written, or gone. */
  async function hasLanded(commit: Commit, row: Row, rows: readonly Row[]): Promise<boolean> {
    const [mine] = commit.outcomes;
    if (mine) {
      // C11: another host may have heard the same of it; it is told once, by whoever came first.
      const told = await store.findOutcome(mine.outcome.row.id);
      return told?.outcome.type === mine.outcome.type && told.host === mine.host;
    }
    const stored = rows.find(({ id }) => id === row.id);
    if (stored)
      return commit.write.some(
        ({ id, state, claim }) =>
          id === stored.id && state === stored.state && claim?.fence === stored.claim?.fence,
      );
    const [end] = await store.findEnds([row.id]);
    return end !== undefined;
  }

  function giveBackOne(attempt: Attempt): Promise<Acknowledged> {
    return carryOut(attempt.claimed, ({ rows }) => {
      const commit = planGiveBack(rows, attempt, clock.now());
      return commit ? { type: 'commit', commit, outcomes: [] } : { type: 'nothing', reason: 'claim_lost' };
    });
  }

  /** All in one transaction as they were claimed; those whose key has changed since, one by one. */
  async function giveBack(attempts: readonly Attempt[]): Promise<readonly Acknowledged[]> {
    const commits = attempts.flatMap(
      (attempt) => planGiveBack([attempt.claimed], attempt, clock.now()) ?? [],
    );
    const results = commits.length > 1 ? await store.commit(commits).catch(() => []) : [];
    return Promise.all(
      attempts.map((attempt, place) => {
        const commit = commits[place];
        const result = results[place];
        if (!commit || result?.type !== 'committed') return giveBackOne(attempt);
        return { type: 'committed', outcomes: [], commit, result } as const;
      }),
    );
  }

  return {
    acknowledge: (attempt, answer) =>
      carryOut(attempt.claimed, (material) => planAcknowledgement(attempt, answer, material, context()), {
        isAccepted: answer.type === 'accepted' || answer.type === 'already_gone',
      }),
    resend: (attempt, resend) =>
      carryOut(attempt.claimed, (material) => {
        const planned = planResend(attempt, resend, material.rows, clock.now());
        // D47: whatever the conflict says, the receipt on the row says more.
        return planned.type === 'noted'
          ? planAcknowledgement(attempt, CONFLICT, material, context())
          : planned;
      }),
    settle: (row) =>
      carryOut(
        row,
        (material) => planSettle(row.id, material, context()) ?? { type: 'nothing', reason: 'gone' },
      ),
    giveBack,
    hear: (row, word, againAt) =>
      carryOut(row, (material) => planOwnWord(row.id, word, againAt, material, context())),
    hearPredecessors: (intent, ends, againAt) =>
      carryOut(intent, (material) => planIntentWord(intent.id, ends, againAt, material, context()), {
        known: ends,
      }),
    async readPredecessors(intent) {
      const ends = new Map<string, PredecessorEnd>();
      for (const origin of neededOrigins(intent)) {
        const end = await readEnd(deps, origin);
        if (end) ends.set(origin, end);
      }
      return ends;
    },
    async findOrphans(owner, page) {
      const intents = await store.readLane(owner, 'waiting', page);
      const origins = [...new Set(intents.flatMap(neededOrigins))];
      const rows = origins.length > 0 ? await store.findByOrigin(origins) : [];
      const missing = new Set(origins.filter((_, place) => rows[place] === undefined));
      const last = intents.at(-1);
      return {
        orphans: intents.filter((intent) => neededOrigins(intent).some((origin) => missing.has(origin))),
        next:
          last && intents.length >= page.limit ? { urgent: last.urgent === true, seq: last.seq } : undefined,
      };
    },
  };
}

/** What a commit that was not applied teaches: the rows now, and which new ids cannot be used. */
function afterMiss(material: Material, commit: Commit, result: CommitResult | undefined): Material {
  if (result?.type === 'identity_conflict') {
    // Somebody uses this id for something else, so what was to get it stays as it is.
    const keep = ([id, identity]: [string, NewIdentity | 'keep']): [string, NewIdentity | 'keep'] =>
      identity !== 'keep' && identity.id === result.id ? [id, 'keep'] : [id, identity];
    const fail = ([id, made]: [string, Preparation]): [string, Preparation] =>
      made.type === 'prepared' && made.request.id === result.id ? [id, { type: 'failed' }] : [id, made];
    const failFold = ([id, fold]: [string, Fold]): [string, Fold] =>
      fold.type === 'folded' && fold.request.id === result.id
        ? [id, { type: 'failed', over: fold.over }]
        : [id, fold];
    return {
      ...material,
      rehashed: new Map([...(material.rehashed ?? [])].map(keep)),
      prepared: new Map([...(material.prepared ?? [])].map(fail)),
      folds: new Map([...(material.folds ?? [])].map(failFold)),
    };
  }
  if (result?.type === 'failed') throw result.error;
  assert(result?.type === 'stale', 'an answer`s commit is stale or lands');
  // Whether another row is still waited for may have changed with the rows.
  const prepared = [...(material.prepared ?? [])].filter(
    ([, { type }]) => type === 'prepared' || type === 'failed',
  );
  return {
    ...material,
    keys: commit.keys,
    rows: result.rows,
    waiting: undefined,
    prepared: new Map(prepared),
  };
}
