/** Photos of a workout: records whose request is the file itself, not JSON. They never change; they come and go. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { problem } from '../http/problem.ts';
import type { Route } from '../http/router.ts';
import type { CommandRoute } from '../routes/command-routes.ts';
import type { Authenticate } from '../routes/sign-in.ts';
import { type NoteEffect, nextGeneration } from './change-notes.ts';
import { gone, invalidBody, notFound } from './refusals.ts';

const FAMILY = 'photo';
const PATH = '/api/workouts/:workout/photos';
const ONE = '/api/photos/:id';

export function photoCommands(note: NoteEffect): readonly CommandRoute[] {
  const create: CommandRoute = {
    method: 'POST',
    path: PATH,
    family: FAMILY,
    kind: 'photo.create',
    takes: 'file',
    apply: async (sql, input) => {
      const { owner, file, parameters } = input;
      const workout = parameters['workout'] ?? '';
      if (!file || !/^image\/[\w.+-]+$/.test(file.type)) return invalidBody('A photo is an image');
      const [parent] = await sql.query<{ deleted_at: Date | null }>(
        'select deleted_at from demo_workouts where owner = $1 and id = $2 for share',
        [owner, workout],
      );
      if (!parent) return notFound('workout');
      if (parent.deleted_at) return gone('workout');
      const target = randomUUID();
      await sql.query(
        'insert into demo_photos (owner, id, workout, type, bytes) values ($1, $2, $3, $4, $5)',
        [owner, target, workout, file.type, file.bytes],
      );
      const done = { target, revision: 1 };
      await note(sql, create, input, done);
      const generation = await nextGeneration(sql, owner);
      const photo = { id: target, workout, type: file.type, size: file.bytes.length };
      return { type: 'applied', ...done, generation, status: 201, resource: { photo } };
    },
  };

  const remove: CommandRoute = {
    method: 'DELETE',
    path: ONE,
    family: FAMILY,
    kind: 'photo.delete',
    apply: async (sql, input) => {
      const { owner, parameters } = input;
      const [row] = await sql.query<{ id: string; deleted_at: Date | null }>(
        'select id, deleted_at from demo_photos where owner = $1 and id = $2 for update',
        [owner, parameters['id']],
      );
      if (!row) return notFound('photo');
      if (row.deleted_at) return gone('photo');
      // Its bytes go; that it was here is remembered.
      await sql.query("update demo_photos set deleted_at = now(), bytes = '' where owner = $1 and id = $2", [
        owner,
        row.id,
      ]);
      const done = { target: row.id, revision: 2 };
      await note(sql, remove, input, done);
      const generation = await nextGeneration(sql, owner);
      return { type: 'applied', ...done, generation, status: 200, resource: { photo: { id: row.id } } };
    },
  };

  return [create, remove];
}

/** Reads: `GET /api/workouts/:workout/photos` lists them, `GET /api/photos/:id` answers the file. */
export function photoReads(database: Database, authenticate: Authenticate): readonly Route[] {
  const list: Route['handle'] = async (request, { workout }) => {
    const { id: owner } = await authenticate(request);
    const items = await database.query<Readonly<Record<string, unknown>>>(
      `select id, workout, type, length(bytes) as size from demo_photos
       where owner = $1 and workout = $2 and deleted_at is null order by created_at, id`,
      [owner, workout],
    );
    return { status: 200, headers: { 'cache-control': 'no-store' }, json: { items } };
  };

  const one: Route['handle'] = async (request, { id }) => {
    const { id: owner } = await authenticate(request);
    const [row] = await database.query<{ type: string; bytes: Uint8Array; deleted_at: Date | null }>(
      'select type, bytes, deleted_at from demo_photos where owner = $1 and id = $2',
      [owner, id],
    );
    if (!row) return problem(404, 'not_found', 'There is no such photo');
    if (row.deleted_at) return problem(410, 'gone', 'This photo was deleted');
    const headers = { 'content-type': row.type, 'cache-control': 'private, max-age=31536000, immutable' };
    return { status: 200, headers, bytes: row.bytes };
  };

  return [
    { method: 'GET', path: PATH, handle: list },
    { method: 'GET', path: ONE, handle: one },
  ];
}
