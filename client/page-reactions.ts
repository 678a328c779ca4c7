/**
 * What a page does about an outcome (D42), as a table: outcome × kind of command → steps, in order. Pure; knows no
 * store, no sending and no cache. A page runs the steps; `query-cache.ts` is one way to.
 */
import type { BlockedCode } from '../shared/blocked-code.ts';
import type { Outcome, Settled, StoppedBy } from '../shared/outcome.ts';
import type { CommandKind } from '../shared/row.ts';

/** What a step is about. `target` is absent while a creation has no server id. */
export interface Resource {
  readonly family: string;
  readonly target: string | undefined;
}

export type PageStep =
  /** Take id and revision over into the copy that is shown, so that the next edit needs no refetch. No content (D43). */
  | {
      readonly type: 'confirm';
      readonly resource: Resource;
      readonly revision: number;
      /** The line: what a pending creation was known by. */
      readonly origin: string;
    }
  /** The copy of this resource is out of date. */
  | { readonly type: 'invalidate'; readonly resource: Resource }
  /** Take it out of detail and lists. */
  | { readonly type: 'drop'; readonly resource: Resource }
  /** Read detail and lists again. */
  | { readonly type: 'refetch'; readonly resource: Resource }
  /** Read the resource again and drop it only when the server says that it is missing. */
  | { readonly type: 'refetch_canonical'; readonly resource: Resource }
  /** Whatever these words of the page name (dates, lists) is out of date. */
  | { readonly type: 'invalidate_tags'; readonly family: string; readonly tags: readonly string[] }
  /** Data derived from the resource is right once it has reached this generation; nothing is assumed (D44). */
  | { readonly type: 'refresh_derived'; readonly resource: Resource; readonly generation: number }
  /** Tell the person that these are done: they had seen that it was not. Once for all of a batch. */
  | { readonly type: 'announce'; readonly ids: readonly string[] }
  /** Tell the person that these could not be synced. Once for all of a batch. */
  | { readonly type: 'notice'; readonly ids: readonly string[] }
  /** Mark the row as blocked. */
  | { readonly type: 'badge'; readonly id: string; readonly code: BlockedCode }
  /** The pending view of this row is over. */
  | { readonly type: 'drop_pending'; readonly id: string; readonly origin: string }
  /** Show what the row that took over shows. */
  | { readonly type: 'follow'; readonly id: string; readonly by: string }
  | { readonly type: 'connection_down' };

export type StepName = PageStep['type'];

/** The lines of the table. */
export type ReactionCase =
  | 'committed'
  | 'committed_duplicate'
  | 'committed_recovered'
  | 'already_gone'
  | 'unknown'
  | 'blocked'
  | 'held'
  | 'deferred'
  | 'taken_over'
  | 'dropped_by_resolver'
  | 'withdrawn'
  | 'not_found';

/** Where a condition of a step does not hold (no tags, generation 0, not noticed), the step is left out. */
const AFTER_COMMIT = ['invalidate_tags', 'refresh_derived', 'announce'] as const;

/** A line whose steps depend on the kind lists them by kind. */
export const PAGE_REACTIONS = {
  committed: {
    create: ['confirm', ...AFTER_COMMIT],
    update: ['confirm', ...AFTER_COMMIT],
    put: ['invalidate', ...AFTER_COMMIT],
    delete: ['drop', ...AFTER_COMMIT],
    remove: ['drop', ...AFTER_COMMIT],
  },
  committed_duplicate: [],
  committed_recovered: ['refetch_canonical'],
  already_gone: ['drop'],
  unknown: ['refetch', 'notice', 'badge'],
  blocked: ['notice', 'badge'],
  held: [],
  deferred: [],
  taken_over: ['follow'],
  dropped_by_resolver: ['drop_pending', 'refetch'],
  withdrawn: ['drop_pending'],
  not_found: ['refetch'],
} as const satisfies Record<ReactionCase, readonly StepName[] | Record<CommandKind, readonly StepName[]>>;

export interface ReactionContext {
  /** The owner this page shows: another's outcome changes nothing (D43). */
  readonly owner: string;
  /** Why the flush that these outcomes come from ended early. */
  readonly stoppedBy?: StoppedBy | undefined;
}

/**
 * The steps for the outcomes of one flush, or of one read of the journal, in their order. What a person is told
 * comes last and once.
 */
