/**
 * Background Sync as a doorbell (W20, W21): a standing tag through workbox, whose queue never holds a request, and a
 * fresh tag per arming for the way back from offline, because a tag in the browser's back-off stays silent when it
 * is registered again. Rejecting is the only way to be called once more while no page is open.
 */
import { RowsRemainError } from '../../shared/errors.ts';
import type { Triggers } from '../../shared/protocol.ts';
import type { Clock, Ids, Timers } from '../environment.ts';
import type { SyncRecord } from './sync-record.ts';

export interface SyncManagerLike {
  register(tag: string): Promise<void>;
  getTags(): Promise<readonly string[]>;
}

export interface SyncEventLike {
  readonly tag: string;
  readonly lastChance: boolean;
  waitUntil(promise: Promise<unknown>): void;
}

export interface Doorbell {
  registerSync(): Promise<void>;
}

/** The standing tag's way through workbox. `onSync` is called un-awaited where `sync` is missing. */
export type MakeDoorbell = (name: string, onSync: () => Promise<void>) => Doorbell;

export interface BackgroundSyncDeps {
  /** Names the tags; one per outbox and origin, since workbox refuses a name it has seen. */
  readonly name: string;
  readonly sync: SyncManagerLike | undefined;
  readonly isOnline: () => boolean;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly makeDoorbell: MakeDoorbell;
  readonly record: SyncRecord;
  /** Whether the person or a policy forbids it: a refusal alone may only mean that no page is open. */
  readonly isDenied: () => Promise<boolean>;
  /** Listens to `sync`; called once, synchronously. */
  readonly listen: (listener: (event: SyncEventLike) => void) => void;
  /**
   * Flushes the active owner and answers how many rows an automatic trigger could still send. `isNews`: the browser
   * came back by itself, so the network may be another one; otherwise it only answers a registration.
   */
  readonly flush: (isNews: boolean) => Promise<number>;
  readonly changed: () => void;
}

export interface BackgroundSync {
  /** Asks the browser to come back, unless it has been asked. Never rejects. */
  arm(): Promise<void>;
  /** Learns whether an earlier worker heard it, unless that is known. Never rejects. */
  recall(): Promise<void>;
  state(): Triggers['sync'];
}

/** A registration made while the browser thinks it is online is answered at once, and that says nothing new. */
const ECHO_MS = 2_000;
const LINGER_MS = 1_000;
/** Well within the three minutes that Chromium gives a sync event. */
const LONGEST_STAY_MS = 120_000;

export function createBackgroundSync(deps: BackgroundSyncDeps): BackgroundSync {
  const { name, sync, clock } = deps;
  const standingTag = `workbox-background-sync:${name}`;
  const freshPrefix = `${name}:`;
  let state: Triggers['sync'] = sync ? 'idle' : 'missing';
  let hasFired = false;
  let recalling: Promise<void> | undefined;
  let isStanding = false;
  let isFresh = false;
  let echoUntil = 0;
  let lastChance = false;
  /** Somebody armed while an event was under way. */
  let isWanted = false;
  let ringing: Promise<void> | undefined;

  const setState = (next: Triggers['sync']): void => {
    if (state === next) return;
    state = next;
    deps.changed();
  };

  const noteFired = (): void => {
    hasFired = true;
    setState('proven');
  };
  const readRecord = async (): Promise<void> => {
    if ((await deps.record.read()) !== undefined) noteFired();
  };

  /** Stays a moment when nothing is left: while a person saves one thing after the other it is one event, not many. */
  const flush = async (): Promise<void> => {
    const until = clock.now() + LONGEST_STAY_MS;
    let isNews = clock.now() >= echoUntil;
    do {
      isWanted = false;
      const rest = await deps.flush(isNews);
      if (rest > 0) throw new RowsRemainError(`${rest} rows wait`, { count: rest });
      isNews = false;
      await new Promise<void>((resolve) => deps.timers.after(LINGER_MS, resolve));
    } while (isWanted && clock.now() < until);
  };
  /** Tags that fire together, as they do when the network returns, are one ring. */
  const ring = (): Promise<void> => {
    if (!hasFired) void deps.record.write(clock.now()).catch(() => undefined);
    noteFired();
    ringing ??= flush().finally(() => {
      ringing = undefined;
    });
    return ringing;
  };

  // First of all listeners, so that `lastChance` is known when workbox calls.
  deps.listen((event) => {
    if (event.tag === standingTag) lastChance = event.lastChance;
    if (!event.tag.startsWith(freshPrefix)) return;
    isFresh = false;
    event.waitUntil(ring());
  });
  const doorbell = deps.makeDoorbell(name, async () => {
    // Workbox calls at start where there is no `sync`, and nobody would hear a rejection.
    if (!sync) return;
    try {
      await ring();
      isStanding = false;
    } catch (error) {
      // After the last chance the browser forgets the tag; the next trigger arms again.
      if (lastChance) isStanding = false;
      throw error;
    }
  });

  const register = async (sync: SyncManagerLike): Promise<void> => {
    // Re-arming in the middle of an event would bring the next one right behind it, for ever.
    if (ringing !== undefined) {
      isWanted = true;
      return;
    }
    const isOnline = deps.isOnline();
    if (!isStanding) {
      isStanding = true;
      if (isOnline) echoUntil = clock.now() + ECHO_MS;
      // It swallows a refusal; the tags tell.
      await doorbell.registerSync();
      const tags = await sync.getTags();
      isStanding = tags.includes(standingTag);
      const granted = hasFired ? 'proven' : 'armed';
      setState(isStanding || (hasFired && !(await deps.isDenied())) ? granted : 'refused');
    }
    if (!isOnline && !isFresh) {
      isFresh = true;
      await sync.register(freshPrefix + deps.ids.uuid());
    }
  };

  return {
    async arm() {
      // Refused, or no page is open: neither is an error for anyone.
      if (sync) {
        await register(sync).catch(() => {
          isFresh = false;
        });
      }
    },
    async recall() {
      if (sync && !hasFired) recalling ??= readRecord().catch(() => undefined);
      await recalling;
    },
    state: () => state,
  };
}
