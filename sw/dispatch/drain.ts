/**
 * Sends what is ready (C30-C32): claims ahead and acknowledgements behind while requests fly, several keys at once
 * and never two requests of one key. It reads on until there is enough to send or the lane ends, and holds no
 * more in memory than it is about to send (S3). When to stop is told to it; what answers mean is judged elsewhere.
 */
import { type Key, keyToken } from '../../shared/key.ts';
import type { StoppedBy } from '../../shared/outcome.ts';
import { keyOf, type Row } from '../../shared/row.ts';
import type { Attempt } from '../outbox/attempt.ts';
import { isLarge } from '../outbox/lease.ts';
import { laneOf } from '../outbox/standing.ts';
import type { ClaimStep, KeyRows } from './claim-keys.ts';
import type { LaneReader } from './lane-reader.ts';

export interface LoadedAttempt {
  readonly attempt: Attempt;
  readonly body: unknown;
}

/** One attempt whose answer has been judged, ready for its commit. */
export interface Ended<Judged> {
  readonly token: string;
  readonly attempt: Attempt;
  readonly judged: Judged;
}

/** What a commit left of the key: rows it wrote, which may stand under another key (C21). */
export interface Settled {
  readonly written: readonly Row[];
  /** The key rests: nothing more of it leaves in this flush (D3, D5, C2). */
  readonly rests: boolean;
}

export interface DrainPorts<Judged> {
  readonly reader: LaneReader;
  /** Requests open at once, as things are now. */
  concurrency(): number;
  /** Rows to claim beyond those that start now (C7). */
  claimsAhead(): number;
  /** Why nothing new may be sent now, if so. Asked before every claim and every send. */
  stoppedBy(): StoppedBy | undefined;
  /** Whether it was made sure just now that this owner may send (W30): `ageing` still counts, and is soon too old. */
  standing(): 'known' | 'ageing' | 'unknown';
  /** Makes sure; what it finds shows in `stoppedBy`. */
  checkStanding(): Promise<void>;
  claim(keys: readonly KeyRows[]): Promise<ReadonlyMap<string, ClaimStep>>;
  /** Whether the row failed on its own before, so that its key goes last (C32). */
  goesLast(row: Row): boolean;
  /** How many of the loaded attempts, from the first one, travel in one request (V7). At least 1. */
  together(loaded: readonly LoadedAttempt[]): number;
  /** `undefined`: too little of the lease is left, it must be claimed anew first (C7). Never rejects. */
  send(loaded: readonly LoadedAttempt[]): Promise<readonly Judged[]> | undefined;
  /** Claims anew what waited too long to start; what is missing in the answer is no longer ours. */
  reclaim(stale: readonly LoadedAttempt[]): Promise<readonly LoadedAttempt[]>;
  /** A body that cannot be read (R3). */
  unreadable(attempt: Attempt): Judged;
  /** Commits one answer; those that come while a commit is under way share the next one (C10). */
  settle(ended: Ended<Judged>): Promise<Settled>;
  giveBack(attempts: readonly Attempt[]): Promise<void>;
  /** Asks the server about a row that keeps its key (C31), or accepts one whose receipt is noted (C11); the rows of the key afterwards, none if it stays kept. */
  free(step: Extract<ClaimStep, { type: 'ask' | 'settle' }>): Promise<readonly Row[]>;
  /** `rows`: those of the key as the lane gave them. */
  skipped(step: Extract<ClaimStep, { type: 'skip' }>, rows: readonly Row[]): void;
  /** The device's store failed, or another owner is active: shows in `stoppedBy` from now on. */
  failed(step: Extract<ClaimStep, { type: 'failed' | 'not_active' }>): void;
}

export interface Drain {
  /** Rows may have been stored, or a reason to stop may have come up. */
  nudge(): void;
  /** Resolves with the reason for stopping if something was left to send. Rejects on a defect. */
  readonly ended: Promise<StoppedBy | undefined>;
}

/** Keys put off to the end of the flush; more than these keep their place. */
const MOST_LAST = 256;
/** Keys that wait for a large body of another to leave, before nothing more is read. */
const MOST_WAITING = 256;

/** Answers that may wait for the store before nothing new is sent. */
const MOST_SETTLING = 64;

type Work = 'claim' | 'give_back' | 'check';
type KeptStep = Extract<ClaimStep, { type: 'ask' | 'settle' }>;

