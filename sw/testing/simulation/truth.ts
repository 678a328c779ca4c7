/**
 * What really happened (T30): it sees every commit that landed, every request that was sent, every change that the
 * server made and everything that pages were told, and says at once where a promise was broken. It trusts nothing
 * that the engine says of itself.
 */
import type { Enqueued } from '../../../shared/answers.ts';
import type { CommandInput } from '../../../shared/command.ts';
import type { OutcomeEnd, OutcomeType } from '../../../shared/outcome.ts';
import { isIntent, type Row } from '../../../shared/row.ts';
import type { SendRequest } from '../../dispatch/sender.ts';
import {
  type Commit,
  type CommitResult,
  FACTS,
  type FactWrite,
  type RowStore,
} from '../../outbox/row-store.ts';
import { sameContent } from '../../outbox/same-row.ts';
import { isSealed } from '../../outbox/sealed-body.ts';
import { isInDoubt, isNoted, isUnproven } from '../../outbox/standing.ts';
import type { AppliedChange, ScriptedServer } from '../scripted-server.ts';
import type { Subject } from './subject.ts';

export interface Told {
  readonly command: CommandInput;
  readonly n: number;
}

/** Where a command stands: what a page would find if it looked. */
export type Fate =
  | { readonly type: 'stored'; readonly row: Row }
  | { readonly type: 'applied'; readonly id: string }
  | { readonly type: 'ended'; readonly id: string; readonly end: OutcomeType }
  | { readonly type: 'lost'; readonly id: string };

interface End {
  readonly end: OutcomeType;
  readonly by: string | undefined;
}

export interface Truth {
  /** Rows as stored now. */
  readonly rows: ReadonlyMap<string, Row>;
  readonly broken: readonly string[];
  readonly told: readonly Told[];
  /** The signed-in owner as stored. */
  readonly active: string | undefined;
  /** A store whose commits are seen. */
  watch(store: RowStore): RowStore;
  /** A store that encrypts what it is given: what it is given is seen (W63). */
  seeBodies(store: RowStore): RowStore;
  /** After a power cut, or with another database: what is stored now. */
  reread(store: RowStore, why: 'power_cut' | 'lost'): Promise<void>;
  sent(who: string, host: string | undefined, request: SendRequest): void;
  applied(change: AppliedChange): void;
  /** The server said of this delete that there is nothing to delete. */
  noteGone(id: string): void;
  tell(told: Told, enqueued: Enqueued): void;
  fateOf(id: string): Fate;
  bodyOf(row: Row): unknown;
  /** The person gives something up: by id, or all of an owner's, what only witnesses have included. */
  noteWithdrawal(owner?: string): void;
  /** A delete of a creation that may never leave: it may be dropped (R23). */
  noteDeleteOf(origin: string): void;
  /**
   * The database goes, and only rows of these ids have another copy. The others are gone without anybody's fault, and
   * what they took over may come back (S38).
   */
  lose(kept: ReadonlySet<string>): void;
  /**
   * A page repeats a call. Where that was answered by a database that is lost since, nobody knows the id any more,
   * and its edit may be applied again, under it, beside the row that took it over.
   */
  noteRepeat(command: CommandInput): void;
  /** A command that went with the database, as its only copy. */
  isExcused(id: string): boolean;
  /** When an id was claimed last, in ms that really passed. */
  claimedAt(id: string): number | undefined;
  /** Says that a promise was broken. */
  breaks(clause: string, what: string): void;
}

const ENDS: ReadonlySet<OutcomeType> = new Set([
  'committed',
  'already_gone',
  'superseded',
  'dropped',
  'replaced',
  'merged',
  'converted',
  'rebased',
  'cancelled',
  'discarded',
]);

