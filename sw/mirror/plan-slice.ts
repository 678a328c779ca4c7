/**
 * Which of the rows that were noted since are mirrored next (S22). Pure. Each transaction left one record of what it
 * touched; records are taken whole, since only whole ones can be cleared.
 */
import type { FactName, UnmirroredId } from '../outbox/row-store.ts';
import type { UnmirroredNote } from './plan-mirror-write.ts';

export interface NoteRecord {
  readonly name: FactName;
  readonly owner: string;
  readonly notes: readonly UnmirroredNote[];
}

export interface Slice {
  /** To be cleared when `now` is mirrored. */
  readonly taken: readonly NoteRecord[];
  /** Each id once, by its last note. One that a later record names as well is left to that. */
  readonly now: readonly UnmirroredNote[];
  /** What of the records that were read is still to come, and is not among `now`. */
  readonly later: readonly UnmirroredNote[];
}

/** A value that does not read names nothing, and is cleared with the others. */
export function readRecord({
  name,
  value,
}: {
  readonly name: FactName;
  readonly value: unknown;
}): NoteRecord {
  const owner = name[1] ?? '';
  const ids: readonly UnmirroredId[] = Array.isArray(value) ? value : [];
  return { name, owner, notes: ids.map((noted) => ({ ...noted, owner })) };
}

/** @param size ids; a record that holds more is taken all the same. */
export function planSlice(records: readonly NoteRecord[], size: number): Slice {
  let count = 0;
  const end = records.findIndex(({ notes }) => {
    count += notes.length;
    return count >= size;
  });
  const taken = records.slice(0, end < 0 ? records.length : end + 1);
  const later = newest(records.slice(taken.length));
  const now = newest(taken);
  const isLater = new Set(later.map(nameOf));
  return { taken, now: now.filter((note) => !isLater.has(nameOf(note))), later };
}

function newest(records: readonly NoteRecord[]): readonly UnmirroredNote[] {
  const byName = new Map<string, UnmirroredNote>();
  for (const { notes } of records) for (const note of notes) byName.set(nameOf(note), note);
  return [...byName.values()];
}

/** Ids are UUIDs: their length does not vary, so no owner's name can make two of them one. */
function nameOf({ owner, id }: UnmirroredNote): string {
  return `${id}${owner}`;
}
