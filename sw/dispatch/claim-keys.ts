/**
 * Claims the next row of each of many keys in one transaction (C1, C2, C7), with the bodies read beside it. What
 * keeps a key from being claimed is answered, not thrown.
 */
import type { Key } from '../../shared/key.ts';
import type { Row } from '../../shared/row.ts';
import type { HostLocks } from '../environment.ts';
import type { Attempt } from '../outbox/attempt.ts';
import { holdsLock } from '../outbox/host-id.ts';
import {
  attemptOf,
  type ClaimContext,
  type ClaimPlan,
  type ClaimSkip,
  planClaim,
} from '../outbox/plan-claim.ts';
import type { BodyRead, Commit, CommitResult, RowStore } from '../outbox/row-store.ts';

export interface KeyRows {
  readonly token: string;
  readonly key: Key;
  /** The rows of the key known so far; a stale claim brings all of them. */
  readonly rows: readonly Row[];
}

export type ClaimStep =
  | {
      readonly type: 'claimed';
      readonly attempt: Attempt;
      readonly body: BodyRead;
      readonly rest: readonly Row[];
    }
  | { readonly type: 'ask' | 'settle'; readonly row: Row; readonly key: Key }
  | { readonly type: 'skip'; readonly skip: ClaimSkip }
  /** It has been tried in this flush and rests (D3). */
  | { readonly type: 'tried' }
  /** Not planned this time: the bodies of those before it are large enough. */
  | { readonly type: 'later'; readonly rows: readonly Row[] }
  /** Another owner is active (W30). */
  | { readonly type: 'not_active' }
  | { readonly type: 'failed'; readonly error: unknown };

export interface ClaimDeps {
  readonly store: Pick<RowStore, 'commit' | 'readBodies'>;
  readonly locks: Pick<HostLocks, 'check'>;
  /** By family: claims of a family without receipts are never taken over early (D29). */
  readonly context: (family: string) => ClaimContext;
  /** Whether the row was attempted in this flush already. */
  readonly wasTried: (row: Row) => boolean;
  readonly onBlocked: (commit: Commit, result: Extract<CommitResult, { readonly type: 'committed' }>) => void;
  /** Hosts that were asked for in this flush; those that are gone may be taken over at once (C6). */
  readonly hosts: { readonly asked: Set<string>; readonly gone: Set<string> };
}

/** Bodies in memory at once are bounded by this, whatever the number of rows (S3). */
const BATCH_BYTES = 4_000_000;
const MAX_ROUNDS = 6;
const NO_BODY: BodyRead = { type: 'body', body: undefined };

export async function claimKeys(
  keys: readonly KeyRows[],
  deps: ClaimDeps,
): Promise<ReadonlyMap<string, ClaimStep>> {
  const steps = new Map<string, ClaimStep>();
  let open = keys;
  let bytes = 0;
  for (let round = 0; round < MAX_ROUNDS && open.length > 0; round++) {
    const again: KeyRows[] = [];
    const writes: { readonly on: KeyRows; readonly plan: Extract<ClaimPlan, { commit: Commit }> }[] = [];
    for (const on of open) {
      const plan = planClaim(on.rows, deps.context(on.key.family));
      switch (plan.type) {
        case 'skip':
          if (plan.reason === 'in_flight' && (await isNewlyGone(plan.host, deps))) again.push(on);
          else steps.set(on.token, { type: 'skip', skip: plan });
          break;
        case 'ask':
        case 'settle':
          steps.set(on.token, { type: plan.type, row: plan.row, key: on.key });
          break;
        case 'block':
          writes.push({ on, plan });
          break;
        case 'claim': {
          const size = plan.row.bodySize ?? 0;
          if (deps.wasTried(plan.row)) steps.set(on.token, { type: 'tried' });
          else if (bytes > 0 && bytes + size > BATCH_BYTES)
            steps.set(on.token, { type: 'later', rows: on.rows });
          else {
            bytes += size;
            writes.push({ on, plan });
          }
        }
      }
    }
    if (writes.length > 0) again.push(...(await write(writes, steps, deps)));
    open = again;
  }
  // Others keep changing these keys: the next flush, or their own trigger, sees to them.
  for (const { token } of open) steps.set(token, { type: 'skip', skip: { type: 'skip', reason: 'no_rows' } });
  return steps;
}

async function write(
  writes: readonly { readonly on: KeyRows; readonly plan: Extract<ClaimPlan, { commit: Commit }> }[],
  steps: Map<string, ClaimStep>,
  deps: ClaimDeps,
): Promise<readonly KeyRows[]> {
  const again: KeyRows[] = [];
  const bodyIds = writes.flatMap(({ plan }) =>
    plan.type === 'claim' && plan.row.bodyId !== undefined ? plan.row.bodyId : [],
  );
  const [results, bodies] = await Promise.all([
    deps.store.commit(writes.map(({ plan }) => plan.commit)),
    bodyIds.length > 0 ? deps.store.readBodies(bodyIds) : [],
  ]);
  const bodyOf = new Map(bodyIds.map((id, place) => [id, bodies[place]]));
  for (const [place, { on, plan }] of writes.entries()) {
    const result = results[place];
    switch (result?.type) {
      case 'committed': {
        const [stored] = result.rows;
        if (!stored) break;
        const rest = on.rows.filter((row) => row.id !== plan.row.id);
        if (plan.type === 'block') {
          deps.onBlocked(plan.commit, result);
          again.push({ ...on, rows: [...rest, stored] });
          break;
        }
        const { bodyId } = plan.row;
        const body = bodyId === undefined ? NO_BODY : (bodyOf.get(bodyId) ?? { type: 'missing' });
        steps.set(on.token, { type: 'claimed', attempt: attemptOf(plan, stored), body, rest });
        break;
      }
      case 'stale':
        if (result.reason === 'active_owner') steps.set(on.token, { type: 'not_active' });
        else again.push({ ...on, rows: result.rows });
        break;
      default:
        steps.set(on.token, {
          type: 'failed',
          error: result?.type === 'failed' ? result.error : new Error(`A claim was answered ${result?.type}`),
        });
    }
  }
  return again;
}

/** C6: asked once per host and flush; a host that is found gone is worth planning again for. */
async function isNewlyGone(host: string | undefined, { hosts, locks }: ClaimDeps): Promise<boolean> {
  if (host === undefined || !holdsLock(host) || hosts.asked.has(host)) return false;
  hosts.asked.add(host);
  if ((await locks.check(host)) !== 'gone') return false;
  hosts.gone.add(host);
  return true;
}
