/**
 * The ledger (V1, V2): applies a command and writes its receipt in one transaction, once per owner and
 * idempotency key. It knows keys, hashes and receipts; it knows no HTTP and no table of the application, which
 * hands in `apply`. To lift it: this folder, `database/` and `migrations/001-ledger.sql`.
 */
import type { Receipt } from '../../../shared/receipt.ts';
import { type Database, DatabaseBusyError, type Sql } from '../database/database.ts';
import { assertPurgeable, type Retention } from './retention.ts';

export interface LedgerCommand {
  readonly owner: string;
  /** The idempotency key. */
  readonly id: string;
  readonly requestHash: string;
  readonly family: string;
  /** The wire kind of what is applied, named by the route and not by the request. */
  readonly kind: string;
  readonly sourceRef?: string | undefined;
}

/** What a command did, inside its transaction. */
export interface Applied {
  readonly type: 'applied';
  readonly target: string;
  /** A positive integer. */
  readonly revision: number;
  /** An integer, at least 1 for records, at least 0 for documents. */
  readonly generation: number;
  readonly status: 200 | 201;
  /** Goes out with the first answer; a repeat carries the receipt alone. */
  readonly resource?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Why a command was not applied and never will be under this key (D45). Whatever `apply` wrote is undone. For
 * a refusal that may pass, such as a missing sign-in, throw instead: then nothing is remembered.
 */
export interface Refusal {
  readonly type: 'refused';
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** Further members of the problem document, such as `actual_revision`. */
  readonly members?: Readonly<Record<string, unknown>> | undefined;
}

export type Apply = (sql: Sql) => Promise<Applied | Refusal>;

export type LedgerAnswer =
  | {
      readonly type: 'receipt';
      readonly receipt: Receipt;
      readonly status: number;
      readonly resource?: Applied['resource'];
    }
  | { readonly type: 'refused'; readonly refusal: Refusal; readonly replayed: boolean }
  /** The key was used for something else (V2). */
  | { readonly type: 'key_reused' }
  /** Another request with this key, or one on the same resource, did not end within the lock's time limit. */
  | { readonly type: 'in_progress' };

export type LookUp =
  | { readonly type: 'receipt'; readonly receipt: Receipt }
  | { readonly type: 'refused'; readonly code: string; readonly status: number }
  | { readonly type: 'in_progress' }
  /** Nothing was applied under this key, and no request with it is being worked on right now. */
  | { readonly type: 'none' };

export interface Ledger {
  /** Applies `command` with `apply` unless its key is known; a known key is answered from the ledger. */
  carryOut(command: LedgerCommand, apply: Apply): Promise<LedgerAnswer>;
  /** What became of a key (V4). Changes nothing. A `family` or `sourceRef` that is given must match. */
  find(
    owner: string,
    id: string,
    match?: { readonly family?: string | undefined; readonly sourceRef?: string | undefined },
  ): Promise<LookUp>;
  /**
   * Removes entries older than `olderThan` in slices and says how many (V1).
   * @throws RetentionError where the stated time would be broken
   */
  purge(olderThan: Date): Promise<number>;
}

export interface LedgerOptions {
  readonly database: Database;
  /** Without it entries are kept for good and `purge` refuses. */
  readonly retention?: Retention | undefined;
}

interface Entry {
  readonly request_hash: string;
  readonly family: string;
  readonly kind: string;
  readonly source_ref: string | null;
  readonly state: 'open' | 'applied' | 'refused';
  readonly status: number;
  readonly target: string;
  readonly revision: number;
  readonly generation: number;
  readonly refusal: Refusal;
  readonly committed_at: Date;
}

// Waits here, on the primary key, while another transaction holds the same key; then inserts nothing.
const OPEN = `
  insert into holdfast_ledger (owner, id, request_hash, family, kind, source_ref)
  values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning committed_at`;
const READ = 'select * from holdfast_ledger where owner = $1 and id = $2';
const CLOSE_APPLIED = `
  update holdfast_ledger set state = 'applied', status = $3, target = $4, revision = $5, generation = $6
  where owner = $1 and id = $2`;
const CLOSE_REFUSED = `
  update holdfast_ledger set state = 'refused', status = $3, refusal = $4 where owner = $1 and id = $2`;
const PURGE = `
  delete from holdfast_ledger where ctid = any (array(
    select ctid from holdfast_ledger where committed_at < $1 order by committed_at limit $2
    for update skip locked)) returning 1`;
const PURGE_SLICE = 1000;

export function createLedger({ database, retention }: LedgerOptions): Ledger {
  async function carryOut(command: LedgerCommand, apply: Apply): Promise<LedgerAnswer> {
    const { owner, id, requestHash, family, kind, sourceRef } = command;
    try {
      return await database.transaction(async (sql): Promise<LedgerAnswer> => {
        const [opened] = await sql.query<Pick<Entry, 'committed_at'>>(OPEN, [
          owner,
          id,
          requestHash,
          family,
          kind,
          sourceRef ?? null,
        ]);
        if (!opened) return repeat(await read(sql, owner, id), command);
        await sql.query('savepoint command');
        const end = await apply(sql);
        if (end.type === 'refused') {
          await sql.query('rollback to savepoint command');
          await sql.query(CLOSE_REFUSED, [owner, id, end.status, JSON.stringify(end)]);
          return { type: 'refused', refusal: end, replayed: false };
        }
        const { status, target, revision, generation } = end;
        await sql.query(CLOSE_APPLIED, [owner, id, status, target, revision, generation]);
        const committedAt = opened.committed_at.toISOString();
        const receipt: Receipt = { id, requestHash, kind, target, revision, generation, committedAt };
        return { type: 'receipt', receipt, status, resource: end.resource };
      });
    } catch (error) {
      if (error instanceof DatabaseBusyError) return { type: 'in_progress' };
      throw error;
    }
  }

  async function find(
    owner: string,
    id: string,
    match: { readonly family?: string | undefined; readonly sourceRef?: string | undefined } = {},
  ): Promise<LookUp> {
    const entry = (await read(database, owner, id)) ?? (await settle(owner, id));
    if (entry === 'in_progress') return { type: 'in_progress' };
    if (!entry) return { type: 'none' };
    if (match.family !== undefined && match.family !== entry.family) return { type: 'none' };
    if (match.sourceRef !== undefined && match.sourceRef !== entry.source_ref) return { type: 'none' };
    return entry.state === 'refused'
      ? { type: 'refused', code: entry.refusal.code, status: entry.status }
      : { type: 'receipt', receipt: { ...receiptOf(id, entry), replayed: true } };
  }

  /**
   * "None" must be true (R34): an uncommitted entry cannot be seen, but opening the same key waits for it. The
   * attempt is rolled back in any case, so that asking changes nothing.
   */
  async function settle(owner: string, id: string): Promise<Entry | 'in_progress' | undefined> {
    try {
      await database.transaction(async (sql) => {
        const [opened] = await sql.query(OPEN, [owner, id, '', '', '', null]);
        throw new LookedOnly(opened ? undefined : await read(sql, owner, id));
      });
    } catch (error) {
      if (error instanceof LookedOnly) return error.entry;
      if (error instanceof DatabaseBusyError) return 'in_progress';
      throw error;
    }
    return undefined;
  }

  async function purge(olderThan: Date): Promise<number> {
    // The database's clock wrote the entries' times, so it judges them too.
    const [clock] = await database.query<{ now: Date }>('select now() as now');
    if (!clock) throw new Error('The database told no time');
    assertPurgeable(olderThan, retention, clock.now);
    let removed = 0;
    for (;;) {
      const slice = await database.query(PURGE, [olderThan, PURGE_SLICE]);
      removed += slice.length;
      if (slice.length < PURGE_SLICE) return removed;
    }
  }

  return { carryOut, find, purge };
}

/** Carries what was seen out of a transaction that must not commit. */
class LookedOnly extends Error {
  readonly entry: Entry | undefined;
  constructor(entry: Entry | undefined) {
    super('Looked only');
    this.entry = entry;
  }
}

async function read(sql: Sql, owner: string, id: string): Promise<Entry | undefined> {
  const [entry] = await sql.query<Entry>(READ, [owner, id]);
  return entry;
}

function repeat(entry: Entry | undefined, command: LedgerCommand): LedgerAnswer {
  // Gone between the two statements: only a purge does that, and the sender will ask again.
  if (!entry) return { type: 'in_progress' };
  if (entry.request_hash !== command.requestHash) return { type: 'key_reused' };
  if (entry.state === 'refused') return { type: 'refused', refusal: entry.refusal, replayed: true };
  const receipt: Receipt = { ...receiptOf(command.id, entry), replayed: true };
  return { type: 'receipt', receipt, status: entry.status };
}

function receiptOf(id: string, entry: Entry): Receipt {
  const { request_hash: requestHash, kind, target, revision, generation } = entry;
  return {
    id,
    requestHash,
    kind,
    target,
    revision,
    generation,
    committedAt: entry.committed_at.toISOString(),
  };
}