export function pageReactions(
  outcomes: readonly Outcome[],
  { owner, stoppedBy }: ReactionContext,
): readonly PageStep[] {
  const steps: PageStep[] = [];
  const told: Record<'announce' | 'notice', string[]> = { announce: [], notice: [] };
  for (const outcome of outcomes) {
    if (outcome.row.owner !== owner) continue;
    for (const name of stepNames(outcome)) {
      if (name === 'notice' || (name === 'announce' && outcome.type === 'committed' && outcome.noticed))
        told[name].push(outcome.row.id);
      const step = stepOf(name, outcome);
      if (step) steps.push(step);
    }
  }
  for (const type of ['announce', 'notice'] as const)
    if (told[type].length > 0) steps.push({ type, ids: told[type] });
  if (stoppedBy === 'network') steps.push({ type: 'connection_down' });
  return steps;
}

/** For an id that this outbox does not know, or no longer (D42): read again whatever it was about. */
export function reactionsToUnknownId(resource: Resource): readonly PageStep[] {
  return PAGE_REACTIONS.not_found.map((type) => ({ type, resource }));
}

export function reactionCase(outcome: Outcome): ReactionCase {
  switch (outcome.type) {
    case 'committed':
      if (outcome.duplicate) return 'committed_duplicate';
      return outcome.recovered ? 'committed_recovered' : 'committed';
    case 'dropped':
      return outcome.reason === 'resolver' ? 'dropped_by_resolver' : 'withdrawn';
    case 'cancelled':
    case 'discarded':
      return 'withdrawn';
    case 'replaced':
    case 'merged':
    case 'converted':
    case 'superseded':
    case 'rebased':
      return 'taken_over';
    default:
      return outcome.type;
  }
}

/** What the waiting caller hears of an outcome; of one that was taken over, whom to follow. */
export function callerHears(
  outcome: Outcome,
): Settled | { readonly type: 'follow'; readonly id: string; readonly by: string } {
  const { id } = outcome.row;
  switch (outcome.type) {
    case 'committed':
      return { type: 'uploaded', id, receipt: outcome.receipt };
    case 'unknown':
      return { type: 'unknown', id, rejection: outcome.rejection };
    case 'blocked':
      return { type: 'blocked', id, code: outcome.code };
    case 'replaced':
    case 'merged':
    case 'converted':
    case 'superseded':
    case 'rebased':
      return { type: 'follow', id, by: outcome.by };
    default:
      return { type: outcome.type, id };
  }
}

function stepNames(outcome: Outcome): readonly StepName[] {
  const found = reactionCase(outcome);
  return found === 'committed' ? PAGE_REACTIONS.committed[outcome.row.kind] : PAGE_REACTIONS[found];
}

function stepOf(name: StepName, outcome: Outcome): PageStep | undefined {
  const { id, origin, family, tags = [] } = outcome.row;
  const receipt = outcome.type === 'committed' ? outcome.receipt : undefined;
  const resource: Resource = { family, target: targetOf(outcome) };
  switch (name) {
    case 'confirm':
      // A server without receipts may say neither id nor revision: then only reading again helps.
      return receipt && receipt.revision > 0 && resource.target !== undefined
        ? { type: 'confirm', resource, revision: receipt.revision, origin }
        : { type: 'refetch', resource };
    case 'invalidate':
    case 'drop':
    case 'refetch':
    case 'refetch_canonical':
      return { type: name, resource };
    case 'invalidate_tags':
      return tags.length > 0 ? { type: 'invalidate_tags', family, tags } : undefined;
    case 'refresh_derived':
      return receipt && receipt.generation > 0
        ? { type: 'refresh_derived', resource, generation: receipt.generation }
        : undefined;
    case 'badge':
      return { type: 'badge', id, code: badgeCode(outcome) };
    case 'drop_pending':
      return { type: 'drop_pending', id, origin };
    case 'follow':
      return 'by' in outcome ? { type: 'follow', id, by: outcome.by } : undefined;
    default:
      return undefined;
  }
}

function targetOf(outcome: Outcome): string | undefined {
  const { target } = outcome.row;
  if (target.type === 'id') return target.id;
  return outcome.type === 'committed' && outcome.receipt.target !== '' ? outcome.receipt.target : undefined;
}

function badgeCode(outcome: Outcome): BlockedCode {
  if (outcome.type === 'blocked') return outcome.code;
  return outcome.type === 'unknown' ? outcome.rejection.code : 'unclassified';
}