export interface TruthDeps {
  readonly server: ScriptedServer;
  readonly subject: Subject;
  readonly passed: () => number;
  /** The wall clock, epoch ms. */
  readonly now: () => number;
  readonly isUnderWay: (id: string) => boolean;
  /** Wall clocks jump in this story: what only a right clock can tell is not asked for (C4). */
  readonly clocksJump: boolean;
  /** Whether the story loses the database while its witness fails: then S38's window is wide open. */
  readonly losesWitness: boolean;
  /** A page may repeat a call that a lost database had answered: then it hears of the same end again. */
  readonly repeatsAfterLoss: boolean;
  /** The family's resolver may let the server's version win. */
  readonly canDrop: boolean;
  readonly isEncrypted: boolean;
}

export function createTruth(deps: TruthDeps): Truth {
  const { server, subject, clocksJump } = deps;
  const rows = new Map<string, Row>();
  const bodies = new Map<string, unknown>();
  /** As they were before they were encrypted. */
  const plain = new Map<string, unknown>();
  const gone = new Set<string>();
  const ends = new Map<string, End>();
  const claimed = new Map<string, number>();
  const toldCommitted = new Set<string>();
  const hashes = new Map<string, { readonly hash: string; readonly body: unknown }>();
  /** Ids of which the server said, late enough, that it has none: a retry keeps them, and they may yet arrive (R34). */
  const denied = new Set<string>();
  /** Lines that were passed by a later row, or wait for the person: their order is the person's (C33). */
  const stepped = new Set<string>();
  /** Ids that were claimed in a database that is lost: a page that repeats one makes a row that knows nothing of it. */
  const forgotten = new Set<string>();
  /** Ids that had ended in a database that is lost. */
  const lostEnds = new Set<string>();
  const marked = new Map<number, string>();
  const lastOfResource = new Map<string, { readonly seq: number; readonly id: string }>();
  const excused = new Set<string>();
  /** Edits of which an older form may come back after a loss (S38). */
  const twice = new Set<number>();
  const deletes = new Set<string>();
  const told: Told[] = [];
  /** What a command waits for (W60), by its id, which is its line's origin where it made one. */
  const parents = new Map<string, readonly string[]>();
  const broken: string[] = [];
  let active: string | undefined;
  let withdrawals = 0;
  /** What witnesses had when the database was lost the last time. */
  let witnessed: ReadonlySet<string> = new Set();

  const short = (id: string): string => id.slice(-4);
  const breaks = (clause: string, what: string): void => {
    broken.push(`${clause}: ${what}`);
  };
  const hasApplied = (id: string): boolean => server.receipt(id) !== undefined;
  /** Ids of deletes of which the server said that there is nothing to delete. */
  const foundGone = new Set<string>();
  const marksOf = (body: unknown): readonly number[] => subject.marksOf?.(body) ?? [];
  const bodyOf = (row: Row): unknown => (row.bodyId === undefined ? undefined : contentOf(row.bodyId));
  const contentOf = (bodyId: string): unknown => plain.get(bodyId) ?? bodies.get(bodyId);

  function landed(commit: Commit): void {
    for (const { bodyId, body } of commit.bodies ?? []) {
      bodies.set(bodyId, body);
      if (deps.isEncrypted && !isSealed(body)) breaks('W63', `the body ${short(bodyId)} is stored as it is`);
    }
    if (commit.reason === 'claim' && active !== commit.owner)
      breaks('W30', `a claim for ${commit.owner} landed while ${active ?? 'nobody'} is signed in`);
    for (const { outcome } of commit.outcomes) {
      if (!ENDS.has(outcome.type)) continue;
      ends.set(outcome.row.id, { end: outcome.type, by: 'by' in outcome ? outcome.by : undefined });
      checkEnd(outcome.row.id, outcome, commit);
    }
    for (const { id, end, by } of commit.ids ?? []) ends.set(id, { end, by });
    for (const fact of commit.facts ?? []) noteFact(fact);
  }

  function checkEnd(id: string, outcome: OutcomeEnd, { reason }: Commit): void {
    const row = rows.get(id);
    switch (outcome.type) {
      case 'committed':
        if (!hasApplied(id))
          breaks('D44', `${short(id)} was told as committed, and the server does not have it`);
        if (outcome.duplicate) return;
        if (toldCommitted.has(id) && !deps.repeatsAfterLoss)
          breaks('D29', `${short(id)} was told as committed twice`);
        toldCommitted.add(id);
        return;
      case 'already_gone':
        if (row && row.kind !== 'delete' && row.kind !== 'remove')
          breaks('D10', `${short(id)}, a ${row.kind}, ended as already gone`);
        return;
      case 'dropped':
        if (outcome.reason === 'resolver' && !deps.canDrop)
          breaks('T30.1', `${short(id)} was dropped by nobody`);
        if (outcome.reason === 'table' && row?.kind === 'create') {
          // W60: what waits for a creation that is deleted goes with it.
          const goesAlong = row.after?.some((origin) => deletes.has(origin)) ?? false;
          if (goesAlong) deletes.add(row.origin);
          else if (!deletes.has(row.origin))
            breaks('T30.1', `${short(id)} was dropped, and nobody deleted it`);
        }
        return;
      case 'cancelled':
      case 'discarded':
        if (withdrawals === 0 || (reason !== 'person' && reason !== 'discard_owner'))
          breaks('T30.1', `${short(id)} was ${outcome.type} by nobody`);
        return;
      case 'merged':
      case 'replaced':
        return;
      default:
        return;
    }
  }

  /** R16, R36: what a patch said is in the patch that took it over. */
  function checkFold(row: Row, commit: Commit): void {
    const end = ends.get(row.id);
    if (end?.by === undefined || row.bodyId === undefined) return;
    // A person's edited copy says what it says (R34), also where a recovery lets it take over once more.
    if (commit.reason === 'person' || commit.reason === 'recover') return;
    const family = subject.definition.families[row.family];
    const isPatch = family?.type === 'record' && family.merge !== undefined;
    if (!isPatch || (end.end !== 'merged' && end.end !== 'replaced')) return;
    const by = commit.write.find(({ id }) => id === end.by) ?? rows.get(end.by);
    if (!by || by.bodyId === undefined || by.kind === 'delete') return;
    const kept = marksOf(contentOf(by.bodyId));
    const lost = marksOf(bodyOf(row)).filter((mark) => !kept.includes(mark));
    if (lost.length > 0)
      breaks('T30.1', `${short(by.id)} took over ${short(row.id)} without its f${lost.join(' f')}`);
  }

  function checkRemoval(row: Row, commit: Commit): void {
    const { id } = row;
    if (!ends.has(id)) breaks('R40', `${short(id)} was removed (${commit.reason}) without an outcome`);
    if (commit.reason === 'enqueue' && !denied.has(id)) {
      if (hasApplied(id)) breaks('C18', `a command removed ${short(id)}, which the server has applied`);
      else if (deps.isUnderWay(id)) breaks('C18', `a command removed ${short(id)}, which is under way`);
    }
    checkFold(row, commit);
  }

  function checkRow(row: Row, before: Row | undefined, commit: Commit): void {
    const { id } = row;
    if ((row.claim?.fence ?? 0) < (before?.claim?.fence ?? 0))
      breaks('C15', `the fence of ${short(id)} fell`);
    if (!before && gone.has(id) && commit.reason !== 'recover')
      breaks('C16', `${short(id)} was removed and came back by ${commit.reason}`);
    if (row.lookupNone || row.recovery?.proof === 'asked') denied.add(id);
    if (commit.reason !== 'recover' && !before && forgotten.has(id)) denied.add(id);
    if (row.state === 'blocked' || row.overtakenBy !== undefined || row.recovery) stepped.add(row.origin);
    if (hasApplied(id) && !isInDoubt(row) && !isNoted(row) && !denied.has(id))
      breaks(
        'R7',
        `${short(id)} was written without doubt (${commit.reason}), and the server has applied it`,
      );
    if (commit.reason === 'claim' && row.state === 'sending') claimed.set(id, deps.passed());
    const { sentAt = 0, expiresAt = Number.POSITIVE_INFINITY } = row;
    const isFirst = before !== undefined && !isInDoubt(before) && row.state === 'sending';
    if (isFirst && commit.reason === 'claim' && sentAt >= expiresAt)
      breaks('W62', `${short(id)} was claimed ${sentAt - expiresAt} ms after it had expired`);
    for (const other of rows.values())
      if (other.seq === row.seq && other.owner === row.owner && other.id !== id)
        breaks('R6', `${short(id)} and ${short(other.id)} have one place`);
  }

  function noteFact({ name, value }: FactWrite): void {
    if (name.length === 1 && name[0] === FACTS.activeOwner[0])
      active = typeof value === 'string' ? value : undefined;
  }

  function seeCommits(commits: readonly Commit[], results: readonly CommitResult[]): void {
    for (const [place, commit] of commits.entries()) {
      const result = results[place];
      if (result?.type !== 'committed') continue;
      landed(commit);
      const written = new Set(result.rows.map(({ id }) => id));
      for (const id of commit.remove) {
        const row = rows.get(id);
        if (written.has(id) || !row) continue;
        rows.delete(id);
        gone.add(id);
        checkRemoval(row, commit);
      }
      for (const row of result.rows) {
        const before = rows.get(row.id);
        rows.set(row.id, row);
        gone.delete(row.id);
        checkRow(row, before, commit);
      }
    }
  }

  const truth: Truth = {
    rows,
    broken,
    told,
    get active() {
      return active;
    },
    watch: (store) => ({
      ...store,
      async commit(commits) {
        const results = await store.commit(commits);
        seeCommits(commits, results);
        return results;
      },
      async writeFacts(facts, durability) {
        await store.writeFacts(facts, durability);
        for (const fact of facts) if (!('was' in fact)) noteFact(fact);
      },
    }),
    seeBodies: (store) => ({
      ...store,
      commit(commits) {
        for (const { bodies: given = [] } of commits)
          for (const { bodyId, body } of given) plain.set(bodyId, body);
        return store.commit(commits);
      },
    }),
    async reread(store, why) {
      rows.clear();
      for (const owner of await store.owners())
        for (const row of await store.index(owner, { limit: 10_000 })) {
          rows.set(row.id, row);
          gone.delete(row.id);
          // S14: what may have left is remembered as such, whatever was lost.
          if (hasApplied(row.id) && !isInDoubt(row) && !isNoted(row) && !denied.has(row.id))
            breaks('S14', `after a ${why} ${short(row.id)} is not in doubt, and the server has applied it`);
        }
      toldCommitted.clear();
      if (why === 'lost') for (const id of [...claimed.keys(), ...hashes.keys()]) forgotten.add(id);
      if (why === 'lost') for (const id of ends.keys()) lostEnds.add(id);
      // Numbers start from the clock, so those of a database that was made in the same millisecond say nothing.
      if (why === 'lost')
        for (const [place, { seq }] of lastOfResource)
          if (clocksJump || seq >= deps.now() * 1_000) lastOfResource.delete(place);
      const owner = await store.readFact(FACTS.activeOwner);
      active = typeof owner === 'string' ? owner : undefined;
    },
    sent(who, host, request) {
      const { id, requestHash } = request;
      const row = rows.get(id);
      const isHeld = row?.state === 'sending' && (host === undefined || row.claim?.host === host);
      if (!isHeld && !clocksJump) breaks('C1', `${who} sent ${short(id)}, which it does not hold`);
      for (const parent of row ? (parents.get(row.origin) ?? []) : [])
        if (truth.fateOf(parent).type !== 'applied' && !truth.isExcused(parent) && !forgotten.has(parent))
          breaks('W60', `${who} sent ${short(id)} before ${short(parent)}, which it waits for, was accepted`);
      if (row && isIntent(row)) breaks('C20', `${who} sent ${short(id)}, an intent`);
      if (row && isUnproven(row)) breaks('S31', `${who} sent ${short(id)}, which nobody vouches for`);
      if (row && row.requestHash !== requestHash) breaks('R4', `${who} sent ${short(id)} with another hash`);
      const first = hashes.get(id);
      if (first === undefined) hashes.set(id, { hash: requestHash, body: request.body });
      else if (first.hash !== requestHash || !sameContent(first.body, request.body))
        breaks('D1', `${who} sent ${short(id)} with other content than before`);
    },
    applied({ id, owner, family, target, body, kind }) {
      const row = rows.get(id);
      const isKnown = row !== undefined || denied.has(id) || withdrawals > 0 || forgotten.has(id);
      if (!isKnown && !deps.losesWitness && !gone.has(id))
        breaks('T30.1', `the server applied ${short(id)}, which nobody holds`);
      if (!row && gone.has(id) && !denied.has(id) && withdrawals === 0 && !clocksJump)
        breaks(
          'C18',
          `the server applied ${short(id)}, which had been removed (${ends.get(id)?.end ?? '?'})`,
        );
      if (row && !isInDoubt(row) && !denied.has(id))
        breaks('R7', `the server applied ${short(id)}, which is not in doubt`);
      for (const mark of marksOf(body)) {
        const other = marked.get(mark);
        marked.set(mark, id);
        if (
          other !== undefined &&
          other !== id &&
          !deps.losesWitness &&
          !twice.has(mark) &&
          !denied.has(other)
        )
          breaks('T30.2', `f${mark} was applied as ${short(other)} and again as ${short(id)}`);
      }
      if (!row) return;
      const place = JSON.stringify([owner, family, target]);
      const last = lastOfResource.get(place);
      if (last && last.seq > row.seq && !stepped.has(row.origin) && kind !== 'create')
        breaks('T30.3', `${short(id)} was applied after ${short(last.id)}, which came later`);
      if (!last || last.seq < row.seq) lastOfResource.set(place, { seq: row.seq, id });
    },
    tell(entry, { row }) {
      told.push(entry);
      const { id: own, after } = entry.command;
      if (after) parents.set(own, [...(parents.get(own) ?? []), ...after]);
      const fate = truth.fateOf(entry.command.id);
      if (fate.type === 'lost')
        breaks(
          'T30.1',
          `${short(entry.command.id)} was told as saved, and is nowhere (${row?.id.slice(-4) ?? '-'})`,
        );
    },
    noteGone(id) {
      foundGone.add(id);
    },
    fateOf(id) {
      const seen = new Set<string>();
      for (let next = id; ; ) {
        const row = rows.get(next);
        if (row) return { type: 'stored', row };
        if (hasApplied(next) || foundGone.has(next)) return { type: 'applied', id: next };
        const end = ends.get(next);
        if (!end || seen.has(next)) return { type: 'lost', id: next };
        if (end.by === undefined) return { type: 'ended', id: next, end: end.end };
        seen.add(next);
        next = end.by;
      }
    },
    bodyOf,
    noteWithdrawal(owner) {
      withdrawals++;
      for (const { command } of told) {
        const fate = command.owner === owner ? truth.fateOf(command.id) : undefined;
        if (fate?.type === 'lost' && witnessed.has(fate.id)) excused.add(command.id);
      }
    },
    noteDeleteOf(origin) {
      deletes.add(origin);
    },
    lose(kept) {
      for (const { command } of told) {
        const fate = truth.fateOf(command.id);
        if (fate.type === 'stored' && !kept.has(fate.row.id)) excused.add(command.id);
        // Lost a second time, before what only a witness had was back.
        if (fate.type === 'lost' && witnessed.has(fate.id) && !kept.has(fate.id)) excused.add(command.id);
      }
      witnessed = kept;
      for (const row of rows.values())
        if (!kept.has(row.id)) for (const mark of marksOf(bodyOf(row))) twice.add(mark);
    },
    noteRepeat({ id, body }) {
      if (lostEnds.has(id)) for (const mark of marksOf(body)) twice.add(mark);
    },
    isExcused: (id) => excused.has(id),
    claimedAt: (id) => claimed.get(id),
    breaks,
  };
  return truth;
}
