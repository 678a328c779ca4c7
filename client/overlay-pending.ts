/**
 * What the person sees (C20): what the server said, with the waiting rows over it: changes applied, deletes hidden,
 * creations added. Pure. Nothing of it may be kept as if the server had said it (D43).
 */
import type { Target } from '../shared/key.ts';
import type { ViewRow } from '../shared/protocol.ts';

/** A row that waits no more, and whose effect the server copy may not show yet. */
export interface EndedChange {
  readonly row: ViewRow;
  readonly body?: unknown;
  /** From its receipt, once that is known: the server's id, and the revision it made. */
  readonly accepted?: { readonly target: string; readonly revision: number } | undefined;
}

export interface OverlayOptions<Item> {
  readonly family: string;
  /** What the server said. */
  readonly items: readonly Item[];
  /** The live view's rows; those of other families are passed over. */
  readonly rows: readonly ViewRow[];
  /** Their payloads, as `outbox.bodies` gives them. A row whose payload is not there yet changes no content. */
  readonly bodies: readonly { readonly id: string; readonly body: unknown }[];
  readonly idOf: (item: Item) => string;
  /** What has ended and was not read back yet, as `watchPending` tells it: shown as if the server had said it. */
  readonly ended?: readonly EndedChange[] | undefined;
  /** The server's revision of an item: what has ended is not laid over an item that is as new. */
  readonly revisionOf?: ((item: Item) => number) | undefined;
  /** What a record was known by before the server gave it an id, so that a list's key stays what it was. */
  readonly originOf?: ((id: string) => string | undefined) | undefined;
  /**
   * The item with this payload over it. `item` is absent for a creation, and for a document that the server has not
   * got. Default: the members of one over those of the other.
   */
  readonly apply?: ((item: Item | undefined, body: unknown, row: ViewRow) => Item | undefined) | undefined;
}

export interface OverlaidItem<Item> {
  readonly item: Item;
  /** The server's id, or the origin of a creation: the same while it waits, made for a list's keys. */
  readonly key: string;
  /** What a command on it is aimed at. */
  readonly target: Target;
  /** The rows over it, in their order; none means that it stands as the server said. */
  readonly rows: readonly ViewRow[];
  /** The most telling state of those rows. */
  readonly state: 'saved' | 'queued' | 'sending' | 'held' | 'blocked';
}

/** From the least telling to the most. */
const STATES = ['saved', 'queued', 'sending', 'held', 'blocked'] as const;

export function overlayPending<Item>(options: OverlayOptions<Item>): readonly OverlaidItem<Item>[] {
  const { family, idOf, revisionOf, apply = mergeMembers, originOf = () => undefined } = options;
  const bodies = new Map(options.bodies.map(({ id, body }) => [id, body]));
  const ended = (options.ended ?? []).filter(({ row }) => row.family === family);
  /** Creations that the server has accepted, whose later rows may still be aimed at what they were. */
  const given = new Map(
    ended.flatMap(({ row, accepted }) => (accepted ? [[row.origin, accepted.target]] : [])),
  );
  const aim = (target: Target): Target => {
    const id = target.type === 'pending' ? given.get(target.origin) : undefined;
    return id === undefined ? target : { type: 'id', id };
  };

  /** What lies over one thing, in its order. */
  interface Pile {
    readonly target: Target;
    readonly ended: EndedChange[];
    readonly rows: ViewRow[];
  }
  const piles = new Map<string, Pile>();
  const pileOf = (target: Target): Pile => {
    const pile = piles.get(tokenOf(target)) ?? { target, ended: [], rows: [] };
    piles.set(tokenOf(target), pile);
    return pile;
  };
  for (const change of ended) {
    const { row, accepted } = change;
    pileOf(accepted ? { type: 'id', id: accepted.target } : aim(targetOf(row))).ended.push(change);
  }
  for (const row of options.rows) {
    // What a later row has overtaken must not show older values over it (C33).
    if (row.family !== family || (row.state === 'blocked' && row.overtakenBy !== undefined)) continue;
    pileOf(aim(targetOf(row))).rows.push(row);
  }

  const overlay = (item: Item | undefined, pile: Pile): OverlaidItem<Item> | undefined => {
    const revision = item === undefined ? 0 : (revisionOf?.(item) ?? 0);
    let shown = item;
    const lay = (row: ViewRow, hasBody: boolean, body: unknown, isRefused: boolean): void => {
      // A refused delete is a thing that is still there.
      if (row.kind === 'delete' || row.kind === 'remove') shown = isRefused ? shown : undefined;
      else if (hasBody) shown = apply(shown, body, row);
    };
    for (const { row, body, accepted } of pile.ended) {
      // What the copy has at this revision or a later one is the server's own word.
      if (accepted && item !== undefined && accepted.revision <= revision) continue;
      lay(row, body !== undefined, body, !accepted && row.state === 'blocked');
    }
    for (const row of pile.rows) lay(row, bodies.has(row.id), bodies.get(row.id), row.state === 'blocked');
    if (shown === undefined) return undefined;
    const { target, rows } = pile;
    const most = Math.max(0, ...rows.map(({ state }) => STATES.indexOf(state)));
    const key = target.type === 'id' ? (originOf(target.id) ?? target.id) : target.origin;
    return { item: shown, key, target, rows, state: STATES[most] ?? 'saved' };
  };

  const known = options.items.flatMap((item) => {
    const target: Target = { type: 'id', id: idOf(item) };
    const pile = piles.get(tokenOf(target)) ?? { target, ended: [], rows: [] };
    piles.delete(tokenOf(target));
    return overlay(item, pile) ?? [];
  });
  const added = [...piles.values()].flatMap((pile) => {
    const first = pile.ended[0]?.row ?? pile.rows[0];
    // An update of something that the server's answer does not contain has nothing to be seen over.
    if (!first || (first.kind !== 'create' && first.kind !== 'put')) return [];
    return overlay(undefined, pile) ?? [];
  });
  return [...known, ...added];
}

/** A creation stands for itself until it has a server id. */
const targetOf = (row: ViewRow): Target =>
  row.kind === 'create' ? { type: 'pending', origin: row.origin } : row.target;

const tokenOf = (target: Target): string =>
  JSON.stringify(target.type === 'id' ? [target.id] : [0, target.origin]);

function mergeMembers<Item>(item: Item | undefined, body: unknown): Item | undefined {
  if (typeof body !== 'object' || body === null) return item;
  return Object.assign({}, item, body);
}
