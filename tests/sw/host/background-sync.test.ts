import { describe, expect, it } from 'vitest';
import { RowsRemainError } from '../../../shared/errors.ts';
import { createBackgroundSync, type SyncEventLike } from '../../../sw/host/background-sync.ts';
import { createManualClock } from '../../../sw/testing/manual-clock.ts';

const STANDING = 'workbox-background-sync:holdfast';

function bell({ hasSync = true, denied: isDenied = false, firedAt = undefined as number | undefined } = {}) {
  let denied = isDenied;
  let forbidden = false;
  let written = firedAt;
  const clock = createManualClock();
  const registered: string[] = [];
  const tags = new Set<string>();
  const listeners: ((event: SyncEventLike) => void)[] = [];
  const flushes: boolean[] = [];
  let rest = 0;
  let online = true;
  let changes = 0;
  let flushing: Promise<void> = Promise.resolve();
  let onSync: () => Promise<void> = async () => undefined;
  const register = async (tag: string): Promise<void> => {
    registered.push(tag);
    if (denied) throw new DOMException('Permission denied.', 'NotAllowedError');
    tags.add(tag);
  };
  const sync = createBackgroundSync({
    name: 'holdfast',
    sync: hasSync ? { register, getTags: async () => [...tags] } : undefined,
    isOnline: () => online,
    clock,
    timers: clock,
    ids: { uuid: () => `u${registered.length}`, random: () => 0 },
    // As workbox does: it swallows a refusal, and where `sync` is missing it calls at once without looking back.
    makeDoorbell(name, given) {
      onSync = given;
      if (!hasSync) void given();
      return { registerSync: () => register(`workbox-background-sync:${name}`).catch(() => undefined) };
    },
    record: {
      read: async () => written,
      async write(at) {
        written = at;
      },
    },
    isDenied: async () => forbidden,
    listen: (listener) => listeners.push(listener),
    async flush(isNews) {
      flushes.push(isNews);
      await flushing;
      return rest;
    },
    changed: () => {
      changes++;
    },
  });
  /** The browser's event: what the promise given to `waitUntil` became. */
  const begin = async (tag: string, lastChance = false): Promise<unknown> => {
    const waits: Promise<unknown>[] = [];
    const event = { tag, lastChance, waitUntil: (promise: Promise<unknown>) => waits.push(promise) };
    for (const listener of listeners) listener(event);
    if (tag === STANDING) waits.push(onSync());
    const results = await Promise.allSettled(waits);
    if (results.every(({ status }) => status === 'fulfilled')) tags.delete(tag);
    const [first] = results;
    return first?.status === 'rejected' ? first.reason : first?.status;
  };
  return {
    begin,
    fire: (tag: string, lastChance = false) => clock.until(begin(tag, lastChance)),
    clock,
    sync,
    registered,
    flushes,
    refuse: (value: boolean) => {
      denied = value;
    },
    forbid: (value: boolean) => {
      denied = value;
      forbidden = value;
    },
    firedAt: () => written,
    setRest: (count: number) => {
      rest = count;
    },
    setOnline: (value: boolean) => {
      online = value;
    },
    hold: (): (() => void) => {
      let release = (): void => undefined;
      flushing = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    changeCount: () => changes,
  };
}

describe('Background Sync as a doorbell', () => {
  it('[W20] arms the standing tag once, however many commands come, until it has rung', async () => {
    const { sync, registered, fire } = bell();
    await Promise.all([sync.arm(), sync.arm(), sync.arm()]);
    await sync.arm();
    expect(registered).toEqual([STANDING]);
    await fire(STANDING);
    await sync.arm();
    expect(registered).toEqual([STANDING, STANDING]);
  });

  it('[W20, W21] asks again after a refusal, also where the browser has come back before', async () => {
    const { sync, registered, fire, refuse } = bell();
    await sync.arm();
    await fire(STANDING);
    // No page is open.
    refuse(true);
    await sync.arm();
    refuse(false);
    registered.length = 0;
    await sync.arm();
    expect(registered).toEqual([STANDING]);
  });

  it('[W21] rejects with one typed error while rows remain, and resolves when none do', async () => {
    const { sync, fire, setRest } = bell();
    await sync.arm();
    setRest(3);
    const reason = await fire(STANDING);
    expect(reason).toBeInstanceOf(RowsRemainError);
    // Workbox swallows what is no Error.
    expect(reason).toBeInstanceOf(Error);
    expect(reason).toHaveProperty('data', { count: 3 });
    setRest(0);
    expect(await fire(STANDING)).toBe('fulfilled');
  });

  it('[W20] offline, a fresh tag per arming beside the standing one, which may be in its back-off', async () => {
    const { sync, registered, fire, setRest, setOnline } = bell();
    await sync.arm();
    setRest(1);
    await fire(STANDING);
    setOnline(false);
    await sync.arm();
    await sync.arm();
    expect(registered).toEqual([STANDING, 'holdfast:u1']);
    const reason = await fire('holdfast:u1');
    expect(reason).toBeInstanceOf(RowsRemainError);
    await sync.arm();
    expect(registered).toEqual([STANDING, 'holdfast:u1', 'holdfast:u2']);
  });

  it('[W21, A62] after the last chance the next trigger arms again', async () => {
    const { sync, registered, fire, setRest } = bell();
    await sync.arm();
    setRest(1);
    await fire(STANDING);
    await sync.arm();
    expect(registered).toEqual([STANDING]);
    await fire(STANDING, true);
    await sync.arm();
    expect(registered).toEqual([STANDING, STANDING]);
  });

  it('[W21] does not arm in the middle of an event, which would bring the next right behind it for ever', async () => {
    const { sync, registered, fire, setRest, setOnline, hold } = bell();
    await sync.arm();
    setRest(1);
    setOnline(false);
    const release = hold();
    const ended = fire(STANDING);
    await sync.arm();
    expect(registered).toEqual([STANDING]);
    release();
    expect(await ended).toBeInstanceOf(RowsRemainError);
  });

  it('[W20] while one command follows the other it is one event, and none is left to the next', async () => {
    const { clock, sync, registered, begin, flushes } = bell();
    await sync.arm();
    const ended = begin(STANDING);
    for (let n = 0; n < 5; n++) {
      await clock.advance(600);
      await sync.arm();
    }
    expect(await clock.until(ended)).toBe('fulfilled');
    expect(registered).toEqual([STANDING]);
    // One look per second while they came, and a last one.
    expect(flushes).toEqual(Array(5).fill(false));
  });

  it('[W4, W21] an event that stays for commands ends before the browser ends it', async () => {
    const { clock, sync, begin } = bell();
    await sync.arm();
    const startedAt = clock.now();
    let isOver = false;
    const ended = begin(STANDING).then(() => {
      isOver = true;
    });
    while (!isOver) {
      await sync.arm();
      await clock.advance(500);
    }
    await ended;
    expect(clock.now() - startedAt).toBeLessThan(130_000);
  });

  it('[W20, D2] tags that ring together are one flush', async () => {
    const { sync, fire, flushes, hold, setOnline } = bell();
    setOnline(false);
    await sync.arm();
    const release = hold();
    const both = [fire(STANDING), fire('holdfast:u1')];
    release();
    expect(await Promise.all(both)).toEqual(['fulfilled', 'fulfilled']);
    expect(flushes).toHaveLength(1);
  });

  it('[W20, W22] the echo of a registration made online is no news; what comes later is', async () => {
    const { sync, fire, flushes, clock, setRest } = bell();
    await sync.arm();
    setRest(1);
    await fire(STANDING);
    await clock.advance(300_000);
    await fire(STANDING);
    expect(flushes).toEqual([false, true]);
  });

  it('[W20, W22] the event that follows a registration made offline is news', async () => {
    const { sync, fire, flushes, setOnline } = bell();
    setOnline(false);
    await sync.arm();
    await fire('holdfast:u1');
    expect(flushes).toEqual([true]);
  });

  it('[W21, A63] without the API nothing rejects and the live view says so', async () => {
    const { sync, flushes, registered } = bell({ hasSync: false });
    await sync.arm();
    expect(sync.state()).toBe('missing');
    expect([flushes, registered]).toEqual([[], []]);
  });

  it('[W21, A63] a refused permission is no error, is said, and is asked again at the next arming', async () => {
    const { sync, registered, changeCount } = bell({ denied: true });
    await sync.arm();
    expect(sync.state()).toBe('refused');
    expect(changeCount()).toBe(1);
    await sync.arm();
    expect(registered).toEqual([STANDING, STANDING]);
  });

  it('[W21] says whether the event has ever come', async () => {
    const { sync, fire } = bell();
    expect(sync.state()).toBe('idle');
    await sync.arm();
    expect(sync.state()).toBe('armed');
    await fire(STANDING);
    expect(sync.state()).toBe('proven');
  });

  it('[W21] notes once when the event first came, and the next worker knows it from the first question on', async () => {
    const { sync, fire, clock, firedAt } = bell();
    await sync.recall();
    expect([sync.state(), firedAt()]).toEqual(['idle', undefined]);
    const at = clock.now();
    await fire(STANDING);
    await clock.advance(60_000);
    await fire(STANDING);
    expect(firedAt()).toBe(at);

    const next = bell({ firedAt: firedAt() });
    await next.sync.recall();
    await next.sync.recall();
    expect([next.sync.state(), next.changeCount()]).toEqual(['proven', 1]);
    await next.sync.arm();
    expect(next.sync.state()).toBe('proven');
  });

  it('[W21] says that it was forbidden later, whatever it has done before, and takes that back', async () => {
    const { sync, forbid, refuse } = bell({ firedAt: 1 });
    await sync.recall();
    // No page is open, which says nothing about the future.
    refuse(true);
    await sync.arm();
    expect(sync.state()).toBe('proven');
    forbid(true);
    await sync.arm();
    expect(sync.state()).toBe('refused');
    forbid(false);
    await sync.arm();
    expect(sync.state()).toBe('proven');
  });

  it('[W1] leaves tags of others alone', async () => {
    const { fire, flushes } = bell();
    await fire('workbox-background-sync:other');
    await fire('app-sync');
    expect(flushes).toEqual([]);
  });
});
