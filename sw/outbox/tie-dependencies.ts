/**
 * What ties rows of different keys (W60): the names in a command's `after`, and those that wait by name for a row
 * that goes (R6). Reads; writes nothing itself.
 */
import { InvalidCommandError, NoSuchTargetError } from '../../shared/errors.ts';
import type { Row } from '../../shared/row.ts';
import type { Digest } from '../environment.ts';
import type { AdmittedCommand } from './admitted-command.ts';
import { type Change, endRow, takeIn } from './change.ts';
import { deriveId } from './derive-id.ts';
import { joined, tookOver } from './draft-row.ts';
import { followId } from './follow-id.ts';
import { type Named, readNamed } from './gather-rows.ts';
import { hashRequest } from './hash-request.ts';
import { neededOrigins } from './plan-intent.ts';
import type { RowStore } from './row-store.ts';

const NOTHING_NAMED: Named = { stored: [], all: new Set() };

/**
 * The command with its `after` led on to the lines that took over, and what it and the rows of its key name.
 * @throws InvalidCommandError where a name is not known, NoSuchTargetError where it was given up
 */
export async function resolveAfter(
  store: RowStore,
  command: AdmittedCommand,
  rows: readonly Row[],
): Promise<{ readonly command: AdmittedCommand; readonly named: Named }> {
  const { owner } = command.key;
  const after: string[] = [];
  for (const origin of command.input.after ?? []) after.push(await leadOn(store, owner, origin));
  const names = [...after, ...rows.flatMap((row) => row.after ?? [])];
  if (names.length === 0) return { command, named: NOTHING_NAMED };
  return {
    command: { ...command, input: { ...command.input, after } },
    named: await readNamed(store, owner, names),
  };
}

/** The origin that stands for `origin` now. */
async function leadOn(store: RowStore, owner: string, origin: string): Promise<string> {
  const [row] = await store.findByOrigin([origin]);
  if (row?.owner === owner) return origin;
  const end = row === undefined ? await store.findEndOfOrigin(origin) : undefined;
  if (end?.key[0] !== owner)
    throw new InvalidCommandError(`after names ${origin}, which is not known here`, {
      path: 'after',
      origin,
    });
  const followed = end.by === undefined ? undefined : await followId(store, owner, end.by);
  if (followed?.type === 'row') return followed.row.origin;
  const last = followed?.type === 'ended' ? followed.entry : end;
  if (last.end === 'dropped' || last.end === 'cancelled' || last.end === 'discarded')
    throw new NoSuchTargetError(`after names ${origin}, which was ${last.end}`, { origin, end: last.end });
  return last.origin;
}

/**
 * Ties the row that `change` writes first to rows of other keys: those it waits for learn that they are awaited, and
 * those that waited by name for a removed row wait for the one that took over (R6). `false`: one of them went
 * meanwhile.
 */
export async function tie(
  { store, digest }: { readonly store: RowStore; readonly digest: Digest },
  change: Change,
  { input }: AdmittedCommand,
  named: Named,
  now: number,
): Promise<boolean> {
  const [row] = change.write;
  if (!row) return true;
  const left = change.expected.flatMap(({ id, awaited, origin }) =>
    awaited && change.remove.includes(id) && origin !== row.origin ? origin : [],
  );
  const seen = (await Promise.all(left.map((origin) => store.findWaiting(origin)))).flat();
  const parents = named.stored.filter(({ origin }) => input.after?.includes(origin));
  const waiting = new Map(
    seen.flatMap((other) =>
      other.owner === row.owner && other.after?.some((name) => left.includes(name))
        ? [[other.id, other]]
        : [],
    ),
  );
  const known = [...named.stored, ...change.expected].map(({ origin }) => origin);
  const isOrphan = row.after?.length && !neededOrigins(row).some((origin) => known.includes(origin));
  const stillThere = await takeIn(store, change, parents);
  const moving = await takeIn(store, change, [...waiting.values()]);
  if (!stillThere || !moving) return false;
  const touched = [...change.remove, ...change.write.map(({ id }) => id)];
  // Written each time: whoever removes or accepts a parent at this moment must look again for what waits for it.
  for (const parent of stillThere)
    if (!touched.includes(parent.id)) change.write.push({ ...parent, awaited: true });
  change.write[0] = {
    ...row,
    ...(isOrphan && { orphanedAt: now }),
    ...(moving.length > 0 && { awaited: true }),
  };
  // `after` is part of a row's identity: a dependant that waits for another line is another row in its place.
  for (const other of moving) {
    const { kind, target, expectedRevision, bodyDigest } = other;
    const after = joined(other.after?.map((name) => (left.includes(name) ? row.origin : name)));
    const id = await deriveId(digest, other.id, expectedRevision, bodyDigest);
    const requestHash = await hashRequest(digest, { kind, target, expectedRevision, bodyDigest, after });
    change.write.push({ ...other, id, requestHash, after, replaces: tookOver([other]), version: undefined });
    endRow(change, other, { type: 'replaced', by: id });
  }
  return true;
}
