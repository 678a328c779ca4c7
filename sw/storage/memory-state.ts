/** What the in-memory store holds, and how it reads for the judge and writes what that says. */
import { type Key, toKeyArray } from '../../shared/key.ts';
import type { IdEntry } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import type { Clock, Ids } from '../environment.ts';
import { type Commit, FACTS, type FactName } from '../outbox/row-store.ts';
import {
  bySeq,
  endOf,
  type JudgeReads,
  NEW_OWNER,
  type OwnerRecord,
  type Place,
  planReads,
  type StoredEntry,
  type StoreWrites,
} from './judge.ts';
import { createTable, createUndoLog, tokenOf } from './memory-table.ts';

export interface MemoryRowStoreDeps {
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
}

interface StoredValue {
  readonly place: Place;
  readonly id: string | undefined;
  readonly value: unknown;
  readonly row: Row | undefined;
}
interface RememberedId {
  readonly number: number;
  readonly entry: IdEntry;
  readonly at: number;
}
interface OwnedEntry {
  readonly owner: string;
  readonly entry: StoredEntry;
}

function tokensOfValue({ place, id, row }: StoredValue): readonly string[] {
  const tokens = [tokenOf('owner', place.owner)];
  if (id !== undefined) tokens.push(tokenOf('id', id));
  if (row === undefined) return tokens;
  const waits = [row.successorOf, ...(row.after ?? [])].flatMap((origin) => origin ?? []);
  const keyed = [tokenOf('key', ...toKeyArray(keyOf(row))), tokenOf('origin', row.origin)];
  return [...tokens, ...keyed, ...waits.map((origin) => tokenOf('waits', origin))];
}
function tokensOfName({ id, origin }: { readonly id: string; readonly origin: string }): readonly string[] {
  return [tokenOf('id', id), tokenOf('origin', origin)];
}

export type MemoryState = ReturnType<typeof createMemoryState>;

export function createMemoryState({ clock, ids }: MemoryRowStoreDeps) {
  const log = createUndoLog();
  const rows = createTable<StoredValue>(log, tokensOfValue);
  const bodies = createTable<{ readonly body: unknown } | 'unreadable'>(log);
  const journal = createTable<OwnedEntry>(log, ({ owner, entry }) => [
    tokenOf('owner', owner),
    ...tokensOfName(entry.outcome.row),
  ]);
  const remembered = createTable<RememberedId>(log, ({ entry }) => tokensOfName(entry));
  const owners = createTable<{ readonly owner: string; readonly record: OwnerRecord }>(log);
  const facts = createTable<{ readonly name: FactName; readonly value: unknown }>(log);
  const numbers = createTable<number>(log);
  const epoch = ids.uuid();

  const counters = {
    transactions: 0,
    strict: 0,
    rowsRead: 0,
    rowsWritten: 0,
    bodiesRead: 0,
    bodiesWritten: 0,
  };

  numbers.set('seq', clock.now() * 1000);
  setFact(FACTS.recovery, { type: 'pending', at: clock.now() });
  log.end('strict');

  function given(list: readonly Row[]): readonly Row[] {
    counters.rowsRead += list.length;
    return structuredClone([...list].sort(bySeq));
  }
  function rowsBy(...token: readonly string[]): readonly Row[] {
    return rows.find(tokenOf(...token)).flatMap(({ row }) => row ?? []);
  }
  function rowsOfKey(key: Key): readonly Row[] {
    return rowsBy('key', ...toKeyArray(key));
  }
  function entriesBy(...token: readonly string[]): readonly StoredEntry[] {
    return journal
      .find(tokenOf(...token))
      .map(({ entry }) => entry)
      .sort((a, b) => a.n - b.n);
  }
  function rememberedBy(...token: readonly string[]): readonly IdEntry[] {
    const found = [...remembered.find(tokenOf(...token))].sort((a, b) => a.number - b.number);
    return found.map(({ entry }) => entry);
  }
  function findEnd(...token: readonly string[]): IdEntry | undefined {
    const end =
      rememberedBy(...token).at(-1) ??
      entriesBy(...token)
        .flatMap((entry) => endOf(entry) ?? [])
        .at(-1);
    return structuredClone(end);
  }
  function fact(name: FactName): unknown {
    return facts.get(tokenOf(...name))?.value;
  }
  function ownerOf(owner: string): OwnerRecord {
    return owners.get(owner)?.record ?? NEW_OWNER;
  }

  function readsFor(commits: readonly Commit[]): JudgeReads {
    const plan = planReads(commits);
    const byId = plan.ids.flatMap((id) => rows.find(tokenOf('id', id)));
    const found = [...plan.keys.flatMap(rowsOfKey), ...byId.flatMap(({ row }) => row ?? [])];
    counters.rowsRead += found.length;
    const restoring = new Set(plan.places.map(({ owner }) => owner));
    return {
      rows: found,
      unreadableIds: byId.flatMap(({ row, id }) => (row === undefined && id !== undefined ? id : [])),
      ends: plan.ends.flatMap((id) => rememberedBy('id', id)),
      taken: [...restoring].flatMap((owner) => rows.find(tokenOf('owner', owner)).map(({ place }) => place)),
      owners: new Map(plan.owners.map((owner) => [owner, ownerOf(owner)])),
      activeOwner: fact(FACTS.activeOwner),
      guards: plan.guards.map((name) => ({ name, value: fact(name) })),
      lastSeq: numbers.get('seq') ?? 0,
    };
  }

  function apply(writes: StoreWrites, durability: 'strict' | 'relaxed'): void {
    numbers.set('seq', writes.lastSeq);
    for (const { owner, seq } of writes.removedRows) rows.set(tokenOf(owner, seq), undefined);
    for (const row of structuredClone(writes.rows)) {
      const { owner, seq } = row;
      rows.set(tokenOf(owner, seq), { place: { owner, seq }, id: row.id, value: row, row });
    }
    for (const bodyId of writes.removedBodies) bodies.set(bodyId, undefined);
    for (const { bodyId, body } of writes.bodies) bodies.set(bodyId, { body: structuredClone(body) });
    for (const [owner, entries] of writes.journal)
      for (const entry of structuredClone(entries)) journal.set(tokenOf(owner, entry.n), { owner, entry });
    for (const entry of structuredClone(writes.ids)) {
      const number = (numbers.get('ids') ?? 0) + 1;
      numbers.set('ids', number);
      remembered.set(tokenOf(number), { number, entry, at: clock.now() });
    }
    for (const [owner, record] of writes.owners) owners.set(owner, { owner, record });
    for (const { name, value } of writes.facts) setFact(name, value);
    counters.rowsWritten += writes.rows.length;
    counters.bodiesWritten += writes.bodies.length;
    ended(durability);
  }
  function setFact(name: FactName, value: unknown): void {
    facts.set(tokenOf(...name), value === undefined ? undefined : { name, value: structuredClone(value) });
  }
  function ended(durability: 'strict' | 'relaxed'): void {
    counters.transactions++;
    if (durability === 'strict') counters.strict++;
    log.end(durability);
  }

  return {
    rows,
    bodies,
    journal,
    remembered,
    owners,
    facts,
    numbers,
    epoch,
    counters,
    forget: log.forget,
    given,
    rowsBy,
    rowsOfKey,
    entriesBy,
    findEnd,
    fact,
    setFact,
    ownerOf,
    readsFor,
    apply,
    ended,
    /** Ends a change that no caller made: it is on the disk. */
    planted: () => log.end('strict'),
  };
}
