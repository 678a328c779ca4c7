/**
 * What the person sees (C20): what the server said, with the waiting rows over it: changes applied, deletes hidden,
 * creations added. Pure. Nothing of it may be kept as if the server had said it (D43).
 */
import type { Target } from '../shared/key.ts';
import type { ViewRow } from '../shared/protocol.ts';

export interface OverlayOptions<Item> {
  readonly family: string;
  /** What the server said. */
  readonly items: readonly Item[];
  /** The live view's rows; those of other families are passed over. */
  readonly rows: readonly ViewRow[];
  /** Their payloads, as `outbox.bodies` gives them. A row whose payload is not there yet changes no content. */
  readonly bodies: readonly { readonly id: string; readonly body: unknown }[];
  readonly idOf: (item: Item) => string;
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
  const { family, idOf, apply = mergeMembers } = options;
  const bodies = new Map(options.bodies.map(({ id, body }) => [id, body]));
  const byKey = new Map<string, ViewRow[]>();
  for (const row of options.rows) {
    // What a later row has overtaken must not show older values over it (C33).
    if (row.family !== family || (row.state === 'blocked' && row.overtakenBy !== undefined)) continue;
    const key = keyOf(row);
    byKey.set(key, [...(byKey.get(key) ?? []), row]);
  }

  const overlay = (
    item: Item | undefined,
    target: Target,
    rows: readonly ViewRow[],
  ): OverlaidItem<Item> | undefined => {
    let shown = item;
    for (const row of rows) {
      // A refused delete is a thing that is still there.
      if (row.kind === 'delete' || row.kind === 'remove') shown = row.state === 'blocked' ? shown : undefined;
      else if (bodies.has(row.id)) shown = apply(shown, bodies.get(row.id), row);
    }
    if (shown === undefined) return undefined;
    const most = Math.max(0, ...rows.map(({ state }) => STATES.indexOf(state)));
    const key = target.type === 'id' ? target.id : target.origin;
    return { item: shown, key, target, rows, state: STATES[most] ?? 'saved' };
  };

  const known = options.items.flatMap((item) => {
    const target: Target = { type: 'id', id: idOf(item) };
    const rows = byKey.get(tokenOf(target)) ?? [];
    byKey.delete(tokenOf(target));
    return overlay(item, target, rows) ?? [];
  });
  const added = [...byKey.values()].flatMap((rows) => {
    const [first] = rows;
    // An update of something that the server's answer does not contain has nothing to be seen over.
    if (!first || (first.kind !== 'create' && first.kind !== 'put')) return [];
    return overlay(undefined, targetOf(first), rows) ?? [];
  });
  return [...known, ...added];
}

/** A creation stands for itself until it has a server id. */
const targetOf = (row: ViewRow): Target =>
  row.kind === 'create' ? { type: 'pending', origin: row.origin } : row.target;

const tokenOf = (target: Target): string =>
  JSON.stringify(target.type === 'id' ? [target.id] : [0, target.origin]);
const keyOf = (row: ViewRow): string => tokenOf(targetOf(row));

function mergeMembers<Item>(item: Item | undefined, body: unknown): Item | undefined {
  if (typeof body !== 'object' || body === null) return item;
  return Object.assign({}, item, body);
}
