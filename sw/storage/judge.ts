/**
 * Judges commits against what was read, and says what to write (R9, R40, R41). Pure: both stores read what
 * `planReads` names, ask here, and carry out the writes in one transaction, so that they cannot differ (R45).
 */
import type { JournalPlace } from '../../shared/answers.ts';
import { assert } from '../../shared/assert.ts';
import { type Key, keyToken, toKeyArray } from '../../shared/key.ts';
import type { IdEntry, JournalEntry, OutcomeEnd } from '../../shared/outcome.ts';
import type { Row } from '../../shared/row.ts';
import { keyOf } from '../../shared/row.ts';
import { changedIdentity, encodeRow, mergeRow } from '../../shared/row-codec.ts';
import {
  type BodyWrite,
  type Commit,
  type CommitResult,
  FACTS,
  type FactName,
  type FactWrite,
  type GoneReason,
  type OwnerCounts,
  type RowDraft,
  type ToldOutcome,
  type UnmirroredId,
} from '../outbox/row-store.ts';
import { sameContent, sameRows } from '../outbox/same-row.ts';

/** Bounds of what is remembered of the past (R9, D41). */
export const JOURNAL_ENTRIES = 1_000;
export const JOURNAL_MS = 7 * 24 * 3_600_000;
export const ID_ENTRIES = 50_000;
export const ID_MS = 3_600_000;

/** What is kept per owner, in one record that each transaction writes once. */
export interface OwnerRecord {
  readonly counts: OwnerCounts;
  readonly generation: number;
  /** The last journal number given. */
  readonly journalLast: number;
  /** Journal entries up to this number are gone. */
  readonly journalGone: number;
}

export const NEW_OWNER: OwnerRecord = {
  counts: { queued: 0, sending: 0, held: 0, blocked: 0, bodyBytes: 0 },
  generation: 0,
  journalLast: 0,
  journalGone: 0,
};

/** A place in the order; a row's primary key. */
export interface Place {
  readonly owner: string;
  readonly seq: number;
}

export interface StoredEntry extends ToldOutcome {
  readonly requestHash: string;
}

/** What must be read before `judge`: nothing else decides. */
export interface ReadPlan {
  readonly keys: readonly Key[];
  /** Rows by id, under whatever key. */
  readonly ids: readonly string[];
  /** Ended ids. */
  readonly ends: readonly string[];
  /** Numbers a restored row asks for: from each, the taken ones downwards until as many are free as are asked for. */
  readonly places: readonly Place[];
  readonly owners: readonly string[];
  readonly activeOwner: boolean;
  /** Facts that guard a commit (S31). */
  readonly guards: readonly FactName[];
}

export interface JudgeReads {
  /** Rows that read, of the plan's keys and ids, in any order; repeats do no harm. */
  readonly rows: readonly Row[];
  /** Ids of the plan whose stored row does not read (R3). */
  readonly unreadableIds: readonly string[];
  /** Ends of the plan's ids, the newest of each last. */
  readonly ends: readonly IdEntry[];
  readonly taken: readonly Place[];
  readonly owners: ReadonlyMap<string, OwnerRecord>;
  readonly activeOwner: unknown;
  /** The plan's guards as they stand. */
  readonly guards: readonly FactWrite[];
  /** The last number given (R6). */
  readonly lastSeq: number;
}

export interface JudgeOptions {
  /** Epoch ms, for the journal. */
  readonly now: number;
  /** Whether to note touched ids for the mirror (S22). */
  readonly notesUnmirrored: boolean;
}

/** The net effect of all commits; each record appears once. */
export interface StoreWrites {
  readonly removedRows: readonly Place[];
  readonly rows: readonly Row[];
  readonly removedBodies: readonly string[];
  readonly bodies: readonly BodyWrite[];
  readonly journal: ReadonlyMap<string, readonly StoredEntry[]>;
  readonly ids: readonly IdEntry[];
  readonly facts: readonly FactWrite[];
  readonly owners: ReadonlyMap<string, OwnerRecord>;
  readonly lastSeq: number;
}

/** These leave the row where it is: they are journalled, but an id does not end with them (R9). */
const NOT_AN_END: ReadonlySet<OutcomeEnd['type']> = new Set(['blocked', 'unknown', 'deferred', 'held']);

