/** For tests and the demo's fault switches (V9); not there in production. */
import type { Database } from '../database/database.ts';
import { FAULT_TYPES, isFaultRule } from '../faults/fault-rule.ts';
import type { FaultSwitches } from '../faults/fault-switches.ts';
import { type JsonObject, readJson } from '../http/json-body.ts';
import { invalid } from '../http/problem.ts';
import type { RequestLog } from '../http/request-log.ts';
import type { Route } from '../http/router.ts';

export interface Effect {
  /** Rises in the order in which effects happened, per resource. */
  readonly n: number;
  readonly owner: string;
  /** The idempotency key. */
  readonly id: string;
  readonly requestHash: string;
  readonly family: string;
  readonly kind: string;
  readonly target: string;
  readonly revision: number;
}

export interface AppliedCount {
  readonly owner: string;
  readonly id: string;
  readonly count: number;
}

/** Every effect in order, and how often each key had one, which must be once (T30.2). */
export interface LedgerStatistics {
  readonly effects: readonly Effect[];
  readonly applied: readonly AppliedCount[];
}

export async function readStatistics(database: Database, owner?: string): Promise<LedgerStatistics> {
  const effects = await database.query<Effect>(
    `select n, owner, id, request_hash as "requestHash", family, kind, target, revision from demo_effects
     where $1::text is null or owner = $1 order by n`,
    [owner ?? null],
  );
  const counts = new Map<string, { readonly owner: string; readonly id: string; count: number }>();
  for (const { owner: by, id } of effects) {
    const token = JSON.stringify([by, id]);
    const known = counts.get(token);
    if (known) known.count += 1;
    else counts.set(token, { owner: by, id, count: 1 });
  }
  return { effects, applied: [...counts.values()] };
}

export function testRoutes(database: Database, faults: FaultSwitches, log: RequestLog): readonly Route[] {
  const answer = (json: unknown) => ({ status: 200, headers: { 'cache-control': 'no-store' }, json });

  const setFaults: Route['handle'] = async (request) => {
    const body = readJson(request) ?? {};
    const rules = readRules(body);
    if (rules) faults.set(rules);
    if (body['stopped'] === true) faults.stop();
    if (body['stopped'] === false) faults.start();
    return answer(faults.state());
  };

  const reset: Route['handle'] = async () => {
    faults.clear();
    faults.start();
    log.clear();
    await database.script(
      'truncate holdfast_ledger, demo_workouts, demo_plans, demo_photos, demo_generations, demo_effects restart identity',
    );
    return answer({});
  };

  return [
    { method: 'GET', path: '/api/_test/faults', handle: async () => answer(faults.state()) },
    { method: 'POST', path: '/api/_test/faults', handle: setFaults },
    {
      method: 'GET',
      path: '/api/_test/ledger',
      handle: async ({ query }) => answer(await readStatistics(database, query.get('owner') ?? undefined)),
    },
    {
      method: 'GET',
      path: '/api/_test/requests',
      handle: async () => answer({ requests: log.requests(), dropped: log.dropped() }),
    },
    { method: 'POST', path: '/api/_test/reset', handle: reset },
  ];
}

function readRules(body: JsonObject) {
  const { rules } = body;
  if (rules === undefined) return undefined;
  if (!Array.isArray(rules) || !rules.every(isFaultRule))
    return invalid(
      `Send {"rules": [{"fault": {"type": …}, "count", "percent", "match"}], "stopped"}; types: ${FAULT_TYPES.join(', ')}`,
    );
  return rules;
}
