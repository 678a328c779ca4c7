/** Day plans: documents whose id, a date, the page gives. A removed one keeps its revision and may come back. */
import type { Database, Sql } from '../database/database.ts';
import type { JsonObject } from '../http/json-body.ts';
import { problem } from '../http/problem.ts';
import type { Route } from '../http/router.ts';
import type { CommandInput, CommandRoute } from '../routes/command-routes.ts';
import type { Authenticate } from '../routes/sign-in.ts';
import type { NoteEffect } from './change-notes.ts';
import { checkPlan, isDay } from './check-body.ts';
import { invalidBody, notFound, revisionConflict } from './refusals.ts';

interface PlanRow {
  readonly day: string;
  readonly revision: number;
  readonly body: JsonObject;
  readonly removed_at: Date | null;
}

const FAMILY = 'plan';
const PATH = '/api/plans';

export function planCommands(note: NoteEffect): readonly CommandRoute[] {
  const put: CommandRoute = {
    method: 'PUT',
    path: `${PATH}/:date`,
    family: FAMILY,
    kind: 'plan.put',
    apply: async (sql, input) => {
      const { owner, body, expectedRevision } = input;
      const day = input.parameters['date'];
      if (!isDay(day)) return invalidBody('A plan is for a day such as 2026-11-30');
      const fault = checkPlan(body);
      if (fault !== undefined || !body) return invalidBody(fault ?? 'A body is missing');
      const found = await lock(sql, owner, day);
      const actual = found?.revision ?? 0;
      if (expectedRevision !== undefined && expectedRevision !== actual)
        return revisionConflict(expectedRevision, actual);
      // Two that create the same day at once: the second waits here, then sees the first one's revision.
      const [row] = await sql.query<{ revision: number }>(
        `insert into demo_plans (owner, day, revision, body) values ($1, $2, 1, $3)
         on conflict (owner, day) do update
           set revision = demo_plans.revision + 1, body = excluded.body, removed_at = null
         where $4::integer is null or demo_plans.revision = $5 returning revision`,
        [owner, day, JSON.stringify(body), expectedRevision ?? null, actual],
      );
      if (!row) return revisionConflict(actual, (await lock(sql, owner, day))?.revision ?? 0);
      return finish(sql, put, input, { target: day, revision: row.revision }, body);
    },
  };

  const remove: CommandRoute = {
    method: 'DELETE',
    path: `${PATH}/:date`,
    family: FAMILY,
    kind: 'plan.remove',
    apply: async (sql, input) => {
      const { owner, expectedRevision } = input;
      const day = input.parameters['date'] ?? '';
      const found = await lock(sql, owner, day);
      if (!found || found.removed_at) return notFound('plan');
      if (expectedRevision !== undefined && expectedRevision !== found.revision)
        return revisionConflict(expectedRevision, found.revision);
      const revision = found.revision + 1;
      await sql.query(
        'update demo_plans set revision = $3, body = null, removed_at = now() where owner = $1 and day = $2',
        [owner, day, revision],
      );
      return finish(sql, remove, input, { target: day, revision }, {});
    },
  };

  async function finish(
    sql: Sql,
    route: CommandRoute,
    input: CommandInput,
    done: { readonly target: string; readonly revision: number },
    body: JsonObject,
  ) {
    await note(sql, route, input, done);
    // Nothing is derived from a plan.
    const resource = { plan: { ...body, date: done.target, revision: done.revision } };
    return { type: 'applied', ...done, generation: 0, status: 200, resource } as const;
  }

  return [put, remove];
}

async function lock(sql: Sql, owner: string, day: string): Promise<PlanRow | undefined> {
  const [row] = await sql.query<PlanRow>(
    'select day, revision, body, removed_at from demo_plans where owner = $1 and day = $2 for update',
    [owner, day],
  );
  return row;
}

/** Reads: `GET /api/plans?from=&to=` by date, `GET /api/plans/:date`. */
export function planReads(database: Database, authenticate: Authenticate): readonly Route[] {
  const list: Route['handle'] = async (request) => {
    const { id: owner } = await authenticate(request);
    const rows = await database.query<PlanRow>(
      `select day, revision, body from demo_plans
       where owner = $1 and removed_at is null and day >= coalesce($2, '') and day <= coalesce($3, '9999-12-31')
       order by day limit 500`,
      [owner, request.query.get('from'), request.query.get('to')],
    );
    const items = rows.map(({ day, revision, body }) => ({ ...body, date: day, revision }));
    return { status: 200, headers: { 'cache-control': 'no-store' }, json: { items } };
  };

  const one: Route['handle'] = async (request, { date = '' }) => {
    const { id: owner } = await authenticate(request);
    const [row] = await database.query<PlanRow>(
      'select day, revision, body from demo_plans where owner = $1 and day = $2 and removed_at is null',
      [owner, date],
    );
    if (!row) return problem(404, 'not_found', 'There is no plan for this day');
    return {
      status: 200,
      headers: { etag: `"${row.revision}"`, 'cache-control': 'no-store' },
      json: { ...row.body, date: row.day, revision: row.revision },
    };
  };

  return [
    { method: 'GET', path: PATH, handle: list },
    { method: 'GET', path: `${PATH}/:date`, handle: one },
  ];
}