/** What the mirror's tombstone will say of a removed row; without an outcome of its own, a noted receipt's end (C11). */
const GONE_BY: Readonly<Partial<Record<OutcomeEnd['type'], GoneReason>>> = {
  already_gone: 'uploaded',
  cancelled: 'deleted',
  discarded: 'deleted',
  dropped: 'dropped',
  replaced: 'replaced',
  merged: 'replaced',
  superseded: 'replaced',
  converted: 'replaced',
  rebased: 'replaced',
};

function goneBy(commit: Commit, id: string): GoneReason {
  const end = commit.outcomes.find(({ outcome }) => outcome.row.id === id)?.outcome.type;
  return (end && GONE_BY[end]) ?? 'uploaded';
}

/** What is remembered of the id that an outcome ended, if it ended one. */
export function endOf({ outcome, requestHash }: Omit<StoredEntry, 'n' | 'at'>): IdEntry | undefined {
  if (NOT_AN_END.has(outcome.type)) return undefined;
  const { id, origin } = outcome.row;
  const by = 'by' in outcome ? { by: outcome.by } : {};
  return { id, key: toKeyArray(outcome.row), requestHash, origin, end: outcome.type, ...by };
}

/** A place that a power cut took back: its number is not reached again, or was given to another outcome since (S14). */
export function isPlaceLost(
  after: JournalPlace | undefined,
  now: { readonly epoch: string; readonly journalLast: number; readonly seenAt: number | undefined },
): boolean {
  if (after === undefined) return false;
  const { epoch, n, at } = after;
  const isOther = at !== undefined && now.seenAt !== undefined && at !== now.seenAt;
  return epoch !== now.epoch || n > now.journalLast || isOther;
}

/** @throws where a commit breaks the port's rules: a defect of its planner, found before anything is read. */
export function checkCommit(commit: Commit): void {
  const tokens = new Set(commit.keys.map(keyToken));
  for (const key of commit.keys) assert(key.owner === commit.owner, 'a key of another owner');
  for (const row of commit.write) assert(tokens.has(keyToken(keyOfDraft(row))), 'a row outside its keys');
  for (const { outcome } of commit.outcomes)
    assert(outcome.type !== 'deferred' && outcome.type !== 'held', 'a passing outcome is not journalled');
}

export function planReads(commits: readonly Commit[]): ReadPlan {
  const keys = new Map<string, Key>();
  const ids = new Set<string>();
  const ends = new Set<string>();
  const places: Place[] = [];
  for (const commit of commits) {
    for (const key of commit.keys) keys.set(keyToken(key), key);
    const seen = new Set(commit.expected.map((row) => row.id));
    for (const row of commit.write) {
      if (!seen.has(row.id)) ids.add(row.id);
      if (row.seq !== undefined && !keepsPlace(commit, row)) places.push({ owner: row.owner, seq: row.seq });
    }
    if (commit.identity) {
      ids.add(commit.identity.id);
      ends.add(commit.identity.id);
    }
  }
  return {
    keys: [...keys.values()],
    ids: [...ids],
    ends: [...ends],
    places,
    owners: [...new Set(commits.map((commit) => commit.owner))],
    activeOwner: commits.some((commit) => commit.activeOwner !== undefined),
    guards: commits.flatMap(({ guard }) => (guard ? [guard.name] : [])),
  };
}

/** A draft that takes the place of a row of this commit, itself or one that goes, and shares it with no other. */
function keepsPlace({ expected, remove, write }: Commit, draft: RowDraft): boolean {
  if (write.some((other) => other !== draft && other.seq === draft.seq)) return false;
  return expected.some(({ id, seq }) => seq === draft.seq && (id === draft.id || remove.includes(id)));
}

export function judge(
  reads: JudgeReads,
  commits: readonly Commit[],
  options: JudgeOptions,
): { readonly results: readonly CommitResult[]; readonly writes: StoreWrites } {
  const state = createWorkingState(reads, options);
  const results = commits.map((commit) => state.judge(commit));
  return { results, writes: state.writes() };
}