/** `first`: rows outside the lane whose keys may be claimed too. */
export function startDrain<Judged>(ports: DrainPorts<Judged>, first: readonly Row[]): Drain {
  const { reader } = ports;
  /** Rows of keys that wait to be claimed, or of busy keys for when those are free again. */
  const known = new Map<string, { readonly key: Key; rows: readonly Row[] }>();
  let order: string[] = [];
  const last: string[] = [];
  const busy = new Set<string>();
  /** Of the busy ones, those with a large body: one at a time, from its claim to the end of its answer. */
  const large = new Set<string>();
  const loaded: (LoadedAttempt & { readonly token: string })[] = [];
  const stale: (LoadedAttempt & { readonly token: string })[] = [];
  let open = 0;
  let settling = 0;
  let freeing = 0;
  /** Keys that something must be asked about, or accepted, before anything of them leaves. */
  const kept: { readonly token: string; readonly key: Key; readonly step: KeptStep }[] = [];
  const working = new Set<Work>();
  let finish: (stoppedBy: StoppedBy | undefined) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  let isOver = false;
  const ended = new Promise<StoppedBy | undefined>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });

  /** A defect, not an answer: whatever is under way is left to its leases. */
  const crash = (error: unknown): void => {
    isOver = true;
    fail(error);
  };

  /** One step at a time of each kind; whatever it throws ends the drain, and the caller sees it. */
  const work = (kind: Work, step: () => Promise<void>): void => {
    if (working.has(kind)) return;
    working.add(kind);
    step().then(
      () => {
        working.delete(kind);
        tick();
      },
      (error) => {
        working.delete(kind);
        crash(error);
      },
    );
  };

  /** Answers whether the key was not known before. */
  const remember = (token: string, key: Key, rows: readonly Row[]): boolean => {
    const before = known.get(token);
    const origins = new Set(rows.map(({ origin }) => origin));
    const others = before?.rows.filter(({ origin }) => !origins.has(origin)) ?? [];
    known.set(token, { key, rows: [...others, ...rows] });
    return before === undefined;
  };

  const add = (rows: readonly Row[], where: 'front' | 'back'): void => {
    const front: string[] = [];
    for (const row of rows) {
      if (laneOf(row) !== 'ready') continue;
      const key = keyOf(row);
      const token = keyToken(key);
      if (!remember(token, key, [row]) || busy.has(token)) continue;
      if (where === 'front') front.push(token);
      else if (ports.goesLast(row) && last.length < MOST_LAST) last.push(token);
      else order.push(token);
    }
    order.unshift(...front);
  };

  const setFree = (token: string): void => {
    busy.delete(token);
    large.delete(token);
  };

  /** The key is free: what is known to wait behind goes next. */
  const release = (token: string): void => {
    setFree(token);
    if (known.has(token)) order.unshift(token);
  };

  const mayGo = (token: string): boolean => large.size === 0 || !known.get(token)?.rows.some(isLarge);
  const mayRead = (): boolean => !reader.atEnd && order.length < MOST_WAITING;

  /** Takes the first `most` keys that may go now out of the order. */
  const pick = (most: number): readonly KeyRows[] => {
    const picked: KeyRows[] = [];
    order = order.filter((token) => {
      if (picked.length === most || !mayGo(token)) return true;
      const entry = known.get(token);
      known.delete(token);
      if (!entry || busy.has(token)) return false;
      busy.add(token);
      if (entry.rows.some(isLarge)) large.add(token);
      picked.push({ token, ...entry });
      return false;
    });
    return picked;
  };

  const takeKeys = async (most: number): Promise<readonly KeyRows[]> => {
    try {
      while (order.filter(mayGo).length < most && mayRead()) add(await reader.next(), 'back');
    } catch (error) {
      ports.failed({ type: 'failed', error });
      return [];
    }
    if (order.length === 0 && reader.atEnd) order = last.splice(0);
    return pick(most);
  };

  const claim = async (most: number): Promise<void> => {
    const keys = await takeKeys(most);
    if (keys.length === 0) return;
    const steps = await ports.claim(keys);
    for (const { token, key, rows } of keys.toReversed()) {
      const step = steps.get(token);
      if (step?.type === 'claimed') continue;
      if (step?.type === 'later') {
        remember(token, key, step.rows);
        release(token);
      } else if (step?.type === 'ask' || step?.type === 'settle') {
        kept.push({ token, key, step });
      } else {
        if (step?.type === 'skip') ports.skipped(step, rows);
        if (step?.type === 'failed' || step?.type === 'not_active') ports.failed(step);
        // Rows of the key that are read later come back to the same answer, at the cost of one look each.
        known.delete(token);
        setFree(token);
      }
    }
    for (const { token, key } of keys) {
      const step = steps.get(token);
      if (step?.type !== 'claimed') continue;
      const { attempt, body, rest } = step;
      if (isLarge(attempt.claimed)) large.add(token);
      else large.delete(token);
      if (rest.some((row) => laneOf(row) === 'ready')) remember(token, key, rest);
      if (body.type === 'body') loaded.push({ token, attempt, body: body.body });
      else settle({ token, attempt, judged: ports.unreadable(attempt) });
    }
  };

  const startFreeing = (): void => {
    while (freeing < ports.concurrency()) {
      const next = kept.shift();
      if (!next) return;
      const { token, key, step } = next;
      freeing++;
      void ports.free(step).then((rows) => {
        freeing--;
        known.delete(token);
        if (rows.length > 0) remember(token, key, rows);
        release(token);
        tick();
      }, crash);
    }
  };

  const startSends = (): void => {
    while (open < ports.concurrency() && loaded.length > 0) {
      const count = Math.max(1, Math.min(ports.together(loaded), loaded.length));
      const group = loaded.splice(0, count);
      const sent = ports.send(group);
      if (!sent) {
        stale.push(...group);
        continue;
      }
      open++;
      void sent.then((judged) => {
        open--;
        for (const [place, { token, attempt }] of group.entries()) {
          const verdict = judged[place];
          if (verdict !== undefined) settle({ token, attempt, judged: verdict });
        }
        tick();
      }, crash);
    }
  };

  const reclaim = async (): Promise<void> => {
    const tokens = new Map(stale.map((entry) => [entry.attempt.claimed.id, entry.token]));
    const again = await ports.reclaim(stale.splice(0));
    for (const entry of again) {
      const token = tokens.get(entry.attempt.claimed.id);
      tokens.delete(entry.attempt.claimed.id);
      if (token !== undefined) loaded.unshift({ ...entry, token });
    }
    for (const token of tokens.values()) setFree(token);
  };

  const settle = (end: Ended<Judged>): void => {
    const { token } = end;
    settling++;
    void ports.settle(end).then(({ rests, written }) => {
      settling--;
      if (rests) {
        known.delete(token);
        setFree(token);
      } else {
        add(written, 'front');
        release(token);
      }
      tick();
    }, crash);
  };

  const giveBack = async (): Promise<void> => {
    const unsent = [...loaded.splice(0), ...stale.splice(0)];
    await ports.giveBack(unsent.map(({ attempt }) => attempt));
    for (const { token } of unsent) setFree(token);
  };

  const step = (): void => {
    if (ports.stoppedBy() !== undefined) {
      for (const { token } of kept.splice(0)) setFree(token);
      if (loaded.length + stale.length > 0 && !working.has('claim')) work('give_back', giveBack);
      return;
    }
    startFreeing();
    if (loaded.length > 0 && open < ports.concurrency() && settling < MOST_SETTLING) {
      const standing = ports.standing();
      // Beside the sending, so that none of it waits for the answer.
      if (standing !== 'known') work('check', ports.checkStanding);
      if (standing !== 'unknown') startSends();
    }
    const target = ports.concurrency() - open + ports.claimsAhead();
    if (stale.length > 0) work('claim', reclaim);
    else if (loaded.length * 2 <= target && target > loaded.length && canClaim())
      work('claim', () => claim(target - loaded.length));
  };

  const canClaim = (): boolean =>
    order.some(mayGo) || mayRead() || (order.length === 0 && reader.atEnd && last.length > 0);

  function tick(): void {
    if (isOver) return;
    try {
      step();
    } catch (error) {
      crash(error);
      return;
    }
    const isIdle =
      working.size + open + freeing + kept.length + settling + loaded.length + stale.length === 0;
    if (!isIdle) return;
    const stoppedBy = canClaim() ? ports.stoppedBy() : undefined;
    if (stoppedBy === undefined && canClaim()) return;
    isOver = true;
    finish(stoppedBy);
  }

  for (const row of first) {
    const key = keyOf(row);
    const token = keyToken(key);
    if (remember(token, key, [row])) order.push(token);
  }
  tick();
  return { nudge: tick, ended };
}
