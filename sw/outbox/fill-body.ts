/** Puts what a command belongs to into its body (W60): the ids that the server gave to its parents. */
import { type Families, type Family, type ParentFacts, wireKindOf } from '../../shared/family.ts';
import type { Row } from '../../shared/row.ts';
import { findFamily } from './check-command.ts';
import type { RowStore } from './row-store.ts';

export interface NamedParent extends ParentFacts {
  readonly family: string;
}

/** The app's functions get copies, so that they may change them. */
export function fillBody(
  family: Family | undefined,
  body: unknown,
  parents: readonly NamedParent[],
): unknown {
  let filled = body;
  for (const { family: name, ...parent } of parents) {
    const fill = family?.under && Object.hasOwn(family.under, name) ? family.under[name] : undefined;
    if (fill) filled = fill(structuredClone(filled), parent);
  }
  return filled;
}

/** Of the parents whose receipts are known, those that the intent's family is under. */
export async function readParents(
  store: Pick<RowStore, 'findByOrigin' | 'findEndOfOrigin'>,
  families: Families,
  intent: Row,
  accepted: Row | undefined,
  receipts: ReadonlyMap<string, NonNullable<ParentFacts['receipt']>>,
): Promise<readonly NamedParent[]> {
  const { under } = findFamily(families, intent.family) ?? {};
  const parents: NamedParent[] = [];
  for (const origin of under ? (intent.after ?? []) : []) {
    const receipt = receipts.get(origin);
    if (!receipt) continue;
    const [row] = accepted?.origin === origin ? [accepted] : await store.findByOrigin([origin]);
    // Forgotten here: the receipt says what it was.
    const isKind = (name: string): boolean => {
      const wireKind = wireKindOf(name, 'create');
      return [wireKind, ...(findFamily(families, name)?.wireKinds?.[wireKind] ?? [])].includes(receipt.kind);
    };
    const family =
      row?.family ?? (await store.findEndOfOrigin(origin))?.key[1] ?? Object.keys(under ?? {}).find(isKind);
    if (family !== undefined) parents.push({ family, target: receipt.target, receipt });
  }
  return parents;
}
