/** Workouts: records whose id the server gives. Revisions rise by one per change; deleted ones stay known. */
import { randomUUID } from 'node:crypto';
import type { Database, Sql } from '../database/database.ts';
import type { JsonObject } from '../http/json-body.ts';
import { invalid, problem } from '../http/problem.ts';
import type { Route } from '../http/router.ts';
import type { Refusal } from '../ledger/ledger.ts';
import type { CommandInput, CommandRoute } from '../routes/command-routes.ts';
import type { Authenticate } from '../routes/sign-in.ts';
import { type NoteEffect, nextGeneration } from './change-notes.ts';
import { applyPatch, checkWorkout, checkWorkoutPatch } from './check-body.ts';
import { gone, invalidBody, notFound, revisionConflict } from './refusals.ts';

interface WorkoutRow {
  readonly id: string;
  readonly revision: number;
  readonly body: JsonObject;
  readonly deleted_at: Date | null;
  /** Ids, in a list only. */
  readonly photos?: readonly string[] | null;
}

const FAMILY = 'workout';
const PATH = '/api/workouts';
const LIST_LIMIT = 500;

export function workoutCommands(note: NoteEffect): readonly CommandRoute[] {
  const create: CommandRoute = {
    method: 'POST',
    path: PATH,
    family: FAMILY,
    kind: 'workout.create',
    apply: async (sql, input) => {
      const { owner, body } = input;
      const fault = checkWorkout(body);
      if (fault !== undefined || !body) return invalidBody(fault ?? 'A body is missing');
      const target = randomUUID();
      await sql.query(
        'insert into demo_workouts (owner, id, revision, body, day) values ($1, $2, 1, $3, $4)',
        [owner, target, JSON.stringify(body), body['date']],
      );
      return finish(sql, create, input, { target, revision: 1 }, { ...body, id: target, revision: 1 });
    },
  };

  const update: CommandRoute = {
    method: 'PATCH',
    path: `${PATH}/:id`,
    family: FAMILY,
    kind: 'workout.update',
    apply: async (sql, input) => {
      const { owner, body: patch } = input;
      const fault = checkWorkoutPatch(patch);
      if (fault !== undefined || !patch) return invalidBody(fault ?? 'A body is missing');
      const found = await lock(sql, input);
      if ('type' in found) return found;
      const body = applyPatch(found.body, patch);
      const revision = found.revision + 1;
      await sql.query(
        'update demo_workouts set revision = $3, body = $4, day = $5 where owner = $1 and id = $2',
        [owner, found.id, revision, JSON.stringify(body), body['date']],
      );
      return finish(sql, update, input, { target: found.id, revision }, { ...body, id: found.id, revision });
    },
  };

  const remove: CommandRoute = {
    method: 'DELETE',
    path: `${PATH}/:id`,
    family: FAMILY,
    kind: 'workout.delete',
    apply: async (sql, input) => {
      const found = await lock(sql, input);
      if ('type' in found) return found;
      const revision = found.revision + 1;
      await sql.query(
        'update demo_workouts set revision = $3, deleted_at = now() where owner = $1 and id = $2',
        [input.owner, found.id, revision],
      );
      return finish(sql, remove, input, { target: found.id, revision }, { id: found.id, revision });
    },
  };

  async function finish(
    sql: Sql,
    route: CommandRoute,
    input: CommandInput,
    done: { readonly target: string; readonly revision: number },
    workout: JsonObject,
  ) {
    await note(sql, route, input, done);
    const generation = await nextGeneration(sql, input.owner);
    const status = route === create ? (201 as const) : (200 as const);
    return { type: 'applied', ...done, generation, status, resource: { workout } } as const;
  }

  return [create, update, remove];
}

/** The workout as it is now, held until the transaction ends; or why the command cannot have it (V3). */
async function lock(sql: Sql, input: CommandInput): Promise<WorkoutRow | Refusal> {
  const [row] = await sql.query<WorkoutRow>(
    'select id, revision, body, deleted_at from demo_workouts where owner = $1 and id = $2 for update',
    [input.owner, input.parameters['id']],
  );
  if (!row) return notFound('workout');
  if (row.deleted_at) return gone('workout');
  const { expectedRevision } = input;
  return expectedRevision === undefined || expectedRevision === row.revision
    ? row
    : revisionConflict(expectedRevision, row.revision);
}

/** Reads: `GET /api/workouts?from=&to=&limit=&after=` by day, newest first, `GET …/:id`, `GET /api/statistics`. */
export function workoutReads(database: Database, authenticate: Authenticate): readonly Route[] {
  const list: Route['handle'] = async (request) => {
    const { id: owner } = await authenticate(request);
    const limit = Number(request.query.get('limit') ?? LIST_LIMIT);
    if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT)
      return invalid(`limit is a number from 1 to ${LIST_LIMIT}`);
    const rows = await database.query<WorkoutRow>(
      `select id, revision, body,
         (select json_agg(p.id order by p.created_at, p.id) from demo_photos p
          where p.owner = w.owner and p.workout = w.id and p.deleted_at is null) as photos
       from demo_workouts w
       where owner = $1 and deleted_at is null
         and day >= coalesce($2, '') and day <= coalesce($3, '9999-12-31')
         and ($4::text is null or (w.day, w.id) < (select day, id from demo_workouts where owner = $1 and id = $4))
       order by day desc, id desc limit $5`,
      [owner, request.query.get('from'), request.query.get('to'), request.query.get('after'), limit],
    );
    const items = rows.map(({ id, revision, body, photos }) => ({
      ...body,
      id,
      revision,
      ...(photos && { photos }),
    }));
    return { status: 200, headers: { 'cache-control': 'no-store' }, json: { items } };
  };

  const one: Route['handle'] = async (request, { id }) => {
    const { id: owner } = await authenticate(request);
    const [row] = await database.query<WorkoutRow>(
      'select id, revision, body, deleted_at from demo_workouts where owner = $1 and id = $2',
      [owner, id],
    );
    if (!row) return problem(404, 'not_found', 'There is no such workout');
    if (row.deleted_at) return problem(410, 'gone', 'This workout was deleted');
    const { revision, body } = row;
    return {
      status: 200,
      headers: { etag: `"${revision}"`, 'cache-control': 'no-store' },
      json: { ...body, id: row.id, revision },
    };
  };

  // One statement, one snapshot: the numbers have seen exactly the changes up to `generation` (D44).
  const statistics: Route['handle'] = async (request) => {
    const { id: owner } = await authenticate(request);
    const [row] = await database.query<{
      generation: number;
      workouts: number;
      days: number;
      volume: number;
    }>(
      `select coalesce((select generation from demo_generations where owner = $1), 0) as generation,
         count(*) as workouts, count(distinct day) as days,
         coalesce(sum(coalesce((body ->> 'weightKg')::float8, 0) * coalesce((body ->> 'reps')::float8, 1)
           * coalesce((body ->> 'sets')::float8, 1)), 0) as volume
       from demo_workouts where owner = $1 and deleted_at is null`,
      [owner],
    );
    return { status: 200, headers: { 'cache-control': 'no-store' }, json: { ...row } };
  };

  return [
    { method: 'GET', path: PATH, handle: list },
    { method: 'GET', path: `${PATH}/:id`, handle: one },
    { method: 'GET', path: '/api/statistics', handle: statistics },
  ];
}