function createWorkingState(reads: JudgeReads, { now, notesUnmirrored }: JudgeOptions) {
  const byId = new Map<string, Row>();
  const byKey = new Map<string, Map<string, Row>>();
  const bodyUses = new Map<string, number>();
  const taken = new Map<string, Set<number>>();
  const unreadable = new Set(reads.unreadableIds);
  const ends = new Map(reads.ends.map((entry) => [entry.id, entry]));
  const owners = new Map(reads.owners);
  const guards = new Map(reads.guards.map(({ name, value }) => [JSON.stringify(name), value]));
  let activeOwner = reads.activeOwner;
  let lastSeq = reads.lastSeq;

  const changedRows = new Map<string, Map<number, Row | undefined>>();
  const changedBodies = new Map<string, BodyWrite | undefined>();
  const changedFacts = new Map<string, FactWrite>();
  const changedOwners = new Map<string, OwnerRecord>();
  const journal = new Map<string, StoredEntry[]>();
  const newIds: IdEntry[] = [];
  const touched = new Map<string, Map<string, UnmirroredId>>();

  for (const { owner, seq } of reads.taken) seqsOf(owner).add(seq);
  for (const row of reads.rows) if (!byId.has(row.id)) add(row);

  function seqsOf(owner: string): Set<number> {
    return getOrMake(taken, owner, () => new Set());
  }
  function add(row: Row): void {
    byId.set(row.id, row);
    getOrMake(byKey, keyToken(keyOf(row)), () => new Map()).set(row.id, row);
    seqsOf(row.owner).add(row.seq);
    if (row.bodyId !== undefined) bodyUses.set(row.bodyId, (bodyUses.get(row.bodyId) ?? 0) + 1);
  }
  function take(row: Row): void {
    byId.delete(row.id);
    byKey.get(keyToken(keyOf(row)))?.delete(row.id);
    seqsOf(row.owner).delete(row.seq);
    if (row.bodyId !== undefined) bodyUses.set(row.bodyId, (bodyUses.get(row.bodyId) ?? 1) - 1);
  }
  function changed(row: Row, value: Row | undefined): void {
    getOrMake(changedRows, row.owner, () => new Map()).set(row.seq, value);
  }

  function rowsOf(keys: readonly Key[]): readonly Row[] {
    const tokens = new Set(keys.map(keyToken));
    return [...tokens].flatMap((token) => [...(byKey.get(token)?.values() ?? [])]).sort(bySeq);
  }

  function identityResult({ id, key, requestHash }: NonNullable<Commit['identity']>) {
    const row = byId.get(id);
    const entry = row ? undefined : ends.get(id);
    if (row === undefined && entry === undefined)
      return unreadable.has(id) ? ({ type: 'identity_conflict', id } as const) : undefined;
    const known = row
      ? sameContent(toKeyArray(keyOf(row)), toKeyArray(key)) && row.requestHash === requestHash
      : // A cancel of an id that had not arrived knows neither key nor hash, and refuses whatever comes.
        entry?.end === 'cancelled' && entry.requestHash === ''
        ? true
        : sameContent(entry?.key, toKeyArray(key)) && entry?.requestHash === requestHash;
    return known ? ({ type: 'known', row, entry } as const) : ({ type: 'identity_conflict', id } as const);
  }

  function placeOf(draft: RowDraft): number {
    if (draft.seq === undefined) return ++lastSeq;
    const seqs = seqsOf(draft.owner);
    let seq = draft.seq;
    while (seqs.has(seq)) seq--;
    lastSeq = Math.max(lastSeq, seq);
    return seq;
  }

  function conflictingId(draft: RowDraft, tokens: ReadonlySet<string>): boolean {
    const stored = byId.get(draft.id);
    if (stored === undefined) return unreadable.has(draft.id);
    if (!tokens.has(keyToken(keyOf(stored)))) return true;
    const identity = { ...draft, seq: draft.seq ?? stored.seq };
    return changedIdentity(stored, identity, sameContent) !== undefined;
  }

  function judgeOne(commit: Commit): CommitResult {
    const known = commit.identity && identityResult(commit.identity);
    if (known) return known;
    const rows = rowsOf(commit.keys);
    if (commit.activeOwner !== undefined && commit.activeOwner !== activeOwner)
      return { type: 'stale', reason: 'active_owner', rows };
    if (commit.guard && !sameContent(guards.get(JSON.stringify(commit.guard.name)), commit.guard.value))
      return { type: 'stale', reason: 'guard', rows };
    if (!sameRows(rows, commit.expected)) return { type: 'stale', reason: 'rows', rows };
    const tokens = new Set(commit.keys.map(keyToken));
    const conflict = commit.write.find((draft) => conflictingId(draft, tokens));
    return conflict ? { type: 'identity_conflict', id: conflict.id } : apply(commit, rows);
  }

  function apply(commit: Commit, rows: readonly Row[]): CommitResult {
    const owner = owners.get(commit.owner) ?? NEW_OWNER;
    const generation = Math.max(owner.generation, commit.generationAtLeast ?? 0) + 1;
    const written = new Set(commit.write.map((draft) => draft.id));
    const removed = rows.filter((row) => commit.remove.includes(row.id) && !written.has(row.id));
    const before = rows.filter((row) => written.has(row.id));
    for (const row of removed) {
      take(row);
      changed(row, undefined);
    }
    const kept = new Map(before.map((row) => [row.id, row]));
    const after = commit.write.map((draft) => {
      const stored = kept.get(draft.id);
      const seq = stored?.seq ?? placeOf(draft);
      const version = Math.max(stored?.version ?? 0, draft.version ?? 0) + 1;
      const full: Row = { ...draft, seq, version };
      const row = stored ? mergeRow(stored, full) : encodeRow(full);
      if (stored) take(stored);
      add(row);
      changed(row, row);
      return row;
    });
    for (const { bodyId, body } of commit.bodies ?? [])
      if ((bodyUses.get(bodyId) ?? 0) > 0) changedBodies.set(bodyId, { bodyId, body });
    for (const { bodyId } of removed)
      if (bodyId !== undefined && bodyUses.get(bodyId) === 0) changedBodies.set(bodyId, undefined);

    const entries = note(commit, owner.journalLast);
    for (const fact of commit.facts ?? []) setFact(fact);
    if (notesUnmirrored && after.length + removed.length > 0) {
      const noted = getOrMake(touched, commit.owner, () => new Map());
      for (const { id } of after) noted.set(id, { id, g: generation });
      for (const { id } of removed) noted.set(id, { id, g: generation, gone: goneBy(commit, id) });
    }
    const record: OwnerRecord = {
      ...owner,
      counts: countChange(owner.counts, [...removed, ...before], after),
      generation,
      journalLast: owner.journalLast + entries.length,
    };
    owners.set(commit.owner, record);
    changedOwners.set(commit.owner, record);
    return { type: 'committed', rows: after, entries, generation, counts: record.counts };
  }

  function note(commit: Commit, journalLast: number): readonly JournalEntry[] {
    const entries = commit.outcomes.map(
      (draft, place): StoredEntry => ({ n: journalLast + 1 + place, at: now, ...draft }),
    );
    for (const entry of [...entries.flatMap((entry) => endOf(entry) ?? []), ...(commit.ids ?? [])]) {
      newIds.push(entry);
      ends.set(entry.id, entry);
    }
    if (entries.length > 0) getOrMake(journal, commit.owner, () => []).push(...entries);
    return entries.map(({ n, at, outcome }) => ({ n, at, outcome }));
  }
  function setFact(fact: FactWrite): void {
    guards.set(JSON.stringify(fact.name), fact.value);
    changedFacts.set(JSON.stringify(fact.name), fact);
    if (sameName(fact.name, FACTS.activeOwner)) activeOwner = fact.value;
  }

  return {
    judge: judgeOne,
    writes(): StoreWrites {
      const rows = [...changedRows].flatMap(([owner, seqs]) =>
        [...seqs].map(([seq, row]) => ({ place: { owner, seq }, row })),
      );
      const bodies = [...changedBodies];
      return {
        removedRows: rows.flatMap(({ place, row }) => (row ? [] : [place])),
        rows: rows.flatMap(({ row }) => row ?? []),
        removedBodies: bodies.flatMap(([bodyId, body]) => (body ? [] : [bodyId])),
        bodies: bodies.flatMap(([, body]) => body ?? []),
        journal,
        ids: newIds,
        facts: [...changedFacts.values(), ...[...touched].map(noteOf)],
        owners: changedOwners,
        lastSeq,
      };
    },
  };
}

/** One record for all that a transaction touched of an owner (S22): writing and clearing a note costs as much as a row. */
function noteOf([owner, ids]: readonly [string, ReadonlyMap<string, UnmirroredId>]): FactWrite {
  const value = [...ids.values()];
  return { name: FACTS.unmirrored(owner, Math.max(...value.map(({ g }) => g))), value };
}

function countChange(counts: OwnerCounts, gone: readonly Row[], come: readonly Row[]): OwnerCounts {
  const next = { ...counts };
  for (const [rows, sign] of [
    [gone, -1],
    [come, 1],
  ] as const)
    for (const row of rows) {
      next[row.state] += sign;
      next.bodyBytes += sign * (row.bodySize ?? 0);
    }
  return next;
}

function keyOfDraft({ owner, family, target }: RowDraft): Key {
  return { owner, family, target };
}

export function bySeq(a: Row, b: Row): number {
  return a.seq - b.seq;
}

function sameName(a: FactName, b: FactName): boolean {
  return a.length === b.length && a.every((part, place) => part === b[place]);
}

function getOrMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
