/**
 * What ties rows of different keys (W60): the names in a command's `after`, and those that wait by name for a row
 * that goes (R6). Reads; writes nothing itself.
 */
import { InvalidCommandError, NoSuchTargetError } from '../../shared/errors.ts';
import type { Key } from '../../shared/key.ts';
import type { Row } from '../../shared/row.ts';
import type { Digest } from '../environment.ts';
import type { AdmittedCommand } from './admitted-command.ts';
import { outcomeOf } from './attempt.ts';
import type { Composed } from './compose-write.ts';
import { deriveId } from './derive-id.ts';
import { joined, tookOver } from './draft-row.ts';
import { followId } from './follow-id.ts';
import { type Named, readAround, readNamed } from './gather-rows.ts';
import { hashRequest } from './hash-request.ts';
import { neededOrigins } from './plan-intent.ts';
import type { OutcomeDraft, RowDraft, RowStore } from './row-store.ts';

interface TieDeps {
  readonly store: RowStore;
  readonly digest: Digest;
}

/** What is to be committed, with the keys beside the command's own and all that is stored under them. */
export interface Draft {
  readonly composed: Composed;
  readonly keys: readonly Key[];
  readonly rows: readonly Row[];
}

/** What a command's dependencies are, led on to the lines that took over (W60). */
export interface Dependencies {
  readonly command: AdmittedCommand;
  /** The stored rows that it names. */
  readonly parents: readonly Row[];
  /** Absent where neither it nor its key names any. */
  readonly named: Named | undefined;
}

export async function resolveAfter(
  store: RowStore,
  command: AdmittedCommand,
  rows: readonly Row[],
): Promise<Dependencies> {
  const { owner } = command.key;
  const beside = rows.flatMap((row) => row.after ?? []);
  const own = command.input.after ?? [];
  if (own.length + beside.length === 0) return { command, parents: [], named: undefined };
  const after: string[] = [];
  for (const origin of own) after.push(await leadOn(store, owner, origin));
  const named = await readNamed(store, owner, [...after, ...beside]);
  const input = own.length > 0 ? { ...command.input, after } : command.input;
  return {
    command: { ...command, input },
    parents: named.stored.filter((row) => after.includes(row.origin)),
    named,
  };
}

/** The origin that stands for `origin` now. */
async function leadOn(store: RowStore, owner: string, origin: string): Promise<string> {
  const [row] = await store.findByOrigin([origin]);
  if (row?.owner === owner) return origin;
  const end = row === undefined ? await store.findEndOfOrigin(origin) : undefined;
  if (end === undefined || end.key[0] !== owner)
    throw new InvalidCommandError(`after names ${JSON.stringify(origin)}, which is not known here`, {
      path: 'after',
      origin,
    });
  if (end.by === undefined) {
    if (end.end === 'committed' || end.end === 'already_gone') return origin;
    throw new NoSuchTargetError(`after names ${JSON.stringify(origin)}, which was ${end.end}`, {
      origin,
      end: end.end,
    });
  }
  const followed = await followId(store, owner, end.by);
  if (followed.type === 'row') return followed.row.origin;
  return followed.type === 'ended' ? followed.entry.origin : origin;
}

/**
 * Ties a new row to rows of other keys: those it waits for learn that they are awaited, and those that waited for
 * a removed row by name wait for the one that took over (R6, W60).
 */
export async function tie<T extends Draft>(
  { store, digest }: TieDeps,
  draft: T,
  command: AdmittedCommand,
  { rows, parents, named }: Omit<Dependencies, 'command'> & { readonly rows: readonly Row[] },
  now: number,
): Promise<T | { readonly type: 'stale' }> {
  const { composed } = draft;
  const [row, ...others] = composed.write;
  if (!row) return draft;
  const left = new Set(
    composed.remove.flatMap(({ awaited, origin }) => (awaited && origin !== row.origin ? origin : [])),
  );
  const found = await Promise.all([...left].map((origin) => store.findWaiting(origin)));
  const waiting = uniqueRows(found.flat()).filter(
    (other) => other.owner === row.owner && other.after?.some((name) => left.has(name)),
  );
  const stored = new Set([...rows, ...(named?.stored ?? [])].map(({ origin }) => origin));
  const orphanedAt =
    row.after?.length && !neededOrigins(row).some((origin) => stored.has(origin)) ? now : row.orphanedAt;
  const tied = { ...row, orphanedAt, awaited: waiting.length > 0 ? true : row.awaited };
  if (parents.length + waiting.length === 0)
    return { ...draft, composed: { ...composed, write: [tied, ...others] } };
  const around = await readAround(store, [...parents, ...waiting], [command.key, ...draft.keys]);
  const fresh = new Map([...rows, ...draft.rows, ...around.rows].map((other) => [other.id, other]));
  if (![...parents, ...waiting].every(({ id }) => fresh.has(id))) return { type: 'stale' };
  const touched = new Set([...composed.remove, ...composed.write].map(({ id }) => id));
  // Written each time: whoever removes or accepts a parent at this moment must look again for what waits for it.
  const marks = parents
    .flatMap(({ id }) => fresh.get(id) ?? [])
    .filter(({ id }) => !touched.has(id))
    .map((parent) => ({ ...parent, awaited: true }));
  const moved = await Promise.all(
    waiting.map((seen) => moveDependant(digest, fresh.get(seen.id) ?? seen, left, row.origin)),
  );
  return {
    ...draft,
    keys: [...draft.keys, ...around.keys],
    rows: [...draft.rows, ...around.rows],
    composed: {
      ...composed,
      write: [tied, ...others, ...marks, ...moved.map(({ write }) => write)],
      remove: [...composed.remove, ...waiting],
      outcomes: [...composed.outcomes, ...moved.map(({ outcome }) => outcome)],
    },
  };
}

/** `after` is part of a row's identity, so a dependant that waits for another line is another row in its place. */
async function moveDependant(
  digest: Digest,
  row: Row,
  from: ReadonlySet<string>,
  to: string,
): Promise<{ readonly write: RowDraft; readonly outcome: OutcomeDraft }> {
  const after = joined(row.after?.map((name) => (from.has(name) ? to : name)));
  const { kind, target, expectedRevision, bodyDigest } = row;
  const id = await deriveId(digest, row.id, expectedRevision, bodyDigest);
  const requestHash = await hashRequest(digest, { kind, target, expectedRevision, bodyDigest, after });
  return {
    write: { ...row, id, requestHash, after, replaces: tookOver([row]), version: undefined },
    outcome: outcomeOf(row, { type: 'replaced', by: id }),
  };
}

function uniqueRows(rows: readonly Row[]): readonly Row[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

export function areAmong(rows: readonly Row[], all: readonly Row[]): boolean {
  const ids = new Set(all.map(({ id }) => id));
  return rows.every(({ id }) => ids.has(id));
}
